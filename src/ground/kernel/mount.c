/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor-based mount API. */

#include "ground/kernel/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "ground/base/own.h"

static int configure(int fs, const struct mount_option *options)
{
	for (const struct mount_option *o = options; o != NULL && o->name != NULL; o++) {
		int command = o->value != NULL ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

		if (fsconfig(fs, (unsigned)command, o->name, o->value, 0) < 0)
			return -errno;
	}
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -errno : 0;
}

int mount_new(
	const char *type, const struct mount_option *options, unsigned attributes, int *ret_fd)
{
	autoclose int fs = fsopen(type, FSOPEN_CLOEXEC);
	int fd, r;

	if (fs < 0)
		return -errno;
	r = configure(fs, options);
	if (r < 0)
		return r;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, attributes);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int mount_copy(int dirfd, const char *path, int *ret_fd)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
	int fd = open_tree(dirfd, path, flags | (path[0] == '\0' ? AT_EMPTY_PATH : 0));

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int mount_change(int fd, unsigned set, unsigned clear)
{
	struct mount_attr attr = {.attr_set = set, .attr_clr = clear, .propagation = MS_PRIVATE};

	return mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0 ? -errno
											    : 0;
}

int mount_map_ids(int fd, int userns_fd)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns_fd};

	return mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0 ? -errno
											    : 0;
}

int mount_attach(int fd, int dirfd, const char *path)
{
	return move_mount(fd, "", dirfd, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

int mount_change_at(const char *path, unsigned set, unsigned clear)
{
	struct mount_attr attr = {.attr_set = set, .attr_clr = clear};

	return mount_setattr(AT_FDCWD, path, 0, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int mount_probe(void)
{
	/* A call that cannot succeed: the errno tells a missing call from a refused one. */
	if (mount_setattr(-1, "", 0, NULL, 0) < 0 && errno == ENOSYS)
		return -ENOSYS;
	return 0;
}
