/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_NATIVE_NATIVE_H
#define SANDBOX_NATIVE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ground/base/err.h"
#include "ground/kernel/idmap.h"
#include "sandbox/box.h"
#include "sandbox/sandbox.h"

/* The parts of the native provider, private to its folder. */

/* Who the box is, seen from both sides. Root's boxes live in a range of subordinate ids; an
 * ordinary user's in one id, their own. */
struct native_ids {
	bool is_root;
	struct idmap uids, gids; /* of the box's user namespace */
	uid_t inner_uid; /* the command's user in that namespace: 1000, or 0 for a single id */
	uid_t owner_uid; /* the same user on the host */
	gid_t owner_gid;
};
void native_ids_find(struct native_ids *ret);

#define NATIVE_UID  1000
#define NATIVE_USER "agent"
#define NATIVE_HOME "/home/agent"

/* The root file system as data: planned by the steward, carried out by the child (child.c). */
enum step_kind {
	STEP_DIR,      /* target, mode */
	STEP_USER_DIR, /* the same, owned by the box's user */
	STEP_FILE,     /* target, text, mode */
	STEP_LINK,     /* target -> text */
	STEP_TMPFS,    /* target, mode, text: size, NULL for that of the disk limit; user_owned */
	STEP_DEVPTS,   /* target */
	STEP_PROC,     /* target */
	STEP_BIND,     /* source (or fd) at target, which is made; attributes */
	STEP_HIDE,     /* target, if there, gives way to something empty that cannot be opened */
	STEP_LOCK,     /* target, when it exists, becomes read-only; a link is only pinned */
	STEP_PIN,      /* target, if there, becomes a mount: it cannot be renamed away */
	STEP_SEAL,     /* target, a mount, becomes read-only itself */
};

struct step {
	enum step_kind kind;
	unsigned attributes; /* MOUNT_ATTR_… */
	mode_t mode;
	bool optional; /* BIND: a source that is not there is left out */
	bool user_owned;
	int fd; /* BIND: the tree, opened already; STEP_FD_SENT; else -1 */
	const char *target, *source, *text;
};

#define STEP_FD_SENT (-2) /* in orders: one of the descriptors that come with them */

struct layout {
	struct step *steps; /* owned */
	size_t count, room;
	char **strings; /* owned: what the steps point to */
	size_t string_count, string_room;
};
/* What every box of this machine has: looked up once, kept for the life of the process. */
const struct layout *layout_common(void);
/* What a spec adds to it. */
int layout_make(struct layout *l, const struct box_spec *spec, const struct native_ids *ids,
	struct err *err);
void layout_done(struct layout *l); /* closes the fds too */
struct step *layout_add(struct layout *l, enum step_kind kind, const char *target);
const char *layout_keep(struct layout *l, char *text); /* takes the string, returns it */
void layout_add_etc(struct layout *l);
/* What of the spec's mounts is hidden, locked and pinned: after every mount. */
void layout_protect(struct layout *l, const struct box_spec *spec);
/* Root: has the namespace ready that shows root's files as the box's user's; no matter if not. */
void layout_prepare_mapping(const struct native_ids *ids);

/* A layout for a child that was cloned before it was made: in memory that both share, written by
 * the steward before INIT_FDS and INIT_BUILD, by the child after. The descriptors come in this
 * order: those of stdio that are there, then one for each step whose fd is STEP_FD_SENT. */
#define ORDERS_STEP_MAX 4096
#define ORDERS_TEXT_MAX (1024 * 1024)
struct orders {
	bool has_stdio[3];
	size_t count, text_bytes;
	struct step steps[ORDERS_STEP_MAX];
	char text[ORDERS_TEXT_MAX];
};

/* After ns_clone(): builds the box and becomes its pid 1; never returns. */
struct child {
	const struct layout *common;
	struct orders *orders;
	const struct native_ids *ids;
	int control, link, steward, image;
	const char *disk; /* size of a tmpfs */
	unsigned without;
};
void native_child_run(const struct child *c) __attribute__((noreturn));

/* A box whose making has begun, and whose spec may not be known yet. */
struct shell {
	struct native_ids ids;
	struct orders *orders; /* owned mapping; NULL when finished */
	pid_t pid;
	int pidfd, control, link;
};
#define SHELL_NONE ((struct shell){.pidfd = -1, .control = -1, .link = -1})

/* Clones the child and has it build what every box has. disk: the size of its temporary file
 * systems, NULL for the default; cgroup: where it is put, CGROUP_NONE for nowhere. */
int shell_begin(struct shell *ret, unsigned without, const char *disk, const struct cgroup *cgroup,
	struct err *err);
/* Hands over what the spec adds, and has pid 1 executed. */
int shell_finish(struct shell *s, const struct layout *l, const int stdio[3], struct err *err);
void shell_done(struct shell *s); /* kills and reaps what was not handed on */

/* As sandbox_warm() and sandbox_warm_drop(). */
void native_warm(void);
void native_warm_drop(void);

/* The filter of the command's system calls, assembled once. */
struct seccomp_program;
const struct seccomp_program *native_filter(void);

/* Adds cause and remedy to why namespaces could not be had. Returns the same -code. */
int native_explain(struct err *err);

#endif
