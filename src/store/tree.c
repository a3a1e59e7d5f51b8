/* SPDX-License-Identifier: Apache-2.0 */
/* Removing and measuring trees.
 *
 * How it works: a stack of open directories, at most DEPTH of them. What lies deeper is moved up to the
 * top of the tree under a name of its own before it is removed, so an agent's chain of a hundred
 * thousand directories costs neither stack nor descriptors. Measuring reopens by path pieces instead
 * and stops at DEPTH, counting what lies deeper as nothing: sizes only order what gc removes. */

#include "store/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"

#define DEPTH 64

struct tree {
	DIR *open[DEPTH];
	char *names[DEPTH]; /* owned; of each directory, in the one above */
	int count;
	int top;        /* where the tree hangs, borrowed */
	unsigned moved; /* directories moved up so far, for their names */
	bool removing;
	uint64_t *bytes;
};

static int parent_of(const struct tree *t, int level)
{
	return level == 0 ? t->top : dirfd(t->open[level - 1]);
}

static int push(struct tree *t, const char *name, struct err *err)
{
	int parent = parent_of(t, t->count);
	autoclose int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == EACCES && t->removing && fchmodat(parent, name, 0700, 0) == 0)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == EACCES && !t->removing)
		return 0; /* closed by its owner: counted as nothing */
	if (fd < 0)
		return err_set(err, errno, "open directory '%s'", name);
	if (t->removing)
		(void)fchmod(fd, 0700); /* without it removing fails, and says so */
	t->open[t->count] = fdopendir(fd);
	if (t->open[t->count] == NULL)
		return err_set(err, errno, "open directory '%s'", name);
	(void)take_fd(&fd); /* the stream's */
	t->names[t->count++] = own_strdup(name);
	return 0;
}

static void pop(struct tree *t)
{
	t->count--;
	(void)closedir(t->open[t->count]); /* only read from */
	free(t->names[t->count]);
	t->names[t->count] = NULL;
}

/* A directory at the greatest depth goes up to the top of the tree, where it is found later. */
static int move_up(struct tree *t, const char *name, struct err *err)
{
	char moved[32];

	for (;;) {
		(void)snprintf(moved, sizeof(moved), ".hemra-deep-%u", t->moved++);
		if (renameat2(parent_of(t, t->count), name, dirfd(t->open[0]), moved,
			    RENAME_NOREPLACE) == 0) {
			rewinddir(t->open[0]);
			return 0;
		}
		if (errno != EEXIST)
			return err_set(err, errno, "move directory '%s'", name);
	}
}

static int visit(struct tree *t, const char *name, struct err *err)
{
	int parent = parent_of(t, t->count);
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_set(err, errno, "stat '%s'", name);
	if (S_ISDIR(st.st_mode)) {
		if (t->count < DEPTH)
			return push(t, name, err);
		return t->removing ? move_up(t, name, err) : 0;
	}
	*t->bytes += (uint64_t)st.st_blocks * 512;
	if (t->removing && unlinkat(parent, name, 0) < 0 && errno != ENOENT)
		return err_set(err, errno, "remove '%s'", name);
	return 0;
}

/* The directory on top of the stack is read to its end: it goes, or is read again if it filled anew. */
static int leave(struct tree *t, struct err *err)
{
	int level = t->count - 1;

	if (t->removing && unlinkat(parent_of(t, level), t->names[level], AT_REMOVEDIR) < 0 &&
		errno != ENOENT) {
		if (errno == ENOTEMPTY && level == 0 && t->moved > 0) {
			rewinddir(t->open[0]);
			t->moved = 0; /* only once more for each time something was moved */
			return 0;
		}
		return err_set(err, errno, "remove directory '%s'", t->names[level]);
	}
	pop(t);
	return 0;
}

static int walk(struct tree *t, const char *name, struct err *err)
{
	int r = visit(t, name, err);

	while (r == 0 && t->count > 0) {
		struct dirent *entry = (errno = 0, readdir(t->open[t->count - 1]));

		if (entry == NULL && errno != 0)
			r = err_set(err, errno, "list directory '%s'", t->names[t->count - 1]);
		else if (entry == NULL)
			r = leave(t, err);
		else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = visit(t, entry->d_name, err);
	}
	while (t->count > 0)
		pop(t);
	return r;
}

int treeat_remove(int dir, const char *name, uint64_t *bytes, struct err *err)
{
	struct tree t = {.top = dir, .removing = true, .bytes = bytes};

	return walk(&t, name, err);
}

int treeat_size(int dir, const char *name, uint64_t *bytes, struct err *err)
{
	struct tree t = {.top = dir, .bytes = bytes};

	return walk(&t, name, err);
}
