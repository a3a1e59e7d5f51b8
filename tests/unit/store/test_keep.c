/* SPDX-License-Identifier: Apache-2.0 */
/* Removing attempts and collecting garbage. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "store/blob.h"

static bool is_there(const char *name)
{
	autofree char *path = inside(name);

	return access(path, F_OK) == 0;
}

static bool has_blob(const uint8_t digest[32])
{
	char name[BLOB_NAME_SIZE];

	blob_name(digest, name);
	return is_there(name);
}

static int see_removed(void *context, const struct index_attempt *a)
{
	*(bool *)context = a->removed;
	return 0;
}

static int remove_second(struct index *x, const char *why, uint64_t *ret_bytes, struct err *err)
{
	const struct store_removal what = {&rig_attempts[1], why};

	return store_remove(rig_store, x, rig_key, &what, ret_bytes, err);
}

static void test_remove(void **state)
{
	autofree char *events = own_printf("events/%s.jsonl", rig_attempts[1].text);
	autofree char *manifest = own_printf("manifests/%s.json", rig_manifests[1]);
	autofree char *trial = own_printf("trials/%s/reward.json", rig_attempts[1].text);
	bool removed = false;
	uint64_t bytes = 0;
	struct index *x;

	(void)state;
	assert_int_equal(store_put(rig_store, trial, "{}", 2, NULL), 0);
	must_find("");
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), 0);
	assert_int_equal(remove_second(x, "no \"longer\" needed", &bytes, NULL), 0);
	assert_true(bytes > 1000);
	assert_false(is_there(events));
	assert_false(is_there(manifest));
	assert_false(is_there(trial));
	assert_false(has_blob(rig_blobs[1]));
	assert_true(has_blob(rig_blobs[0]));
	assert_int_equal(index_get_attempt(x, &rig_attempts[1], see_removed, &removed, NULL), 0);
	assert_true(removed);
	assert_int_equal(remove_second(x, "again", &bytes, NULL), -ENOENT);
	index_close(x);
	/* the blob that others name as well is still there, and the gap is explained */
	must_find("");
	must_find_only(&rig_attempts[1], "");
	/* a rebuilt index knows the tombstone as well */
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("");
	assert_int_equal(index_open(rig_store, /* write= */ false, &x, NULL), 0);
	removed = false;
	assert_int_equal(index_get_attempt(x, &rig_attempts[1], see_removed, &removed, NULL), 0);
	assert_true(removed);
	index_close(x);
}

/* A tombstone without the removal, as after a crash: named, and the next rm finishes. */
static void test_remove_cut_short(void **state)
{
	autofree char *name = own_printf("events/%s.jsonl", rig_attempts[1].text),
		      *path = inside(name);
	autodone(buf_done) struct buf text = {.max = 1 << 20};
	uint64_t bytes;
	struct index *x;

	(void)state;
	slurp(path, &text);
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), 0);
	assert_int_equal(remove_second(x, "", &bytes, NULL), 0);
	must_find("");
	spill(path, text.data, text.len);
	must_find("blob.missing manifest.missing tombstone.not_removed");
	assert_int_equal(remove_second(x, "", &bytes, NULL), 0);
	must_find("");
	index_close(x);
}

static void test_remove_living(void **state)
{
	struct event_log *l;
	struct err err = {0};
	uint64_t bytes;
	struct index *x;

	(void)state;
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), 0);
	assert_int_equal(event_log_claim(rig_store, &rig_attempts[1], &l, NULL), 0);
	assert_int_equal(remove_second(x, "", &bytes, &err), -EBUSY);
	assert_non_null(strstr(err.text, "still runs: cancel it first"));
	event_log_close(l);
	index_close(x);
	must_find("");
}

static void test_gc_blobs(void **state)
{
	struct store_gc gc = {.keep_work_bytes = UINT64_MAX, .dry_run = true};
	uint8_t nobodys[32];
	struct index *x;

	(void)state;
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), 0);
	assert_int_equal(store_blob_put(rig_store, "nobody's", 8, nobodys, NULL), 0);
	assert_int_equal(store_gc(rig_store, x, rig_key, &gc, NULL), 0);
	assert_int_equal(gc.blobs, 1);
	assert_true(has_blob(nobodys));
	gc.dry_run = false;
	assert_int_equal(store_gc(rig_store, x, rig_key, &gc, NULL), 0);
	assert_int_equal(gc.blobs, 1);
	assert_int_equal(gc.bytes, 8);
	assert_false(has_blob(nobodys));
	for (int i = 0; i < 3; i++)
		assert_true(has_blob(rig_blobs[i]));
	must_find("");
	index_close(x);
}

/* While an attempt lives, what was linked since it began may be about to be named. */
static void test_gc_living(void **state)
{
	struct store_gc gc = {.keep_work_bytes = UINT64_MAX};
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	uint8_t young[32], ancient[32], manifest[32] = {0};
	char name[BLOB_NAME_SIZE];
	autofree char *path = NULL;
	struct id attempt = new_id();
	struct event_log *l;

	(void)state;
	assert_int_equal(event_log_create(rig_store, &attempt, manifest, &l, NULL), 0);
	assert_int_equal(store_blob_put(rig_store, "young", 5, young, NULL), 0);
	assert_int_equal(store_blob_put(rig_store, "ancient", 7, ancient, NULL), 0);
	blob_name(ancient, name);
	path = inside(name);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_int_equal(store_gc(rig_store, /* x= */ NULL, rig_key, &gc, NULL), 0);
	assert_int_equal(gc.blobs, 1);
	assert_true(has_blob(young));
	assert_false(has_blob(ancient));
	event_log_close(l);
	assert_int_equal(store_gc(rig_store, /* x= */ NULL, rig_key, &gc, NULL), 0);
	assert_int_equal(gc.blobs, 1);
	assert_false(has_blob(young));
}

static char *make_work(const struct id *attempt, size_t bytes, time_t when)
{
	autofree char *name = own_printf("work/%s/ws/file", attempt->text);
	autofree char *top = own_printf("work/%s", attempt->text);
	char *path = inside(top), *content = own_alloc(bytes);
	struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};

	assert_int_equal(store_put(rig_store, name, content, bytes, NULL), 0);
	free(content);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	return path;
}

static void test_gc_work(void **state)
{
	struct store_gc gc = {.keep_work_bytes = 250000};
	autofree char *first = make_work(&rig_attempts[0], 100000, 1000);
	autofree char *second = make_work(&rig_attempts[1], 100000, 3000);
	autofree char *third = make_work(&rig_attempts[2], 100000, 2000);
	autofree char *name = own_printf("live/%s.sock", rig_attempts[0].text),
		      *live = inside(name);

	(void)state;
	spill(live, "", 0);
	assert_int_equal(store_gc(rig_store, /* x= */ NULL, rig_key, &gc, NULL), 0);
	assert_int_equal(gc.work_directories, 1);
	assert_int_equal(gc.sockets, 1);
	assert_int_equal(access(first, F_OK), -1); /* the oldest */
	assert_int_equal(access(second, F_OK), 0);
	assert_int_equal(access(third, F_OK), 0);
	assert_int_equal(access(live, F_OK), -1);
	gc = (struct store_gc){.keep_work_bytes = 250000, .older_than_ms = 1000};
	assert_int_equal(store_gc(rig_store, /* x= */ NULL, rig_key, &gc, NULL), 0);
	assert_int_equal(gc.work_directories, 2);
	assert_int_equal(access(second, F_OK), -1);
	must_find("");
}

/* What an agent may leave: links out, closed directories, a chain deeper than any stack. */
static void test_gc_hostile_work(void **state)
{
	autofree char *top = make_work(&rig_attempts[0], 10, 1000);
	autofree char *outside = own_printf("%s/outside", place());
	autofree char *link = own_printf("%s/link", top), *closed = own_printf("%s/closed", top);
	autofree char *inner = own_printf("%s/closed/inner", top);
	struct store_gc gc = {.keep_work_bytes = 0};
	int fd, next;

	(void)state;
	spill(outside, "mine", 4);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(mkdir(closed, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(chmod(closed, 0), 0);
	fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		assert_int_equal(close(fd), 0);
		fd = next;
	}
	assert_int_equal(close(fd), 0);
	assert_int_equal(store_gc(rig_store, /* x= */ NULL, rig_key, &gc, NULL), 0);
	assert_int_equal(gc.work_directories, 1);
	assert_int_equal(access(top, F_OK), -1);
	assert_int_equal(access(outside, F_OK), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_make, place_remove)

int test_keep(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_remove),
		CASE(test_remove_cut_short),
		CASE(test_remove_living),
		CASE(test_gc_blobs),
		CASE(test_gc_living),
		CASE(test_gc_work),
		CASE(test_gc_hostile_work),
	};

	return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
