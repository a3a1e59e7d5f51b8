/* SPDX-License-Identifier: Apache-2.0 */
/* A locked child that reads what agents wrote.
 *
 * How it works: fork, die with the parent, lock down, run the function, write its result and answer
 * as one packet of fixed size into a pipe. The pipe is smaller than PIPE_BUF, so the packet arrives
 * whole or not at all; the parent believes nothing else of the child than these fields. */

#include "cli/locked.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/out.h"
#include "ground/base/own.h"
#include "ground/kernel/lockdown.h"

struct packet {
	int result;
	struct err err;
	unsigned char answer[LOCKED_ANSWER_MAX];
};
static_assert(sizeof(struct packet) <= 4096, "a packet goes through a pipe in one piece");

static _Noreturn void child(const struct locked_job *job, int result_fd, pid_t parent)
{
	struct packet packet = {0};

	(void)prctl(
		PR_SET_PDEATHSIG, SIGKILL); /* without it an orphan would only read to its end */
	if (getppid() != parent)
		_exit(1);
	packet.result = lockdown_reader(
		job->directory_fds, job->directory_count, /* flags= */ 0, &packet.err);
	if (packet.result < 0)
		(void)err_add(&packet.err, "lock the reading process down");
	else
		packet.result = job->fn(job->context, &packet.err);
	if (fflush(stdout) != 0 && packet.result >= 0)
		packet.result = err_set(&packet.err, errno, "write to standard output");
	if (job->answer_bytes > 0)
		(void)memcpy(packet.answer, job->answer, job->answer_bytes);
	/* the parent sees the end of the pipe when this fails */
	_exit(write(result_fd, &packet, sizeof(packet)) == sizeof(packet) ? 0 : 1);
}

int locked_start(const struct locked_job *job, struct locked *ret, struct err *err)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	assert(job->answer_bytes <= LOCKED_ANSWER_MAX);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe");
	tzset();              /* the child cannot open the time zone's file */
	(void)fflush(stdout); /* else it would be written twice; out_finish() reports failure */
	pid = fork();
	if (pid < 0) {
		int code = errno;

		own_close(&ends[0]);
		own_close(&ends[1]);
		return err_set(err, code, "fork a reader");
	}
	if (pid == 0) {
		own_close(&ends[0]);
		child(job, ends[1], parent);
	}
	own_close(&ends[1]);
	*ret = (struct locked){pid, ends[0]};
	return 0;
}

int locked_wait(struct locked *r, const struct locked_job *job, struct err *err)
{
	struct packet packet;
	ssize_t size;
	int status;

	do
		size = read(r->result_fd, &packet, sizeof(packet));
	while (size < 0 && errno == EINTR);
	own_close(&r->result_fd);
	while (waitpid(r->pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, errno, "wait for the reader");
	if (size != (ssize_t)sizeof(packet)) {
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
			out_reader_gone();
		if (WIFSIGNALED(status))
			return err_say(err, EIO, "the reading process was ended by signal %d",
				WTERMSIG(status));
		return err_say(err, EIO, "the reading process ended without an answer");
	}
	if (job->answer_bytes > 0)
		(void)memcpy(job->answer, packet.answer, job->answer_bytes);
	if (packet.result >= 0)
		return packet.result;
	packet.err.text[sizeof(packet.err.text) - 1] = '\0';
	/* the sentence is the child's own and complete */
	return err_say(err, -packet.result, "%s", packet.err.text);
}

int locked_run(const struct locked_job *job, struct err *err)
{
	struct locked r;
	int result = locked_start(job, &r, err);

	return result < 0 ? result : locked_wait(&r, job, err);
}
