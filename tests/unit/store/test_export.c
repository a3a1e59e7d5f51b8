/* SPDX-License-Identifier: Apache-2.0 */
/* An export verifies alone, and tampering with it shows. */

#include "tests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "store/blob.h"

static char *directory;

static int make(void **state)
{
	struct err err = {0};
	struct index *x;
	int r;

	if (rig_make(state) < 0)
		return -1;
	directory = own_printf("%s/export", place());
	r = index_open(rig_store, /* write= */ false, &x, &err);
	if (r == 0)
		r = store_export(
			rig_store, x, &rig_attempts[1], /* is_run= */ false, directory, &err);
	if (r < 0)
		print_error("%s\n", err.text);
	index_close(x);
	return r;
}

static int unmake(void **state)
{
	free(directory);
	return place_remove(state);
}

static void must_find_in(const char *path, const char *kinds)
{
	struct err err = {0};
	int r;

	collect_reset();
	r = store_verify_export(path, collect, /* context= */ NULL, &err);
	if (r < 0)
		fail_msg("%s", err.text);
	assert_string_equal(collected(), kinds);
}

static void change(const char *name, const char *from, const char *to)
{
	autofree char *path = own_printf("%s/%s", directory, name);
	autodone(buf_done) struct buf text = {.max = 1 << 20};

	slurp(path, &text);
	replace_once(text.data, from, to);
	spill(path, text.data, text.len);
}

static void test_alone(void **state)
{
	autofree char *store = inside("");
	autofree char *command = own_printf("rm -rf %s %s/state", store, place());

	(void)state;
	assert_int_equal(system(command), 0);
	must_find_in(directory, "");
	must_remark("export.signer");
}

static void test_events(void **state)
{
	(void)state;
	must_find_in(directory, "");
	change("events.jsonl", "\"one\"", "\"eno\"");
	must_find_in(directory, "line.changed");
}

static void test_seal(void **state)
{
	(void)state;
	must_find_in(directory, "");
	change("seal.json", "\"local\":false", "\"local\":true ");
	must_find_in(directory, "seal.changed");
}

static void test_public_key(void **state)
{
	autofree char *path = own_printf("%s/key.pub", directory);

	(void)state;
	must_find_in(directory, "");
	spill(path, "00", 2);
	must_find_in(directory, "key.changed");
}

static void test_manifest(void **state)
{
	(void)state;
	must_find_in(directory, "");
	change("manifest.json", "native", "noneee");
	must_find_in(directory, "manifest.changed");
}

static void test_run(void **state)
{
	(void)state;
	must_find_in(directory, "");
	change("run.json", "run.toml", "nur.toml");
	must_find_in(directory, "run.changed");
}

static void test_record(void **state)
{
	(void)state;
	must_find_in(directory, "");
	change("record.json", "\"graded\":false", "\"graded\":true ");
	must_find_in(directory, "record.changed");
}

static void test_blob_of_export(void **state)
{
	char name[BLOB_NAME_SIZE];
	autofree char *path = NULL;

	(void)state;
	must_find_in(directory, "");
	blob_name(rig_blobs[1], name);
	path = own_printf("%s/%s", directory, name);
	assert_int_equal(remove(path), 0);
	must_find_in(directory, "blob.missing");
}

/* Files taken away one by one: each has its kind. */
static void test_missing(void **state)
{
	static const struct {
		const char *name, *kind;
	} files[] = {{"manifest.json", "manifest.missing"}, {"run.json", "run.missing"},
		{"record.json", "record.missing"}, {"key.pub", "key.changed"},
		{"events.jsonl", "events.missing"}, {"seal.json", "seal.missing"}};

	(void)state;
	must_find_in(directory, "");
	for (size_t i = 0; i < array_count(files); i++) {
		autofree char *path = own_printf("%s/%s", directory, files[i].name);
		autofree char *aside = own_printf("%s/aside", place());

		assert_int_equal(rename(path, aside), 0);
		must_find_in(directory, files[i].kind);
		assert_int_equal(rename(aside, path), 0);
	}
	must_find_in(directory, "");
}

static void test_whole_run(void **state)
{
	autofree char *path = own_printf("%s/run", place());
	autofree char *events =
		own_printf("%s/attempts/%s/events.jsonl", path, rig_attempts[2].text);
	struct err err = {0};
	struct index *x;

	(void)state;
	assert_int_equal(index_open(rig_store, /* write= */ false, &x, &err), 0);
	assert_int_equal(store_export(rig_store, x, &rig_run, /* is_run= */ true, path, &err), 0);
	must_find_in(path, "");
	assert_int_equal(remove(events), 0);
	must_find_in(path, "events.missing");
	/* an existing directory is never written into */
	assert_int_equal(
		store_export(rig_store, x, &rig_run, /* is_run= */ true, path, &err), -EEXIST);
	index_close(x);
}

static void test_unsealed(void **state)
{
	autofree char *path = own_printf("%s/living", place());
	uint8_t manifest[32] = {0};
	struct id attempt = new_id();
	struct err err = {0};
	struct event_log *l;
	struct index *x;

	(void)state;
	assert_int_equal(index_open(rig_store, /* write= */ false, &x, &err), 0);
	assert_int_equal(event_log_create(rig_store, &attempt, manifest, &l, &err), 0);
	assert_int_equal(
		store_export(rig_store, x, &attempt, /* is_run= */ false, path, &err), -EBUSY);
	event_log_close(l);
	assert_int_equal(
		store_export(rig_store, x, &attempt, /* is_run= */ false, path, &err), -ENODATA);
	assert_int_equal(access(path, F_OK), -1);
	index_close(x);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int test_export(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_alone),
		CASE(test_events),
		CASE(test_seal),
		CASE(test_public_key),
		CASE(test_manifest),
		CASE(test_run),
		CASE(test_record),
		CASE(test_blob_of_export),
		CASE(test_missing),
		CASE(test_whole_run),
		CASE(test_unsealed),
	};

	return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
