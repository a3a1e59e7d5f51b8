/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_PROCESS_H
#define GROUND_KERNEL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a process does to itself before it runs somebody else's code. All return -errno, none
 * allocates: they may run after a clone. */

/* Closes every descriptor but 0, 1, 2 and those listed, in ascending order. */
int process_close_fds(const int *keep, size_t keep_count);

/* SIGKILL when the parent thread ends. A change of user clears it: set it after that, and then ask
 * whether the parent still lives. */
int process_die_with_parent(void);

/* Empties the bounding and ambient sets and every set of capabilities but those in keep
 * (1 << CAP_…), which stay permitted and effective. */
int process_drop_capabilities(uint64_t keep);
bool process_has_capabilities(uint64_t wanted); /* all of them, effective */

int process_lock_securebits(void); /* uid 0 means nothing any more; locked. Needs CAP_SETPCAP */
int process_no_new_privs(void);
int process_set_dumpable(bool on); /* off: /proc/PID belongs to root, nobody may trace */
/* Every uid and gid. Supplementary groups are dropped, but for keep_groups: in a user namespace of
 * one id setgroups() is denied, and the groups that stay mean nothing inside. */
int process_become(uid_t uid, gid_t gid, bool keep_groups);
int process_be_subreaper(void);

int process_limit(int resource, uint64_t value); /* soft and hard; RLIM_INFINITY */

/* When the process started, in clock ticks since boot: with its pid it names one process for
 * ever. */
int process_start_time(pid_t pid, uint64_t *ret_ticks);

#endif
