/* SPDX-License-Identifier: Apache-2.0 */
/* Readers: fresh children that are locked down and then read what the agent wrote. */

#include "attempt/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/lockdown.h"
#include "ground/kernel/sock.h"

static void be_reader(const struct reader_job *job, int out) __attribute__((noreturn));

static void be_reader(const struct reader_job *job, int out)
{
	struct err err = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "hemra-reader");
	if (lockdown_reader(job->directories, job->directory_count, /* flags= */ 0, &err) < 0)
		_exit(2);
	if (job->fn(job->context, job->result) < 0)
		_exit(3);
	_exit(write(out, job->result, job->result_size) == (ssize_t)job->result_size ? 0 : 4);
}

static ssize_t read_result(int fd, void *result, size_t size, int timeout_ms)
{
	struct mono begun = mono_now();
	size_t got = 0;

	while (got < size) {
		int64_t left = timeout_ms - mono_ms_between(begun, mono_now());
		ssize_t n;

		if (left <= 0 || sock_wait(fd, POLLIN, (int)left) < 0)
			return -ETIMEDOUT;
		n = read(fd, (char *)result + got, size - got);
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int reader_run(const struct reader_job *job, int timeout_ms, struct err *err)
{
	autoclose int in = -1, out = -1;
	int ends[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a reader's pipe");
	in = ends[0];
	out = ends[1];
	pid = fork();
	if (pid < 0)
		return err_set(err, errno, "fork a reader");
	if (pid == 0)
		be_reader(job, out);
	own_close(&out);
	n = read_result(in, job->result, job->result_size, timeout_ms);
	if (n < 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n == -ETIMEDOUT)
		return err_say(err, ETIMEDOUT, "reading took longer than %d s", timeout_ms / 1000);
	if ((size_t)n != job->result_size || status != 0)
		return err_say(err, EIO, "the reader ended with status 0x%x", (unsigned)status);
	return 0;
}
