/* SPDX-License-Identifier: Apache-2.0 */
/* Watching what git would obey: two scans of a directory, and their difference.
 *
 * A scan goes breadth first over a queue of directories, so that where a limit is met, what is near
 * the top was seen. Those of repositories have a queue of their own that goes first: filling the
 * work tree hides none that was found. Each is opened by its path from the top, strictly beneath
 * it, without links. What is noted of a file includes what only the kernel can set, the time of its
 * last change: the rest can be put back by whoever wrote to it. */

#include "attempt/gitwatch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/files.h"

#define NAMES_MAX (64 * 1024) /* directory entries read, of all directories of a queue */
#define NOTES_MAX 4096

struct note {
	char *path; /* owned */
	mode_t mode;
	ino_t inode;
	off_t size;
	int64_t changed_ns;
};

enum place {
	PLACE_TREE,    /* of the work tree */
	PLACE_GIT,     /* a repository */
	PLACE_MODULES, /* beneath modules/: repositories at any depth */
	PLACE_WORKTREES,
	PLACE_HOOKS,
};

struct directory {
	char *path; /* owned; "" is the top */
	enum place place;
	unsigned depth;
};

struct queue {
	struct directory *directories; /* owned: room for GIT_WATCH_DIRECTORIES */
	size_t next, count, name_count;
};

struct scan {
	int top;
	struct note *notes; /* owned, as are their paths */
	size_t note_count;
	struct queue git, tree;
	bool is_cut;
};

struct git_watch {
	int top;
	struct note *before; /* owned */
	size_t before_count;
	bool is_cut;
};

static char *join(const char *path, const char *name)
{
	return path[0] != '\0' ? own_printf("%s/%s", path, name) : own_strdup(name);
}

static struct queue *queue_of(struct scan *s, enum place place)
{
	return place == PLACE_TREE ? &s->tree : &s->git;
}

static void enter(struct scan *s, char *path, enum place place, unsigned depth)
{
	struct queue *q = queue_of(s, place);

	if (q->count < GIT_WATCH_DIRECTORIES && depth <= GIT_WATCH_DEPTH) {
		q->directories[q->count++] = (struct directory){path, place, depth};
		return;
	}
	s->is_cut = s->is_cut || depth <= GIT_WATCH_DEPTH;
	free(path);
}

/* Notes what is at the name, if anything but a directory is. */
static void note(struct scan *s, int dir, const char *path, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
		return;
	if (s->note_count == NOTES_MAX) {
		s->is_cut = true;
		return;
	}
	s->notes[s->note_count++] = (struct note){
		.path = join(path, name),
		.mode = st.st_mode,
		.inode = st.st_ino,
		.size = st.st_size,
		.changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec,
	};
}

/* Notes it else: a link, or a pointer. */
static void enter_if_directory(
	struct scan *s, int dir, const char *path, const char *name, enum place place)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		enter(s, join(path, name), place, 0);
	else
		note(s, dir, path, name);
}

/* A repository's own directory. */
static void look_at_git(struct scan *s, int dir, const struct directory *d)
{
	static const char *const files[] = {
		"config", "config.worktree", "commondir", "gitdir", "info", "info/attributes"};
	static const struct {
		const char *name;
		enum place place;
	} beneath[] = {
		{"hooks", PLACE_HOOKS}, {"modules", PLACE_MODULES}, {"worktrees", PLACE_WORKTREES}};

	for (size_t i = 0; i < array_count(files); i++)
		note(s, dir, d->path, files[i]);
	for (size_t i = 0; i < array_count(beneath); i++)
		enter_if_directory(s, dir, d->path, beneath[i].name, beneath[i].place);
}

static bool is_directory(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void look_at_name(struct scan *s, int dir, const struct directory *d, const struct dirent *e)
{
	bool is_dir = is_directory(dir, e);

	if (d->place == PLACE_HOOKS && !is_dir && !str_ends(e->d_name, ".sample"))
		note(s, dir, d->path, e->d_name);
	if (d->place == PLACE_TREE && strcmp(e->d_name, ".git") == 0)
		return; /* was met first */
	if (d->place == PLACE_WORKTREES && is_dir) {
		enter(s, join(d->path, e->d_name), PLACE_GIT, 0);
	} else if ((d->place == PLACE_TREE || d->place == PLACE_MODULES) && is_dir) {
		enter(s, join(d->path, e->d_name), d->place, d->depth + 1);
	}
}

static bool has(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void look_at(struct scan *s, const struct directory *d)
{
	autoclosedir DIR *dir = NULL;
	const struct dirent *e;
	int fd;

	if (file_open_strict(
		    s->top, d->path[0] != '\0' ? d->path : ".", O_RDONLY | O_DIRECTORY, 0, &fd) < 0)
		return; /* it is not for us, or a mount of its own */
	dir = fdopendir(fd);
	if (dir == NULL) {
		(void)close(fd);
		return;
	}
	/* a bare repository needs no .git to be obeyed */
	if (d->place == PLACE_GIT || (d->place != PLACE_HOOKS && has(fd, "HEAD") &&
					     has(fd, "objects") && has(fd, "refs")))
		look_at_git(s, fd, d);
	if (d->place == PLACE_GIT)
		return;
	if (d->place == PLACE_TREE)
		enter_if_directory(s, fd, d->path, ".git", PLACE_GIT);
	while ((e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (++queue_of(s, d->place)->name_count > NAMES_MAX) {
			s->is_cut = true;
			return;
		}
		look_at_name(s, fd, d, e);
	}
}

static int by_path(const void *left, const void *right)
{
	return strcmp(((const struct note *)left)->path, ((const struct note *)right)->path);
}

/* The notes are the caller's, sorted. */
static void scan(struct git_watch *w, struct note **ret, size_t *ret_count)
{
	struct scan s = {.top = w->top};
	size_t kept = 0;

	s.notes = own_alloc(NOTES_MAX * sizeof(*s.notes));
	s.git.directories = own_alloc(GIT_WATCH_DIRECTORIES * sizeof(struct directory));
	s.tree.directories = own_alloc(GIT_WATCH_DIRECTORIES * sizeof(struct directory));
	enter(&s, own_strdup(""), PLACE_TREE, 0);
	while (s.git.next < s.git.count || s.tree.next < s.tree.count) {
		struct queue *q = s.git.next < s.git.count ? &s.git : &s.tree;
		struct directory d = q->directories[q->next++]; /* look_at() may add more */

		if (q->name_count <= NAMES_MAX)
			look_at(&s, &d);
		free(d.path);
	}
	free(s.git.directories);
	free(s.tree.directories);
	qsort(s.notes, s.note_count, sizeof(*s.notes), by_path);
	for (size_t i = 0; i < s.note_count; i++) /* a repository may be met twice */
		if (kept > 0 && by_path(&s.notes[kept - 1], &s.notes[i]) == 0)
			free(s.notes[i].path);
		else
			s.notes[kept++] = s.notes[i];
	w->is_cut = w->is_cut || s.is_cut;
	*ret = s.notes;
	*ret_count = kept;
}

static void free_notes(struct note *notes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(notes[i].path);
	free(notes);
}

struct git_watch *git_watch_open(const char *dir)
{
	int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct git_watch *w;

	if (top < 0)
		return NULL;
	w = own_alloc(sizeof(*w));
	w->top = top;
	scan(w, &w->before, &w->before_count);
	return w;
}

static bool is_same(const struct note *a, const struct note *b)
{
	return a->mode == b->mode && a->inode == b->inode && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

int git_watch_changed(struct git_watch *w, git_change_fn *fn, void *context)
{
	struct note *after;
	size_t after_count, i = 0, k = 0;
	int count = 0;

	if (faccessat(w->top, ".", R_OK | X_OK, AT_EACCESS) < 0)
		return -errno;
	scan(w, &after, &after_count);
	while (i < w->before_count || k < after_count) {
		int order = i == w->before_count ? 1
			    : k == after_count   ? -1
						 : by_path(&w->before[i], &after[k]);

		if (order < 0)
			fn(context, w->before[i].path, GIT_CHANGE_REMOVED);
		else if (order > 0)
			fn(context, after[k].path, GIT_CHANGE_ADDED);
		else if (!is_same(&w->before[i], &after[k]))
			fn(context, after[k].path, GIT_CHANGE_CHANGED);
		else
			count--;
		count++;
		i += order <= 0;
		k += order >= 0;
	}
	free_notes(after, after_count);
	return count;
}

bool git_watch_is_cut(const struct git_watch *w)
{
	return w->is_cut;
}

void git_watch_close(struct git_watch *w)
{
	if (w == NULL)
		return;
	free_notes(w->before, w->before_count);
	own_close(&w->top);
	free(w);
}
