/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: made, entered, read back, killed, swept. Where none can be made, that they are
 * not. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/cgroup.h"
#include "ground/kernel/files.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/pidfd.h"

static pid_t start_sleeper(const struct cgroup *c, int *pidfd)
{
	pid_t pid = ns_clone(0, cgroup_birth_fd(c), pidfd);

	if (pid == 0)
		for (;;)
			(void)pause();
	assert_true(pid > 0);
	assert_int_equal(cgroup_add(c, pid, cgroup_birth_fd(c) >= 0), 0);
	return pid;
}

static void end(int *pidfd)
{
	int status;

	(void)pidfd_kill(*pidfd, SIGKILL);
	assert_int_equal(pidfd_reap(*pidfd, /* block= */ true, &status), 1);
	own_close(pidfd);
}

static void limits_and_members(void **state)
{
	struct cgroup_limits limits = {.memory_bytes = 64 << 20, .pids = 7, .cpu_millis = 500};
	struct cgroup c = CGROUP_NONE;
	char how[128];
	int pidfd;
	pid_t pid;

	(void)state;
	cgroup_probe(&c, how, sizeof(how));
	if (!c.can_memory || !c.can_pids)
		skip();
	assert_int_equal(cgroup_open(&c, "unit", &limits), 0);
	pid = start_sleeper(&c, &pidfd);
	assert_int_equal(cgroup_check_memory(&c, pid, limits.memory_bytes), 0);
	assert_int_equal(cgroup_check_pids(&c, pid, limits.pids), 0);
	/* the checks can fail: another value, another process */
	assert_int_equal(cgroup_check_memory(&c, pid, limits.memory_bytes * 2), -ERANGE);
	assert_int_equal(cgroup_check_pids(&c, pid, 6), -ERANGE);
	assert_int_equal(cgroup_check_memory(&c, getpid(), limits.memory_bytes), -ENOENT);
	assert_int_equal(cgroup_oom_kills(&c), 0);
	assert_int_equal(cgroup_pids_hits(&c), 0);
	end(&pidfd);
	cgroup_close(&c, 1000);
	assert_int_equal(c.dir[CGROUP_UNIFIED], -1);
}

static void kill_members(void **state)
{
	struct cgroup_limits none = {0};
	struct cgroup c = CGROUP_NONE;
	int pidfd, status, r;

	(void)state;
	assert_int_equal(cgroup_open(&c, "unit-kill", &none), 0);
	if (cgroup_birth_fd(&c) < 0) {
		cgroup_close(&c, 0);
		skip();
	}
	(void)start_sleeper(&c, &pidfd);
	r = cgroup_kill(&c);
	if (r == 0) {
		assert_int_equal(pidfd_reap(pidfd, /* block= */ true, &status), 1);
		assert_true(WIFSIGNALED(status));
		own_close(&pidfd);
	} else {
		assert_int_equal(r, -EOPNOTSUPP);
		end(&pidfd);
	}
	cgroup_close(&c, 1000);
}

/* A child makes a group and is killed: its group is swept, ours is not. Other programs of this
 * machine may leave and sweep groups at the same time: counts are lower bounds, names are looked
 * at. */
static void sweep(void **state)
{
	struct cgroup_limits limits = {.pids = 7};
	struct cgroup c = CGROUP_NONE, *theirs;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(cgroup_open(&c, "unit-mine", &limits), 0);
	if (cgroup_birth_fd(&c) < 0) {
		cgroup_close(&c, 0);
		skip();
	}
	theirs = mmap(
		NULL, sizeof(*theirs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(theirs, MAP_FAILED);
	pid = fork();
	if (pid == 0)
		_exit(cgroup_open(theirs, "unit-theirs", &limits) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(faccessat(c.base[CGROUP_UNIFIED], theirs->name, F_OK, 0), 0);
	assert_true(cgroup_sweep(/* dry_run= */ true) >= 1);
	assert_int_equal(faccessat(c.base[CGROUP_UNIFIED], theirs->name, F_OK, 0), 0);
	assert_true(cgroup_sweep(/* dry_run= */ false) >= 1);
	assert_int_equal(faccessat(c.base[CGROUP_UNIFIED], theirs->name, F_OK, 0), -1);
	assert_int_equal(faccessat(c.base[CGROUP_UNIFIED], c.name, F_OK, 0), 0);
	assert_int_equal(munmap(theirs, sizeof(*theirs)), 0);
	cgroup_close(&c, 0);
}

int test_cgroup(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_and_members),
		cmocka_unit_test(kill_members),
		cmocka_unit_test(sweep),
	};

	return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
