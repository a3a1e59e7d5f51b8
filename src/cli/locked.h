/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_LOCKED_H
#define CLI_LOCKED_H

#include <stddef.h>
#include <sys/types.h>

#include "ground/base/err.h"

/* Everything that reads bytes an agent wrote happens in a forked child that can read beneath the
 * given directories, write to what is open, and do nothing else: no other file, no program, no
 * socket, no signal. Descriptors are inherited: a caller holds none open that the child must not
 * have (an index open for writing is one). */

/* Runs in the child, may print on stdout. Returns 0 or more, or -errno with the sentence in err. */
typedef int locked_fn(void *context, struct err *err);

#define LOCKED_ANSWER_MAX 3072

struct locked {
	pid_t pid;
	int result_fd; /* readable or hung up when the child is through */
};

/* What the child is given. answer is memory of the caller's that fn fills in the child and
 * locked_wait() brings back; may be NULL. */
struct locked_job {
	const int *directory_fds;
	size_t directory_count;
	locked_fn *fn;
	void *context;
	void *answer;
	size_t answer_bytes; /* at most LOCKED_ANSWER_MAX */
};

int locked_start(const struct locked_job *job, struct locked *ret, struct err *err);
/* Waits for the child. Returns what fn returned; -EIO when the child ended otherwise. A child that
 * SIGPIPE ended was writing on standard output, and this process ends likewise: an fn that writes
 * into a pipe of its own ignores the signal. */
int locked_wait(struct locked *r, const struct locked_job *job, struct err *err);
int locked_run(const struct locked_job *job, struct err *err); /* both */

#endif
