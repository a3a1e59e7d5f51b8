/* SPDX-License-Identifier: Apache-2.0 */
/* What is no regular file, cannot be read, is far too large or another user's: named, never waited for. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "store/blob.h"

#define TERABYTE ((off_t)1 << 40)
#define WAIT_S   20 /* a test that waits for a FIFO or reads a terabyte dies of this */

enum shape {
	SHAPE_FIFO,
	SHAPE_DIRECTORY,
	SHAPE_LINK,
	SHAPE_CLOSED,
	SHAPE_COUNT,
};

static int make(void **state)
{
	(void)alarm(WAIT_S);
	return rig_make(state);
}

static int unmake(void **state)
{
	(void)alarm(0);
	return place_remove(state);
}

/* Puts something else in the place of path and the file itself aside. */
static void replace(const char *path, const char *aside, enum shape shape)
{
	assert_int_equal(rename(path, aside), 0);
	if (shape == SHAPE_FIFO)
		assert_int_equal(mkfifo(path, 0600), 0);
	else if (shape == SHAPE_DIRECTORY)
		assert_int_equal(mkdir(path, 0700), 0);
	else if (shape == SHAPE_LINK)
		assert_int_equal(symlink(aside, path), 0);
	else
		spill(path, "", 0);
	if (shape == SHAPE_CLOSED)
		assert_int_equal(chmod(path, 0), 0);
}

static void put_back(const char *path, const char *aside)
{
	assert_int_equal(remove(path), 0);
	assert_int_equal(rename(aside, path), 0);
}

/* root reads what is closed to it only without its capabilities. */
static void set_effective(uint32_t bits)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}};

	assert_int_equal(syscall(SYS_capget, &header, sets), 0);
	sets[0].effective = sets[0].permitted & bits;
	assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

static const uint32_t no_override = ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));

/* With a change of another kind beside it, which must be found as well. */
static void try_shapes(const char *name, const char *not_a_file, const char *unreadable)
{
	autofree char *path = inside(name), *aside = own_printf("%s/aside", place());

	for (int shape = 0; shape < SHAPE_COUNT; shape++) {
		replace(path, aside, (enum shape)shape);
		set_effective(no_override);
		must_find(shape == SHAPE_CLOSED ? unreadable : not_a_file);
		set_effective(UINT32_MAX);
		put_back(path, aside);
	}
}

/* An attempt of which one more thing is wrong: every round must find it as well. */
static void break_second_blob(void)
{
	char name[BLOB_NAME_SIZE];
	autofree char *path = NULL;

	blob_name(rig_blobs[1], name);
	path = inside(name);
	spill(path, "output of attempt 9\n", 20);
	must_find("blob.changed");
}

static void test_events(void **state)
{
	autofree char *name = own_printf("events/%s.jsonl", rig_attempts[0].text);

	(void)state;
	break_second_blob();
	try_shapes(name, "blob.changed events.not_a_file", "blob.changed events.unreadable");
	must_find("blob.changed");
}

static void test_manifest(void **state)
{
	autofree char *name = own_printf("manifests/%s.json", rig_manifests[0]);

	(void)state;
	break_second_blob();
	try_shapes(name, "blob.changed manifest.not_a_file", "blob.changed manifest.unreadable");
}

static void test_run(void **state)
{
	autofree char *name = own_printf("runs/%s.json", rig_run.text);

	(void)state;
	break_second_blob();
	try_shapes(name, "blob.changed index.row_extra run.not_a_file",
		"blob.changed index.row_extra run.unreadable");
}

static void test_blob_shapes(void **state)
{
	char name[BLOB_NAME_SIZE];

	(void)state;
	break_second_blob();
	blob_name(rig_blobs[0], name);
	try_shapes(name, "blob.changed blob.not_a_file", "blob.changed blob.unreadable");
}

static void test_seals(void **state)
{
	autofree char *path = inside("seals.jsonl"), *aside = own_printf("%s/aside", place());

	(void)state;
	break_second_blob();
	replace(path, aside, SHAPE_FIFO);
	must_find("blob.changed seal.missing seal.missing seal.missing seals.not_a_file");
	put_back(path, aside);
	must_find("blob.changed");
}

static void test_index_shapes(void **state)
{
	autofree char *path = inside("index.sqlite"), *aside = own_printf("%s/aside", place());
	struct index *x = NULL;

	(void)state;
	break_second_blob();
	for (int shape = SHAPE_FIFO; shape <= SHAPE_LINK; shape++) {
		struct err err = {0};

		replace(path, aside, (enum shape)shape);
		must_find("blob.changed index.not_a_file");
		assert_int_equal(index_open(rig_store, /* write= */ false, &x, &err), -EINVAL);
		assert_int_equal(index_open(rig_store, /* write= */ true, &x, &err), -EINVAL);
		assert_non_null(strstr(err.text, "is not a regular file: hemra doctor --reindex"));
		put_back(path, aside);
	}
	/* a FIFO and a link give way to a new index, and what the link points to is left alone */
	replace(path, aside, SHAPE_FIFO);
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("blob.changed");
	put_back(path, aside);
	replace(path, aside, SHAPE_LINK);
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("blob.changed");
	put_back(path, aside);
	must_find("blob.changed");
}

static void test_index_log_is_fifo(void **state)
{
	autofree char *path = inside("index.sqlite-wal");

	(void)state;
	must_find("");
	(void)remove(path); /* gone when the last one closed */
	assert_int_equal(mkfifo(path, 0600), 0);
	must_find("index.not_a_file");
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("");
}

static void test_id_and_lock(void **state)
{
	autofree char *id = inside("id"), *lock = inside("lock");
	autofree char *aside = own_printf("%s/aside", place());
	struct err err = {0};
	uint8_t digest[32];

	(void)state;
	replace(id, aside, SHAPE_FIFO);
	must_find("id.not_a_file");
	put_back(id, aside);
	must_find("");
	replace(lock, aside, SHAPE_FIFO);
	must_find("lock.not_a_file");
	assert_int_equal(store_blob_put(rig_store, "x", 1, digest, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'lock' is not a regular file"));
	put_back(lock, aside);
	must_find("");
}

/* A directory that is none: told, and the rest is looked at. */
static void test_directories(void **state)
{
	static const struct {
		const char *name, *kinds;
	} cases[] = {
		{"runs", "blob.changed directory.unreadable run.unreadable"},
		{"manifests",
			"blob.changed directory.unreadable manifest.unreadable manifest.unreadable"
			" manifest.unreadable"},
	};
	autofree char *aside = own_printf("%s/aside", place());

	(void)state;
	break_second_blob();
	for (size_t i = 0; i < array_count(cases); i++) {
		autofree char *path = inside(cases[i].name);

		replace(path, aside, SHAPE_FIFO);
		must_find(cases[i].kinds);
		put_back(path, aside);
	}
	must_find("blob.changed");
}

/* Everything that opens an attempt's events refuses a FIFO at once. */
static void test_others_do_not_wait(void **state)
{
	autofree char *name = own_printf("events/%s.jsonl", rig_attempts[0].text),
		      *path = inside(name);
	autofree char *aside = own_printf("%s/aside", place());
	autofree char *to = own_printf("%s/export", place());
	const struct store_removal what = {&rig_attempts[0], ""};
	struct store_gc gc = {.keep_work_bytes = UINT64_MAX};
	struct event_log *l = NULL;
	struct err err = {0};
	struct index *x;
	uint64_t bytes;

	(void)state;
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), 0);
	replace(path, aside, SHAPE_FIFO);
	assert_int_equal(event_log_claim(rig_store, &rig_attempts[0], &l, &err), -EINVAL);
	assert_non_null(strstr(err.text, "is not a regular file"));
	assert_int_equal(store_remove(rig_store, x, rig_key, &what, &bytes, &err), -EINVAL);
	assert_int_equal(store_gc(rig_store, x, rig_key, &gc, &err), -EINVAL);
	assert_int_equal(
		store_export(rig_store, x, &rig_attempts[0], /* is_run= */ false, to, &err),
		-EINVAL);
	put_back(path, aside);
	{
		autofree char *seals = inside("seals.jsonl");

		replace(seals, aside, SHAPE_FIFO);
		assert_int_equal(store_export(rig_store, x, &rig_attempts[0],
					 /* is_run= */ false, to, &err),
			-EINVAL);
		assert_int_equal(store_remove(rig_store, x, rig_key, &what, &bytes, &err), -EINVAL);
		put_back(seals, aside);
	}
	replace(path, aside, SHAPE_FIFO);
	/* the others are indexed without it */
	assert_int_equal(index_rebuild(rig_store, &err), 0);
	must_find("events.not_a_file");
	put_back(path, aside);
	index_close(x);
}

/* A blob's place that is taken by something else gets the blob. */
static void test_blob_place_taken(void **state)
{
	char name[BLOB_NAME_SIZE];
	autofree char *path = NULL;
	uint8_t digest[32];
	int fd = -1;

	(void)state;
	blob_name(rig_blobs[0], name);
	path = inside(name);
	assert_int_equal(remove(path), 0);
	assert_int_equal(mkfifo(path, 0444), 0);
	assert_int_equal(store_blob_get(rig_store, rig_blobs[0], &fd, NULL), -EINVAL);
	assert_int_equal(store_blob_put(rig_store, "output of attempt 0\n", 20, digest, NULL), 0);
	assert_memory_equal(digest, rig_blobs[0], 32);
	must_find("");
}

static void grow(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(chmod(path, 0600), 0);
	if (truncate(path, TERABYTE) < 0)
		skip(); /* a file system without such files */
	assert_int_equal(chmod(path, st.st_mode & 07777), 0);
}

static void test_huge(void **state)
{
	char blob[BLOB_NAME_SIZE];
	const char *kinds[] = {"events.appended", "manifest.changed", "index.row_extra run.changed",
		"blob.changed"};
	autofree char *names[] = {own_printf("events/%s.jsonl", rig_attempts[0].text), NULL};
	autofree char *manifest = own_printf("manifests/%s.json", rig_manifests[0]);
	autofree char *run = own_printf("runs/%s.json", rig_run.text);
	const char *const all[] = {names[0], manifest, run, blob};

	(void)state;
	blob_name(rig_blobs[0], blob);
	for (size_t i = 0; i < array_count(all); i++) {
		autofree char *path = inside(all[i]);
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		must_find("");
		grow(path);
		must_find(kinds[i]);
		assert_int_equal(truncate(path, st.st_size), 0);
	}
	must_find("");
}

static void test_huge_seals(void **state)
{
	autofree char *path = inside("seals.jsonl");

	(void)state;
	grow(path);
	must_find("seal.malformed");
}

static void test_huge_unsealed(void **state)
{
	struct id attempt = new_id();
	autofree char *name = own_printf("events/%s.jsonl", attempt.text), *path = inside(name);

	(void)state;
	spill(path, "", 0);
	must_find("");
	must_remark("events.empty");
	grow(path);
	must_find("events.too_large");
}

static void test_export_of_huge(void **state)
{
	char blob[BLOB_NAME_SIZE];
	autofree char *path = NULL, *to = own_printf("%s/export", place());
	struct err err = {0};
	struct index *x;

	(void)state;
	blob_name(rig_blobs[0], blob);
	path = inside(blob);
	grow(path);
	assert_int_equal(index_open(rig_store, /* write= */ false, &x, NULL), 0);
	assert_int_equal(
		store_export(rig_store, x, &rig_attempts[0], /* is_run= */ false, to, &err),
		-EBADMSG);
	assert_non_null(strstr(err.text, "has not the size it was recorded with"));
	index_close(x);
}

/* Lines that do not fit, without end: told some times, and each search of the file is one too many. */
static void test_many_odd_lines(void **state)
{
	autofree char *name = own_printf("events/%s.jsonl", rig_attempts[0].text),
		      *path = inside(name);
	autodone(buf_done) struct buf kinds = {.max = 4096};
	autodone(lines_done) struct lines l;

	(void)state;
	lines_read(path, &l);
	for (size_t at = l.count; at-- > 1;)
		for (int i = 0; i < 12; i++)
			lines_insert(&l, at, l.line[0]);
	lines_write(path, &l);
	assert_int_equal(buf_add_text(&kinds, "line.changed"), 0);
	for (int i = 0; i < 64; i++)
		assert_int_equal(buf_add_text(&kinds, " line.inserted"), 0);
	must_find(buf_text(&kinds));
}

static void test_export_shapes(void **state)
{
	static const struct {
		const char *name, *kind;
	} files[] = {{"manifest.json", "manifest.not_a_file"}, {"run.json", "run.not_a_file"},
		{"record.json", "record.not_a_file"}, {"events.jsonl", "events.not_a_file"},
		{"seal.json", "seal.not_a_file"}, {"key.pub", "key.changed"}};
	autofree char *to = own_printf("%s/export", place());
	autofree char *aside = own_printf("%s/aside", place());
	struct index *x;

	(void)state;
	assert_int_equal(index_open(rig_store, /* write= */ false, &x, NULL), 0);
	assert_int_equal(
		store_export(rig_store, x, &rig_attempts[0], /* is_run= */ false, to, NULL), 0);
	index_close(x);
	for (size_t i = 0; i < array_count(files); i++) {
		autofree char *path = own_printf("%s/%s", to, files[i].name);

		replace(path, aside, SHAPE_FIFO);
		collect_reset();
		assert_int_equal(store_verify_export(to, collect, /* context= */ NULL, NULL), 1);
		assert_string_equal(collected(), files[i].kind);
		put_back(path, aside);
	}
	collect_reset();
	assert_int_equal(store_verify_export(to, collect, /* context= */ NULL, NULL), 0);
}

/* A store of another user may be looked at, and nothing else. */
static void test_other_user(void **state)
{
	autofree char *path = inside("");
	struct store *s = NULL;
	struct err err = {0};
	struct event_log *l;
	struct index *x;
	uint8_t digest[32] = {0};
	struct id id = new_id();

	(void)state;
	if (geteuid() != 0)
		skip(); /* a file cannot be given away */
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(store_open(path, /* flags= */ 0, &s, &err), -EPERM);
	assert_non_null(strstr(err.text, "belongs to user 12345 and you are user 0"));
	assert_int_equal(store_open(path, STORE_CREATE, &s, &err), -EPERM);
	assert_int_equal(store_open(path, STORE_READ, &s, &err), 0);
	assert_int_equal(index_open(s, /* write= */ false, &x, &err), 0);
	index_close(x);
	collect_reset();
	assert_int_equal(store_verify(s, /* only= */ NULL, collect, /* context= */ NULL, &err), 0);
	assert_int_equal(index_open(s, /* write= */ true, &x, &err), -EROFS);
	assert_int_equal(index_rebuild(s, &err), -EROFS);
	assert_int_equal(store_put(s, "runs/x", "", 0, &err), -EROFS);
	assert_int_equal(store_put_once(s, "runs/x", "", 0, &err), -EROFS);
	assert_int_equal(store_blob_put(s, "x", 1, digest, &err), -EROFS);
	assert_int_equal(event_log_create(s, &id, digest, &l, &err), -EROFS);
	assert_int_equal(event_log_claim(s, &rig_attempts[0], &l, &err), -EROFS);
	assert_int_equal(store_seal(s, rig_key, &rig_attempts[0], &(struct event_head){0},
				 /* local= */ false, &err),
		-EROFS);
	assert_non_null(strstr(err.text, "is open for reading only"));
	store_close(s);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(store_open(path, /* flags= */ 0, &s, &err), 0);
	store_close(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int test_hostile(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_events),
		CASE(test_manifest),
		CASE(test_run),
		CASE(test_blob_shapes),
		CASE(test_seals),
		CASE(test_index_shapes),
		CASE(test_index_log_is_fifo),
		CASE(test_id_and_lock),
		CASE(test_directories),
		CASE(test_others_do_not_wait),
		CASE(test_blob_place_taken),
		CASE(test_huge),
		CASE(test_huge_seals),
		CASE(test_huge_unsealed),
		CASE(test_export_of_huge),
		CASE(test_many_odd_lines),
		CASE(test_export_shapes),
		CASE(test_other_user),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
