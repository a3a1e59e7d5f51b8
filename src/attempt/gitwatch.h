/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTEMPT_GITWATCH_H
#define ATTEMPT_GITWATCH_H

#include <stdbool.h>
#include <sys/types.h>

/* What git on the host would run, or obey, in a directory that a box may write to: noted before,
 * compared after the box's death. For files that the box cannot be kept from making (see
 * git_protected in sandbox/sandbox.h), so that the operator is warned before the next git command.
 *
 * In every repository (.git, a bare one, a submodule's beneath modules/): config, config.worktree,
 * commondir, info/attributes, hooks/ without samples, worktrees' commondir, gitdir and
 * config.worktree; and .git itself where it is a link or a file. Links are noted, never followed,
 * and no content is read. GIT_WATCH_DEPTH directories down and GIT_WATCH_DIRECTORIES in all, those
 * near the top first; as many again within repositories. */
#define GIT_WATCH_DEPTH       4
#define GIT_WATCH_DIRECTORIES 2000

struct git_watch;

enum git_change {
	GIT_CHANGE_ADDED,
	GIT_CHANGE_CHANGED, /* type, mode, inode, size, or the time of its last change */
	GIT_CHANGE_REMOVED,
};

/* path is relative to the directory, as the file system has it: not fit for a terminal. */
typedef void git_change_fn(void *context, const char *path, enum git_change change);

/* NULL when the directory cannot be read. */
struct git_watch *git_watch_open(const char *dir);

/* Calls fn, in the order of paths, for each that is not as it was; returns how many there are, or
 * -errno when the directory cannot be read any more. Only after the box is dead. */
int git_watch_changed(struct git_watch *w, git_change_fn *fn, void *context);

/* There was more than is looked at, before or after, the depth not counted. */
bool git_watch_is_cut(const struct git_watch *w);

void git_watch_close(struct git_watch *w); /* accepts NULL */

#endif
