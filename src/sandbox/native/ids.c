/* SPDX-License-Identifier: Apache-2.0 */
/* Who a box is on the host. */

#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/files.h"
#include "ground/kernel/process.h"
#include "sandbox/native/native.h"

/* Root's range where /etc/subuid gives none: between those that systemd hands out (up to
 * 0x6fffffff) and its foreign ids (from 0x7ffe0000). */
#define RANGE_BASE  0x7f000000u
#define RANGE_COUNT 65536u

/* "root:BASE:COUNT" of /etc/subuid or /etc/subgid. */
static uint32_t range_base(const char *path)
{
	char text[4096];

	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return RANGE_BASE;
	for (char *save = NULL, *line = strtok_r(text, "\n", &save); line != NULL;
		line = strtok_r(NULL, "\n", &save)) {
		char *end;
		unsigned long base, count;

		if (!str_starts(line, "root:"))
			continue;
		base = strtoul(line + 5, &end, 10);
		count = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;
		if (base > 0 && base < UINT32_MAX - RANGE_COUNT && count >= RANGE_COUNT)
			return (uint32_t)base;
	}
	return RANGE_BASE;
}

static bool is_root(void)
{
	return geteuid() == 0 && idmap_is_whole() &&
	       process_has_capabilities(
		       1ULL << CAP_SYS_ADMIN | 1ULL << CAP_SETUID | 1ULL << CAP_SETGID);
}

/* The namespace that our ids are of: tests, and nothing else, change it within a process. */
static ino_t own_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) < 0 ? 0 : st.st_ino;
}

void native_ids_find(struct native_ids *ret)
{
	static struct native_ids known;
	static uid_t known_for;
	static ino_t known_in = (ino_t)-1;
	ino_t here = own_namespace();

	if (known_for == geteuid() && known_in == here) {
		*ret = known;
		return;
	}
	known = (struct native_ids){.is_root = is_root()};
	if (known.is_root) {
		known.uids = (struct idmap){0, range_base("/etc/subuid"), RANGE_COUNT};
		known.gids = (struct idmap){0, range_base("/etc/subgid"), RANGE_COUNT};
		known.inner_uid = NATIVE_UID;
		known.owner_uid = known.uids.outside + NATIVE_UID;
		known.owner_gid = known.gids.outside + NATIVE_UID;
	} else {
		known.uids = (struct idmap){0, geteuid(), 1};
		known.gids = (struct idmap){0, getegid(), 1};
		known.owner_uid = geteuid();
		known.owner_gid = getegid();
	}
	known_for = geteuid();
	known_in = here;
	*ret = known;
}
