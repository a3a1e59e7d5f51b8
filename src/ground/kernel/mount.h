/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_MOUNT_H
#define GROUND_KERNEL_MOUNT_H

#include <stdint.h>
#include <sys/mount.h>

/* The mount API of Linux 5.2 and later, as -errno. A mount is a descriptor until mount_attach();
 * closing it before drops the mount. No memory is allocated: all may run after a clone. */

struct mount_option {
	const char *name, *value; /* value NULL: a flag */
};

/* A new file system. attributes: MOUNT_ATTR_…; options end with a row whose name is NULL. */
int mount_new(
	const char *type, const struct mount_option *options, unsigned attributes, int *ret_fd);

/* A private copy of the mount tree at path (beneath dirfd; "" means dirfd itself). It may be
 * changed with mount_change() without touching the original. Symbolic links are followed. */
int mount_copy(int dirfd, const char *path, int *ret_fd);

/* Sets attributes on the tree of a mount, submounts included, and cuts its propagation. */
int mount_change(int fd, unsigned set, unsigned clear);

/* Shows a tree with other owners: ids of the disk pass through the user namespace's map (see
 * idmap.h). -EINVAL when the file system cannot. */
int mount_map_ids(int fd, int userns_fd);

int mount_attach(int fd, int dirfd, const char *path); /* the target must exist */

/* Attributes of what is mounted at path, submounts not included. */
int mount_change_at(const char *path, unsigned set, unsigned clear);

/* 0 when the calls exist here (they may still be refused for lack of rights), -ENOSYS else. */
int mount_probe(void);

#endif
