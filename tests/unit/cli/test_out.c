/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, times, sizes, and agents' words made harmless. */

#include "cli/out.h"

#include <errno.h>
#include <string.h>

#include "cli/table.h"
#include "ground/base/own.h"
#include "tests.h"

static void test_words_stay_on_one_line_and_are_visible(void **state)
{
	static const char hostile[] = "a\nb\tc\033[31mred\r\xe2\x80\xae"
				      "x\xff";
	autofree char *line = out_line(hostile);
	autofree char *none = out_line(NULL);

	(void)state;
	assert_string_equal(line, "a\\nb\\tc\\x1b[31mred\\x0d\\u{202e}x\\xff");
	assert_string_equal(none, "");
}

static void test_long_words_are_cut_between_characters(void **state)
{
	autodone(buf_done) struct buf b = {.max = 1024};

	(void)state;
	out_add_line(&b, "abcd", 4, 4);
	assert_string_equal(buf_text(&b), "abcd");
	buf_reset(&b);
	out_add_line(&b, "abc\xc3\xa9", 5, 4);
	assert_string_equal(buf_text(&b), "abc (+2 bytes)");
}

static void test_columns_line_up(void **state)
{
	autodone(buf_done) struct buf b = {.max = 1024};
	struct table t;

	(void)state;
	table_init(&t, 3, 1u << 1);
	table_add(&t, "NAME");
	table_add(&t, "N");
	table_add(&t, "MARK");
	table_add(&t, "caf\xc3\xa9");
	table_addf(&t, "%d", 120);
	table_add(&t, NULL);
	table_add(&t, "x");
	table_addf(&t, "%d", 7);
	table_add(&t, "evil\033[2J");
	table_write(&t, /* bold= */ false, &b);
	assert_string_equal(buf_text(&b), "NAME    N  MARK\n"
					  "caf\xc3\xa9  120\n"
					  "x       7  evil\\x1b[2J\n");
	buf_reset(&b);
	table_write(&t, /* bold= */ true, &b);
	assert_int_equal(strncmp(buf_text(&b), "\033[1mNAME    N  MARK\033[0m\n", 24), 0);
	table_done(&t);
}

static void test_spans_and_sizes(void **state)
{
	char span[OUT_SPAN_SIZE], bytes[OUT_BYTES_SIZE];

	(void)state;
	out_span(999, span);
	assert_string_equal(span, "999ms");
	out_span(12345, span);
	assert_string_equal(span, "12.3s");
	out_span(185000, span);
	assert_string_equal(span, "3m05s");
	out_span(7380000, span);
	assert_string_equal(span, "2h03m");
	out_span(-1, span);
	assert_string_equal(span, "-");
	out_bytes(312, bytes);
	assert_string_equal(bytes, "312");
	out_bytes(1536, bytes);
	assert_string_equal(bytes, "1.5K");
	out_bytes(20u << 20, bytes);
	assert_string_equal(bytes, "20M");
	out_bytes(UINT64_MAX, bytes);
	assert_string_equal(bytes, "16E");
}

static void test_times_are_utc_where_a_program_reads(void **state)
{
	char out[OUT_TIME_SIZE];

	(void)state;
	out_time((struct wall){0}, /* local= */ false, out);
	assert_string_equal(out, "-");
	out_time((struct wall){1000001}, /* local= */ false, out);
	assert_string_equal(out, "1970-01-01T00:00:01.000001Z");
}

static void test_failures_have_kinds(void **state)
{
	(void)state;
	assert_string_equal(out_failure_kind(EINVAL), "usage");
	assert_string_equal(out_failure_kind(ENOENT), "not_found");
	assert_string_equal(out_failure_kind(ENOTSUP), "not_built");
	assert_string_equal(out_failure_kind(EPERM), "isolation");
	assert_string_equal(out_failure_kind(EIO), "environment");
}

int test_out(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_stay_on_one_line_and_are_visible),
		cmocka_unit_test(test_long_words_are_cut_between_characters),
		cmocka_unit_test(test_columns_line_up),
		cmocka_unit_test(test_spans_and_sizes),
		cmocka_unit_test(test_times_are_utc_where_a_program_reads),
		cmocka_unit_test(test_failures_have_kinds),
	};

	return cmocka_run_group_tests_name("out", tests, NULL, NULL);
}
