/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets some of whose characters are escaped, and secrets broken into lines. */

#include "tests.h"

#include <string.h>

#include "ground/base/own.h"
#include "oracle.h"

static const struct needle_secret key = {"KEY", "sk-Zq9+v7K/m2&x=4w", 18};
static const struct needle_secret words = {"WORDS", "correct horse \"staple\"", 22};

struct row {
	const char *text, *out;
};

static void expect(const struct needle_secret *secret, const struct row *rows, size_t count)
{
	struct needle *n = NULL;

	assert_int_equal(needle_new(secret, 1, &n, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		autodone(buf_done) struct buf out;
		int wanted = strcmp(rows[i].text, rows[i].out) != 0;

		buf_init(&out, 1 << 16);
		assert_int_equal(
			needle_redact(n, rows[i].text, strlen(rows[i].text), &out, NULL), wanted);
		assert_string_equal(buf_text(&out), rows[i].out);
		assert_int_equal(needle_occurs(n, rows[i].text, strlen(rows[i].text)), wanted);
	}
	needle_free(n);
}

static void escapes(void **state)
{
	static const struct row rows[] = {
		{"\"s\\u006b-Zq9+v7K/m2&x=4w\"", "\"[redacted:KEY]\""},
		{"\"s\\u006b-Zq9+v7K\\/m2\\u0026x\\u003D4w\"", "\"[redacted:KEY]\""},
		{"\"s\\u006b-Zq9+v7K/m2&x=4W\"", "\"s\\u006b-Zq9+v7K/m2&x=4W\""}, /* control */
		{"\"\\u0073k-Zq9+v7K/m2&x=4\\u0077\\n\"", "\"[redacted:KEY]\\n\""},
		{"'s\\x6b-Zq9+v7K/m2&x=4w'", "'[redacted:KEY]'"},
		/* once and twice more */
		{"\"s\\\\u006b-Zq9+v7K\\\\/m2&x=4w\"", "\"[redacted:KEY]\""},
		{"\"s\\u005cu006b-Zq9+v7K/m2&x=4w\"", "\"[redacted:KEY]\""},
		{"\"s\\\\\\\\u006b-Zq9+v7K/m2&x=4w\"", "\"[redacted:KEY]\""},
		{"\"s\\\\u006b-Zq9+v7K\\/m2\\u0026x=4w\"", "\"[redacted:KEY]\""},
		/* percent-encoding, also of and in escapes, also twice */
		{"?k=sk-Zq9+%767K/m2&x=4w&", "?k=[redacted:KEY]&"},
		{"?k=%73k-Zq9%2bv7K/m2%26x=4%77", "?k=[redacted:KEY]"},
		{"?k=sk-Zq9+%25767K/m2&x=4w", "?k=[redacted:KEY]"},
		{"\"sk-Zq9+%767K\\/m2&x=4w\"", "\"[redacted:KEY]\""},
		{"\"s\\u006b-Zq9+\\u002576\\u0037K/m2&x=4w\"", "\"[redacted:KEY]\""},
		{"\"sk-Zq9+\\\\u0025767K/m2&x=4w\"", "\"[redacted:KEY]\""},
		{"%22s%5Cu006b-Zq9+v7K/m2&x=4w%22", "%22[redacted:KEY]%22"},
		{"100% sk-Zq9+%7 7K/m2&x=4w %", "100% sk-Zq9+%7 7K/m2&x=4w %"}, /* control */
		/* inside base64 and hex */
		{"c2stWnE5K3\\u0059\\u0033Sy9tMiZ4PTR3", "[redacted:KEY]"},
		{"c2stWnE5K3Y3Sy9tMi%5a4PTR3", "[redacted:KEY]"},
		{"736b2d5a71392b76374b2f6d\\u0032\\u003626783d3477",
			"736b2d5a71392b76374b2f6d\\u0032\\u003626783d3477"}, /* control: 26, not 32 */
		{"736b2d5a71392b76374b2f6d\\u0033\\u003226783d3477", "[redacted:KEY]"},
	};
	static const struct row more[] = {
		{"q=correct+horse%20\"staple\"", "q=[redacted:WORDS]"},
		{"q=correct%20horse+%22staple\"", "q=[redacted:WORDS]"},
		{"\"correct horse \\\"staple\\u0022\"", "\"[redacted:WORDS]\""},
		{"\"correct horse \\\\\\\"st\\\\u0061ple\\\\\\\"\"", "\"[redacted:WORDS]\""},
		{"\"correct horse \\\\\\\"staple\\\"\"", "\"[redacted:WORDS]\""},
	};

	(void)state;
	expect(&key, rows, array_count(rows));
	expect(&words, more, array_count(more));
}

/* What is left outside of a replacement and what goes with it. */
static void borders(void **state)
{
	static const struct needle_secret accents = {"A", "caf\xc3\xa9-\xf0\x9f\x98\x80-x", 12};
	static const struct row rows[] = {
		{"\\ncaf\\u00e9-\\ud83d\\ude00-x\\n", "\\n[redacted:A]\\n"},
		{"\\ud83d\\ude00caf\\u00E9-\xf0\x9f\x98\x80-x\\ud83d",
			"\\ud83d\\ude00[redacted:A]\\ud83d"},
		{"\\\\caf\\\\u00e9-\\\\ud83d\\\\ude00-x\\\\", "\\\\[redacted:A]\\\\"},
		{"caf%c3%a9-\\ud83d\\ude00-x%", "[redacted:A]%"},
		{"\\u0063af\\u00e9-\\ud83d\\u0041-x",
			"\\u0063af\\u00e9-\\ud83d\\u0041-x"}, /* control */
	};

	(void)state;
	expect(&accents, rows, array_count(rows));
}

static void any_mixture(void **state)
{
	static const struct needle_secret secrets[] = {
		{"A", "sk-Zq9+v7K/m2&x=4w", 18},
		{"B", "a \"b\" \t/c'\n<d>", 14},
		{"C", "12345678", 8},
	};
	uint64_t seed = 21;
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(secrets, array_count(secrets), &n, NULL), 0);
	for (int round = 0; round < 6000; round++) {
		const struct needle_secret *s = &secrets[round % array_count(secrets)];
		autodone(buf_done) struct buf text;

		buf_init(&text, 1 << 16);
		(void)buf_add_text(&text, "{\"k\":\"");
		random_disguise(&seed, s->value, s->value_bytes, &text);
		(void)buf_add_text(&text, "\"}");
		assert_true(needle_occurs(n, text.data, text.len));
	}
	needle_free(n);
}

/* As base64(1) and xxd(1) write them: so many columns, then this. */
static void broken(
	const struct needle *n, const char *text, size_t width, const char *gap, int found)
{
	autodone(buf_done) struct buf lines, out;

	buf_init(&lines, 1 << 16);
	buf_init(&out, 1 << 16);
	(void)buf_add_text(&lines, "<");
	for (size_t i = 0; i < strlen(text); i++) {
		if (i > 0 && i % width == 0)
			(void)buf_add_text(&lines, gap);
		(void)buf_add_char(&lines, text[i]);
	}
	(void)buf_add_text(&lines, ">");
	assert_int_equal(needle_redact(n, lines.data, lines.len, &out, NULL), found);
	assert_int_equal(strstr(buf_text(&out), "[redacted:KEY]") != NULL, found);
}

static void lines(void **state)
{
	static const char *const gaps[] = {"\n", "\r\n", "\n  ", " ", "\\n", "\\r\\n", "\\\\n",
		"\\\\r\\\\n", "\\u000a", "%0A", "%0D%0A"};
	/* the key behind 50 and behind 51 bytes of others, then 30 more */
	static const char *const texts[] = {
		"QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFzay1acTkrdjdLL20y"
		"Jng9NHdCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=",
		"QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBc2stWnE5K3Y3Sy9t"
		"MiZ4PTR3QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC",
		"41414141414141414141414141414141414141414141414141414141"
		"736b2d5a71392b76374b2f6d3226783d3477424242424242424242",
	};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(&key, 1, &n, NULL), 0);
	for (size_t t = 0; t < array_count(texts); t++) {
		for (size_t g = 0; g < array_count(gaps); g++)
			for (size_t width = 32; width <= 80; width++)
				broken(n, texts[t], width, gaps[g], 1);
		broken(n, texts[t], 76, "", 1);
		broken(n, texts[t], 76, "\n.\n", 0);
		broken(n, texts[t], 8, "\n", 0); /* too short for lines: see needle.h */
	}
	needle_free(n);
}

static void spaced_hex(void **state)
{
	static const struct row rows[] = {
		{"73 6b 2d 5a 71 39 2B 76 37 4b 2f 6d 32 26 78 3d 34 77", "[redacted:KEY]"},
		{"00:73:6b:2d:5a:71:39:2b:76:37:4b:2f:6d:32:26:78:3d:34:77:00",
			"00:[redacted:KEY]:00"},
		{"\\x73\\x6b\\x2d\\x5a\\x71\\x39\\x2b\\x76\\x37\\x4b\\x2f\\x6d\\x32\\x26\\x78\\x3d\\x34\\x77",
			"[redacted:KEY]"},
		{"73 6b 2d 5a 71 39 2b 76 37 4b 2f 6d 32 26 78 3d 34 7",
			"73 6b 2d 5a 71 39 2b 76 37 4b 2f 6d 32 26 78 3d 34 7"},
	};

	(void)state;
	expect(&key, rows, array_count(rows));
}

/* A JSON value with a secret that is escaped here and there stays one. */
static void payloads(void **state)
{
	static const struct row rows[] = {
		{"{\"k\":\"s\\u006b-Zq9+v7K\\/m2&x=4w\",\"n\":1}",
			"{\"k\":\"[redacted:KEY]\",\"n\":1}"},
		{"{\"s\\u006b-Zq9+v7K/m2&x=4w\":\"\\n\"}", "{\"[redacted:KEY]\":\"\\n\"}"},
		{"{\"k\":\"{\\\"a\\\":\\\"s\\\\u006b-Zq9+v7K/m2&x=4w\\\"}\"}",
			"{\"k\":\"{\\\"a\\\":\\\"[redacted:KEY]\\\"}\"}"},
	};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(&key, 1, &n, NULL), 0);
	for (size_t i = 0; i < array_count(rows); i++) {
		autodone(buf_done) struct buf out;
		uint64_t counts[1] = {0};

		buf_init(&out, 4096);
		assert_int_equal(
			needle_redact_json(n, rows[i].text, strlen(rows[i].text), &out, counts), 1);
		assert_string_equal(buf_text(&out), rows[i].out);
		assert_int_equal(counts[0], 1);
	}
	needle_free(n);
}

/* A secret across two events, part of it escaped. */
static void seams(void **state)
{
	static const char text[] = "{\"s\\u006b-Zq9+%767K\\/m2&x=4w\"}";
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(&key, 1, &n, NULL), 0);
	for (size_t cut = 0; cut < sizeof(text); cut++) {
		struct needle_seam *s = needle_seam_new(n);

		assert_int_equal(needle_seam_feed(s, text, cut), 0);
		assert_int_equal(needle_seam_feed(s, text + cut, sizeof(text) - 1 - cut),
			cut > 2 && cut < sizeof(text) - 3);
		needle_seam_free(s);
	}
	needle_free(n);
}

int test_views(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes),
		cmocka_unit_test(borders),
		cmocka_unit_test(any_mixture),
		cmocka_unit_test(lines),
		cmocka_unit_test(spaced_hex),
		cmocka_unit_test(payloads),
		cmocka_unit_test(seams),
	};

	return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
