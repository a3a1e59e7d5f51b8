/* SPDX-License-Identifier: Apache-2.0 */
/* Standard descriptors and signals as they are after the first line of main(). */

#include "cli/begin.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "tests.h"

static bool is_open_for(int fd, int direction)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) == direction &&
	       (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
}

/* In a child: closes those of the set, begins; 0 when all is as it must be. */
static int begin_without(unsigned closed)
{
	static const int directions[] = {O_RDONLY, O_WRONLY, O_WRONLY};
	struct stat null, st;

	for (int fd = 0; fd < 3; fd++)
		if ((closed & 1u << fd) != 0 && close(fd) < 0)
			return 1;
	(void)signal(SIGPIPE, SIG_IGN);
	if (!begin_process() || stat("/dev/null", &null) < 0)
		return 2;
	for (int fd = 0; fd < 3; fd++) {
		if ((closed & 1u << fd) == 0)
			continue;
		if (!is_open_for(fd, directions[fd]) || fstat(fd, &st) < 0 ||
			st.st_rdev != null.st_rdev)
			return 3 + fd;
	}
	if (signal(SIGXFSZ, SIG_DFL) != SIG_IGN || signal(SIGPIPE, SIG_DFL) != SIG_DFL)
		return 6;
	return fcntl(3, F_GETFD) < 0 ? 0 : 7; /* none too many */
}

static void test_missing_standard_descriptors_are_opened(void **state)
{
	(void)state;
	for (unsigned closed = 0; closed < 8; closed++) {
		pid_t pid = fork();
		int status = 0;

		assert_true(pid >= 0);
		if (pid == 0) {
			(void)close_range(3, ~0u, 0);
			for (int fd = 0; fd < 3; fd++)
				if (fcntl(fd, F_GETFD) < 0)
					(void)open("/dev/null", O_RDWR | O_CLOEXEC);
			_exit(begin_without(closed));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int test_begin(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_standard_descriptors_are_opened),
	};

	return cmocka_run_group_tests_name("begin", tests, NULL, NULL);
}
