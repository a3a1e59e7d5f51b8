/* SPDX-License-Identifier: Apache-2.0 */
/* The locked child: what it can read, what it cannot do, and how its end is told. */

#include "cli/locked.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "tests.h"

struct tries {
	int inside, outside, write, socket, signal;
};

struct job {
	char directory[64], file[96];
	struct tries tries;
};

static int errno_of(int result)
{
	int code = result < 0 ? errno : 0;

	if (result > 2)
		(void)close(result);
	return code;
}

static int try_all(void *context, struct err *err)
{
	struct job *j = context;

	(void)err;
	j->tries.inside = errno_of(open(j->file, O_RDONLY | O_CLOEXEC));
	j->tries.outside = errno_of(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	j->tries.write = errno_of(open(j->file, O_WRONLY | O_CLOEXEC));
	j->tries.socket = errno_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	j->tries.signal = errno_of(kill(getppid(), 0));
	return 42;
}

static void prepare(struct job *j)
{
	autoclose int fd = -1;

	(void)strcpy(j->directory, "/tmp/unit-cli-XXXXXX");
	assert_non_null(mkdtemp(j->directory));
	(void)snprintf(j->file, sizeof(j->file), "%s/file", j->directory);
	fd = open(j->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
}

static void test_it_reads_beneath_its_directory_and_does_nothing_else(void **state)
{
	struct job j = {0};
	struct locked_job job = {.directory_count = 1,
		.fn = try_all,
		.context = &j,
		.answer = &j.tries,
		.answer_bytes = sizeof(j.tries)};
	autoclose int directory = -1;
	struct err err = {0};

	(void)state;
	prepare(&j);
	directory = open(j.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	job.directory_fds = &directory;
	/* the same, not locked, can do all of it */
	assert_int_equal(try_all(&j, &err), 42);
	assert_int_equal(
		j.tries.inside | j.tries.outside | j.tries.write | j.tries.socket | j.tries.signal,
		0);

	assert_int_equal(locked_run(&job, &err), 42);
	assert_int_equal(j.tries.inside, 0);
	assert_true(j.tries.outside == EACCES || j.tries.outside == EPERM);
	assert_true(j.tries.write == EACCES || j.tries.write == EPERM);
	assert_int_not_equal(j.tries.socket, 0);
	assert_int_not_equal(j.tries.signal, 0);
	assert_int_equal(unlink(j.file), 0);
	assert_int_equal(rmdir(j.directory), 0);
}

static int fail_with_a_sentence(void *context, struct err *err)
{
	(void)context;
	return err_say(err, EMSGSIZE, "a sentence from inside");
}

static int die(void *context, struct err *err)
{
	(void)context, (void)err;
	/* not the test program's handler, which would go on with the tests in the child */
	(void)signal(SIGILL, SIG_DFL);
	(void)signal(SIGTRAP, SIG_DFL);
	__builtin_trap();
}

static int end(void *context, struct err *err)
{
	(void)context, (void)err;
	_exit(0);
}

static int run(locked_fn *fn, struct err *err)
{
	struct locked_job job = {.fn = fn};
	autoclose int directory = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	job.directory_fds = &directory;
	job.directory_count = 1;
	return locked_run(&job, err);
}

static void test_its_end_is_told(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(run(fail_with_a_sentence, &err), -EMSGSIZE);
	assert_string_equal(err.text, "a sentence from inside");
	assert_int_equal(run(end, &err), -EIO);
	assert_string_equal(err.text, "the reading process ended without an answer");
	assert_int_equal(run(die, &err), -EIO);
	assert_non_null(strstr(err.text, "the reading process was ended by signal "));
}

static int lose_the_reader(void *context, struct err *err)
{
	int ends[2];

	(void)context;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe");
	(void)close(ends[0]);
	return write(ends[1], "x", 1) < 0 ? err_set(err, errno, "write") : 0;
}

/* As `hemra verify | head`: whoever waits for such a child ends as it did. */
static void test_a_lost_reader_ends_the_parent_too(void **state)
{
	static const bool ignored[] = {false, true};

	(void)state;
	for (size_t i = 0; i < array_count(ignored); i++) {
		pid_t pid = fork();
		int status = 0;

		assert_true(pid >= 0);
		if (pid == 0) {
			struct err err;

			(void)signal(SIGPIPE, ignored[i] ? SIG_IGN : SIG_DFL);
			_exit(run(lose_the_reader, &err) == -EPIPE ? 7 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (ignored[i]) {
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 7); /* it is an errno then */
		} else {
			assert_true(WIFSIGNALED(status));
			assert_int_equal(WTERMSIG(status), SIGPIPE);
		}
	}
}

int test_locked(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_reads_beneath_its_directory_and_does_nothing_else),
		cmocka_unit_test(test_its_end_is_told),
		cmocka_unit_test(test_a_lost_reader_ends_the_parent_too),
	};

	return cmocka_run_group_tests_name("locked", tests, NULL, NULL);
}
