/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of directory trees. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attempt/state.h"
#include "ground/base/own.h"
#include "ground/kernel/files.h"

static char root[] = "/tmp/hemra-tree-XXXXXX";
static int base = -1;

static int set_up(void **state)
{
	(void)state;
	if (mkdtemp(root) == NULL)
		return -1;
	base = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return base < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	autoclose int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	own_close(&base);
	return file_remove_tree(tmp, root + strlen("/tmp/"));
}

static void put(const char *name, const char *text, mode_t mode)
{
	autoclose int fd = openat(base, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

static int copy(const char *to_name, struct tree_copy *c, struct err *err)
{
	autoclose int from = openat(base, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int to = -1;

	c->uid = geteuid();
	c->gid = getegid();
	assert_int_equal(mkdirat(base, to_name, 0755), 0);
	to = openat(base, to_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return tree_copy(from, to, c, err);
}

static void test_content(void **state)
{
	autofree char *secret = own_printf("%s/from/store", root);
	char *leave_out[] = {secret, NULL};
	autofree char *source = own_printf("%s/from", root);
	struct tree_copy c = {.leave_out = leave_out, .source = source};
	struct err err = {0};
	struct stat st;
	char target[16];

	(void)state;
	assert_int_equal(mkdirat(base, "from", 0755), 0);
	assert_int_equal(mkdirat(base, "from/sub", 0750), 0);
	assert_int_equal(mkdirat(base, "from/store", 0755), 0);
	put("from/store/key", "secret", 0600);
	put("from/tool", "#!/bin/sh\n", 04755);
	put("from/sub/data", "twelve bytes", 0640);
	assert_int_equal(symlinkat("/etc/passwd", base, "from/link"), 0);
	assert_int_equal(mkfifoat(base, "from/fifo", 0644), 0);
	assert_int_equal(copy("to", &c, &err), 0);
	assert_int_equal(fstatat(base, "to/tool", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755); /* no set-user-id bit */
	assert_int_equal(fstatat(base, "to/sub/data", &st, 0), 0);
	assert_int_equal(st.st_size, 12);
	assert_int_equal(fstatat(base, "to/sub", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_int_equal(readlinkat(base, "to/link", target, sizeof(target)),
		(ssize_t)strlen("/etc/passwd"));
	assert_int_equal(fstatat(base, "to/fifo", &st, 0), -1);
	assert_int_equal(c.skipped, 1);
	/* what is left out is absent, and was there to copy */
	assert_int_equal(fstatat(base, "to/store", &st, 0), -1);
	assert_int_equal(fstatat(base, "from/store/key", &st, 0), 0);
	c = (struct tree_copy){.source = source};
	assert_int_equal(copy("all", &c, &err), 0);
	assert_int_equal(fstatat(base, "all/store/key", &st, 0), 0);
}

static void test_quota(void **state)
{
	struct tree_copy c = {.bytes_max = 27}; /* the files above hold 28 bytes */
	struct err err = {0};

	(void)state;
	assert_int_equal(copy("small", &c, &err), -EDQUOT);
	assert_non_null(strstr(err.text, "larger than the 27 bytes"));
	c = (struct tree_copy){.bytes_max = 28};
	assert_int_equal(copy("enough", &c, &err), 0);
}

/* A hole takes no room; its copy must not either. */
static void test_sparse(void **state)
{
	struct tree_copy c = {.bytes_max = 1 << 20};
	struct err err = {0};
	struct stat st;
	char end[4];

	(void)state;
	put("from/sparse", "data", 0644);
	{
		autoclose int fd = openat(base, "from/sparse", O_WRONLY | O_CLOEXEC);

		assert_int_equal(pwrite(fd, "tail", 4, (off_t)1 << 40), 4);
		assert_int_equal(ftruncate(fd, (off_t)1 << 41), 0);
	}
	assert_int_equal(copy("sparse", &c, &err), 0);
	assert_int_equal(fstatat(base, "sparse/sparse", &st, 0), 0);
	assert_true(st.st_size == (off_t)1 << 41);
	assert_true(st.st_blocks < 1024);
	{
		autoclose int fd = openat(base, "sparse/sparse", O_RDONLY | O_CLOEXEC);

		assert_int_equal(pread(fd, end, 4, (off_t)1 << 40), 4);
		assert_memory_equal(end, "tail", 4);
		assert_int_equal(pread(fd, end, 4, 0), 4);
		assert_memory_equal(end, "data", 4);
	}
	assert_int_equal(unlinkat(base, "from/sparse", 0), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_content),
	cmocka_unit_test(test_sparse),
	cmocka_unit_test(test_quota),
};

int test_tree(void)
{
	return cmocka_run_group_tests_name("tree", tests, set_up, tear_down);
}
