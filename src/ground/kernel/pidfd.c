/* SPDX-License-Identifier: Apache-2.0 */
/* Processes by descriptor. */

#include "ground/kernel/pidfd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int pidfd_of(pid_t pid, int *ret_fd)
{
	int fd = (int)syscall(__NR_pidfd_open, pid, 0); /* CLOEXEC by itself */

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int pidfd_kill(int fd, int signo)
{
	return syscall(__NR_pidfd_send_signal, fd, signo, NULL, 0) < 0 ? -errno : 0;
}

/* waitid() tells the parts of a wait status; the rest of the program speaks of it whole. */
static int status_of(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_DUMPED:
		return info->si_status | 0x80;
	default:
		return info->si_status;
	}
}

int pidfd_reap(int fd, bool block, int *ret_status)
{
	siginfo_t info = {0};

	while (waitid(P_PIDFD, (id_t)fd, &info, WEXITED | (block ? 0 : WNOHANG)) < 0)
		if (errno != EINTR)
			return -errno;
	if (info.si_pid == 0)
		return 0;
	*ret_status = status_of(&info);
	return 1;
}

int pidfd_wait(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n;

	do
		n = poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0;
}
