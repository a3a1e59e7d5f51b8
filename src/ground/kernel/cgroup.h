/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_CGROUP_H
#define GROUND_KERNEL_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One control group per box: it limits, it names the box's processes, and it kills them all at
 * once.
 *
 * Three kinds of machine: cgroup2 alone (limits, identity and kill in one directory); cgroup v1
 * with an empty cgroup2 beside it ("hybrid": limits in v1's memory, pids and cpu, identity and
 * kill in cgroup2); v1 alone. Where this process may not make groups, a group has no parts and
 * the caller falls back to rlimits. Nothing is mounted and no process but the box's is ever
 * moved.
 *
 * Groups are directories "hemra-NAME-PID-STARTTIME" of the process that made them, so that a
 * janitor can tell whose owner is dead. */

enum cgroup_part {
	CGROUP_UNIFIED, /* the cgroup2 directory */
	CGROUP_MEMORY,  /* v1 */
	CGROUP_PIDS,    /* v1 */
	CGROUP_CPU,     /* v1 */
	CGROUP_PART_COUNT,
};

struct cgroup {
	char name[128];
	int base[CGROUP_PART_COUNT];        /* the directory above, -1: the part is not there */
	int dir[CGROUP_PART_COUNT];         /* the group's own */
	bool can_memory, can_pids, can_cpu; /* what can be limited */
	int oom_fd; /* v1: an eventfd that counts events of the memory controller, else -1 */
};

struct cgroup_limits { /* 0: none */
	uint64_t memory_bytes, pids, cpu_millis;
};

#define CGROUP_NONE                                                                                \
	(struct cgroup)                                                                            \
	{                                                                                          \
		.base = {-1, -1, -1, -1}, .dir = {-1, -1, -1, -1}, .oom_fd = -1                    \
	}

/* What could be limited here; makes nothing that lasts. how gets a few words for a person. */
void cgroup_probe(struct cgroup *ret, char *how, size_t how_bytes);

/* Makes the group, with only the parts that the limits need and cgroup2 if it is there. Sets the
 * limits that can be set: the caller compares can_… with what it wanted. -errno when a part that
 * should work does not; nothing is left then. */
int cgroup_open(struct cgroup *ret, const char *name, const struct cgroup_limits *limits);

/* The directory to be born in (ns_clone), or -1. */
int cgroup_birth_fd(const struct cgroup *c);

/* Moves a process into every part it was not born into. born: it was born into cgroup2. */
int cgroup_add(const struct cgroup *c, pid_t pid, bool born);

/* Is the process in the group, and do the limits read back as they were asked for? 0, -ENOENT
 * when it is not a member of the part, -ERANGE when the kernel holds another value, -errno. */
int cgroup_check_memory(const struct cgroup *c, pid_t pid, uint64_t bytes);
int cgroup_check_pids(const struct cgroup *c, pid_t pid, uint64_t count);

/* SIGKILL to every member. -EOPNOTSUPP where the kernel has no such call (v1, cgroup2 before
 * 5.14). */
int cgroup_kill(const struct cgroup *c);

uint64_t cgroup_oom_kills(const struct cgroup *c); /* processes killed for the memory limit */
uint64_t cgroup_pids_hits(const struct cgroup *c); /* forks refused for the pids limit */

/* Removes the directories (which must be empty of processes) and closes everything; accepts
 * CGROUP_NONE. A directory that is still busy is tried again for timeout_ms. */
void cgroup_close(struct cgroup *c, int timeout_ms);

/* Removes every group whose owner is dead, in all hierarchies, killing what is left in it.
 * Returns how many directories there were (a group has one per part), -errno when none can be
 * read. dry_run only counts. */
int cgroup_sweep(bool dry_run);

#endif
