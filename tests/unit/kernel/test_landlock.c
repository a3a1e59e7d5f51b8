/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock domains: what is refused, and that it works without. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/kernel/landlock.h"
#include "ground/kernel/process.h"

struct place {
	char path[32];
	int dir;
	uint64_t access;
};

static int try_writes(void *context)
{
	struct place *p = context;
	struct landlock_path paths[] = {{p->dir, p->access}, {-1, LANDLOCK_READ}};
	struct landlock_spec spec = {.fs = LANDLOCK_FS_ALL, .paths = paths, .path_count = 2};
	int fd;

	if (process_no_new_privs() < 0 || landlock_restrict(&spec) < 0)
		return 1;
	fd = openat(p->dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0)
		return 2; /* nothing allows it */
	return errno == EACCES ? 0 : 3;
}

static void beneath_only(void **state)
{
	struct place p;

	(void)state;
	if (landlock_abi() < 1)
		skip();
	p.dir = place_make(p.path);
	p.access = LANDLOCK_READ | LANDLOCK_WRITE;
	assert_int_equal(in_child(try_writes, &p), 0);
	p.access = LANDLOCK_READ;
	assert_int_equal(unlinkat(p.dir, "file", 0), 0);
	assert_int_equal(in_child(try_writes, &p), EACCES);
	place_remove(p.path, p.dir);
}

/* Rights that only directories have are left out for a file, where the kernel says EINVAL. */
static int try_file_rule(void *context)
{
	int fd = openat(*(int *)context, "file", O_PATH | O_CLOEXEC);
	struct landlock_path paths[] = {{fd, LANDLOCK_READ | LANDLOCK_WRITE}};
	struct landlock_spec spec = {.fs = LANDLOCK_FS_ALL, .paths = paths, .path_count = 1};

	if (process_no_new_privs() < 0 || landlock_restrict(&spec) < 0)
		return 1;
	if (openat(*(int *)context, "file", O_WRONLY | O_CLOEXEC) < 0)
		return 2;
	return openat(*(int *)context, "other", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 &&
			       errno == EACCES
		       ? 0
		       : 3;
}

static void rule_for_a_file(void **state)
{
	char path[32];
	int dir;

	(void)state;
	if (landlock_abi() < 1)
		skip();
	dir = place_make(path);
	assert_true(openat(dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0);
	assert_int_equal(in_child(try_file_rule, &dir), 0);
	place_remove(path, dir);
}

int test_landlock(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beneath_only),
		cmocka_unit_test(rule_for_a_file),
	};

	return cmocka_run_group_tests_name("landlock", tests, NULL, NULL);
}
