/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ground/base/err.h"
#include "ground/terms/claim.h"
#include "ground/terms/plan.h"

/* Boxes. A provider builds one from a spec; pid 1 of the box (hemra-init) tries it with a probe,
 * waits for the word to go, becomes the parent of the command and ends when its control stream
 * ends. All calls are made by one steward; nothing here blocks longer than it says. */

/* Rules that a test leaves out of a box, to see the claim flip that stands on them. Only tests set
 * them: no file, flag or message carries them. */
enum box_without {
	BOX_WITHOUT_NETWORK = 1 << 0,      /* no network namespace of its own */
	BOX_WITHOUT_LOOPBACK = 1 << 1,     /* lo stays down */
	BOX_WITHOUT_READONLY = 1 << 2,     /* / stays writable, for everybody */
	BOX_WITHOUT_ABSENCE = 1 << 3,      /* the operator's home and /run are bound in */
	BOX_WITHOUT_COVER = 1 << 4,        /* covered paths are left visible */
	BOX_WITHOUT_OWN_PROC = 1 << 5,     /* the host's /proc instead of an own one */
	BOX_WITHOUT_PROC_SYS = 1 << 6,     /* /proc/sys is not read-only */
	BOX_WITHOUT_CAPABILITIES = 1 << 7, /* capabilities are not dropped */
	BOX_WITHOUT_NO_NEW_PRIVS = 1
				   << 8, /* goes only together with --weaker seccomp and landlock */
	BOX_WITHOUT_CORE_LIMIT = 1 << 9,
	BOX_WITHOUT_CLOSING = 1 << 10, /* a descriptor too many stays open */
	BOX_WITHOUT_USER = 1 << 11, /* the command stays uid 0 of the namespace, pid 1 traceable */
	BOX_WITHOUT_LIMITS = 1 << 12, /* no limit is set */
	BOX_WITHOUT_GIT = 1 << 13,    /* git_protected is not honoured */
	BOX_WITHOUT_PINS = 1 << 14,   /* the way to a protected path can be renamed */
};

/* What to build and run. Everything is borrowed for the call. */
struct box_spec {
	const char *name;  /* attempt id, with a suffix for a verifier's box; names cgroups */
	char *const *argv; /* the command; argv[0] is looked up in the box's PATH */
	char *const *envp; /* the whole environment, values included: goes to pid 1 by pipe */
	const char *cwd;   /* absolute, in the box */
	const struct plan_mount *mounts; /* in order; targets are made; a source may be a file */
	size_t mount_count;
	/* Host paths, absolute, that must be absent, or read-only, in the box although a mount
	 * is their ancestor; may be NULL. What leads there from the mount, directories and links,
	 * cannot be renamed, removed or replaced either; each such directory is a mount of its
	 * own, so rename(2) and link(2) across its border give EXDEV in the box. */
	char *const *covered;
	char *const *readonly;
	struct plan_limits limits;
	unsigned weaker; /* enum weaker */
	/* What there is of .git/config, config.worktree, commondir, hooks, info/attributes, modules,
	 * and of commondir, gitdir, config.worktree in .git/worktrees/ of writable mounts is
	 * read-only, and .git cannot be replaced, be it a directory, a link or a file. What is not
	 * there can be made: nothing is put on the host to prevent it. */
	bool git_protected;
	int stdio[3];    /* the box's ends of standard input, output, error; stay the caller's */
	uid_t owner_uid; /* who on the host owns files that the box's user makes: sandbox_owner() */
	gid_t owner_gid;
	bool probe_only;  /* doctor: never go; argv may be NULL */
	unsigned without; /* enum box_without; 0 but in tests */
};

enum box_report_type {
	BOX_REPORT_CLAIM, /* one claim was tried */
	BOX_REPORT_ARMED, /* the probe is through; whether it holds is the caller's to judge */
	BOX_REPORT_EXEC_FAILED, /* the command cannot be executed; error says why */
	BOX_REPORT_FAILED,      /* the box could not be built; error holds the sentence */
	BOX_REPORT_RUNNING,     /* the command was executed */
	BOX_REPORT_EXITED,      /* the command's first process ended: wait_status */
	BOX_REPORT_DEAD, /* nothing of the box is left; survivors were killed: survivor_count */
};

/* Order: CLAIMs, ARMED, RUNNING, EXITED, DEAD. FAILED or EXEC_FAILED comes in the place of what
 * cannot follow any more (a command that is not in the box is told instead of ARMED), then DEAD.
 * DEAD always comes, once, and last, unless the box is freed before; a box that is killed may
 * have no EXITED. The end of the command's first process ends the box: pid 1 kills what it left
 * behind and ends too. */
struct box_report {
	enum box_report_type type;
	struct claim_result claim;
	struct err error;
	int wait_status;
	unsigned survivor_count;
	bool out_of_memory, out_of_pids;
};

struct box;
struct loop;

typedef void box_report_fn(void *context, const struct box_report *report);

struct sandbox_capabilities {
	unsigned isolation;                           /* enum isolation offered as configured */
	char sentence[256];                           /* one plain sentence for doctor */
	bool limits_memory, limits_pids, limits_cpus; /* enforced, by which means says how */
	char how[128]; /* "cgroup v1 memory, pids, cpu", "rlimits only" … */
	bool disk_enforced;
};

struct sandbox_provider {
	const char *name;
	/* What is enforced with these limits on this machine by this user. Asks the kernel, no
	 * lasting effect. */
	void (*capabilities)(const struct plan_limits *limits, unsigned weaker,
		struct sandbox_capabilities *ret);
	/* Can boxes be made here at all? -errno with a sentence that names the cause (sysctl,
	 * AppArmor profile, container) and the remedy. */
	int (*usable)(struct err *err);
	/* Builds the box and starts its pid 1; reports come through the loop. The fds in
	 * spec->stdio may be closed by the caller afterwards. -errno with a sentence when it
	 * cannot be built. */
	int (*start)(struct loop *loop, const struct box_spec *spec, box_report_fn *fn,
		void *context, struct box **ret, struct err *err);
	/* Removes what boxes of dead stewards left (cgroups); returns how many things were
	 * removed. */
	int (*sweep)(bool dry_run, struct err *err);
};

const struct sandbox_provider *sandbox_provider_find(enum sandbox_kind kind);

/* The claims that a box of this spec must prove, and how each must come out. */
size_t sandbox_expect(
	enum sandbox_kind kind, const struct box_spec *spec, struct claim_expect *out, size_t room);

void box_go(struct box *b); /* after BOX_REPORT_ARMED: exec the command */
void box_signal(struct box *b,
	int signo);           /* to the command's process group; SIGCONT goes first for SIGTERM */
void box_kill(struct box *b); /* everything, at once; BOX_REPORT_DEAD follows within a second */
pid_t box_pid(const struct box *b); /* pid 1 as the host sees it, for tests and events */
void box_free(struct box *b); /* kills and waits (at most 5 s); accepts NULL; removes the cgroup */

/* Who owns, on the host, what the box's user makes: for root a subordinate id, else the
 * operator. */
void sandbox_owner(enum sandbox_kind kind, uid_t *ret_uid, gid_t *ret_gid);

/* Prepares what every box shares (the sealed pid 1, the filter, what this machine's root is made
 * of); call once in the nursery. */
int sandbox_init(struct err *err);

/* Begins a native box before its spec is known: namespaces and everything that all boxes have in
 * common are made by its child, beside whatever the caller does. For a steward that waits for its
 * attempt; the first start() of the native provider by the same process takes it where the spec
 * allows (no limits), and kills it where not. Silent: what fails here is told by start(). */
void sandbox_warm(void);
/* Kills and reaps what sandbox_warm() began and nobody took. It also dies with its steward. */
void sandbox_warm_drop(void);

#endif
