/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals, the largest needles, values that repeat themselves, vaults. */

#include "tests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ground/base/own.h"
#include "ground/base/vault.h"
#include "needle/hunt.h"
#include "oracle.h"

static void refusals(void **state)
{
	static char long_name[200], long_value[NEEDLE_SECRET_MAX + 1];
	static struct needle_secret many[NEEDLE_SECRETS_MAX + 1];
	const struct {
		struct needle_secret secret;
		const char *text;
	} table[] = {
		{{"TOKEN", "1234567", 7},
			"secret 'TOKEN' is shorter than 8 bytes: it would be found by chance"},
		{{"TOKEN", long_value, sizeof(long_value)},
			"secret 'TOKEN' is longer than 16384 bytes"},
		{{"", "12345678", 8}, "the name of secret 1 is not 1 to 128 printable ASCII "
				      "characters without quote and backslash"},
		{{"a\"b", "12345678", 8}, "the name of secret 1 is not 1 to 128 printable ASCII "
					  "characters without quote and backslash"},
		{{long_name, "12345678", 8}, "the name of secret 1 is not 1 to 128 printable ASCII "
					     "characters without quote and backslash"},
	};
	struct needle *n = NULL;
	struct err err = {0};

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	for (size_t i = 0; i < array_count(table); i++) {
		assert_int_equal(needle_new(&table[i].secret, 1, &n, &err), -EINVAL);
		assert_string_equal(err.text, table[i].text);
		assert_null(n);
	}
	for (size_t i = 0; i < array_count(many); i++)
		many[i] = (struct needle_secret){"X", "12345678", 8};
	assert_int_equal(needle_new(many, array_count(many), &n, &err), -EINVAL);
	assert_string_equal(err.text, "257 secrets are too many: at most 256");
	assert_int_equal(needle_new(many, array_count(many) - 1, &n, &err), 0);
	needle_free(n);
}

static void fill(uint64_t *seed, uint8_t *value, size_t size, bool text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (size_t i = 0; i < size; i++)
		value[i] =
			text ? (uint8_t)digits[random_below(seed, 64)] : (uint8_t)random_next(seed);
}

/* The most and the longest secrets there can be: built within the bound, the last one is found. */
static void largest(size_t size, bool text)
{
	static uint8_t values[NEEDLE_SECRETS_MAX][NEEDLE_SECRET_MAX];
	static struct needle_secret secrets[NEEDLE_SECRETS_MAX];
	static char names[NEEDLE_SECRETS_MAX][8];
	autodone(buf_done) struct buf out;
	struct needle *n = NULL;
	struct err err = {0};
	uint64_t seed = 11;

	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < NEEDLE_SECRETS_MAX; i++) {
		fill(&seed, values[i], size, text);
		(void)snprintf(names[i], sizeof(names[i]), "S%zu", i);
		secrets[i] = (struct needle_secret){names[i], values[i], size};
	}
	assert_int_equal(needle_new(secrets, NEEDLE_SECRETS_MAX, &n, &err), 0);
	assert_true(n->dfa.next_bytes <= DFA_BYTES_MAX);
	print_message("# 256 secrets of %zu bytes, %s: %u states, %u classes, %zu KiB\n", size,
		text ? "text" : "binary", n->dfa.states, n->dfa.classes, n->dfa.next_bytes >> 10);
	assert_int_equal(needle_redact(n, values[255], size, &out, NULL), 1);
	assert_string_equal(buf_text(&out), "[redacted:S255]");
	buf_reset(&out);
	assert_int_equal(needle_redact(n, values[255] + 1, size - 1, &out, NULL), 0);
	needle_free(n);
}

static void many_of_text(void **state)
{
	(void)state;
	largest(1024, /* text= */ true);
}

static void largest_binary(void **state)
{
	(void)state;
	largest(NEEDLE_SECRET_MAX, /* text= */ false);
}

/* A long value of one repeated character, and text that almost matches everywhere: bounded work,
 * and the value itself never comes through. */
static void repeating(void **state)
{
	static char value[NEEDLE_SECRET_MAX], text[1 << 20];
	const struct needle_secret secret = {"R", value, sizeof(value)};
	autodone(buf_done) struct buf out;
	struct needle *n = NULL;

	(void)state;
	memset(value, 'a', sizeof(value) - 1);
	value[sizeof(value) - 1] = 'b';
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 'b';
	buf_init(&out, 2 << 20);
	assert_int_equal(needle_new(&secret, 1, &n, NULL), 0);
	assert_true(needle_redact(n, text, sizeof(text), &out, NULL) >= 1);
	assert_null(memmem(buf_text(&out), out.len, value, sizeof(value)));
	needle_free(n);
}

/* The same in a stream of small pieces: what is paid for stays in proportion to what was fed. */
static void repeating_in_pieces(void **state)
{
	static char value[NEEDLE_SECRET_MAX], text[1 << 18];
	const struct needle_secret secret = {"R", value, sizeof(value)};
	autodone(buf_done) struct buf out;
	struct needle *n = NULL;
	struct needle_stream *s;

	(void)state;
	memset(value, 'a', sizeof(value) - 1);
	value[sizeof(value) - 1] = 'b';
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 'b';
	buf_init(&out, 2 << 20);
	assert_int_equal(needle_new(&secret, 1, &n, NULL), 0);
	s = needle_stream_new(n);
	for (size_t at = 0; at < sizeof(text); at += 100) {
		size_t piece = sizeof(text) - at < 100 ? sizeof(text) - at : 100;

		assert_true(needle_stream_write(s, text + at, piece, &out, NULL) >= 0);
		assert_true(needle_stream_held(s) <= sizeof(value) + 12);
	}
	assert_true(needle_stream_flush(s, &out, NULL) >= 0);
	assert_null(memmem(buf_text(&out), out.len, value, sizeof(value)));
	needle_stream_free(s);
	needle_free(n);
}

/* Secrets of one alphabet in both cases make the either-case spellings and the exact ones meet. */
static void cases_that_meet(void **state)
{
	static char values[64][9];
	struct needle_secret secrets[66];
	struct needle *n = NULL;
	uint64_t seed = 5;

	(void)state;
	for (size_t i = 0; i < 64; i++) {
		for (size_t k = 0; k < 8; k++)
			values[i][k] = "aA"[random_below(&seed, 2)];
		secrets[i] = (struct needle_secret){"T", values[i], 8};
	}
	secrets[64] = (struct needle_secret){"X", "\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa", 8};
	secrets[65] = (struct needle_secret){"Y", "\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa", 9};
	assert_int_equal(needle_new(secrets, 66, &n, NULL), 0);
	assert_true(n->dfa.states < 20000);
	assert_true(needle_occurs(n, "aAAaaaAAaAaAAAaa", 16));
	assert_false(needle_occurs(n, "aAAaaaAbAAAAaa", 14));
	needle_free(n);
}

/* A vault keeps its bytes when it grows, and is unmapped when it is given back. */
static void vaults(void **state)
{
	char *p = vault_alloc(4096), *q;
	unsigned char resident;

	(void)state;
	assert_non_null(p);
	assert_int_equal(p[4095], 0);
	memcpy(p, "secret", 7);
	q = vault_grow(p, 4096, 8192);
	assert_non_null(q);
	assert_string_equal(q, "secret");
	assert_int_equal(mincore(q, 4096, &resident), 0); /* control */
	vault_free(q, 8192);
	assert_int_equal(mincore(q, 4096, &resident), -1);
	assert_int_equal(errno, ENOMEM);
	vault_free(NULL, 0);
}

int test_limits(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),
		cmocka_unit_test(many_of_text),
		cmocka_unit_test(largest_binary),
		cmocka_unit_test(repeating),
		cmocka_unit_test(repeating_in_pieces),
		cmocka_unit_test(cases_that_meet),
		cmocka_unit_test(vaults),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
