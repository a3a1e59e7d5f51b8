/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTEMPT_ATTEMPT_H
#define ATTEMPT_ATTEMPT_H

/* One attempt, in order: prepare → arm → launch → supervise → collect → verify → settle. A steward
 * process runs it; the engine talks to it through one socket. */

/* What runs in the warden's process; attempt_warden but in the test that replaces it by a program
 * that asks for anything. Never returns. */
typedef void attempt_warden_fn(int steward_fd);
void attempt_warden(int steward_fd) __attribute__((noreturn));

/* Runs an attempt to its end in this process, which the nursery forked for it, and returns the
 * process's exit status: 0 when the attempt was settled, or when there came none. The steward first
 * forks its warden, which locks itself down meanwhile, then waits for one message MSG_SPAWN on
 * start_fd, whose end means that no attempt comes. Beside the message lie, in this order: the
 * steward's end of the socket with the engine, a file with plan_encode()'s bytes, and the attempt's
 * events file with its lock, absent without a record. Takes start_fd. */
int attempt_steward(int start_fd, attempt_warden_fn *warden);

#endif
