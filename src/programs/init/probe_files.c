/* SPDX-License-Identifier: Apache-2.0 */
/* Claims about files: what must be absent, what must not and what must be writable. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "programs/init/probe.h"

#define PROBE_NAME ".hemra-probe"

static long try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

static long try_stat(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? -errno : 0;
}

/* part is the number of the path in its list, for lists are short. */
void probe_files_home(const struct start *s, struct claim_result *r)
{
	static const int absent[] = {ENOENT, ENOTDIR, EACCES, 0};
	char *const *paths = s->lists[INIT_HOME];

	r->verdict = CLAIM_HELD;
	for (size_t i = 0; paths[i] != NULL; i++)
		if (!probe_refused(r, i, try_stat(paths[i]), absent))
			return;
}

void probe_files_store(const struct start *s, struct claim_result *r)
{
	static const int absent[] = {ENOENT, ENOTDIR, EACCES, 0};
	char *const *paths = s->lists[INIT_STORE];

	/* What lies beneath a mount is covered: it has a name there, but nothing to read. */
	r->verdict = CLAIM_HELD;
	for (size_t i = 0; paths[i] != NULL; i++)
		if (!probe_refused(r, i, try_open(paths[i], O_RDONLY), absent))
			return;
}

static long try_make(const char *path)
{
	long r = try_open(path, O_WRONLY | O_CREAT | O_EXCL);

	if (r == 0)
		(void)unlink(path);
	return r;
}

void probe_files_outside(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {EROFS, EACCES, EPERM, 0};

	(void)s;
	if (probe_refused(r, 0, try_make("/" PROBE_NAME), refused) &&
		probe_refused(r, 1, try_make("/usr/" PROBE_NAME), refused) &&
		probe_refused(r, 2, try_make("/etc/" PROBE_NAME), refused) &&
		probe_refused(r, 3, try_open("/etc/passwd", O_WRONLY), refused))
		(void)probe_refused(r, 4, try_open("/usr/bin/env", O_WRONLY), refused);
}

/* The socket may be used again as long as it did not connect. */
static long try_connect(int fd, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return try_stat(path);
	(void)memcpy(address.sun_path, path, strlen(path) + 1);
	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

void probe_files_sockets(const struct start *s, struct claim_result *r)
{
	static const int absent[] = {ENOENT, ENOTDIR, EACCES, 0};
	char *const *paths = s->lists[INIT_SOCKETS];
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (!probe_worked(r, 0, fd < 0 ? -errno : 0))
		return;
	for (size_t i = 0; paths[i] != NULL; i++)
		if (!probe_refused(r, i, try_connect(fd, paths[i]), absent))
			return;
}

void probe_files_devices(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {EPERM, EACCES, 0};
	static const mode_t kinds[] = {S_IFCHR, S_IFBLK};

	(void)s;
	for (size_t i = 0; i < array_count(kinds); i++) {
		/* 1:1 is /dev/mem, 7:0 the first loop device */
		dev_t device = kinds[i] == S_IFCHR ? makedev(1, 1) : makedev(7, 0);
		long value = mknod("/tmp/" PROBE_NAME, kinds[i] | 0600, device) < 0 ? -errno : 0;

		(void)unlink("/tmp/" PROBE_NAME);
		if (!probe_refused(r, i, value, refused))
			return;
	}
}

/* Can a file be made here? An unnamed one leaves no trace; some file systems have none. */
static long try_write(const char *path)
{
	struct stat st;
	long r;
	int dir;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return try_open(path, O_WRONLY);
	r = try_open(path, O_TMPFILE | O_WRONLY);
	if (r != -EOPNOTSUPP && r != -EISDIR)
		return r;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || mkdirat(dir, PROBE_NAME, 0700) < 0)
		r = -errno;
	else
		r = unlinkat(dir, PROBE_NAME, AT_REMOVEDIR) < 0 ? -errno : 0;
	own_close(&dir);
	return r;
}

void probe_files_workspace(const struct start *s, struct claim_result *r)
{
	char *const *paths = s->lists[INIT_WORKSPACE];

	r->verdict = CLAIM_HELD;
	for (size_t i = 0; paths[i] != NULL; i++)
		if (!probe_worked(r, i, try_write(paths[i])))
			return;
}

void probe_files_temp(const struct start *s, struct claim_result *r)
{
	(void)s;
	(void)probe_worked(r, 0, try_write("/tmp"));
}
