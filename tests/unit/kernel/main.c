/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of ground/kernel. */

#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/kernel/files.h"

int in_child(int (*fn)(void *context), void *context)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn(context) & 0xff);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

int place_make(char path[32])
{
	int fd;

	(void)snprintf(path, 32, "/tmp/hemra-unit-XXXXXX");
	assert_non_null(mkdtemp(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

void place_remove(const char *path, int fd)
{
	(void)close(fd);
	assert_int_equal(file_remove_tree(AT_FDCWD, path), 0);
}

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_seccomp();
	failed += test_landlock();
	failed += test_files();
	failed += test_process();
	failed += test_mount();
	failed += test_cgroup();
	failed += test_sock();
	return failed;
}
