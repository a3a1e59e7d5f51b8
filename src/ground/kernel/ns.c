/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: clone3 with its fallback, setns, unshare, loopback. */

#include "ground/kernel/ns.h"

#include <errno.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/own.h"

static pid_t clone_classic(uint64_t flags, int *ret_pidfd)
{
	int pidfd = -1;
	/* The third argument is where the pidfd goes, on x86-64 and aarch64 alike. */
	long pid = syscall(
		__NR_clone, (unsigned long)(flags | CLONE_PIDFD | SIGCHLD), 0UL, &pidfd, 0UL, 0UL);

	if (pid < 0)
		return -errno;
	if (pid > 0)
		*ret_pidfd = pidfd;
	return (pid_t)pid;
}

pid_t ns_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd;
	}
	pid = syscall(__NR_clone3, &args, sizeof(args));
	if (pid < 0 && errno == ENOSYS)
		return cgroup_fd >= 0 ? -EOPNOTSUPP : clone_classic(flags, ret_pidfd);
	if (pid < 0)
		return -errno;
	if (pid > 0)
		*ret_pidfd = pidfd;
	return (pid_t)pid;
}

int ns_join(int fd, int flags)
{
	return setns(fd, flags) < 0 ? -errno : 0;
}

int ns_leave(int flags)
{
	return unshare(flags) < 0 ? -errno : 0;
}

int ns_loopback_up(void)
{
	struct ifreq request = {.ifr_name = "lo"};
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}
