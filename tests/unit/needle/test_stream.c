/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: every cutting gives the same output; flush; hold-back; seams. */

#include "tests.h"

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
		assert_true(needle_stream_held(s) <= needle_longest(n) - 1 + 12);
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
				  "abc%22efgh%2fjk 616263226566..6162632265666768");
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

static void split_by_flush(void **state)
{
	static const struct needle_secret secret = {"A", "abcdefgh12345678abcdefgh12345678!", 33};
	autodone(buf_done) struct buf out;
	uint64_t counts[1] = {0};
	struct needle *n = NULL;
	struct needle_stream *s;

	(void)state;
	buf_init(&out, 4096);
	assert_int_equal(needle_new(&secret, 1, &n, NULL), 0);
	s = needle_stream_new(n);
	assert_int_equal(needle_stream_write(s, "-abcdefgh12345678abc", 20, &out, counts), 0);
	assert_int_equal(needle_stream_held(s), 19);
	assert_int_equal(needle_stream_flush(s, &out, counts), 0);
	assert_string_equal(buf_text(&out), "-abcdefgh12345678abc");
	assert_int_equal(needle_stream_flush(s, &out, counts), 0);
	assert_int_equal(needle_stream_write(s, "defgh12345678!-", 15, &out, counts), 1);
	assert_string_equal(buf_text(&out), "-abcdefgh12345678abc[redacted:A]-");
	assert_int_equal(counts[0], 1);
	needle_stream_free(s);
	needle_free(n);
	needle_stream_free(NULL);
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
		cmocka_unit_test(split_by_flush),
		cmocka_unit_test(seams),
		cmocka_unit_test(seam_over_many_pieces),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
