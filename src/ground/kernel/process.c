/* SPDX-License-Identifier: Apache-2.0 */
/* What a process does to itself. */

#include "ground/kernel/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/kernel/files.h"

static int close_range_of(unsigned from, unsigned to)
{
	return syscall(__NR_close_range, from, to, 0) < 0 ? -errno : 0;
}

int process_close_fds(const int *keep, size_t keep_count)
{
	unsigned from = 3;
	int r = 0;

	for (size_t i = 0; i < keep_count && r == 0; i++) {
		unsigned fd = (unsigned)keep[i];

		if (keep[i] < 0 || fd < from)
			continue;
		if (fd > from)
			r = close_range_of(from, fd - 1);
		from = fd + 1;
	}
	return r < 0 ? r : close_range_of(from, ~0U);
}

int process_die_with_parent(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
}

int process_drop_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}};

	for (int i = 0; i < 2; i++)
		sets[i].permitted = sets[i].effective = (uint32_t)(keep >> (32 * i));
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	/* EINVAL: past the last capability of this kernel */
	for (int i = 0; i < 64; i++)
		if ((keep & (1ULL << i)) == 0 && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0) {
			if (errno == EINVAL)
				break;
			return -errno;
		}
	return syscall(__NR_capset, &header, sets) < 0 ? -errno : 0;
}

bool process_has_capabilities(uint64_t wanted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}};
	uint64_t have;

	if (syscall(__NR_capget, &header, sets) < 0)
		return false;
	have = sets[0].effective | (uint64_t)sets[1].effective << 32;
	return (have & wanted) == wanted;
}

int process_lock_securebits(void)
{
	unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			     SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 ? -errno : 0;
}

int process_no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int process_set_dumpable(bool on)
{
	return prctl(PR_SET_DUMPABLE, on ? 1 : 0, 0, 0, 0) < 0 ? -errno : 0;
}

int process_become(uid_t uid, gid_t gid, bool keep_groups)
{
	/* The raw calls: the C library's make every thread follow, which a clone's copy cannot. */
	if (!keep_groups && syscall(__NR_setgroups, 0, NULL) < 0)
		return -errno;
	if (syscall(__NR_setresgid, gid, gid, gid) < 0)
		return -errno;
	return syscall(__NR_setresuid, uid, uid, uid) < 0 ? -errno : 0;
}

int process_be_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int process_limit(int resource, uint64_t value)
{
	struct rlimit limit = {.rlim_cur = value, .rlim_max = value};

	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

int process_start_time(pid_t pid, uint64_t *ret_ticks)
{
	char path[64], text[1024];
	const char *p;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	n = file_read_small(AT_FDCWD, path, text, sizeof(text));
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	/* The name, in brackets, may hold anything; the 22nd field is the 20th behind it. */
	p = strrchr(text, ')');
	for (int field = 2; p != NULL && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p == NULL)
		return -EIO;
	*ret_ticks = strtoull(p, NULL, 10);
	return 0;
}
