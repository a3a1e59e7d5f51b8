/* SPDX-License-Identifier: Apache-2.0 */
/* Opening beneath, and removing trees that fight back. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "ground/kernel/memfd.h"

static void make_file(int dir, const char *name)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static void beneath(void **state)
{
	static const struct {
		const char *path;
		int loose, strict;
	} cases[] = {
		{"in/file", 0, 0},
		{"in/near", 0, -ELOOP},
		{"in/far", -EXDEV, -ELOOP},
		{"../etc/passwd", -EXDEV, -EXDEV},
		{"/etc/passwd", -EXDEV, -EXDEV},
		{"in/../in/file", 0, 0},
		{"in/missing", -ENOENT, -ENOENT},
	};
	char path[32];
	int dir = place_make(path), fd;

	(void)state;
	assert_int_equal(mkdirat(dir, "in", 0700), 0);
	make_file(dir, "in/file");
	assert_int_equal(symlinkat("file", dir, "in/near"), 0);
	assert_int_equal(symlinkat("/etc/passwd", dir, "in/far"), 0);
	for (size_t i = 0; i < array_count(cases); i++) {
		fd = -1;
		assert_int_equal(
			file_open_beneath(dir, cases[i].path, O_RDONLY, 0, &fd), cases[i].loose);
		own_close(&fd);
		assert_int_equal(
			file_open_strict(dir, cases[i].path, O_RDONLY, 0, &fd), cases[i].strict);
		own_close(&fd);
	}
	place_remove(path, dir);
}

/* A tree with directories of mode 000, one full of names, links that lead out, a pipe. */
static void make_hostile(int dir)
{
	char name[300];

	assert_int_equal(mkdirat(dir, "tree", 0700), 0);
	assert_int_equal(mkdirat(dir, "tree/many", 0700), 0);
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "tree/many/%d", i);
		if (i % 3 == 0)
			assert_int_equal(mkdirat(dir, name, 0700), 0);
		else
			make_file(dir, name);
	}
	assert_int_equal(mkdirat(dir, "tree/shut", 0700), 0);
	assert_int_equal(mkdirat(dir, "tree/shut/inner", 0700), 0);
	make_file(dir, "tree/shut/inner/file");
	assert_int_equal(symlinkat("../keep", dir, "tree/link"), 0);
	assert_int_equal(symlinkat("../../keep", dir, "tree/shut/inner/link"), 0);
	assert_int_equal(mkfifoat(dir, "tree/pipe", 0000), 0);
	(void)snprintf(name, sizeof(name), "tree/%0255d", 7);
	make_file(dir, name);
	assert_int_equal(fchmodat(dir, "tree/shut/inner", 0000, 0), 0);
	assert_int_equal(fchmodat(dir, "tree/shut", 0000, 0), 0);
	assert_int_equal(fchmodat(dir, "tree/many", 0500, 0), 0);
}

static int remove_hostile(void *context)
{
	int dir = *(int *)context;

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(1001, 1001, 1001) < 0 ||
				      setresuid(1001, 1001, 1001) < 0))
		return 1;
	make_hostile(dir);
	if (file_remove_tree(dir, "tree") != 0)
		return 2;
	return faccessat(dir, "tree", F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT ? 0 : 3;
}

static void remove_as_user(void **state)
{
	char path[32];
	int dir = place_make(path);

	(void)state;
	assert_int_equal(mkdirat(dir, "keep", 0700), 0);
	make_file(dir, "keep/file");
	assert_int_equal(fchmod(dir, 0777), 0);
	assert_int_equal(in_child(remove_hostile, &dir), 0);
	assert_int_equal(faccessat(dir, "keep/file", F_OK, 0), 0); /* no link was followed */
	assert_int_equal(file_remove_tree(dir, "missing"), -ENOENT);
	place_remove(path, dir);
}

/* Deeper than the walk's stack, and than any path. */
static void remove_deep(void **state)
{
	char path[32];
	int dir = place_make(path), at = dup(dir);

	(void)state;
	for (int i = 0; i < 3000; i++) {
		int next;

		assert_int_equal(mkdirat(at, "deep-directory-name", 0700), 0);
		next = openat(at, "deep-directory-name", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	make_file(at, "file");
	(void)close(at);
	assert_int_equal(file_remove_tree(dir, "deep-directory-name"), 0);
	assert_int_equal(faccessat(dir, "deep-directory-name", F_OK, 0), -1);
	place_remove(path, dir);
}

static void sealed(void **state)
{
	char text[8] = "";
	int fd;

	(void)state;
	assert_int_equal(memfd_sealed("unit", "text", 4, /* executable= */ false, &fd), 0);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 4);
	assert_string_equal(text, "text");
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	(void)close(fd);
}

static void small_files(void **state)
{
	char path[32], text[8];
	int dir = place_make(path);

	(void)state;
	make_file(dir, "f");
	assert_int_equal(file_write_text(dir, "f", "1234567"), 0);
	assert_int_equal(file_read_small(dir, "f", text, sizeof(text)), 7);
	assert_string_equal(text, "1234567");
	assert_int_equal(file_read_small(dir, "f", text, 7), -EFBIG);
	assert_int_equal(file_read_small(dir, "g", text, 7), -ENOENT);
	assert_int_equal(file_write_text(dir, "g", "x"), -ENOENT);
	place_remove(path, dir);
}

int test_files(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beneath),
		cmocka_unit_test(remove_as_user),
		cmocka_unit_test(remove_deep),
		cmocka_unit_test(sealed),
		cmocka_unit_test(small_files),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
