/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in a mount and must not be seen, or not be changed.
 *
 * A mount over a file keeps it from being written, renamed and removed, but its directory could be
 * renamed and another put in its place. So a host path is walked as the kernel would, and every
 * directory and link on the way that lies beneath a writable mount is pinned: mounted on itself,
 * which the kernel lets nobody rename, exchange or remove. The walk reads the host's files when
 * the box is planned; every step is carried out in the box's own root and follows no link. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/files.h"
#include "sandbox/native/native.h"

#define LINKS_MAX     40 /* as the kernel */
#define WORKTREES_MAX 256

struct guard {
	struct layout *layout;       /* borrowed */
	const struct box_spec *spec; /* borrowed */
	size_t first;                /* of our steps in the layout */
	char **sources;              /* owned: of each mount, without links; NULL: not there */
};

/* The same steps come again where paths share directories. */
static void add_once(struct guard *g, enum step_kind kind, char *target)
{
	for (size_t i = g->first; i < g->layout->count; i++) {
		const struct step *s = &g->layout->steps[i];

		if (s->kind == kind && strcmp(s->target, target) == 0) {
			free(target);
			return;
		}
	}
	(void)layout_add(g->layout, kind, layout_keep(g->layout, target));
}

/* Adds a step for every place where the box sees this path, which holds no link. */
static void add_places(struct guard *g, enum step_kind kind, const char *path)
{
	const struct box_spec *spec = g->spec;

	if (kind == STEP_PIN && (spec->without & BOX_WITHOUT_PINS) != 0)
		return;
	if (kind != STEP_PIN && box_path_beneath(path, "/usr") != NULL)
		add_once(g, kind, own_strdup(path));
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct plan_mount *m = &spec->mounts[i];
		const char *rest =
			g->sources[i] != NULL ? box_path_beneath(path, g->sources[i]) : NULL;

		if (rest != NULL && rest[0] != '\0' && (m->writable || kind != STEP_PIN))
			add_once(g, kind, own_printf("%s%s", m->target, rest));
	}
}

struct walk {
	char at[PATH_MAX];   /* what is behind us, without a link; "" is the root */
	char rest[PATH_MAX]; /* what is before us */
	unsigned link_count;
};

/* One name further; false at the end and where there is nothing. */
static bool walk_name(struct walk *w, mode_t *ret_mode)
{
	size_t skip = strspn(w->rest, "/"), size = strcspn(w->rest + skip, "/");
	size_t used = strlen(w->at);
	const char *name = w->rest + skip;
	struct stat st;

	if (size == 0)
		return false;
	if (size == 2 && strncmp(name, "..", 2) == 0) {
		*(used > 0 ? strrchr(w->at, '/') : w->at) = '\0';
	} else if (size != 1 || name[0] != '.') {
		if (used + 1 + size >= sizeof(w->at))
			return false;
		w->at[used] = '/';
		(void)memcpy(w->at + used + 1, name, size);
		w->at[used + 1 + size] = '\0';
	}
	(void)memmove(w->rest, name + size, strlen(name + size) + 1);
	if (lstat(w->at[0] != '\0' ? w->at : "/", &st) < 0)
		return false;
	*ret_mode = st.st_mode;
	return true;
}

/* At a link: goes on with what it says. */
static bool walk_link(struct walk *w)
{
	char text[2 * PATH_MAX];
	ssize_t n = readlink(w->at, text, PATH_MAX - 1);
	size_t size;

	if (n <= 0 || ++w->link_count > LINKS_MAX)
		return false;
	size = (size_t)n + strlen(w->rest) + 1;
	if (size > sizeof(w->rest))
		return false;
	(void)memcpy(text + n, w->rest, strlen(w->rest) + 1);
	(void)memcpy(w->rest, text, size);
	*(text[0] == '/' ? w->at : strrchr(w->at, '/')) = '\0';
	return true;
}

/* False when there is nothing at the end of the path; what leads as far as it goes is pinned. */
static bool protect(struct guard *g, enum step_kind kind, const char *path)
{
	struct walk w = {.at = ""};
	mode_t mode = 0;

	if (strlen(path) >= sizeof(w.rest))
		return false;
	(void)memcpy(w.rest, path, strlen(path) + 1);
	while (walk_name(&w, &mode)) {
		bool is_last = w.rest[strspn(w.rest, "/")] == '\0';

		if (!S_ISLNK(mode) && is_last) {
			add_places(g, kind, w.at);
			return true;
		}
		add_places(g, STEP_PIN, w.at);
		if (S_ISLNK(mode) && !walk_link(&w))
			return false;
	}
	return false;
}

static void protect_in(struct guard *g, const char *dir, const char *name)
{
	char *path = own_printf("%s/%s", dir, name);

	(void)protect(g, STEP_LOCK, path);
	free(path);
}

/* The worktrees that belong to a repository stay usable, but for where they find it and the
 * configuration of their own. */
static void protect_worktrees(struct guard *g, const char *git)
{
	static const char *const fixed[] = {"commondir", "gitdir", "config.worktree"};
	char *all = own_printf("%s/worktrees", git);
	DIR *dir = opendir(all);
	const struct dirent *e;
	size_t count = 0;

	while (dir != NULL && (e = readdir(dir)) != NULL && count <= WORKTREES_MAX) {
		char *one = own_printf("%s/%s", all, e->d_name);

		for (size_t i = 0; i < array_count(fixed) && e->d_name[0] != '.'; i++)
			protect_in(g, one, fixed[i]);
		free(one);
		count++;
	}
	if (dir != NULL)
		(void)closedir(dir);
	if (count > WORKTREES_MAX)
		(void)protect(g, STEP_LOCK, all);
	free(all);
}

static void protect_git_dir(struct guard *g, const char *git)
{
	static const char *const fixed[] = {
		"config", "config.worktree", "commondir", "hooks", "info/attributes", "modules"};

	for (size_t i = 0; i < array_count(fixed); i++)
		protect_in(g, git, fixed[i]);
	protect_worktrees(g, git);
}

/* A file in the place of .git says where the repository is: "gitdir: PATH". NULL when it does
 * not; owned by the caller. */
static char *pointed_to(const char *top, const char *file)
{
	char text[PATH_MAX];

	if (file_read_small(AT_FDCWD, file, text, sizeof(text)) <= 0 ||
		!str_starts(text, "gitdir: "))
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	return text[8] == '/' ? own_strdup(text + 8) : own_printf("%s/%s", top, text + 8);
}

/* The repository at the top of a writable mount: its configuration runs programs on the host. */
static void protect_git(struct guard *g, const char *top)
{
	char *git = own_printf("%s/.git", top);
	char *elsewhere;
	struct stat st;

	if (stat(git, &st) < 0) {
		(void)protect(g, STEP_PIN, git); /* a link to nowhere, or nothing */
	} else if (S_ISDIR(st.st_mode)) {
		(void)protect(g, STEP_PIN, git);
		protect_git_dir(g, git);
	} else if (protect(g, STEP_LOCK, git) && S_ISREG(st.st_mode)) {
		elsewhere = pointed_to(top, git);
		if (elsewhere != NULL && protect(g, STEP_PIN, elsewhere))
			protect_git_dir(g, elsewhere);
		free(elsewhere);
	}
	free(git);
}

/* A mount in a mount: the way to it is pinned as well. */
static void pin_way(struct guard *g, const char *target, const char *ancestor)
{
	const char *rest = box_path_beneath(target, ancestor);

	if (rest == NULL || rest[0] == '\0' || (g->spec->without & BOX_WITHOUT_PINS) != 0)
		return;
	for (const char *slash = strchr(rest + 1, '/'); slash != NULL;
		slash = strchr(slash + 1, '/'))
		if (slash[1] != '\0' && slash[-1] != '/')
			add_once(g, STEP_PIN, own_strndup(target, (size_t)(slash - target)));
}

static void protect_all(struct guard *g, enum step_kind kind, char *const *paths)
{
	for (size_t i = 0; paths != NULL && paths[i] != NULL; i++)
		(void)protect(g, kind, paths[i]);
}

void layout_protect(struct layout *l, const struct box_spec *spec)
{
	struct guard g = {.layout = l, .spec = spec, .first = l->count};

	g.sources = own_alloc((spec->mount_count + 1) * sizeof(*g.sources));
	for (size_t i = 0; i < spec->mount_count; i++)
		g.sources[i] = realpath(spec->mounts[i].source, NULL);
	for (size_t i = 0; i < spec->mount_count; i++)
		for (size_t k = 0; k < spec->mount_count; k++)
			if (spec->mounts[k].writable)
				pin_way(&g, spec->mounts[i].target, spec->mounts[k].target);
	if ((spec->without & BOX_WITHOUT_COVER) == 0)
		protect_all(&g, STEP_HIDE, spec->covered);
	for (size_t i = 0; i < spec->mount_count; i++)
		if (spec->git_protected && (spec->without & BOX_WITHOUT_GIT) == 0 &&
			spec->mounts[i].writable && g.sources[i] != NULL)
			protect_git(&g, g.sources[i]);
	protect_all(&g, STEP_LOCK, spec->readonly);
	for (size_t i = 0; i < spec->mount_count; i++)
		free(g.sources[i]);
	free(g.sources);
}
