/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON, and reading back what was written. */

#include "tests.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"

static void shapes(void **state)
{
	autodone(buf_done) struct buf b = {0};
	struct json_writer w;

	(void)state;
	buf_init(&b, 4096);
	json_writer_init(&w, &b);
	json_object_open(&w);
	json_pair_string(&w, "s", "a\"b\\c\n\t\r\b\f\x01\x1f\x7f/");
	json_pair_string(&w, "none", NULL);
	json_pair_int(&w, "i", INT64_MIN);
	json_pair_uint(&w, "u", UINT64_MAX);
	json_pair_bool(&w, "t", true);
	json_pair_bool(&w, "f", false);
	json_pair_double(&w, "d", 0.5);
	json_key(&w, "list");
	json_array_open(&w);
	json_put_int(&w, 1);
	json_array_open(&w);
	json_array_close(&w);
	json_object_open(&w);
	json_object_close(&w);
	json_put_null(&w);
	json_put_raw(&w, "{\"x\": 1}", 8);
	json_put_bytes(&w, "a\0b", 3);
	json_array_close(&w);
	json_pair_uint(&w, "last\n", 0);
	json_object_close(&w);
	assert_int_equal(buf_status(&b), 0);
	assert_string_equal(buf_text(&b),
		"{\"s\":\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u001f\x7f/\",\"none\":null,"
		"\"i\":-9223372036854775808,\"u\":18446744073709551615,\"t\":true,\"f\":false,\"d\":0.5,"
		"\"list\":[1,[],{},null,{\"x\": 1},\"a\\u0000b\"],\"last\\n\":0}");
}

static void every_byte_comes_back(void **state)
{
	autodone(buf_done) struct buf b = {0}, back = {0};
	struct json_writer w;
	struct json_doc d;
	char all[128];

	(void)state;
	for (int i = 0; i < 128; i++)
		all[i] = (char)i;
	buf_init(&b, 4096);
	buf_init(&back, 4096);
	json_writer_init(&w, &b);
	json_put_bytes(&w, all, sizeof(all));
	for (size_t i = 0; i < b.len; i++)
		assert_true((unsigned char)b.data[i] >= 0x20);
	json_doc_init(&d, 10, 1);
	assert_int_equal(json_parse(&d, b.data, b.len, NULL), 0);
	assert_int_equal(json_string(&d, 0, &back), 0);
	assert_int_equal(back.len, sizeof(all));
	assert_memory_equal(back.data, all, sizeof(all));
	json_doc_done(&d);
}

static void bytes_that_are_not_utf8(void **state)
{
	static const struct {
		const char *text, *written;
	} rows[] = {
		{"\xff", "\"\xef\xbf\xbd\""},
		{"a\x80"
		 "b",
			"\"a\xef\xbf\xbd"
			"b\""},
		{"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xc3\xa9\xed\xa0\x80", "\"\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		autodone(buf_done) struct buf b = {0};
		struct json_writer w;

		buf_init(&b, 100);
		json_writer_init(&w, &b);
		json_put_string(&w, rows[i].text);
		assert_string_equal(buf_text(&b), rows[i].written);
	}
}

static void doubles_read_back(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {{0.1, "0.1"}, {1, "1"}, {-2.5, "-2.5"}, {1.0 / 3, "0.3333333333333333"},
		{1e300, "1e+300"}, {0.1 + 0.2, "0.30000000000000004"}, {(double)NAN, "null"},
		{(double)INFINITY, "null"}, {DBL_MIN, "2.2250738585072014e-308"},
		{DBL_MAX, "1.7976931348623157e+308"}};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		autodone(buf_done) struct buf b = {0};
		struct json_writer w;
		struct json_doc d;
		double back;

		buf_init(&b, 100);
		json_writer_init(&w, &b);
		json_put_double(&w, rows[i].value);
		assert_string_equal(buf_text(&b), rows[i].text);
		json_doc_init(&d, 10, 1);
		assert_int_equal(json_parse(&d, b.data, b.len, NULL), 0);
		if (json_double(&d, 0, &back) == 0)
			assert_true(back == rows[i].value);
		json_doc_done(&d);
	}
}

static void wrapped(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *text;
	} rows[] = {
		{"", 0, "{\"text\":\"\"}"},
		{"hi\n", 3, "{\"text\":\"hi\\n\"}"},
		{"a\0b", 3, "{\"text\":\"a\\u0000b\"}"},
		{"\xff", 1, "{\"b64\":\"/w==\"}"},
		{"\xff\xfe", 2, "{\"b64\":\"//4=\"}"},
		{"\xff\xfe\xfd", 3, "{\"b64\":\"//79\"}"},
		{"\xff\x00\x10\x83", 4, "{\"b64\":\"/wAQgw==\"}"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		autodone(buf_done) struct buf b = {0};

		buf_init(&b, 100);
		json_put_wrapped(&b, rows[i].bytes, rows[i].size);
		assert_string_equal(buf_text(&b), rows[i].text);
	}
}

static void failure_sticks(void **state)
{
	autodone(buf_done) struct buf b = {0};
	struct json_writer w;

	(void)state;
	buf_init(&b, 8);
	json_writer_init(&w, &b);
	json_array_open(&w);
	json_put_string(&w, "1234567890");
	json_put_int(&w, 1);
	json_array_close(&w);
	assert_int_equal(buf_status(&b), -EMSGSIZE);
}

int test_json_write(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(every_byte_comes_back),
		cmocka_unit_test(bytes_that_are_not_utf8),
		cmocka_unit_test(doubles_read_back),
		cmocka_unit_test(wrapped),
		cmocka_unit_test(failure_sticks),
	};

	return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
