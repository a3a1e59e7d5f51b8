/* SPDX-License-Identifier: Apache-2.0 */
/* Spans, moments and their text. */

#include "tests.h"

#include <errno.h>
#include <string.h>

#include "ground/base/clock.h"
#include "ground/base/own.h"

static void spans(void **state)
{
	struct mono a = mono_now(), b = mono_now(), later;

	(void)state;
	assert_true(b.ns >= a.ns);
	later = mono_add_ms(a, 1500);
	assert_int_equal(mono_ms_between(a, later), 1500);
	assert_int_equal(mono_ms_between(later, a), -1500);
	assert_int_equal(mono_ms_between(a, mono_add_ms(a, -1)), -1);
}

static void moments_as_text(void **state)
{
	static const struct {
		int64_t us;
		const char *text;
	} rows[] = {{0, "1970-01-01T00:00:00.000000Z"}, {1, "1970-01-01T00:00:00.000001Z"},
		{951782400000000, "2000-02-29T00:00:00.000000Z"},
		{1795957200123456, "2026-11-29T13:00:00.123456Z"},
		{253402300799999999, "9999-12-31T23:59:59.999999Z"}};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		char text[WALL_TEXT_SIZE];
		struct wall back = {-1};

		wall_format((struct wall){rows[i].us}, text);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(wall_parse(text, &back), 0);
		assert_true(back.us == rows[i].us);
	}
}

static void round_trip_of_now(void **state)
{
	struct wall now = wall_now(), back;
	char text[WALL_TEXT_SIZE];

	(void)state;
	wall_format(now, text);
	assert_int_equal(strlen(text), WALL_TEXT_SIZE - 1);
	assert_int_equal(wall_parse(text, &back), 0);
	assert_true(back.us == now.us);
	assert_true(wall_add_ms(now, 25).us == now.us + 25000);
}

static void other_forms_are_refused(void **state)
{
	static const char *const texts[] = {"", "2026-11-29", "2026-11-29T13:00:00Z",
		"2026-11-29T13:00:00.123Z", "2026-11-29T13:00:00.123456",
		"2026-11-29T13:00:00.123456+", "2026-11-29 13:00:00.123456Z",
		"2026-13-01T00:00:00.000000Z", "2026-00-01T00:00:00.000000Z",
		"2026-02-29T00:00:00.000000Z", "2026-01-32T00:00:00.000000Z",
		"2026-01-01T24:00:00.000000Z", "2026-01-01T00:60:00.000000Z",
		"2026-01-01T00:00:60.000000Z", "2026-01-01T00:00:00.00000xZ",
		"-026-01-01T00:00:00.000000Z", " 026-01-01T00:00:00.000000Z",
		"2026-01-01T00:00:00.000000Z "};

	(void)state;
	for (size_t i = 0; i < array_count(texts); i++) {
		struct wall w = {77};

		if (wall_parse(texts[i], &w) != -EINVAL || w.us != 77)
			fail_msg("'%s' was taken", texts[i]);
	}
}

int test_clock(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans),
		cmocka_unit_test(moments_as_text),
		cmocka_unit_test(round_trip_of_now),
		cmocka_unit_test(other_forms_are_refused),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
