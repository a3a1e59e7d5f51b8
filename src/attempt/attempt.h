/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTEMPT_ATTEMPT_H
#define ATTEMPT_ATTEMPT_H

/* One attempt, in order: prepare → arm → launch → supervise → collect → verify → settle. A steward
 * process runs it; the engine talks to it through one socket. */

struct attempt_start {
	int engine_fd; /* the steward's end of the socket with the engine */
	int plan_fd;   /* plan_encode()'s bytes */
	int events_fd; /* the attempt's events file with its lock, or -1 without a record */
};

/* What runs in the warden's process; attempt_warden but in the test that replaces it by a program
 * that asks for anything. Never returns. */
typedef void attempt_warden_fn(int steward_fd);
void attempt_warden(int steward_fd) __attribute__((noreturn));

/* Runs the attempt to its end in this process, which the nursery forked for it, and returns the
 * process's exit status: 0 when the attempt was settled. Takes the descriptors. */
int attempt_steward(const struct attempt_start *start, attempt_warden_fn *warden);

#endif
