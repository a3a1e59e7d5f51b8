/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements: overlaps, neighbours, borders, counts, and agreement with a naive search. */

#include "tests.h"

#include <errno.h>
#include <string.h>

#include "ground/base/own.h"
#include "oracle.h"

static const struct needle_secret nested[] = {
	{"A", "abcdefgh", 8},
	{"B", "abcdefghijkl", 12}, /* A is its prefix */
	{"C", "efghijklmnop", 12}, /* overlaps A and B */
	{"D", "ijklmnopqrst", 12}, /* touches A, suffix of E */
	{"E", "xxijklmnopqrst", 14},
};

static void cases(void **state)
{
	static const struct {
		const char *text, *out;
		int replacements;
		uint64_t counts[5];
	} table[] = {
		{"", "", 0, {0}},
		{"nothing", "nothing", 0, {0}},
		{"abcdefgh", "[redacted:A]", 1, {1}},
		{"abcdefg", "abcdefg", 0, {0}},
		{".abcdefgh.", ".[redacted:A].", 1, {1}},
		{"abcdefgh abcdefgh", "[redacted:A] [redacted:A]", 2, {2}},
		{"abcdefghabcdefgh", "[redacted:A]", 1, {1}},
		{"abcdefghijkl", "[redacted:A]", 1, {1, 1}},
		{"abcdefghijkl.", "[redacted:A].", 1, {1, 1}},
		{"abcdefghijklmnop", "[redacted:A]", 1, {1, 1, 1}},
		{"abcdefghijklmnopqrst", "[redacted:A]", 1, {1, 1, 1, 1}},
		{"xxijklmnopqrst", "[redacted:E]", 1, {0, 0, 0, 1, 1}},
		{"efghijklmnopqrst", "[redacted:C]", 1, {0, 0, 1, 1}},
		{"-efghijklmnop-ijklmnopqrst-", "-[redacted:C]-[redacted:D]-", 2, {0, 0, 1, 1}},
		{"abcdabcdefgh", "abcd[redacted:A]", 1, {1}},
	};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(nested, array_count(nested), &n, NULL), 0);
	for (size_t i = 0; i < array_count(table); i++) {
		autodone(buf_done) struct buf out;
		uint64_t counts[5] = {0};

		buf_init(&out, 4096);
		assert_int_equal(
			needle_redact(n, table[i].text, strlen(table[i].text), &out, counts),
			table[i].replacements);
		assert_string_equal(buf_text(&out), table[i].out);
		assert_memory_equal(counts, table[i].counts, sizeof(counts));
	}
	needle_free(n);
}

static void counts_may_be_absent(void **state)
{
	autodone(buf_done) struct buf out;
	struct needle *n = NULL;

	(void)state;
	buf_init(&out, 64);
	assert_int_equal(needle_new(nested, 1, &n, NULL), 0);
	assert_int_equal(needle_redact(n, "abcdefgh", 8, &out, NULL), 1);
	needle_free(n);
}

static void full_buffer(void **state)
{
	autodone(buf_done) struct buf out;
	struct needle *n = NULL;

	(void)state;
	buf_init(&out, 10);
	assert_int_equal(needle_new(nested, 1, &n, NULL), 0);
	assert_int_equal(needle_redact(n, "abcdefgh", 8, &out, NULL), -EMSGSIZE);
	buf_reset(&out);
	assert_int_equal(needle_redact(n, "12345678901", 11, &out, NULL), -EMSGSIZE);
	needle_free(n);
}

static void no_secrets(void **state)
{
	autodone(buf_done) struct buf out;
	struct needle *n = NULL;

	(void)state;
	buf_init(&out, 64);
	assert_int_equal(needle_new(NULL, 0, &n, NULL), 0);
	assert_int_equal(needle_secret_count(n), 0);
	assert_int_equal(needle_longest(n), 0);
	assert_int_equal(needle_redact(n, "abcdefgh", 8, &out, NULL), 0);
	assert_string_equal(buf_text(&out), "abcdefgh");
	assert_false(needle_occurs(n, "abcdefgh", 8));
	needle_free(n);
	needle_free(NULL);
}

/* Whole characters and whole escapes go, whatever byte the secret begins or ends with. */
static void units(void **state)
{
	static const struct needle_secret secrets[] = {
		{"N", "nabcdefgh", 9},
		{"BS", "12345678\\", 9},
		{"CONT", "\x82\xacmiddle\xc3", 9},
		{"HEX", "d83dxyz\\ud83d", 13},
	};
	static const struct {
		const char *text, *out;
	} table[] = {
		{"\\nabcdefgh", "[redacted:N]"},
		{"\\\\nabcdefgh", "\\\\[redacted:N]"},
		{"\\\\\\nabcdefgh", "\\\\[redacted:N]"},
		{"12345678\\\"", "[redacted:BS]"},
		{"12345678\\u0041B", "[redacted:BS]B"},
		{"12345678\\ud83d\\ude00B", "[redacted:BS]B"},
		{"12345678\\ud83d\\u0041B", "[redacted:BS]\\u0041B"},
		{"12345678\\", "[redacted:BS]"},
		{"\xe2\x82\xacmiddle\xc3\xa9!", "[redacted:CONT]!"},
		{"\x82\xacmiddle\xc3!", "[redacted:CONT]!"},
		{"\\ud83dxyz\\ud83d\\ude00!", "[redacted:HEX]!"},
		{"a\\ud83dxyz\\ud83d", "a[redacted:HEX]"},
	};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(secrets, array_count(secrets), &n, NULL), 0);
	for (size_t i = 0; i < array_count(table); i++) {
		autodone(buf_done) struct buf out;

		buf_init(&out, 4096);
		assert_int_equal(
			needle_redact(n, table[i].text, strlen(table[i].text), &out, NULL), 1);
		assert_string_equal(buf_text(&out), table[i].out);
	}
	needle_free(n);
}

static void compare(const struct needle *n, const struct oracle *o, const struct buf *text)
{
	autodone(buf_done) struct buf out, wanted;
	uint64_t counts[8] = {0}, wanted_counts[8] = {0};
	int r, wanted_r;

	buf_init(&out, 1 << 20);
	buf_init(&wanted, 1 << 20);
	r = needle_redact(n, text->data, text->len, &out, counts);
	wanted_r = oracle_redact(o, (uint8_t *)text->data, text->len, &wanted, wanted_counts);
	assert_int_equal(r, wanted_r);
	assert_int_equal(out.len, wanted.len);
	if (out.len > 0)
		assert_memory_equal(out.data, wanted.data, out.len);
	assert_memory_equal(counts, wanted_counts, sizeof(counts));
	assert_int_equal(needle_occurs(n, text->data, text->len), r > 0);
}

/* Long texts are walked at several places at once: a secret is found wherever it lies in one. */
static void every_offset(void **state)
{
	static const struct needle_secret secrets[] = {
		{"A", "abcdefgh", 8}, {"B", "0123456789ABCDEFGHIJKLMNOPQRSTUV", 32}};
	static const size_t sizes[] = {95, 96, 97, 98, 99, 100, 2047, 2048, 2049, 2200};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(secrets, 2, &n, NULL), 0);
	for (size_t i = 0; i < array_count(sizes); i++) {
		for (size_t k = 0; k < 2; k++) {
			size_t size = sizes[i], bytes = secrets[k].value_bytes;
			char text[2200];

			for (size_t at = 0; at + bytes <= size; at++) {
				memset(text, k == 0 ? 'a' : '0', size);
				assert_false(needle_occurs(n, text, size));
				memcpy(text + at, secrets[k].value, bytes);
				assert_true(needle_occurs(n, text, size));
				text[at + bytes - 1] ^= 1;
				assert_false(needle_occurs(n, text, size));
			}
		}
	}
	needle_free(n);
}

/* Small alphabets make overlaps and near misses common. */
static void random_agreement(void **state)
{
	static const char *const alphabets[] = {"ab", "aA6", "a\\u0", "\xc3\xa9z", "%2fF\"/"};
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		const char *alphabet = alphabets[random_below(&seed, array_count(alphabets))];
		char values[4][24];
		struct needle_secret secrets[4];
		uint32_t count = 1 + random_below(&seed, 4);
		struct needle *n = NULL;
		struct oracle o;

		for (uint32_t i = 0; i < count; i++) {
			uint32_t size = 8 + random_below(&seed, 16);

			for (uint32_t k = 0; k < size; k++)
				values[i][k] =
					alphabet[random_below(&seed, (uint32_t)strlen(alphabet))];
			secrets[i] = (struct needle_secret){
				(const char *[]){"A", "B", "C", "D"}[i], values[i], size};
		}
		assert_int_equal(needle_new(secrets, count, &n, NULL), 0);
		oracle_init(&o, secrets, count);
		for (int texts = 0; texts < 20; texts++) {
			autodone(buf_done) struct buf text;

			buf_init(&text, 1 << 16);
			random_text(&o, &seed, alphabet, &text);
			compare(n, &o, &text);
		}
		oracle_done(&o);
		needle_free(n);
	}
}

int test_redact(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
		cmocka_unit_test(counts_may_be_absent),
		cmocka_unit_test(full_buffer),
		cmocka_unit_test(no_secrets),
		cmocka_unit_test(units),
		cmocka_unit_test(every_offset),
		cmocka_unit_test(random_agreement),
	};

	return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
