/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_IDMAP_H
#define GROUND_KERNEL_IDMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Id maps of user namespaces. All return -errno. */

struct idmap {
	uint32_t inside, outside, count;
};

/* Writes the map of a process's new user namespace: one line for users, one for groups. pid 0 is
 * the caller itself. deny_setgroups must be set by whoever has no CAP_SETGID outside. */
int idmap_write(pid_t pid, const struct idmap *uids, const struct idmap *gids, bool deny_setgroups);

/* A user namespace that nobody lives in, as a descriptor for mount_map_ids(): what the disk says is
 * user `inside` appears as user `outside`, and back. Needs the rights of root. */
int idmap_open(const struct idmap *uids, const struct idmap *gids, int *ret_fd);

/* True when this process's user namespace is the initial one's view: every id maps to itself. */
bool idmap_is_whole(void);

#endif
