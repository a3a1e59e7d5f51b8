/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_NS_H
#define GROUND_KERNEL_NS_H

#include <stdint.h>
#include <sys/types.h>

/* Namespaces. All return -errno. */

/* Starts a child in new namespaces. flags: CLONE_NEW…; cgroup_fd: directory of a cgroup2 to be
 * born in, or -1. Returns 0 in the child, the child's pid in the parent with *ret_pidfd
 * (CLOEXEC) set. The child is a copy of a process as after fork(), but no fork handler ran: it
 * must not allocate. Where clone3 is refused (ENOSYS, by a filter of a container) clone does the
 * work; a cgroup is then -EOPNOTSUPP. */
pid_t ns_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd);

int ns_join(int fd, int flags); /* a namespace's descriptor, or a pidfd with CLONE_NEW… flags */
int ns_leave(int flags);        /* unshare */

/* Brings up the loopback of the calling process's network namespace. */
int ns_loopback_up(void);

#endif
