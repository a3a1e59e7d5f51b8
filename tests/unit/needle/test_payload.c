/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON value stays one. */

#include "tests.h"

#include <string.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"
#include "oracle.h"

static bool is_json(const struct buf *b)
{
	struct json_doc d;
	int r;

	json_doc_init(&d, 10000, 100);
	r = json_parse(&d, b->data, b->len, NULL);
	json_doc_done(&d);
	return r == 0;
}

static void cases(void **state)
{
	static const struct needle_secret secrets[] = {
		{"PIN", "1234567890", 10},
		{"DOC", "{\"a\":\"b\"}", 9},
		{"N", "nabcdefgh", 9},
		{"END", "password\":", 10},
	};
	static const struct {
		const char *text, *out;
		int replacements;
		uint64_t counts[4];
	} table[] = {
		{"{\"t\":\"x 1234567890 y\"}", "{\"t\":\"x [redacted:PIN] y\"}", 1, {1}},
		{"{\"t\":1234567890}", "{\"t\":\"[redacted:PIN]\"}", 1, {1}},
		{"{\"t\":-1234567890.5e3, \"u\":1}", "{\"t\":\"[redacted:PIN]\", \"u\":1}", 1, {1}},
		{"[123456789012345678901234567890]", "[\"[redacted:PIN]\"]", 1, {1}},
		{"[1234567890,1234567890]", "[\"[redacted:PIN]\",\"[redacted:PIN]\"]", 2, {2}},
		{"1234567890", "\"[redacted:PIN]\"", 1, {1}},
		{"{\"1234567890\":1}", "{\"[redacted:PIN]\":1}", 1, {1}},
		{"{\"1234567890\":1,\"-1234567890\":2}", "{\"redacted\":\"PIN\"}", 1, {1}},
		{"{\"1234567890\":1,\"[redacted:PIN]\":2}", "{\"redacted\":\"PIN\"}", 1, {1}},
		{"{\"k\":{\"a\":\"b\"}}", "{\"redacted\":\"DOC\"}", 1, {0, 1}},
		{"{\"k\":\"{\\\"a\\\":\\\"b\\\"}\"}", "{\"k\":\"[redacted:DOC]\"}", 1, {0, 1}},
		{"{\"k\":\"\\nabcdefgh\"}", "{\"k\":\"[redacted:N]\"}", 1, {0, 0, 1}},
		{"{\"k\":\"\\\\\\nabcdefgh\\\\\"}", "{\"k\":\"\\\\[redacted:N]\\\\\"}", 1,
			{0, 0, 1}},
		{"{\"password\":1}", "{\"redacted\":\"END\"}", 1, {0, 0, 0, 1}},
		{"{\"password\":1234567890}", "{\"redacted\":\"END\"}", 1, {1, 0, 0, 1}},
	};
	struct needle *n = NULL;

	(void)state;
	assert_int_equal(needle_new(secrets, array_count(secrets), &n, NULL), 0);
	for (size_t i = 0; i < array_count(table); i++) {
		autodone(buf_done) struct buf out;
		uint64_t counts[4] = {0};

		buf_init(&out, 4096);
		assert_int_equal(
			needle_redact_json(n, table[i].text, strlen(table[i].text), &out, counts),
			table[i].replacements);
		assert_string_equal(buf_text(&out), table[i].out);
		assert_true(is_json(&out));
		assert_memory_equal(counts, table[i].counts, sizeof(counts));
	}
	needle_free(n);
}

static void add_random_string(const struct oracle *o, uint64_t *seed, struct json_writer *w)
{
	autodone(buf_done) struct buf text;

	buf_init(&text, 1 << 16);
	random_text(o, seed, "\\n\"ab\xc3\xa9/u0\x01", &text);
	json_put_bytes(w, text.data != NULL ? text.data : "", text.len);
}

/* Random values written by our own writer, secrets in every spelling and cut anywhere in them. */
static void stays_valid(void **state)
{
	static const struct needle_secret secrets[] = {
		{"A", "nu\"b\\u00\xc3\xa9/", 10},
		{"B", "\\ud83d\\ude00", 12},
		{"C", "\xa9zzz\xc3\xa9zz\xc3", 9},
		{"D", "u0041u0041u", 11},
	};
	uint64_t seed = 3;
	unsigned replaced = 0;
	struct needle *n = NULL;
	struct oracle o;

	(void)state;
	assert_int_equal(needle_new(secrets, array_count(secrets), &n, NULL), 0);
	oracle_init(&o, secrets, array_count(secrets));
	for (int round = 0; round < 5000; round++) {
		autodone(buf_done) struct buf text, out;
		struct json_writer w;
		int r;

		buf_init(&text, 1 << 20);
		buf_init(&out, 1 << 20);
		json_writer_init(&w, &text);
		json_object_open(&w);
		json_key(&w, "k");
		add_random_string(&o, &seed, &w);
		json_key(&w, "l");
		json_array_open(&w);
		add_random_string(&o, &seed, &w);
		json_put_int(&w, 42);
		add_random_string(&o, &seed, &w);
		json_array_close(&w);
		json_object_close(&w);
		assert_true(is_json(&text)); /* control: it was one before */
		r = needle_redact_json(n, text.data, text.len, &out, NULL);
		assert_true(r >= 0);
		replaced += (unsigned)r;
		assert_true(is_json(&out));
	}
	assert_true(replaced > 1000);
	oracle_done(&o);
	needle_free(n);
}

int test_payload(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),
		cmocka_unit_test(stays_valid),
	};

	return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}
