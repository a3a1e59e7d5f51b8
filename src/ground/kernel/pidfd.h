/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_PIDFD_H
#define GROUND_KERNEL_PIDFD_H

#include <stdbool.h>
#include <sys/types.h>

/* Processes by descriptor: what is signalled or reaped cannot be another that got the same number.
 * All return -errno. */
int pidfd_of(pid_t pid, int *ret_fd); /* CLOEXEC; -ESRCH when there is no such process */
int pidfd_kill(int fd, int signo);    /* -ESRCH when it ended and was reaped */

/* Reaps a child. 1: it ended, *ret_status is a wait status; 0: it still runs (only when !block).
 * -ECHILD when it is not ours or was reaped. */
int pidfd_reap(int fd, bool block, int *ret_status);

/* Waits until the process ended (it need not be a child; it is not reaped). 0, -ETIMEDOUT,
 * -errno. */
int pidfd_wait(int fd, int timeout_ms);

#endif
