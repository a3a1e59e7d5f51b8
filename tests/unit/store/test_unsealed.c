/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts that no seal vouches for. */

#include "tests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"

static int see(void *context, const struct id *attempt)
{
	strv_add(context, attempt->text);
	return 0;
}

static void must_see(const char *const *wanted, size_t count)
{
	autodone(strv_done) char **seen = NULL;
	struct err err = {0};

	if (store_each_unsealed(rig_store, see, &seen, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(strv_count(seen), count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(seen[i], wanted[i]);
}

/* The last seal is taken away, as where hemra died before it came. */
static void test_lost_seal(void **state)
{
	autofree char *path = inside("seals.jsonl");
	autodone(lines_done) struct lines l;

	(void)state;
	must_see(NULL, 0);
	lines_read(path, &l);
	lines_drop(&l, 2);
	lines_write(path, &l);
	must_see((const char *const[]){rig_attempts[2].text}, 1);
	lines_drop(&l, 0);
	lines_write(path, &l);
	must_see((const char *const[]){rig_attempts[0].text, rig_attempts[2].text}, 2);
	assert_int_equal(remove(path), 0);
	must_see((const char *const[]){rig_attempts[0].text, rig_attempts[1].text,
			 rig_attempts[2].text},
		3);
}

/* One that lives is its steward's; one without a tombstone's events is nobody's. */
static void test_living_and_removed(void **state)
{
	autofree char *name = own_printf("events/%s.jsonl", rig_attempts[0].text),
		      *path = inside(name);
	const struct store_removal what = {&rig_attempts[0], ""};
	struct id attempt = new_id();
	uint8_t manifest[32] = {0};
	struct event_log *l;
	uint64_t bytes;

	(void)state;
	assert_int_equal(event_log_create(rig_store, &attempt, manifest, &l, NULL), 0);
	must_see(NULL, 0);
	event_log_close(l);
	must_see((const char *const[]){attempt.text}, 1);
	assert_int_equal(store_remove(rig_store, /* x= */ NULL, rig_key, &what, &bytes, NULL), 0);
	spill(path, "left", 4); /* a removal that was cut short */
	must_see((const char *const[]){attempt.text}, 1);
}

static int stop(void *context, const struct id *attempt)
{
	(void)attempt;
	(*(int *)context)++;
	return 7;
}

static void test_stops_and_refuses(void **state)
{
	autofree char *path = inside("seals.jsonl");
	struct err err = {0};
	int calls = 0;

	(void)state;
	assert_int_equal(remove(path), 0);
	assert_int_equal(store_each_unsealed(rig_store, stop, &calls, &err), 7);
	assert_int_equal(calls, 1);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(store_each_unsealed(rig_store, stop, &calls, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'seals.jsonl' is not a regular file"));
	assert_int_equal(calls, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_make, place_remove)

int test_unsealed_list(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_lost_seal),
		CASE(test_living_and_removed),
		CASE(test_stops_and_refuses),
	};

	return cmocka_run_group_tests_name("unsealed", tests, NULL, NULL);
}
