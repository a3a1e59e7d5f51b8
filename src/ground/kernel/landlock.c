/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock rulesets from tables of open files and ports. */

#include "ground/kernel/landlock.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/own.h"

/* As the kernel lays them out at ABI 6; an older one takes a shorter prefix. */
struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct port_attr {
	uint64_t allowed_access;
	uint64_t port;
};

enum {
	RULE_PATH_BENEATH = 1,
	RULE_NET_PORT = 2,
};

/* The rights that make sense for something that is not a directory; others give EINVAL. */
#define FILE_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |                              \
		LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_FS_TRUNCATE | LANDLOCK_FS_IOCTL_DEV)

int landlock_abi(void)
{
	long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? -errno : (int)abi;
}

static struct ruleset_attr known_rights(int abi)
{
	struct ruleset_attr known = {.handled_access_fs = LANDLOCK_FS_ALL};

	if (abi < 2)
		known.handled_access_fs &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
	if (abi < 3)
		known.handled_access_fs &= ~LANDLOCK_FS_TRUNCATE;
	if (abi < 5)
		known.handled_access_fs &= ~LANDLOCK_FS_IOCTL_DEV;
	if (abi >= 4)
		known.handled_access_net = LANDLOCK_NET_ALL;
	if (abi >= 6)
		known.scoped = LANDLOCK_SCOPE_ALL;
	return known;
}

static int add_path(int ruleset, const struct landlock_path *row, uint64_t handled)
{
	struct landlock_path_beneath_attr rule = {.parent_fd = row->fd};
	struct stat st;

	if (row->fd < 0)
		return 0;
	if (fstat(row->fd, &st) < 0)
		return -errno;
	rule.allowed_access = row->access & handled;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FILE_RIGHTS;
	if (rule.allowed_access == 0)
		return 0;
	if (syscall(__NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

static int add_port(int ruleset, const struct landlock_port *row, uint64_t handled)
{
	struct port_attr rule = {.allowed_access = row->access & handled, .port = row->port};

	if (rule.allowed_access == 0)
		return 0;
	if (syscall(__NR_landlock_add_rule, ruleset, RULE_NET_PORT, &rule, 0) < 0)
		return -errno;
	return 0;
}

int landlock_open(const struct landlock_spec *spec, int *ret_fd)
{
	int abi = landlock_abi();
	struct ruleset_attr attr;
	autoclose int ruleset = -1;
	size_t size;
	int r;

	if (abi < 0)
		return abi;
	attr = known_rights(abi);
	attr.handled_access_fs &= spec->fs;
	attr.handled_access_net &= spec->net;
	attr.scoped &= spec->scope;
	size = abi >= 6 ? sizeof(attr) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	ruleset = (int)syscall(__NR_landlock_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return -errno;
	for (size_t i = 0; i < spec->path_count; i++) {
		r = add_path(ruleset, &spec->paths[i], attr.handled_access_fs);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < spec->port_count; i++) {
		r = add_port(ruleset, &spec->ports[i], attr.handled_access_net);
		if (r < 0)
			return r;
	}
	*ret_fd = take_fd(&ruleset);
	return 0;
}

int landlock_enforce(int ruleset_fd)
{
	return syscall(__NR_landlock_restrict_self, ruleset_fd, 0) < 0 ? -errno : 0;
}

int landlock_restrict(const struct landlock_spec *spec)
{
	autoclose int ruleset = -1;
	int r = landlock_open(spec, &ruleset);

	return r < 0 ? r : landlock_enforce(ruleset);
}
