/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_NATIVE_NATIVE_H
#define SANDBOX_NATIVE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ground/base/err.h"
#include "ground/kernel/idmap.h"
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

/* The root file system as data: made by the steward, carried out by the child (child.c). */
enum step_kind {
	STEP_DIR,      /* target, mode */
	STEP_USER_DIR, /* the same, owned by the box's user */
	STEP_FILE,     /* target, text, mode */
	STEP_LINK,     /* target -> text */
	STEP_TMPFS,    /* target, mode, text: size or NULL, user_owned */
	STEP_DEVPTS,   /* target */
	STEP_PROC,     /* target */
	STEP_BIND,     /* source (or fd) at target, which is made; attributes */
	STEP_HIDE,     /* target, if there, gives way to something empty that cannot be opened */
	STEP_LOCK,     /* target, when it exists, becomes read-only */
	STEP_PIN,      /* target, if there, becomes a mount: it cannot be renamed away */
	STEP_SEAL,     /* target, a mount, becomes read-only itself */
};

struct step {
	enum step_kind kind;
	unsigned attributes; /* MOUNT_ATTR_… */
	mode_t mode;
	bool optional; /* BIND: a source that is not there is left out */
	bool user_owned;
	int fd; /* BIND: the tree, opened already; else -1 */
	const char *target, *source, *text;
};

struct layout {
	struct step *steps; /* owned */
	size_t count, room;
	char **strings; /* owned: what the steps point to */
	size_t string_count, string_room;
};
int layout_make(struct layout *l, const struct box_spec *spec, const struct native_ids *ids,
	struct err *err);
void layout_done(struct layout *l); /* closes the fds too */
struct step *layout_add(struct layout *l, enum step_kind kind, const char *target);
const char *layout_keep(struct layout *l, char *text); /* takes the string, returns it */
void layout_add_etc(struct layout *l);

/* After ns_clone(): builds the box and becomes its pid 1; never returns. */
struct child {
	struct layout *layout;
	const struct native_ids *ids;
	int control, link, steward, image, stdio[3];
	int others[2]; /* the steward's ends of control and link */
	unsigned without;
};
void native_child_run(const struct child *c) __attribute__((noreturn));

/* The filter of the command's system calls, assembled once. */
struct seccomp_program;
const struct seccomp_program *native_filter(void);

/* Adds cause and remedy to why namespaces could not be had. Returns the same -code. */
int native_explain(struct err *err);

#endif
