/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of directory trees, by descriptors: what is copied may be changed by others meanwhile, and
 * no step follows a link. */

#include "attempt/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"

#define DEPTH_MAX 256

int tree_make(int at, const char *name, mode_t mode, uid_t uid, gid_t gid, struct err *err)
{
	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return err_set(err, errno, "make directory '%s'", name);
	if (fchownat(at, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(err, errno, "hand over directory '%s'", name);
	if (fchmodat(at, name, mode, 0) < 0)
		return err_set(err, errno, "set the mode of directory '%s'", name);
	return 0;
}

/* Two open directories, or two files. */
struct ends {
	int from, to;
};

static int check_entries(const struct tree_copy *copy, struct err *err)
{
	if (copy->files < TREE_FILES_MAX)
		return 0;
	return err_say(err, EDQUOT, "it holds more than %d files", TREE_FILES_MAX);
}

static int check_quota(const struct tree_copy *copy, struct err *err)
{
	if (copy->bytes_max == 0 || copy->bytes <= copy->bytes_max)
		return 0;
	return err_say(err, EDQUOT, "the copy is larger than the %llu bytes that are allowed",
		(unsigned long long)copy->bytes_max);
}

/* Copies may take long: signals and the engine are heard meanwhile. */
static int check_cancel(const struct tree_copy *copy, struct err *err)
{
	if (copy->attempt == NULL)
		return 0;
	loop_turn(copy->attempt->loop, /* timeout_ms= */ 0);
	if (copy->attempt->cancelled)
		return err_say(err, ECANCELED, "cancelled while files were copied");
	return 0;
}

/* What an agent made unreadable, or buried too deep, must not keep its work from being graded. */
static int leave_out(
	struct tree_copy *copy, int code, const char *what, const char *name, struct err *err)
{
	if (!copy->lenient || (code != EACCES && code != EPERM && code != ELOOP))
		return err_set(err, code, "%s '%s'", what, name);
	copy->unreadable++;
	return 0;
}

/* size bytes at offset, by the cheapest way both file systems know. */
static int copy_range(struct ends file, off_t offset, off_t size, struct tree_copy *copy,
	const char *name, struct err *err)
{
	off_t in = offset, out = offset, end = offset + size;
	bool by_range = true;

	if (lseek(file.to, offset, SEEK_SET) < 0)
		return err_set(err, errno, "copy '%s'", name);
	while (in < end) {
		size_t want = end - in < 1 << 24 ? (size_t)(end - in) : 1 << 24;
		ssize_t n = by_range ? copy_file_range(file.from, &in, file.to, &out, want, 0)
				     : sendfile(file.to, file.from, &in, want);

		if (n > 0) {
			copy->bytes += (uint64_t)n;
			if (check_quota(copy, err) < 0 || check_cancel(copy, err) < 0)
				return -err->code;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		/* some file systems say "end" for what they cannot do */
		if (by_range && (n == 0 || errno != ENOSPC) && in == offset) {
			by_range = false;
			continue;
		}
		if (n == 0)
			return 0; /* it became shorter meanwhile */
		return err_set(err, errno, "copy '%s'", name);
	}
	return 0;
}

/* The file's data; holes stay holes, so that a file takes no more room than it took. */
static int copy_bytes(
	int from, int to, off_t size, struct tree_copy *copy, const char *name, struct err *err)
{
	off_t data = 0, hole;

	if (ioctl(to, FICLONE, from) == 0) {
		copy->bytes += (uint64_t)size;
		return check_quota(copy, err);
	}
	while (data < size) {
		data = lseek(from, data, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break; /* only a hole is left */
		hole = data >= 0 ? lseek(from, data, SEEK_HOLE) : -1;
		if (data < 0 || hole < 0)
			return err_set(err, errno, "look for the data of '%s'", name);
		if (copy_range((struct ends){from, to}, data, hole - data, copy, name, err) < 0)
			return -err->code;
		data = hole;
	}
	return ftruncate(to, size) < 0 ? err_set(err, errno, "set the size of '%s'", name) : 0;
}

static int copy_file(
	int from_at, int to_at, const char *name, struct tree_copy *copy, struct err *err)
{
	autoclose int from = openat(from_at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	autoclose int to = -1;
	struct stat st;
	struct timespec times[2];

	if (from < 0)
		return leave_out(copy, errno, "open", name, err);
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return err_say(err, ESTALE, "'%s' changed while it was copied", name);
	to = openat(to_at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return err_set(err, errno, "create '%s'", name);
	if (copy_bytes(from, to, st.st_size, copy, name, err) < 0)
		return -err->code;
	copy->files++;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (fchown(to, copy->uid, copy->gid) < 0)
		return err_set(err, errno, "hand over '%s'", name);
	/* set-user-id bits do not belong in a copy that another user owns */
	if (fchmod(to, st.st_mode & 0777) < 0 || futimens(to, times) < 0)
		return err_set(err, errno, "set mode and times of '%s'", name);
	return 0;
}

static int copy_link(
	int from_at, int to_at, const char *name, struct tree_copy *copy, struct err *err)
{
	char target[4097];
	ssize_t n = readlinkat(from_at, name, target, sizeof(target) - 1);

	if (n < 0)
		return err_set(err, errno, "read link '%s'", name);
	target[n] = '\0';
	if (symlinkat(target, to_at, name) < 0)
		return err_set(err, errno, "make link '%s'", name);
	if (fchownat(to_at, name, copy->uid, copy->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(err, errno, "hand over link '%s'", name);
	copy->files++;
	return 0;
}

bool tree_leaves_out(char *const *leave_out, const char *path)
{
	for (; leave_out != NULL && *leave_out != NULL; leave_out++)
		if (strcmp(*leave_out, path) == 0)
			return true;
	return false;
}

static int copy_directory(
	struct ends at, const char *path, unsigned depth, struct tree_copy *copy, struct err *err);

static int copy_below(struct ends at, const char *name, const char *path, unsigned depth,
	struct tree_copy *copy, struct err *err)
{
	autoclose int from = openat(at.from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autoclose int to = -1;
	struct timespec times[2];
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return leave_out(copy, errno, "open directory", name, err);
	if (depth >= DEPTH_MAX)
		return leave_out(copy, ELOOP, "enter", name, err);
	if (tree_make(at.to, name, 0700, copy->uid, copy->gid, err) < 0)
		return -err->code;
	copy->files++;
	to = openat(at.to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (to < 0)
		return err_set(err, errno, "open the copy of directory '%s'", name);
	if (copy_directory((struct ends){from, to}, path, depth + 1, copy, err) < 0)
		return -err->code;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (fchmod(to, st.st_mode & 0777) < 0 || futimens(to, times) < 0)
		return err_set(err, errno, "set mode and times of directory '%s'", name);
	return 0;
}

static int copy_entry(struct ends at, const char *name, const char *path, unsigned depth,
	struct tree_copy *copy, struct err *err)
{
	struct stat st;

	if (tree_leaves_out(copy->leave_out, path))
		return 0;
	if (check_entries(copy, err) < 0 ||
		((copy->files + copy->skipped) % 256 == 255 && check_cancel(copy, err) < 0))
		return -err->code;
	if (fstatat(at.from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_set(err, errno, "stat '%s'", name);
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(at.from, at.to, name, copy, err);
	case S_IFLNK:
		return copy_link(at.from, at.to, name, copy, err);
	case S_IFDIR:
		return copy_below(at, name, path, depth, copy, err);
	default:
		if (copy->skipped++ == 0)
			(void)snprintf(
				copy->first_skipped, sizeof(copy->first_skipped), "%s", path);
		return 0;
	}
}

static int copy_directory(
	struct ends at, const char *path, unsigned depth, struct tree_copy *copy, struct err *err)
{
	autoclosedir DIR *dir = NULL;
	struct dirent *entry;
	int own;

	own = openat(at.from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own < 0)
		return leave_out(copy, errno, "open", path, err);
	dir = fdopendir(own);
	if (dir == NULL)
		abort();
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		autofree char *below = NULL;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		below = own_printf("%s/%s", path, entry->d_name);
		if (copy_entry(at, entry->d_name, below, depth, copy, err) < 0)
			return -err->code;
	}
	if (errno != 0)
		return err_set(err, errno, "read directory '%s'", path);
	return 0;
}

int tree_copy(int from, int to, struct tree_copy *copy, struct err *err)
{
	return copy_directory((struct ends){from, to}, copy->source != NULL ? copy->source : "",
		/* depth= */ 0, copy, err);
}
