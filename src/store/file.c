/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files and directories, relative to a descriptor, written so that a crash leaves either
 * the old state or the new one. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/file.h"
#include "ground/base/own.h"
#include "ground/base/rand.h"
#include "ground/base/str.h"
#include "store/dir.h"

/* By stat, which a locked reader may do; what cannot be looked at counts as there. */
bool fileat_exists(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

int fileat_open(int dir, const char *name, int flags, int *ret_fd, struct err *err)
{
	autoclose int fd =
		openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	struct stat st;

	/* a link; a directory to be written; a socket, or a FIFO that nobody reads */
	if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
		return err_say(err, EINVAL, "'%s' is not a regular file", name);
	if (fd < 0)
		return err_set(err, errno, "open '%s'", name);
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat '%s'", name);
	if (!S_ISREG(st.st_mode))
		return err_say(err, EINVAL, "'%s' is not a regular file", name);
	*ret_fd = take_fd(&fd);
	return 0;
}

uint64_t fd_bytes(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

int fileat_read(int dir, const char *name, size_t max, struct buf *out, struct err *err)
{
	size_t start = out->len;
	autoclose int fd = -1;
	int r = fileat_open(dir, name, O_RDONLY, &fd, err);

	if (r < 0)
		return r;
	if (fd_bytes(fd) > max)
		return err_set(err, EMSGSIZE, "read '%s'", name);
	for (;;) {
		char *room = buf_room(out, 16384);
		ssize_t n;

		if (room == NULL || out->len - start > max)
			return err_set(err, EMSGSIZE, "read '%s'", name);
		n = read(fd, room, 16384);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read '%s'", name);
		if (n == 0)
			break;
		buf_grow(out, (size_t)n);
	}
	return 0;
}

int fd_write(int fd, const void *bytes, size_t size, struct err *err)
{
	int r = file_write(fd, bytes, size);

	return r < 0 ? err_set(err, -r, "write") : 0;
}

static void temporary_name(const char *name, char *out, size_t size)
{
	const char *slash = strrchr(name, '/');
	int directory = slash != NULL ? (int)(slash - name + 1) : 0;
	uint8_t random[8];
	char hex[17];

	rand_bytes(random, sizeof(random));
	str_hex(random, sizeof(random), hex);
	(void)snprintf(out, size, "%.*s.tmp-%s", directory, name, hex); /* too long fails at open */
}

static int sync_parent(int dir, const char *name, struct err *err)
{
	const char *slash = strrchr(name, '/');
	autofree char *parent =
		slash != NULL ? own_strndup(name, (size_t)(slash - name)) : own_strdup(".");

	return dirat_sync(dir, parent, err);
}

static int write_beside(int dir, const char *temporary, const void *bytes, size_t size, mode_t mode,
	struct err *err)
{
	autoclose int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return err_set(err, errno, "make '%s'", temporary);
	r = fd_write(fd, bytes, size, err);
	if (r == 0 && (fchmod(fd, mode) < 0 || fdatasync(fd) < 0))
		r = err_set(err, errno, "sync '%s'", temporary);
	return r;
}

int fileat_put(
	int dir, const char *name, const void *bytes, size_t size, mode_t mode, struct err *err)
{
	char temporary[512];
	int r;

	temporary_name(name, temporary, sizeof(temporary));
	r = write_beside(dir, temporary, bytes, size, mode, err);
	if (r == 0 && renameat(dir, temporary, dir, name) < 0)
		r = err_set(err, errno, "rename");
	if (r < 0) {
		(void)unlinkat(dir, temporary, 0); /* it may not exist */
		return err_add_to(r, err, "put '%s'", name);
	}
	return sync_parent(dir, name, err);
}

static int must_be_equal(int dir, const char *name, const void *bytes, size_t size, struct err *err)
{
	autodone(buf_done) struct buf there = {.max = STORE_FILE_MAX + 16384};
	int r = fileat_read(dir, name, STORE_FILE_MAX, &there, err);

	if (r < 0)
		return r;
	if (there.len != size || memcmp(buf_text(&there), bytes, size) != 0)
		return err_say(err, EEXIST, "'%s' exists with other content", name);
	return 0;
}

int fileat_put_once(
	int dir, const char *name, const void *bytes, size_t size, mode_t mode, struct err *err)
{
	char temporary[512];
	bool exists = false;
	int r;

	if (fileat_exists(dir, name))
		return must_be_equal(dir, name, bytes, size, err);
	temporary_name(name, temporary, sizeof(temporary));
	r = write_beside(dir, temporary, bytes, size, mode, err);
	if (r == 0 && linkat(dir, temporary, dir, name, 0) < 0) {
		exists = errno == EEXIST;
		r = exists ? 0 : err_set(err, errno, "link");
	}
	(void)unlinkat(dir, temporary, 0); /* its content has its name, or failed */
	if (r < 0)
		return err_add_to(r, err, "put '%s'", name);
	if (exists)
		return must_be_equal(dir, name, bytes, size, err);
	return sync_parent(dir, name, err);
}

int fileat_copy(int from, int to_dir, const char *name, mode_t mode, struct err *err)
{
	autoclose int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char bytes[65536];
	off_t at = 0;
	int r;

	if (to < 0)
		return err_set(err, errno, "make '%s'", name);
	for (;;) {
		ssize_t n = pread(from, bytes, sizeof(bytes), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "copy to '%s'", name);
		if (n == 0)
			break;
		r = fd_write(to, bytes, (size_t)n, err);
		if (r < 0)
			return err_add_to(r, err, "copy to '%s'", name);
		at += n;
	}
	if (fchmod(to, mode) < 0 || fsync(to) < 0)
		return err_set(err, errno, "sync '%s'", name);
	return 0;
}

int dirat_sync(int dir, const char *name, struct err *err)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_set(err, errno, "open directory '%s'", name);
	if (fsync(fd) < 0)
		return err_set(err, errno, "sync directory '%s'", name);
	return 0;
}

int dirat_make(int dir, const char *name, struct err *err)
{
	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return err_set(err, errno, "make directory '%s'", name);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int dirat_list(int dir, const char *name, char ***ret_names, struct err *err)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autoclosedir DIR *d = NULL;
	autodone(strv_done) char **names = own_alloc(sizeof(*names));
	size_t count = 0, room = 0;
	struct dirent *entry;

	if (fd < 0 && errno == ENOENT) {
		*ret_names = take_ptr(&names);
		return 0;
	}
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (d == NULL)
		return err_set(err, errno, "open directory '%s'", name);
	fd = -1; /* the stream's now */
	while (errno = 0, (entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (count + 1 >= room) {
			char **grown = reallocarray(names, room = room * 2 + 64, sizeof(*names));

			if (grown == NULL)
				return err_set(err, ENOMEM, "list '%s'", name);
			names = grown;
		}
		names[count++] = own_strdup(entry->d_name);
		names[count] = NULL;
	}
	if (errno != 0)
		return err_set(err, errno, "list '%s'", name);
	qsort(names, count, sizeof(*names), by_name);
	*ret_names = take_ptr(&names);
	return 0;
}
