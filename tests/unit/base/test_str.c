/* SPDX-License-Identifier: Apache-2.0 */
/* Spans, numbers with units, UTF-8, did-you-mean, text made safe to show. */

#include "tests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

static void spans(void **state)
{
	(void)state;
	assert_int_equal(str_of(NULL).n, 0);
	assert_int_equal(str_of("abc").n, 3);
	assert_int_equal(STR("a\0b").n, 3);
	assert_true(str_is(STR("abc"), "abc"));
	assert_false(str_is(STR("abc"), "abcd"));
	assert_false(str_is(STR("a\0b"), "a"));
	assert_true(str_same((struct str){0}, STR("")));
	assert_false(str_same(STR("a"), STR("b")));
	assert_true(str_starts("HEMRA_X", "HEMRA_"));
	assert_true(str_starts("x", ""));
	assert_false(str_starts("HEM", "HEMRA_"));
	assert_true(str_ends("run.toml", ".toml"));
	assert_false(str_ends("toml", ".toml"));
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		int status;
		uint64_t value;
	} rows[] = {{"0", 0, 0, 0}, {"1", 0, -ERANGE, 0}, {"007", 10, 0, 7}, {"255", 255, 0, 255},
		{"256", 255, -ERANGE, 0}, {"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
		{"18446744073709551616", UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999", UINT64_MAX, -ERANGE, 0}, {"", 9, -EINVAL, 0},
		{"-1", 9, -EINVAL, 0}, {"+1", 9, -EINVAL, 0}, {" 1", 9, -EINVAL, 0},
		{"1 ", 9, -EINVAL, 0}, {"0x1", 9, -EINVAL, 0}, {"1.0", 9, -EINVAL, 0}};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		uint64_t value = 77;

		if (str_parse_u64(rows[i].text, rows[i].max, &value) != rows[i].status ||
			value != (rows[i].status < 0 ? 77 : rows[i].value))
			fail_msg("'%s' gave %llu", rows[i].text, (unsigned long long)value);
	}
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		int status;
		uint64_t bytes;
	} rows[] = {{"0", 0, 0}, {"1024", 0, 1024}, {"64k", 0, 65536}, {"64K", 0, 65536},
		{"512M", 0, UINT64_C(512) << 20}, {"4G", 0, UINT64_C(4) << 30},
		{"4GB", 0, UINT64_C(4) << 30}, {"4GiB", 0, UINT64_C(4) << 30},
		{"2t", 0, UINT64_C(2) << 40}, {"8388607T", 0, UINT64_C(8388607) << 40},
		{"8388608T", -ERANGE, 0}, {"9223372036854775807", 0, INT64_MAX},
		{"9223372036854775808", -ERANGE, 0}, {"", -EINVAL, 0}, {"k", -EINVAL, 0},
		{"1x", -EINVAL, 0}, {"1kx", -EINVAL, 0}, {"1B", -EINVAL, 0}, {"1 k", -EINVAL, 0},
		{"1.5G", -EINVAL, 0}, {"-1k", -EINVAL, 0}};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		uint64_t bytes = 77;

		if (str_parse_bytes(rows[i].text, &bytes) != rows[i].status ||
			bytes != (rows[i].status < 0 ? 77 : rows[i].bytes))
			fail_msg("'%s' gave %llu", rows[i].text, (unsigned long long)bytes);
	}
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		int status;
		int64_t ms;
	} rows[] = {{"0", 0, 0}, {"90", 0, 90000}, {"250ms", 0, 250}, {"30s", 0, 30000},
		{"15m", 0, 900000}, {"2h", 0, 7200000}, {"1d", 0, 86400000},
		{"3660d", 0, INT64_C(3660) * 86400000}, {"3661d", -ERANGE, 0},
		{"99999999999999999999s", -ERANGE, 0}, {"", -EINVAL, 0}, {"s", -EINVAL, 0},
		{"1 s", -EINVAL, 0}, {"1S", -EINVAL, 0}, {"1h30m", -EINVAL, 0},
		{"1.5h", -EINVAL, 0}, {"-1s", -EINVAL, 0}};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		int64_t ms = 77;

		if (str_parse_duration(rows[i].text, &ms) != rows[i].status ||
			ms != (rows[i].status < 0 ? 77 : rows[i].ms))
			fail_msg("'%s' gave %lld", rows[i].text, (long long)ms);
	}
}

static void hex(void **state)
{
	unsigned char bytes[4] = {0x00, 0x7f, 0xab, 0xff}, back[4] = {0};
	char text[9];

	(void)state;
	str_hex(bytes, sizeof(bytes), text);
	assert_string_equal(text, "007fabff");
	assert_int_equal(str_unhex(text, sizeof(back), back), 0);
	assert_memory_equal(back, bytes, sizeof(bytes));
	assert_int_equal(str_unhex("007fabf", 4, back), -EINVAL);
	assert_int_equal(str_unhex("007fabff0", 4, back), -EINVAL);
	assert_int_equal(str_unhex("007FABFF", 4, back), -EINVAL);
	assert_int_equal(str_unhex("007fabfg", 4, back), -EINVAL);
	assert_int_equal(str_unhex("", 0, back), 0);
	str_hex(bytes, 0, text);
	assert_string_equal(text, "");
}

static void utf8(void **state)
{
	/* prefix: how many bytes are well formed; cut: how many at the end may go on */
	static const struct {
		const char *bytes;
		size_t size, prefix, cut;
	} rows[] = {
		{"", 0, 0, 0},
		{"plain ASCII of some length", 26, 26, 0},
		{"a\0b", 3, 3, 0},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, 9, 0},
		{"12345678\xc3\xa9"
		 "12345678",
			18, 18, 0},
		{"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", 10, 10, 0},
		{"\xff", 1, 0, 0},
		{"\x80", 1, 0, 0},
		{"ab\xc0\x80", 4, 2, 0},
		{"\xc1\xbf", 2, 0, 0},
		{"\xe0\x9f\xbf", 3, 0, 0},
		{"\xed\xa0\x80", 3, 0, 0},
		{"\xf0\x8f\xbf\xbf", 4, 0, 0},
		{"\xf4\x90\x80\x80", 4, 0, 0},
		{"\xf5\x80\x80\x80", 4, 0, 0},
		{"12345678\xff", 9, 8, 0},
		{"1234567\xff"
		 "12345678",
			16, 7, 0},
		{"a\xc3", 2, 1, 1},
		{"a\xe2\x82", 3, 1, 2},
		{"a\xf0\x9f\x98", 4, 1, 3},
		{"\xf0\x9f", 2, 0, 2},
		{"a\xed\xa0", 3, 1, 0}, /* already wrong */
		{"a\xf0\x8f", 3, 1, 0},
		{"\xe2(\xa1", 3, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		size_t size = rows[i].size;
		autofree char *exact = malloc(size + (size == 0));

		assert_non_null(exact);
		(void)memcpy(exact, rows[i].bytes, size);
		if (str_utf8_prefix(exact, size) != rows[i].prefix ||
			str_utf8_cut(exact, size) != rows[i].cut ||
			str_is_utf8(exact, size) != (rows[i].prefix == size))
			fail_msg("row %zu: %zu, %zu", i, str_utf8_prefix(exact, size),
				str_utf8_cut(exact, size));
	}
}

static void did_you_mean(void **state)
{
	static const char *const words[] = {"attempts", "concurrency", "harness", "tasks", NULL};
	static const char *const none[] = {NULL};

	(void)state;
	assert_string_equal(str_nearest("atempts", words), "attempts");
	assert_string_equal(str_nearest("attempst", words), "attempts");
	assert_string_equal(str_nearest("task", words), "tasks");
	assert_string_equal(str_nearest("harnes", words), "harness");
	assert_null(str_nearest("colour", words));
	assert_null(str_nearest("", words));
	assert_null(str_nearest("x", none));
	assert_null(str_nearest(
		"a word that is far longer than the sixty-four bytes that the table has room for",
		words));
}

static void made_visible(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *one_line, *lines;
	} rows[] = {
		{"plain \xc3\xa9 \xf0\x9f\x98\x80", 13, "plain \xc3\xa9 \xf0\x9f\x98\x80",
			"plain \xc3\xa9 \xf0\x9f\x98\x80"},
		{"a\nb\tc\r", 6, "a\\x0ab\\x09c\\x0d", "a\nb\tc\\x0d"},
		{"\x1b[31m", 5, "\\x1b[31m", "\\x1b[31m"},
		{"\0", 1, "\\x00", "\\x00"},
		{"\x7f", 1, "\\u{7f}", "\\u{7f}"},
		{"\xc2\x9b", 2, "\\u{9b}", "\\u{9b}"},
		{"\xe2\x80\xae", 3, "\\u{202e}", "\\u{202e}"},
		{"\xe2\x80\x8b", 3, "\\u{200b}", "\\u{200b}"},
		{"\xef\xbb\xbf", 3, "\\u{feff}", "\\u{feff}"},
		{"\xf3\xa0\x81\x81", 4, "\\u{e0041}", "\\u{e0041}"},
		{"\xff\xc3", 2, "\\xff\\xc3", "\\xff\\xc3"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		autodone(buf_done) struct buf b = {0};

		buf_init(&b, 100);
		str_add_visible(&b, rows[i].bytes, rows[i].size, /* keep_lines= */ false);
		assert_string_equal(buf_text(&b), rows[i].one_line);
		buf_reset(&b);
		str_add_visible(&b, rows[i].bytes, rows[i].size, /* keep_lines= */ true);
		assert_string_equal(buf_text(&b), rows[i].lines);
	}
}

int test_str(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans),
		cmocka_unit_test(numbers),
		cmocka_unit_test(sizes),
		cmocka_unit_test(durations),
		cmocka_unit_test(hex),
		cmocka_unit_test(utf8),
		cmocka_unit_test(did_you_mean),
		cmocka_unit_test(made_visible),
	};

	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
