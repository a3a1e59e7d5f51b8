/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_BOX_H
#define SANDBOX_BOX_H

#include "ground/base/buf.h"
#include "ground/kernel/cgroup.h"
#include "ground/loop/loop.h"
#include "sandbox/sandbox.h"

/* A running box as the steward holds it, whatever the provider: private to sandbox/. */
struct box {
	struct loop *loop; /* borrowed */
	box_report_fn *fn;
	void *context; /* borrowed */
	bool *gone;    /* set by box_free() while a report is being delivered; else NULL */

	pid_t pid;
	int pidfd, control, link;
	struct loop_watch *watch_pid, *watch_control, *watch_link, *watch_oom;

	struct buf start; /* the start message, what is not sent yet; wiped when it is */

	struct cgroup cgroup;
	struct plan_limits limits; /* those in the cgroup, read back when armed */
	unsigned without;
	uint64_t claims; /* what is tried, 1 << enum claim */
	bool is_local;
	char *command; /* owned; argv[0], for the hint of a failed exec; may be NULL */

	bool is_built;   /* the payload reported: the box is armed */
	bool is_gone_to; /* box_go() was called */
	bool has_exited, has_failed, is_killed, is_dead;
	unsigned survivor_count;
	bool out_of_memory;
};

/* The box's ends, for the provider to hand to the child. */
struct box_ends {
	int control, link, steward; /* steward: our own pidfd */
};

struct box *box_new(
	struct loop *loop, const struct box_spec *spec, box_report_fn *fn, void *context);
int box_make_ends(int *ret_control, int *ret_link, struct box_ends *ret, struct err *err);
void box_close_ends(struct box_ends *e);

/* Writes the start message for this spec into b->start. flags: enum init_flag; filter may be
 * NULL. */
struct seccomp_program;
int box_write_start(struct box *b, enum sandbox_kind kind, const struct box_spec *spec,
	unsigned flags, const struct seccomp_program *filter, struct err *err);
#define BOX_PROCESSES_FLOOR 4096 /* RLIMIT_NPROC where no limit is asked for */
#define BOX_UID             1000 /* and gid, inside */

/* pid and pidfd are set: begins to watch. */
void box_begin(struct box *b);

/* Claims: what is tried in a box of this spec, as 1 << enum claim, and the lists it is tried on. */
struct box_lists {
	char **workspace, **home, **store, **sockets,
		**writable; /* owned vectors, NULL for empty */
};
uint64_t box_claims(enum sandbox_kind kind, const struct box_spec *spec, struct box_lists *ret);
void box_lists_done(struct box_lists *l);

/* The part of path behind ancestor, "" when they are the same; NULL when it is not beneath it. */
const char *box_path_beneath(const char *path, const char *ancestor);

/* Every place beneath a mount of this spec, or beneath /usr, where a host path is seen. A path
 * that is not on the host, or that is itself a mount's source, has none. Owned by the caller,
 * NULL for none. */
char **box_paths_inside(const struct box_spec *spec, const char *host_path);

/* The sealed pid 1; -errno before sandbox_init() worked. */
int sandbox_image_fd(void);

extern const struct sandbox_provider sandbox_native, sandbox_local;

#endif
