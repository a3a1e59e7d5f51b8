/* SPDX-License-Identifier: Apache-2.0 */
/* Opening beneath a directory, removing trees, reading and writing control files.
 *
 * How removal works: depth first over a fixed stack of open directories. Entries are read in
 * batches; before going down, the place behind the entry is remembered, and reading goes on from
 * there after coming up. What lies deeper than the stack is renamed into the topmost directory,
 * where the walk meets it again at depth one: the tree gets flatter with every move, so this
 * ends. A directory that is not empty at the end of its list (some file systems skip entries
 * when others are removed) is read again from the start as long as that removes something.
 * */

#include "ground/kernel/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/own.h"

#define DEPTH_MAX 64

static int open_how(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0,
		.resolve = resolve,
	};
	long fd;

	do /* EAGAIN: a rename raced with the walk, which must then not be trusted */
		fd = syscall(__NR_openat2, dirfd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : (int)fd;
}

int file_open_beneath(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd)
{
	int fd = open_how(dirfd, path, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int file_open_strict(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd)
{
	int fd = open_how(dirfd, path, flags | O_NOFOLLOW, mode,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);

	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

struct level {
	int fd;
	off_t next;     /* where reading goes on */
	size_t removed; /* entries removed since the last read from the start */
	char name[256]; /* in the level above */
};

struct removal {
	struct level levels[DEPTH_MAX];
	size_t depth; /* levels in use */
	unsigned moved_count;
	int status; /* first failure */
	union {
		char bytes[4096];
		uint64_t aligned;
	} batch;
};

struct entry { /* struct linux_dirent64, which the C library keeps to itself */
	uint64_t inode;
	int64_t next;
	unsigned short size;
	unsigned char type;
	char name[];
};

static void note(struct removal *w, int r)
{
	if (r < 0 && w->status == 0)
		w->status = r;
}

/* The top is named by somebody trusted, with a path perhaps; what is found beneath is one name. */
static int open_dir(int dirfd, const char *name, int flags, bool is_top, int *ret_fd)
{
	flags |= O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	if (!is_top)
		return file_open_strict(dirfd, name, flags, 0, ret_fd);
	*ret_fd = openat(dirfd, name, flags);
	return *ret_fd < 0 ? -errno : 0;
}

/* Opens a directory for emptying it; what its owner may not do with it is allowed first. */
static int open_for_removal(int dirfd, const char *name, bool is_top)
{
	autoclose int place = -1;
	char link[40];
	struct stat st;
	int fd, r;

	r = open_dir(dirfd, name, O_RDONLY, is_top, &fd);
	if (r == 0) {
		/* in a directory that may not be written nothing can be removed; it is ours or
		 * it fails there */
		if (fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
			(void)fchmod(fd, 0700);
		return fd;
	}
	if (r != -EACCES)
		return r;
	r = open_dir(dirfd, name, O_PATH, is_top, &place);
	if (r < 0)
		return r;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", place); /* fchmod() refuses O_PATH */
	if (chmod(link, 0700) < 0)
		return -errno;
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Makes room at the bottom: name, found at the deepest level, becomes an entry of the topmost. */
static int move_up(struct removal *w, const char *name)
{
	char fresh[64];
	int r;

	do {
		(void)snprintf(fresh, sizeof(fresh), ".hemra-removing-%u", w->moved_count++);
		r = (int)syscall(__NR_renameat2, w->levels[w->depth - 1].fd, name, w->levels[0].fd,
			fresh, 1u /* RENAME_NOREPLACE */);
	} while (r < 0 && errno == EEXIST);
	if (r < 0)
		return -errno;
	w->levels[0].removed++; /* there is more to read there */
	return 0;
}

static void descend(struct removal *w, const char *name)
{
	int fd = open_for_removal(w->levels[w->depth - 1].fd, name, /* is_top= */ false);

	if (fd < 0) {
		note(w, fd);
		return;
	}
	if (w->depth == DEPTH_MAX) {
		(void)close(fd); /* it was opened only to make sure that it may be moved */
		note(w, move_up(w, name));
		return;
	}
	w->levels[w->depth] = (struct level){.fd = fd};
	(void)snprintf(w->levels[w->depth].name, sizeof(w->levels[0].name), "%s", name);
	w->depth++;
}

/* Removes what one batch names. Stops at a directory, which becomes the deepest level. */
static void remove_batch(struct removal *w, ssize_t size)
{
	struct level *l = &w->levels[w->depth - 1];

	for (ssize_t at = 0; at < size;) {
		const struct entry *e = (const void *)(w->batch.bytes + at);
		size_t depth = w->depth;

		at += e->size;
		l->next = e->next;
		if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
			continue;
		if (unlinkat(l->fd, e->name, 0) == 0) {
			l->removed++;
		} else if (errno == EISDIR || errno == EPERM) {
			descend(w, e->name);
			if (w->depth > depth)
				return;
		} else {
			note(w, -errno);
		}
	}
}

/* The deepest directory was read to its end: removes it, or has it read again. */
static void ascend(struct removal *w, int top, const char *top_name)
{
	struct level *l = &w->levels[w->depth - 1];
	int above = w->depth > 1 ? w->levels[w->depth - 2].fd : top;

	if (unlinkat(above, w->depth > 1 ? l->name : top_name, AT_REMOVEDIR) < 0) {
		if ((errno == ENOTEMPTY || errno == EEXIST) && l->removed > 0) {
			l->removed = 0;
			l->next = 0;
			return;
		}
		note(w, -errno);
	} else if (w->depth > 1) {
		w->levels[w->depth - 2].removed++;
	}
	(void)close(l->fd);
	w->depth--;
}

int file_remove_tree(int dirfd, const char *name)
{
	struct removal w = {0};
	int fd;

	if (unlinkat(dirfd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = open_for_removal(dirfd, name, /* is_top= */ true);
	if (fd < 0)
		return fd;
	w.levels[0] = (struct level){.fd = fd};
	w.depth = 1;
	while (w.depth > 0) {
		struct level *l = &w.levels[w.depth - 1];
		ssize_t n = lseek(l->fd, l->next, SEEK_SET) < 0
				    ? -1
				    : syscall(__NR_getdents64, l->fd, w.batch.bytes,
					      sizeof(w.batch.bytes));

		if (n < 0)
			note(&w, -errno);
		if (n > 0)
			remove_batch(&w, n);
		else
			ascend(&w, dirfd, name);
	}
	return w.status;
}

ssize_t file_read_small(int dirfd, const char *path, char *out, size_t room)
{
	autoclose int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	if (fd < 0)
		return -errno;
	while (used < room) {
		ssize_t n = read(fd, out + used, room - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			out[used] = '\0';
			return (ssize_t)used;
		}
		used += (size_t)n;
	}
	return -EFBIG;
}

int file_write_text(int dirfd, const char *path, const char *text)
{
	autoclose int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	size_t size = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, size);
	return n < 0 ? -errno : (size_t)n == size ? 0 : -EIO;
}
