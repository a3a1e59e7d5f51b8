/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: every cutting gives the same output; flush; hold-back; seams. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "ground/base/own.h"
#include "oracle.h"

static const struct needle_secret pair[] = {
	{"A", "abc\"efgh/jk", 11},
	{"B", "efgh/jklmno\xc3\xa9p\\", 15},
};

/* Text through a stream in pieces cut at the given places; the end is flushed. */
static int through(const struct needle *n, const struct buf *text, const size_t *cuts, size_t count,
	struct buf *out, uint64_t *counts)
{
	const char *bytes = text->len > 0 ? text->data : "";
	struct needle_stream *s = needle_stream_new(n);
	size_t done = 0;
	int total = 0, r;

	for (size_t i = 0; i <= count; i++) {
		size_t end = i < count ? cuts[i] : text->len;

		r = needle_stream_write(s, bytes + done, end - done, out, counts);
		assert_true(r >= 0);
		assert_true(needle_stream_held(s) <= NEEDLE_HOLD_MAX);
		total += r;
		done = end;
	}
	r = needle_stream_flush(s, out, counts);
	assert_true(r >= 0);
	assert_int_equal(needle_stream_held(s), 0);
	needle_stream_free(s);
	return total + r;
}

static void expect_same(
	const struct needle *n, const struct buf *text, const size_t *cuts, size_t count)
{
	autodone(buf_done) struct buf out, wanted;
	uint64_t counts[8] = {0}, wanted_counts[8] = {0};

	buf_init(&out, 1 << 16);
	buf_init(&wanted, 1 << 16);
	assert_int_equal(through(n, text, cuts, count, &out, counts),
		needle_redact(n, text->data, text->len, &wanted, wanted_counts));
	assert_string_equal(buf_text(&out), buf_text(&wanted));
	assert_memory_equal(counts, wanted_counts, sizeof(counts));
}

static void every_split(void **state)
{
	struct needle *n = NULL;
	struct oracle o;

	(void)state;
	assert_int_equal(needle_new(pair, 2, &n, NULL), 0);
	oracle_init(&o, pair, 2);
	for (size_t i = 0; i < o.count; i++) {
		autodone(buf_done) struct buf text;
		size_t cuts[2];

		buf_init(&text, 4096);
		(void)buf_add_text(&text, "\\");
		(void)buf_add(&text, o.spellings[i].text, o.spellings[i].size);
		(void)buf_add_text(&text, "\\u00e9.");
		for (cuts[0] = 0; cuts[0] <= text.len; cuts[0]++) {
			expect_same(n, &text, cuts, 1);
			for (cuts[1] = cuts[0]; cuts[1] <= text.len; cuts[1]++)
				expect_same(n, &text, cuts, 2);
		}
	}
	oracle_done(&o);
	needle_free(n);
}

static void byte_by_byte(void **state)
{
	autodone(buf_done) struct buf text;
	size_t cuts[256];
	struct needle *n = NULL;

	(void)state;
	buf_init(&text, 4096);
	(void)buf_add_text(&text, "abc\"efgh/jklmno\xc3\xa9p\\\\abc\"efgh/jkabc\"efgh/jk"
				  "abc%22efgh%2fjk 616263226566..6162632265666768.");
	assert_true(text.len < 256);
	for (size_t i = 0; i < text.len; i++)
		cuts[i] = i + 1;
	assert_int_equal(needle_new(pair, 2, &n, NULL), 0);
	expect_same(n, &text, cuts, text.len);
	needle_free(n);
}

static void random_cuts(void **state)
{
	static const char *const alphabets[] = {"ab", "aA6", "a\\u0d8c", "\xc3\xa9z", "%2fF\"/"};
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		const char *alphabet = alphabets[random_below(&seed, array_count(alphabets))];
		char values[3][40];
		struct needle_secret secrets[3];
		struct needle *n = NULL;
		struct oracle o;

		for (uint32_t i = 0; i < 3; i++) {
			uint32_t size = 8 + random_below(&seed, 32);

			for (uint32_t k = 0; k < size; k++)
				values[i][k] =
					alphabet[random_below(&seed, (uint32_t)strlen(alphabet))];
			secrets[i] = (struct needle_secret){
				(const char *[]){"A", "B", "C"}[i], values[i], size};
		}
		assert_int_equal(needle_new(secrets, 3, &n, NULL), 0);
		oracle_init(&o, secrets, 3);
		for (int texts = 0; texts < 20; texts++) {
			autodone(buf_done) struct buf text;
			size_t cuts[64], count = 0, at = 0;

			buf_init(&text, 1 << 16);
			random_text(&o, &seed, alphabet, &text);
			(void)buf_add_char(&text, '~'); /* goes on with nothing */
			while (count < 64 && at < text.len) {
				at += random_below(&seed, 12);
				cuts[count++] = at < text.len ? at : text.len;
			}
			expect_same(n, &text, cuts, count);
		}
		oracle_done(&o);
		needle_free(n);
	}
}

static void holds_no_more_than_needed(void **state)
{
	static const struct needle_secret secret = {"A", "abcdefgh12345678", 16};
	autodone(buf_done) struct buf out;
	struct needle *n = NULL;
	struct needle_stream *s;

	(void)state;
	buf_init(&out, 4096);
	assert_int_equal(needle_new(&secret, 1, &n, NULL), 0);
	s = needle_stream_new(n);
	assert_int_equal(needle_stream_write(s, "hello ~~", 8, &out, NULL), 0);
	assert_int_equal(needle_stream_held(s), 0);
	assert_string_equal(buf_text(&out), "hello ~~");
	assert_int_equal(needle_stream_write(s, "abcd", 4, &out, NULL), 0);
	assert_int_equal(needle_stream_held(s), 4);
	assert_int_equal(needle_stream_write(s, "~", 1, &out, NULL), 0);
	assert_int_equal(needle_stream_held(s), 0);
	assert_string_equal(buf_text(&out), "hello ~~abcd~");
	/* a whole secret at the end is replaced at once */
	assert_int_equal(needle_stream_write(s, "abcdefgh12345678", 16, &out, NULL), 1);
	assert_string_equal(buf_text(&out), "hello ~~abcd~[redacted:A]");
	assert_int_equal(needle_stream_held(s), 0);
	needle_stream_free(s);
	needle_free(n);
}

/* One secret in two writes with a flush between them; then a third one. */
struct drip {
	const char *first, *flushed; /* and all that is written by then */
	const char *second, *written;
	uint64_t count, splits;
};

static void try_drip(const struct needle *n, const struct drip *d)
{
	autodone(buf_done) struct buf out;
	uint64_t counts[1] = {0};
	struct needle_stream *s = needle_stream_new(n);

	buf_init(&out, 4096);
	assert_true(needle_stream_write(s, d->first, strlen(d->first), &out, counts) >= 0);
	assert_true(needle_stream_flush(s, &out, counts) >= 0);
	assert_int_equal(needle_stream_held(s), 0);
	assert_string_equal(buf_text(&out), d->flushed);
	assert_int_equal(needle_stream_flush(s, &out, counts), 0);
	assert_true(needle_stream_write(s, d->second, strlen(d->second), &out, counts) >= 0);
	assert_string_equal(buf_text(&out), d->written);
	assert_int_equal(counts[0], d->count);
	assert_int_equal(needle_stream_splits(s), d->splits);
	/* what comes after is as ever */
	assert_int_equal(
		needle_stream_write(s, "; abcdefgh12345678ABCDEFGH!;", 28, &out, counts), 1);
	assert_int_equal(counts[0], d->count + 1);
	assert_int_equal(needle_stream_splits(s), d->splits);
	needle_stream_free(s);
}

/* The beginning of a secret that is given up is plain only while it gives little away. */
static void given_up(void **state)
{
	static const struct needle_secret secret = {"A", "abcdefgh12345678ABCDEFGH!", 25};
	static const struct drip drips[] = {
		/* 7 bytes: as they are, and the rest is known to be one */
		{"-abcdefg", "-abcdefg", "h12345678ABCDEFGH!-", "-abcdefg[redacted:A]-", 1, 1},
		{"-abcdefg", "-abcdefg", "hello-", "-abcdefghello-", 0, 0},
		/* 8 and more: replaced, and the rest goes too, if it comes */
		{"-abcdefgh", "-[redacted:A]", "12345678ABCDEFGH!-", "-[redacted:A]-", 1, 0},
		{"-abcdefgh12345678ABCDEFGH", "-[redacted:A]", "!-", "-[redacted:A]-", 1, 0},
		{"-abcdefgh", "-[redacted:A]", "ello-", "-[redacted:A]ello-", 1, 0},
		{"-abcdefgh1", "-[redacted:A]", "234abcdefgh-", "-[redacted:A]234abcdefgh-", 1, 0},
		/* in other forms */
		{"6162636465666768", "[redacted:A]", "313233343536373841424344454647482100",
			"[redacted:A]00", 1, 0},
		{"61626364656667", "61626364656667", "68313233343536373841424344454647482100",
			"61626364656667[redacted:A]00", 1, 1},
		{"YWJjZGVmZ2", "YWJjZGVmZ2", "gxMjM0NTY3OEFCQ0RFRkdIIQ", "YWJjZGVmZ2[redacted:A]Q",
			1, 1},
		{"YWJjZGVmZ2g", "[redacted:A]", "xMjM0NTY3OEFCQ0RFRkdIIQ", "[redacted:A]Q", 1, 0},
		{"\"abc\\u0064efgh", "\"[redacted:A]", "12345678ABCDEFG\\u0048!\"",
			"\"[redacted:A]\"", 1, 0},
		{"\"abc\\u0064efgh\\u003", "\"[redacted:A]", "12345678ABCDEFGH!\"",
			"\"[redacted:A]\"", 1, 0},
		{"abc%64efgh1", "[redacted:A]", "2345678ABCDEFGH!.", "[redacted:A].", 1, 0},
	};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(&secret, 1, &n, NULL), 0);
	for (size_t i = 0; i < array_count(drips); i++)
		try_drip(n, &drips[i]);
	needle_free(n);
	needle_stream_free(NULL);
}

/* Byte by byte with a flush after each: seven bytes come through, whatever the form. */
static void flushed_at_every_byte(void **state)
{
	static const struct needle_secret secret = {"A", "abcdefgh12345678ABCDEFGH!", 25};
	static const struct {
		const char *text, *out;
	} rows[] = {
		{"abcdefgh12345678ABCDEFGH!.", "abcdefg[redacted:A]."},
		{"6162636465666768313233343536373841424344454647482100",
			"616263646566676[redacted:A]00"},
		{"\\u0061bcdefgh12345678\\u0041BCDEFGH!.", "\\u0061bcdefg[redacted:A]."},
	};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(&secret, 1, &n, NULL), 0);
	for (size_t i = 0; i < array_count(rows); i++) {
		struct needle_stream *s = needle_stream_new(n);
		autodone(buf_done) struct buf out;
		uint64_t counts[1] = {0};

		buf_init(&out, 4096);
		for (size_t k = 0; k < strlen(rows[i].text); k++) {
			assert_true(needle_stream_write(s, rows[i].text + k, 1, &out, counts) >= 0);
			assert_true(needle_stream_flush(s, &out, counts) >= 0);
		}
		assert_string_equal(buf_text(&out), rows[i].out);
		assert_int_equal(counts[0], 1);
		assert_int_equal(needle_stream_splits(s), 1);
		needle_stream_free(s);
	}
	needle_free(n);
}

/* More than a stream may hold is given up at once, and not plain either. */
static void holds_no_more_than_the_most(void **state)
{
	static char value[NEEDLE_SECRET_MAX];
	const struct needle_secret secret = {"A", value, sizeof(value)};
	autodone(buf_done) struct buf out;
	uint64_t seed = 5, counts[1] = {0};
	struct needle *n = NULL;
	struct needle_stream *s;

	(void)state;
	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (char)('a' + random_below(&seed, 26));
	buf_init(&out, 1 << 20);
	assert_int_equal(needle_new(&secret, 1, &n, NULL), 0);
	s = needle_stream_new(n);
	for (size_t i = 0; i < sizeof(value); i++) {
		char text[64];
		int size = snprintf(text, sizeof(text), "\\u005cu%04x\\u005cu%04x",
			(unsigned)"0123456789abcdef"[value[i] >> 4],
			(unsigned)"0123456789abcdef"[value[i] & 15]);

		assert_true(needle_stream_write(s, text, (size_t)size, &out, counts) >= 0);
		assert_true(needle_stream_held(s) <= NEEDLE_HOLD_MAX);
	}
	assert_int_equal(needle_stream_write(s, ".", 1, &out, counts), 0);
	assert_string_equal(buf_text(&out), "[redacted:A].");
	assert_int_equal(counts[0], 1);
	needle_stream_free(s);
	needle_free(n);
}

static void seams(void **state)
{
	static const char text[] = "..abc\"efgh/jklmno\xc3\xa9p\\..";
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(pair, 2, &n, NULL), 0);
	for (size_t cut = 0; cut < sizeof(text); cut++) {
		struct needle_seam *s = needle_seam_new(n);
		/* A lies in 2..13, B in 6..21; what one piece holds whole is no seam */
		unsigned wanted = (cut > 2 && cut < 13) + (cut > 6 && cut < 21);

		assert_int_equal(needle_seam_feed(s, text, cut), 0);
		assert_int_equal(needle_seam_feed(s, text + cut, sizeof(text) - 1 - cut), wanted);
		assert_int_equal(needle_seam_feed(s, "", 0), 0);
		needle_seam_free(s);
	}
	needle_free(n);
	needle_seam_free(NULL);
}

static void seam_over_many_pieces(void **state)
{
	static const char text[] = "6162632265666768"
				   "2f6a6B"; /* A in hex */
	struct needle *n = NULL;
	struct needle_seam *s;
	unsigned crossed = 0;

	(void)state;
	assert_int_equal(needle_new(pair, 2, &n, NULL), 0);
	s = needle_seam_new(n);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		crossed += needle_seam_feed(s, text + i, 1);
	assert_int_equal(crossed, 1);
	needle_seam_free(s);
	needle_free(n);
}

int test_stream(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split),
		cmocka_unit_test(byte_by_byte),
		cmocka_unit_test(random_cuts),
		cmocka_unit_test(holds_no_more_than_needed),
		cmocka_unit_test(given_up),
		cmocka_unit_test(flushed_at_every_byte),
		cmocka_unit_test(holds_no_more_than_the_most),
		cmocka_unit_test(seams),
		cmocka_unit_test(seam_over_many_pieces),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
