/* SPDX-License-Identifier: Apache-2.0 */
/* The janitor of control groups: removes those whose owner is dead.
 *
 * A group's name ends with its owner's pid and start time; both must be those of a living process,
 * else nobody will ever remove it. Hierarchies are walked whole, since the owner may have lived in
 * another group than we do. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/cgroup.h"
#include "ground/kernel/files.h"
#include "ground/kernel/process.h"

#define DEPTH_MAX 12
#define EMPTY_MS  1000

/* Of a machine whose root is not cgroup2 itself. "cpu" may be a link to "cpu,cpuacct". */
static const char *const hierarchies[] = {"unified", "memory", "pids", "cpu/."};

/* "hemra-NAME-PID-STARTTIME" */
static bool is_orphan(const char *name)
{
	const char *start = strrchr(name, '-');
	const char *pid = start != NULL ? memrchr(name, '-', (size_t)(start - name)) : NULL;
	char digits[24] = "";
	uint64_t pid_value, start_value, real;

	if (!str_starts(name, "hemra-") || pid == NULL || pid < name + 6 ||
		(size_t)(start - pid) > sizeof(digits))
		return false;
	(void)memcpy(digits, pid + 1, (size_t)(start - pid - 1));
	if (str_parse_u64(digits, INT32_MAX, &pid_value) < 0 ||
		str_parse_u64(start + 1, UINT64_MAX, &start_value) < 0)
		return false;
	return process_start_time((pid_t)pid_value, &real) < 0 || real != start_value;
}

/* Kills the members of a group by hand, where cgroup.kill is not to be had. */
static void kill_members(int dir)
{
	char text[8192];
	char *next = text;

	if (file_read_small(dir, "cgroup.procs", text, sizeof(text)) <= 0)
		return;
	for (long pid; (pid = strtol(next, &next, 10)) > 1;)
		(void)kill((pid_t)pid, SIGKILL); /* ESRCH: it is gone already */
}

static bool remove_group(int parent, const char *name)
{
	struct timespec pause = {.tv_nsec = 1000000};

	for (int left = EMPTY_MS; left > 0; left--) {
		autoclose int dir = -1;

		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return true;
		if (errno != EBUSY)
			return false;
		dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return false;
		if (file_write_text(dir, "cgroup.kill", "1") < 0)
			kill_members(dir);
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

static int sweep_dir(int parent, const char *name, int depth, bool dry_run)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int count = 0;

	if (dir == NULL) {
		own_close(&fd);
		return 0; /* it went away, or is not ours to read */
	}
	while ((e = readdir(dir)) != NULL) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (is_orphan(e->d_name))
			count += dry_run || remove_group(dirfd(dir), e->d_name);
		else if (depth < DEPTH_MAX)
			count += sweep_dir(dirfd(dir), e->d_name, depth + 1, dry_run);
	}
	(void)closedir(dir);
	return count;
}

int cgroup_sweep(bool dry_run)
{
	autoclose int root = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int count = 0;

	if (root < 0)
		return -errno;
	if (faccessat(root, "cgroup.controllers", F_OK, 0) == 0)
		return sweep_dir(root, ".", 0, dry_run);
	for (size_t i = 0; i < array_count(hierarchies); i++)
		count += sweep_dir(root, hierarchies[i], 0, dry_run);
	return count;
}
