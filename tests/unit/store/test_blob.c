/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs, and the store's directory. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "store/blob.h"

static void test_directory(void **state)
{
	autofree char *path = own_printf("%s/a/b/c", place());
	autofree char *ignore = own_printf("%s/.gitignore", path);
	autodone(buf_done) struct buf text = {.max = 1 << 17};
	struct err err = {0};
	struct store *s, *again;
	struct stat st;

	(void)state;
	assert_int_equal(store_open(path, /* flags= */ 0, &s, &err), -ENOENT);
	assert_int_equal(store_open(place(), /* flags= */ 0, &s, &err), -ENOENT);
	assert_non_null(strstr(err.text, "is not a hemra store"));
	assert_int_equal(store_open(path, STORE_CREATE, &s, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_false(store_is_loose(s));
	assert_string_equal(store_path(s), path);
	assert_int_equal(strlen(store_id(s)), 32);
	slurp(ignore, &text);
	assert_string_equal(buf_text(&text), "*\n");
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(store_open(path, STORE_CREATE, &again, &err), 0);
	assert_true(store_is_loose(again));
	assert_string_equal(store_id(s), store_id(again));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755); /* it keeps its mode */
	store_close(again);
	store_close(s);
}

static void test_put(void **state)
{
	autofree char *path = inside("trials/x/y.json");
	autodone(buf_done) struct buf text = {.max = 1 << 17};
	struct err err = {0};

	(void)state;
	assert_int_equal(store_put(rig_store, "trials/x/y.json", "one", 3, &err), 0);
	assert_int_equal(store_put(rig_store, "trials/x/y.json", "two", 3, &err), 0);
	slurp(path, &text);
	assert_string_equal(buf_text(&text), "two");
	assert_int_equal(store_put_once(rig_store, "runs/r.json", "{}", 2, &err), 0);
	assert_int_equal(store_put_once(rig_store, "runs/r.json", "{}", 2, &err), 0);
	assert_int_equal(store_put_once(rig_store, "runs/r.json", "{ }", 3, &err), -EEXIST);
	assert_non_null(strstr(err.text, "'runs/r.json' exists with other content"));
	assert_int_equal(store_put(rig_store, "../x", "", 0, &err), -EINVAL);
	assert_int_equal(store_put(rig_store, "trials/../../x", "", 0, &err), -EINVAL);
	assert_int_equal(store_put(rig_store, "/x", "", 0, &err), -EINVAL);
	assert_int_equal(store_put(rig_store, "trials/..x", "", 0, &err), 0);
}

static void test_blobs(void **state)
{
	uint8_t digest[32], hash[32];
	char name[BLOB_NAME_SIZE], bytes[8];
	autofree char *path = NULL;
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct err err = {0};
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(store_blob_put(rig_store, "hello", 5, digest, &err), 0);
	crypto_hash_sha256(hash, (const unsigned char *)"hello", 5);
	assert_memory_equal(hash, digest, 32);
	blob_name(digest, name);
	assert_string_equal(name,
		"blobs/sha256/2c/f24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
	path = inside(name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	assert_int_equal(st.st_nlink, 1);
	/* once more: left alone, but renewed */
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_int_equal(store_blob_put(rig_store, "hello", 5, digest, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_mtim.tv_sec > 1000);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(store_blob_get(rig_store, digest, &fd, &err), 0);
	assert_int_equal(read(fd, bytes, 8), 5);
	assert_int_equal(close(fd), 0);
	digest[0] ^= 1;
	assert_int_equal(store_blob_get(rig_store, digest, &fd, &err), -ENOENT);
	assert_int_equal(store_sync_directories(rig_store, &err), 0);
}

/* A file that cannot be linked (it has lost its last name) is copied instead. */
static void test_no_tmpfile(void **state)
{
	autofree char *path = inside("scratch"), *blob = NULL;
	autodone(buf_done) struct buf text = {.max = 1 << 17};
	uint8_t digest[32];
	char name[BLOB_NAME_SIZE];
	int fd;

	(void)state;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(write(fd, "hello", 5), 5);
	crypto_hash_sha256(digest, (const unsigned char *)"hello", 5);
	assert_int_equal(store_blob_link(rig_store, fd, digest, NULL), 0);
	assert_int_equal(close(fd), 0);
	blob_name(digest, name);
	blob = inside(name);
	slurp(blob, &text);
	assert_string_equal(buf_text(&text), "hello");
}

static void test_copy(void **state)
{
	autofree char *path = inside("scratch");
	char *content = own_alloc(200000);
	uint8_t digest[32], hash[32];
	struct err err = {0};
	uint64_t bytes = 0;
	int fd, pipes[2];

	(void)state;
	(void)memset(content, 'x', 200000);
	spill(path, content, 200000);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(store_blob_copy(rig_store, fd, 199999, digest, &bytes, &err), -EFBIG);
	assert_int_equal(bytes, 0);
	assert_int_equal(store_blob_copy(rig_store, fd, 200000, digest, &bytes, &err), 0);
	crypto_hash_sha256(hash, (unsigned char *)content, 200000);
	assert_memory_equal(hash, digest, 32);
	assert_int_equal(bytes, 200000);
	assert_int_equal(close(fd), 0);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(store_blob_copy(rig_store, pipes[0], 10, digest, &bytes, &err), -EINVAL);
	assert_string_equal(err.text, "only a regular file becomes a blob");
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	free(content);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int test_blob(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_directory),
		CASE(test_put),
		CASE(test_blobs),
		CASE(test_no_tmpfile),
		CASE(test_copy),
	};

	return cmocka_run_group_tests_name("blob", tests, NULL, NULL);
}
