/* SPDX-License-Identifier: Apache-2.0 */
/* Every spelling of awkward values is found, alone, in company, in either case; nothing shorter. */

#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "oracle.h"

#define SECRET(name, literal)                                                                      \
	{                                                                                          \
		name, literal, sizeof(literal) - 1                                                 \
	}

static const struct needle_secret awkward[] = {
	SECRET("plain", "hunter2hunter2"),
	SECRET("key", "sk-ant-api03-AbC/dEf+GhI~jKl_mNo"),
	SECRET("quotes", "a\"b\\c/d\ne\tf\x01g\x7fh"),
	SECRET("spaces", "p w&d=1'<>+` ;:@#"),
	SECRET("unicode", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x80\xa8 end"),
	SECRET("binary", "\x80\xff\x00\xfe\xaa\xbb\x00\x10\xc3"),
	SECRET("eight", "?>?>>?>>"),
	SECRET("digits", "1234567890"),
	SECRET("slashes", "\\\\\\\\\\\\\\\\"),
	SECRET("ones", "\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa"),
};

static void expect_found(const struct needle *n, const struct oracle *o, const struct spelling *s,
	const char *before, const char *behind)
{
	for (int upper = 0; upper < 3; upper++) {
		autodone(buf_done) struct buf text, out, wanted;
		uint64_t counts[16] = {0}, wanted_counts[16] = {0};
		int r, wanted_r;

		buf_init(&text, 4096);
		buf_init(&out, 4096);
		buf_init(&wanted, 4096);
		(void)buf_add_text(&text, before);
		for (size_t i = 0; i < s->size; i++) {
			bool other = s->other[i] != 0 && (upper == 1 || (upper == 2 && i % 2 == 0));

			(void)buf_add_char(&text, (char)(other ? s->other[i] : s->text[i]));
		}
		(void)buf_add_text(&text, behind);
		r = needle_redact(n, text.data, text.len, &out, counts);
		wanted_r = oracle_redact(o, (uint8_t *)text.data, text.len, &wanted, wanted_counts);
		assert_int_equal(r, wanted_r);
		assert_true(r >= 1);
		assert_string_equal(buf_text(&out), buf_text(&wanted));
		assert_memory_equal(counts, wanted_counts, sizeof(counts));
		assert_int_equal(counts[s->secret], 1);
		assert_true(needle_occurs(n, text.data, text.len));
	}
}

static void each_spelling(void **state)
{
	static const char *const around[][2] = {{"", ""}, {"x", ""}, {"", "y"}, {"token=", "\n"},
		{"\"", "\""}, {"%-", "%"}, {"AAA", "AAA"}, {"\\\\\\\\", "\\n"}, {"0", "0"}};

	(void)state;
	for (size_t a = 0; a < array_count(awkward); a++) {
		struct needle *n = NULL;
		struct oracle o;

		assert_int_equal(needle_new(&awkward[a], 1, &n, NULL), 0);
		oracle_init(&o, &awkward[a], 1);
		for (size_t i = 0; i < o.count; i++)
			for (size_t k = 0; k < array_count(around); k++)
				expect_found(n, &o, &o.spellings[i], around[k][0], around[k][1]);
		oracle_done(&o);
		needle_free(n);
	}
}

static void all_together(void **state)
{
	struct needle *n = NULL;
	struct oracle o;

	(void)state;
	assert_int_equal(needle_new(awkward, array_count(awkward), &n, NULL), 0);
	assert_int_equal(needle_secret_count(n), array_count(awkward));
	oracle_init(&o, awkward, array_count(awkward));
	for (size_t i = 0; i < o.count; i++)
		expect_found(n, &o, &o.spellings[i], "<", ">");
	assert_string_equal(needle_secret_name(n, 1), "key");
	assert_null(needle_secret_name(n, array_count(awkward)));
	oracle_done(&o);
	needle_free(n);
}

/* A spelling without its first or its last symbol is not the secret. */
static void nothing_shorter(void **state)
{
	(void)state;
	for (size_t a = 0; a < array_count(awkward); a++) {
		struct needle *n = NULL;
		struct oracle o;

		assert_int_equal(needle_new(&awkward[a], 1, &n, NULL), 0);
		oracle_init(&o, &awkward[a], 1);
		for (size_t i = 0; i < o.count; i++) {
			const struct spelling *s = &o.spellings[i];

			for (int end = 0; end < 2; end++) {
				const uint8_t *text = s->text + (end == 0 ? 1 : 0);

				assert_int_equal(needle_occurs(n, text, s->size - 1),
					oracle_occurs(&o, text, s->size - 1));
			}
		}
		oracle_done(&o);
		needle_free(n);
	}
}

static void known_strings(void **state)
{
	static const struct needle_secret secret = {"S", "p\"w/d\n\xc3\xa9+x", 10};
	static const char *const found[] = {
		"p\"w/d\n\xc3\xa9+x",
		"702277 2f640ac3a92b78", /* control: broken by a blank, not found */
		"7022772f640ac3a92b78", "7022772F640aC3a92B78", "p%22w%2fd%0A%c3%A9%2Bx",
		"%70%22%77%2f%64%0a%c3%a9%2b%78", "p\\\"w/d\\n\xc3\xa9+x", "p\\\"w\\/d\\n\\u00E9+x",
		"p\\u0022w/d\\n\\u00e9\\u002Bx", "p\\\\\\\"w/d\\\\n\xc3\xa9+x",
		"cCJ3L2QKw6kreA",     /* base64 of it alone, 13 of 14 characters decided */
		"LnAidy9kCsOpK3gu",   /* one byte before */
		"Li5wIncvZArDqSt4Lg", /* two bytes before */
	};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(&secret, 1, &n, NULL), 0);
	for (size_t i = 0; i < array_count(found); i++)
		assert_int_equal(needle_occurs(n, found[i], strlen(found[i])), i != 1);
	needle_free(n);
}

int test_forms(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_spelling),
		cmocka_unit_test(all_together),
		cmocka_unit_test(nothing_shorter),
		cmocka_unit_test(known_strings),
	};

	return cmocka_run_group_tests_name("forms", tests, NULL, NULL);
}
