/* SPDX-License-Identifier: Apache-2.0 */
/* pidfds and what a process does to itself. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/pidfd.h"
#include "ground/kernel/process.h"

static void pidfds(void **state)
{
	autoclose int fd = -1;
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		for (;;)
			(void)pause();
	assert_int_equal(pidfd_of(pid, &fd), 0);
	assert_int_equal(pidfd_reap(fd, /* block= */ false, &status), 0);
	assert_int_equal(pidfd_wait(fd, 0), -ETIMEDOUT);
	assert_int_equal(pidfd_kill(fd, SIGKILL), 0);
	assert_int_equal(pidfd_wait(fd, 5000), 0);
	assert_int_equal(pidfd_reap(fd, /* block= */ true, &status), 1);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(pidfd_reap(fd, /* block= */ true, &status), -ECHILD);
	assert_int_equal(pidfd_kill(fd, SIGKILL), -ESRCH);
}

static void statuses(void **state)
{
	autoclose int fd = -1;
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(37);
	assert_int_equal(pidfd_of(pid, &fd), 0);
	assert_int_equal(pidfd_reap(fd, /* block= */ true, &status), 1);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 37);
}

static int close_most(void *context)
{
	int a = fcntl(0, F_DUPFD, 30), b = fcntl(0, F_DUPFD, 40);
	const int keep[] = {a};

	(void)context;
	if (a != 30 || b != 40 || process_close_fds(keep, 1) < 0)
		return 1;
	return fcntl(0, F_GETFD) >= 0 && fcntl(a, F_GETFD) >= 0 && fcntl(b, F_GETFD) < 0 ? 0 : 2;
}

static int drop(void *context)
{
	(void)context;
	if (!process_has_capabilities(1ULL << CAP_KILL | 1ULL << CAP_CHOWN))
		return 1;
	if (process_drop_capabilities(1ULL << CAP_KILL) < 0)
		return 2;
	if (!process_has_capabilities(1ULL << CAP_KILL) ||
		process_has_capabilities(1ULL << CAP_CHOWN))
		return 3;
	if (prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) != 0 ||
		prctl(PR_CAPBSET_READ, CAP_KILL, 0, 0, 0) != 1)
		return 4;
	return 0;
}

static int become(void *context)
{
	(void)context;
	if (process_lock_securebits() < 0 ||
		process_become(1001, 1001, /* keep_groups= */ false) < 0)
		return 1;
	if (getuid() != 1001 || geteuid() != 1001 || getgroups(0, NULL) != 0)
		return 2;
	if (process_drop_capabilities(0) < 0 || process_has_capabilities(1ULL << CAP_SETUID))
		return 3;
	return setuid(0) < 0 && errno == EPERM ? 0 : 4;
}

static int limits(void *context)
{
	struct rlimit l;

	(void)context;
	if (process_limit(RLIMIT_CORE, 1) < 0 || getrlimit(RLIMIT_CORE, &l) < 0)
		return 1;
	return l.rlim_cur == 1 && l.rlim_max == 1 ? 0 : 2;
}

static void in_a_child(void **state)
{
	(void)state;
	assert_int_equal(in_child(close_most, NULL), 0);
	assert_int_equal(in_child(limits, NULL), 0);
	if (geteuid() == 0) {
		assert_int_equal(in_child(drop, NULL), 0);
		assert_int_equal(in_child(become, NULL), 0);
	}
}

static void start_time(void **state)
{
	uint64_t a = 0, b = 0;

	(void)state;
	assert_int_equal(process_start_time(getpid(), &a), 0);
	assert_int_equal(process_start_time(getpid(), &b), 0);
	assert_true(a > 0);
	assert_int_equal(a, b);
	assert_int_equal(process_start_time(0x3fffffff, &a), -ESRCH);
}

int test_process(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pidfds),
		cmocka_unit_test(statuses),
		cmocka_unit_test(in_a_child),
		cmocka_unit_test(start_time),
	};

	return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
