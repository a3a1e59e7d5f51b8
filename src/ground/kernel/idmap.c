/* SPDX-License-Identifier: Apache-2.0 */
/* Id maps of user namespaces. */

#include "ground/kernel/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/pidfd.h"
#include "ground/kernel/process.h"

static int write_file(pid_t pid, const char *name, const char *text)
{
	char path[64];
	autoclose int fd = -1;
	size_t size = strlen(text);

	if (pid == 0) /* /proc may be of another namespace, where our number is another */
		(void)snprintf(path, sizeof(path), "/proc/self/%s", name);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, size) != (ssize_t)size ? -errno : 0;
}

static int write_map(pid_t pid, const char *name, const struct idmap *map)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "%u %u %u\n", map->inside, map->outside, map->count);
	return write_file(pid, name, line);
}

int idmap_write(pid_t pid, const struct idmap *uids, const struct idmap *gids, bool deny_setgroups)
{
	int r = deny_setgroups ? write_file(pid, "setgroups", "deny") : 0;

	if (r < 0)
		return r;
	r = write_map(pid, "uid_map", uids);
	return r < 0 ? r : write_map(pid, "gid_map", gids);
}

int idmap_open(const struct idmap *uids, const struct idmap *gids, int *ret_fd)
{
	char path[64];
	autoclose int pidfd = -1;
	int fd = -1, status, r;
	pid_t parent = getpid(), pid = ns_clone(CLONE_NEWUSER, -1, &pidfd);

	if (pid < 0)
		return pid;
	if (pid == 0) {
		(void)process_die_with_parent();
		while (getppid() == parent) /* it did not die before we asked */
			(void)pause();      /* until it has what it wants and kills us */
		_exit(0);
	}
	r = idmap_write(pid, uids, gids, /* deny_setgroups= */ false);
	if (r == 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : 0;
	}
	(void)pidfd_kill(pidfd, SIGKILL); /* it is our child and not reaped: it exists */
	(void)pidfd_reap(pidfd, /* block= */ true, &status);
	if (r == 0)
		*ret_fd = fd;
	return r;
}

bool idmap_is_whole(void)
{
	char text[64] = "", *p = text;
	autoclose int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	return strtoul(p, &p, 10) == 0 && strtoul(p, &p, 10) == 0 &&
	       strtoul(p, &p, 10) == UINT32_MAX && p > text;
}
