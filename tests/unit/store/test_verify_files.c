/* SPDX-License-Identifier: Apache-2.0 */
/* Tampering with manifests, runs, blobs and the index. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

static char *manifest_path(void)
{
	autofree char *name = own_printf("manifests/%s.json", rig_manifests[1]);

	return inside(name);
}

static char *blob_path(int n)
{
	autofree char *name = NULL;
	char hex[65];

	str_hex(rig_blobs[n], 32, hex);
	name = own_printf("blobs/sha256/%.2s/%s", hex, hex + 2);
	return inside(name);
}

static char *run_path(void)
{
	autofree char *name = own_printf("runs/%s.json", rig_run.text);

	return inside(name);
}

static void test_manifest_changed(void **state)
{
	autofree char *path = manifest_path();

	(void)state;
	must_find("");
	spill(path, "{\"sandbox\":\"none\"}", 18);
	must_find("manifest.changed");
	must_find_only(&rig_attempts[0], "");
}

static void test_manifest_missing(void **state)
{
	autofree char *path = manifest_path();

	(void)state;
	must_find("");
	assert_int_equal(remove(path), 0);
	must_find("manifest.missing");
}

static void test_manifest_stray(void **state)
{
	autofree char *path = inside("manifests/0000.json");

	(void)state;
	spill(path, "{}", 2);
	must_find("");
	must_remark("manifest.stray");
}

static void test_run_changed(void **state)
{
	autofree char *path = run_path();
	autodone(buf_done) struct buf text = {.max = 1 << 20};

	(void)state;
	must_find("");
	slurp(path, &text);
	assert_int_equal(buf_add_text(&text, "\n"), 0);
	spill(path, text.data, text.len);
	must_find("run.changed");
}

static void test_run_missing(void **state)
{
	autofree char *path = run_path();

	(void)state;
	must_find("");
	assert_int_equal(remove(path), 0);
	must_find("index.row_extra run.missing");
}

static void test_blob_changed(void **state)
{
	autofree char *path = blob_path(1);

	(void)state;
	must_find("");
	spill(path, "something else\n", 15);
	must_find("blob.changed");
	must_find_only(&rig_attempts[0], "");
	must_find_only(&rig_attempts[1], "blob.changed");
}

static void test_blob_missing(void **state)
{
	autofree char *path = blob_path(1);

	(void)state;
	must_find("");
	assert_int_equal(remove(path), 0);
	must_find("blob.missing");
}

static void test_blob_link(void **state)
{
	autofree char *path = blob_path(1), *there = blob_path(0);

	(void)state;
	must_find("");
	assert_int_equal(remove(path), 0);
	assert_int_equal(symlink(there, path), 0);
	must_find("blob.not_a_file");
}

static void test_blob_mode(void **state)
{
	autofree char *path = blob_path(1);

	(void)state;
	must_find("");
	assert_int_equal(chmod(path, 0644), 0);
	must_find("blob.mode");
}

static void test_blob_stray(void **state)
{
	uint8_t digest[32];

	(void)state;
	assert_int_equal(store_blob_put(rig_store, "nobody", 6, digest, NULL), 0);
	must_find("");
	must_remark("blob.stray");
}

static void test_row_changed(void **state)
{
	(void)state;
	must_find("");
	tamper("UPDATE scores SET value = 1 WHERE attempt ="
	       " (SELECT min(attempt) FROM scores)");
	must_find("index.row_changed");
	/* the record makes it good */
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("");
}

static void test_row_times_changed(void **state)
{
	(void)state;
	must_find("");
	tamper("UPDATE attempt_transitions SET at = at + 1 WHERE n = 3");
	must_find("index.row_changed");
}

static void test_artifact_row_changed(void **state)
{
	(void)state;
	must_find("");
	tamper("UPDATE artifacts SET sha256 = zeroblob(32) WHERE n = 2");
	must_find("index.row_changed");
}

static void test_row_missing(void **state)
{
	(void)state;
	must_find("");
	tamper("DELETE FROM artifacts WHERE n = 2");
	must_find("index.row_missing");
}

static void test_row_extra(void **state)
{
	(void)state;
	must_find("");
	tamper("INSERT INTO scores SELECT attempt, 'reward', 1 FROM attempts WHERE number = 2");
	must_find("index.row_changed");
	tamper("INSERT INTO attempt_transitions (attempt, state, at) SELECT attempt, 'judging', 1"
	       " FROM attempts WHERE number = 2");
	must_find("index.row_changed index.row_extra");
}

/* An attempt that only the index knows. */
static void test_attempt_extra(void **state)
{
	(void)state;
	must_find("");
	tamper("INSERT INTO attempts SELECT '7' || substr(attempt, 2), run, 4, 4, harness, task, manifest,"
	       " sandbox, weaker, planned FROM attempts WHERE number = 1;"
	       "INSERT INTO unsettled SELECT max(attempt) FROM attempts");
	must_find("index.row_extra");
}

static void test_outcome_missing(void **state)
{
	(void)state;
	must_find("");
	tamper("DELETE FROM scores; DELETE FROM outcomes;"
	       " INSERT INTO unsettled SELECT attempt FROM attempts");
	must_find("index.unsettled index.unsettled index.unsettled");
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("");
}

static void test_index_unreadable(void **state)
{
	autofree char *path = inside("index.sqlite"), *wal = inside("index.sqlite-wal");
	autodone(buf_done) struct buf text = {.max = 1 << 24};

	(void)state;
	must_find("");
	(void)remove(wal); /* gone already when the last connection closed */
	slurp(path, &text);
	(void)memset(text.data + 4096, 0x5a, text.len - 4096);
	spill(path, text.data, text.len);
	must_find("index.unreadable");
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("");
	spill(path, "no database at all, but long enough to be looked at", 51);
	must_find("index.unreadable");
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("");
}

static void test_index_missing(void **state)
{
	autofree char *path = inside("index.sqlite");

	(void)state;
	must_find("");
	assert_int_equal(remove(path), 0);
	must_find("");
	must_remark("index.missing");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_make, place_remove)

int test_verify_files(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_manifest_changed),
		CASE(test_manifest_missing),
		CASE(test_manifest_stray),
		CASE(test_run_changed),
		CASE(test_run_missing),
		CASE(test_blob_changed),
		CASE(test_blob_missing),
		CASE(test_blob_link),
		CASE(test_blob_mode),
		CASE(test_blob_stray),
		CASE(test_row_changed),
		CASE(test_row_times_changed),
		CASE(test_artifact_row_changed),
		CASE(test_row_missing),
		CASE(test_row_extra),
		CASE(test_attempt_extra),
		CASE(test_outcome_missing),
		CASE(test_index_unreadable),
		CASE(test_index_missing),
	};

	return cmocka_run_group_tests_name("verify files", tests, NULL, NULL);
}
