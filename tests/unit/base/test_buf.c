/* SPDX-License-Identifier: Apache-2.0 */
/* The buffer: its maximum, its sticking failure, and what it hands over. */

#include "tests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"

static void pieces(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(buf_add(&b, "one", 3), 0);
	assert_int_equal(buf_add_char(&b, ' '), 0);
	assert_int_equal(buf_add_text(&b, "two"), 0);
	assert_int_equal(buf_addf(&b, " %d %s", 3, "four"), 0);
	assert_int_equal(buf_addf(&b, "%s", ""), 0);
	assert_int_equal(buf_add(&b, NULL, 0), 0);
	assert_string_equal(buf_text(&b), "one two 3 four");
	assert_int_equal(b.len, 14);
	buf_drop(&b, 4);
	assert_string_equal(buf_text(&b), "two 3 four");
	buf_drop(&b, 0);
	buf_truncate(&b, 3);
	assert_string_equal(buf_text(&b), "two");
	buf_drop(&b, 3);
	assert_string_equal(buf_text(&b), "");
	buf_truncate(&b, 0);
	buf_done(&b);
	assert_null(b.data);
	assert_int_equal(b.max, 1000);
	buf_done(&b);
}

static void the_maximum_is_exact(void **state)
{
	struct buf b;

	(void)state;
	for (size_t max = 1; max < 300; max++) {
		buf_init(&b, max);
		for (size_t i = 0; i < max; i++)
			assert_int_equal(buf_add_char(&b, 'x'), 0);
		assert_true(b.capacity <= max + 1);
		assert_int_equal(b.data[max], '\0');
		assert_int_equal(buf_add(&b, "", 0), 0);
		assert_int_equal(buf_add_char(&b, 'x'), -EMSGSIZE);
		assert_int_equal(b.len, max);
		buf_done(&b);
	}
	buf_init(&b, 0);
	assert_int_equal(buf_add_text(&b, ""), 0);
	assert_int_equal(buf_add_char(&b, 'x'), -EMSGSIZE);
	buf_done(&b);
	buf_init(&b, 10);
	assert_int_equal(buf_add(&b, "x", SIZE_MAX), -EMSGSIZE);
	buf_done(&b);
}

static void failure_sticks_until_reset(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 5);
	assert_int_equal(buf_add_text(&b, "abc"), 0);
	assert_int_equal(buf_add_text(&b, "defghi"), -EMSGSIZE);
	assert_int_equal(buf_add_text(&b, "d"), -EMSGSIZE);
	assert_int_equal(buf_addf(&b, "%d", 1), -EMSGSIZE);
	assert_null(buf_room(&b, 1));
	assert_int_equal(buf_status(&b), -EMSGSIZE);
	assert_string_equal(buf_text(&b), "abc");
	buf_reset(&b);
	assert_int_equal(buf_status(&b), 0);
	assert_string_equal(buf_text(&b), "");
	assert_non_null(b.data);
	assert_int_equal(buf_addf(&b, "%05d", 42), 0);
	assert_string_equal(buf_text(&b), "00042");
	assert_int_equal(buf_addf(&b, "%d", 1), -EMSGSIZE);
	assert_string_equal(buf_text(&b), "00042");
	buf_done(&b);
	assert_int_equal(buf_status(&b), 0);
}

static void room_and_grow(void **state)
{
	struct buf b;
	char *room;

	(void)state;
	buf_init(&b, 100);
	room = buf_room(&b, 50);
	assert_non_null(room);
	(void)memcpy(room, "12345", 5);
	buf_grow(&b, 5);
	assert_string_equal(buf_text(&b), "12345");
	assert_non_null(buf_room(&b, 95));
	assert_null(buf_room(&b, 96));
	assert_int_equal(buf_status(&b), -EMSGSIZE);
	buf_done(&b);
}

static void text_is_handed_over(void **state)
{
	struct buf b;
	char *text;

	(void)state;
	buf_init(&b, 100);
	text = buf_take(&b); /* of an empty one, too */
	assert_string_equal(text, "");
	free(text);
	buf_add_text(&b, "mine");
	text = buf_take(&b);
	assert_string_equal(text, "mine");
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(b.max, 100);
	free(text);
	buf_done(&b);
}

int test_buf(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces),
		cmocka_unit_test(the_maximum_is_exact),
		cmocka_unit_test(failure_sticks_until_reset),
		cmocka_unit_test(room_and_grow),
		cmocka_unit_test(text_is_handed_over),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
