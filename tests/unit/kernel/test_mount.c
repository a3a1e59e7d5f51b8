/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces and mounts, in a namespace of the test's own, as root and as an ordinary user. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/idmap.h"
#include "ground/kernel/mount.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/pidfd.h"
#include "ground/kernel/process.h"

static int enter(void)
{
	struct idmap id = {0, geteuid(), 1}, gid = {0, getegid(), 1};

	if (ns_leave(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
		return -1;
	if (idmap_write(getpid(), &id, &gid, /* deny_setgroups= */ true) < 0)
		return -2;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -3 : 0;
}

static int as_user(void)
{
	if (geteuid() != 0)
		return 0;
	return setgroups(0, NULL) < 0 || setresgid(1001, 1001, 1001) < 0 ||
			       setresuid(1001, 1001, 1001) < 0 || process_set_dumpable(true) < 0
		       ? -1
		       : 0;
}

static int try_mounts(void *context)
{
	static const struct mount_option options[] = {
		{"mode", "0700"}, {"size", "1m"}, {NULL, NULL}};
	autoclose int fs = -1, copy = -1;
	struct stat st;
	int r;

	(void)context;
	if (as_user() < 0 || enter() < 0)
		return 1;
	if (mount_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &fs) < 0)
		return 2;
	if (mount_attach(fs, AT_FDCWD, "/tmp") < 0)
		return 3;
	if (stat("/tmp", &st) < 0 || (st.st_mode & 07777) != 0700)
		return 4;
	if (mkdir("/tmp/a", 0755) < 0 || mkdir("/tmp/b", 0755) < 0)
		return 5;
	if (mount_copy(AT_FDCWD, "/tmp/a", &copy) < 0 ||
		mount_change(copy, MOUNT_ATTR_RDONLY, 0) < 0 ||
		mount_attach(copy, AT_FDCWD, "/tmp/b") < 0)
		return 6;
	if (mkdir("/tmp/b/x", 0755) >= 0 || errno != EROFS)
		return 7;
	if (mkdir("/tmp/a/x", 0755) < 0 || access("/tmp/b/x", F_OK) < 0)
		return 8; /* the copy is the same file system */
	if (mount_change_at("/tmp", MOUNT_ATTR_RDONLY, 0) < 0 || mkdir("/tmp/c", 0755) >= 0)
		return 9;
	r = mount_copy(AT_FDCWD, "/tmp/missing", &copy);
	return r == -ENOENT ? 0 : 10;
}

static void mounts(void **state)
{
	(void)state;
	assert_int_equal(mount_probe(), 0);
	assert_int_equal(in_child(try_mounts, NULL), 0);
}

static int try_loopback(void *context)
{
	(void)context;
	if (as_user() < 0 || enter() < 0)
		return 1;
	return ns_loopback_up() == 0 ? 0 : 2;
}

static void loopback(void **state)
{
	(void)state;
	assert_int_equal(in_child(try_loopback, NULL), 0);
}

static void clone_in_namespaces(void **state)
{
	autoclose int fd = -1;
	int status = 0;
	pid_t pid = ns_clone(CLONE_NEWUSER | CLONE_NEWPID, -1, &fd);

	(void)state;
	if (pid == 0)
		_exit(getpid() == 1 ? 5 : 6);
	assert_true(pid > 0);
	assert_int_equal(pidfd_reap(fd, /* block= */ true, &status), 1);
	assert_int_equal(WEXITSTATUS(status), 5);
}

/* Root: a directory of user 1234 shown as user 4321's. */
static void mapped_owner(void **state)
{
	struct idmap uids = {1234, 4321, 1}, gids = {1234, 4321, 1};
	autoclose int userns = -1, tree = -1;
	struct stat st;
	char path[32];
	int dir;

	(void)state;
	if (geteuid() != 0)
		skip();
	dir = place_make(path);
	assert_int_equal(fchown(dir, 1234, 1234), 0);
	assert_int_equal(idmap_open(&uids, &gids, &userns), 0);
	assert_int_equal(mount_copy(dir, "", &tree), 0);
	assert_int_equal(mount_map_ids(tree, userns), 0);
	assert_int_equal(fstat(tree, &st), 0);
	assert_int_equal(st.st_uid, 4321);
	assert_int_equal(fstat(dir, &st), 0);
	assert_int_equal(st.st_uid, 1234);
	place_remove(path, dir);
}

static void refuses_proc(void **state)
{
	struct idmap ids = {0, 4321, 1};
	autoclose int userns = -1, tree = -1;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(idmap_open(&ids, &ids, &userns), 0);
	assert_int_equal(mount_copy(AT_FDCWD, "/proc", &tree), 0);
	assert_int_equal(mount_map_ids(tree, userns), -EINVAL);
}

int test_mount(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mounts),
		cmocka_unit_test(loopback),
		cmocka_unit_test(clone_in_namespaces),
		cmocka_unit_test(mapped_owner),
		cmocka_unit_test(refuses_proc),
	};

	return cmocka_run_group_tests_name("mount", tests, NULL, NULL);
}
