/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups of both versions.
 *
 * Where a group is made. v1: beneath the group this process is in, so that limits of ours that
 * somebody else set stay in force. cgroup2 with controllers: a group that holds processes cannot
 * pass controllers on (the root excepted), so the group is made beneath the highest group above us
 * that we may write: the root for root, the user manager's for a user whose session lies in it.
 * cgroup2 without controllers: as v1. */

#include "ground/kernel/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "ground/kernel/process.h"

#define ROOT       "/sys/fs/cgroup"
#define PERIOD_US  100000       /* the kernel's default for cpu bandwidth */
#define UNLIMITED  (1ULL << 62) /* v1 prints "no limit" as the largest multiple of a page */
#define PATH_BYTES 1024

static const struct {
	const char *controller; /* its name in /proc/self/cgroup; "" for cgroup2 */
	const char *directory;  /* where it is mounted */
} parts[CGROUP_PART_COUNT] = {
	[CGROUP_UNIFIED] = {"", ROOT "/unified"},
	[CGROUP_MEMORY] = {"memory", ROOT "/memory"},
	[CGROUP_PIDS] = {"pids", ROOT "/pids"},
	[CGROUP_CPU] = {"cpu", ROOT "/cpu"},
};

static bool is_mounted(const char *path, unsigned long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (unsigned long)fs.f_type == magic;
}

static bool is_cgroup2_alone(void)
{
	return is_mounted(ROOT, CGROUP2_SUPER_MAGIC);
}

/* The path of a process in one hierarchy, from the text of its /proc/PID/cgroup: lines
 * "id:controller,controller:path". */
static bool find_path(const char *text, const char *controller, char *out, size_t room)
{
	size_t wanted = strlen(controller);

	for (const char *line = text; *line != '\0';) {
		const char *end = strchrnul(line, '\n');
		const char *list = memchr(line, ':', (size_t)(end - line));
		const char *path =
			list != NULL ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
		bool found = path != NULL && wanted == 0 && path == list + 1;

		for (const char *p = list; path != NULL && wanted > 0 && p < path && !found;) {
			const char *comma = memchr(p + 1, ',', (size_t)(path - p - 1));
			const char *stop = comma != NULL ? comma : path;

			found = (size_t)(stop - p - 1) == wanted &&
				memcmp(p + 1, controller, wanted) == 0;
			p = stop;
		}
		if (found && (size_t)(end - path) < room) {
			(void)memcpy(out, path + 1, (size_t)(end - path - 1));
			out[end - path - 1] = '\0';
			return true;
		}
		line = *end == '\n' ? end + 1 : end;
	}
	return false;
}

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool may_hold_groups(const char *path)
{
	char procs[PATH_BYTES + 16];

	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 &&
	       (faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) == 0);
}

/* The highest group above (or at) path that we may write; false when there is none. */
static bool climb(char *path, size_t top)
{
	char best[PATH_BYTES] = "";

	for (;;) {
		char *slash;

		if (may_hold_groups(path))
			(void)snprintf(best, sizeof(best), "%s", path);
		if (strlen(path) <= top)
			break;
		slash = strrchr(path, '/');
		*slash = '\0';
	}
	if (best[0] == '\0')
		return false;
	path[strlen(best)] = '\0'; /* it is a beginning of path */
	return true;
}

static int open_base(const char *text, enum cgroup_part part, bool alone)
{
	const char *top = part == CGROUP_UNIFIED && alone ? ROOT : parts[part].directory;
	char own[PATH_BYTES / 2], path[PATH_BYTES];
	unsigned long magic = part == CGROUP_UNIFIED ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC;

	if (!is_mounted(top, magic) || !find_path(text, parts[part].controller, own, sizeof(own)))
		return -1;
	(void)snprintf(path, sizeof(path), "%s%s", top, strcmp(own, "/") == 0 ? "" : own);
	if (alone ? !climb(path, strlen(top)) : !may_hold_groups(path))
		return -1;
	return open_dir(path);
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strstr(p, word)) != NULL; p += n)
		if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || p[n] == '\0'))
			return true;
	return false;
}

/* cgroup2: passes the controllers on to the groups beneath base, as far as it goes. */
static void pass_controllers_on(struct cgroup *c)
{
	static const char *const names[] = {"+memory", "+pids", "+cpu"};
	bool *const can[] = {&c->can_memory, &c->can_pids, &c->can_cpu};
	char text[256] = "";
	int base = c->base[CGROUP_UNIFIED];

	for (int round = 0; round < 2; round++) {
		if (file_read_small(base, "cgroup.subtree_control", text, sizeof(text)) < 0)
			return;
		for (size_t i = 0; i < array_count(names); i++) {
			*can[i] = has_word(text, names[i] + 1);
			if (!*can[i] &&
				round == 0) /* what does not work shows in the second round */
				(void)file_write_text(base, "cgroup.subtree_control", names[i]);
		}
	}
}

static void find_bases(struct cgroup *c)
{
	bool alone = is_cgroup2_alone();
	char text[4096];

	*c = CGROUP_NONE;
	if (file_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0)
		return;
	c->base[CGROUP_UNIFIED] = open_base(text, CGROUP_UNIFIED, alone);
	if (alone) {
		if (c->base[CGROUP_UNIFIED] >= 0)
			pass_controllers_on(c);
		return;
	}
	for (int i = CGROUP_MEMORY; i < CGROUP_PART_COUNT; i++)
		c->base[i] = open_base(text, (enum cgroup_part)i, alone);
	c->can_memory = c->base[CGROUP_MEMORY] >= 0;
	c->can_pids = c->base[CGROUP_PIDS] >= 0;
	c->can_cpu = c->base[CGROUP_CPU] >= 0;
}

void cgroup_probe(struct cgroup *ret, char *how, size_t how_bytes)
{
	const char *version;

	find_bases(ret);
	version = ret->base[CGROUP_MEMORY] >= 0 || ret->base[CGROUP_PIDS] >= 0 ? "v1" : "v2";
	if (!ret->can_memory && !ret->can_pids && !ret->can_cpu)
		(void)snprintf(how, how_bytes, "rlimits only");
	else
		(void)snprintf(how, how_bytes, "cgroup %s:%s%s%s", version,
			ret->can_memory ? " memory" : "", ret->can_pids ? " pids" : "",
			ret->can_cpu ? " cpu" : "");
	cgroup_close(ret, /* timeout_ms= */ 0);
}

static int make_dir(struct cgroup *c, enum cgroup_part part)
{
	if (mkdirat(c->base[part], c->name, 0755) < 0 && errno != EEXIST)
		return -errno;
	c->dir[part] = openat(c->base[part], c->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return c->dir[part] < 0 ? -errno : 0;
}

static int write_number(int dir, const char *file, uint64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return file_write_text(dir, file, text);
}

static int set_cpu_v2(int dir, uint64_t millis)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%llu %d",
		(unsigned long long)(millis * PERIOD_US / 1000), PERIOD_US);
	return file_write_text(dir, "cpu.max", text);
}

static int limit_v2(struct cgroup *c, const struct cgroup_limits *l)
{
	int dir = c->dir[CGROUP_UNIFIED], r = 0;

	if (l->memory_bytes > 0 && c->can_memory) {
		r = write_number(dir, "memory.max", l->memory_bytes);
		if (r == 0) /* without swap in the kernel the file is not there */
			(void)file_write_text(dir, "memory.swap.max", "0");
		if (r == 0)
			r = file_write_text(dir, "memory.oom.group", "1");
	}
	if (r == 0 && l->pids > 0 && c->can_pids)
		r = write_number(dir, "pids.max", l->pids);
	if (r == 0 && l->cpu_millis > 0 && c->can_cpu)
		r = set_cpu_v2(dir, l->cpu_millis);
	return r;
}

/* Has the kernel count on an eventfd whenever the limit's OOM handling starts. */
static void watch_oom(struct cgroup *c)
{
	char text[64];
	autoclose int control =
		openat(c->dir[CGROUP_MEMORY], "memory.oom_control", O_RDONLY | O_CLOEXEC);
	autoclose int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (control < 0 || fd < 0)
		return; /* the count of kills is still read at the end */
	(void)snprintf(text, sizeof(text), "%d %d", fd, control);
	if (file_write_text(c->dir[CGROUP_MEMORY], "cgroup.event_control", text) == 0)
		c->oom_fd = take_fd(&fd);
}

static int limit_v1(struct cgroup *c, const struct cgroup_limits *l)
{
	int r = 0;

	if (l->memory_bytes > 0 && c->can_memory) {
		r = make_dir(c, CGROUP_MEMORY);
		if (r == 0)
			r = write_number(
				c->dir[CGROUP_MEMORY], "memory.limit_in_bytes", l->memory_bytes);
		if (r == 0) { /* memory and swap together; not there without swap accounting */
			(void)write_number(c->dir[CGROUP_MEMORY], "memory.memsw.limit_in_bytes",
				l->memory_bytes);
			watch_oom(c);
		}
	}
	if (r == 0 && l->pids > 0 && c->can_pids) {
		r = make_dir(c, CGROUP_PIDS);
		if (r == 0)
			r = write_number(c->dir[CGROUP_PIDS], "pids.max", l->pids);
	}
	if (r == 0 && l->cpu_millis > 0 && c->can_cpu) {
		r = make_dir(c, CGROUP_CPU);
		if (r == 0)
			r = write_number(c->dir[CGROUP_CPU], "cpu.cfs_quota_us",
				l->cpu_millis * PERIOD_US / 1000);
	}
	return r;
}

int cgroup_open(struct cgroup *ret, const char *name, const struct cgroup_limits *limits)
{
	struct cgroup c;
	uint64_t started = 0;
	int r = 0;

	find_bases(&c);
	(void)process_start_time(getpid(), &started); /* without /proc nothing here works anyway */
	(void)snprintf(c.name, sizeof(c.name), "hemra-%.80s-%d-%llu", name, (int)getpid(),
		(unsigned long long)started);
	if (c.base[CGROUP_UNIFIED] >= 0)
		r = make_dir(&c, CGROUP_UNIFIED);
	if (r == 0)
		r = is_cgroup2_alone() ? limit_v2(&c, limits) : limit_v1(&c, limits);
	if (r < 0) {
		cgroup_close(&c, /* timeout_ms= */ 0);
		return r;
	}
	*ret = c;
	return 0;
}

int cgroup_birth_fd(const struct cgroup *c)
{
	return c->dir[CGROUP_UNIFIED];
}

int cgroup_add(const struct cgroup *c, pid_t pid, bool born)
{
	for (int i = born ? CGROUP_UNIFIED + 1 : CGROUP_UNIFIED; i < CGROUP_PART_COUNT; i++) {
		int r = c->dir[i] < 0 ? 0 : write_number(c->dir[i], "cgroup.procs", (uint64_t)pid);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Is the process where this part of the group is? */
static int check_member(const struct cgroup *c, enum cgroup_part part, pid_t pid)
{
	char file[64], text[4096], path[PATH_BYTES / 2];
	const char *last;
	ssize_t n;

	(void)snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	n = file_read_small(AT_FDCWD, file, text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (!find_path(text, parts[part].controller, path, sizeof(path)))
		return -ENOENT;
	last = strrchr(path, '/');
	return last != NULL && strcmp(last + 1, c->name) == 0 ? 0 : -ENOENT;
}

static int check_number(const struct cgroup *c, enum cgroup_part v1, const char *file_v1,
	const char *file_v2, uint64_t wanted)
{
	bool is_v1 = c->dir[v1] >= 0;
	char text[64];
	ssize_t n = file_read_small(is_v1 ? c->dir[v1] : c->dir[CGROUP_UNIFIED],
		is_v1 ? file_v1 : file_v2, text, sizeof(text));
	uint64_t value;

	if (n < 0)
		return (int)n;
	value = strtoull(text, NULL, 10); /* "max" gives 0 */
	/* memory is rounded down to whole pages */
	return value > 0 && value <= wanted && wanted - value < 65536 && value < UNLIMITED
		       ? 0
		       : -ERANGE;
}

int cgroup_check_memory(const struct cgroup *c, pid_t pid, uint64_t bytes)
{
	enum cgroup_part part = c->dir[CGROUP_MEMORY] >= 0 ? CGROUP_MEMORY : CGROUP_UNIFIED;
	int r = check_member(c, part, pid);

	return r < 0 ? r
		     : check_number(c, CGROUP_MEMORY, "memory.limit_in_bytes", "memory.max", bytes);
}

int cgroup_check_pids(const struct cgroup *c, pid_t pid, uint64_t count)
{
	enum cgroup_part part = c->dir[CGROUP_PIDS] >= 0 ? CGROUP_PIDS : CGROUP_UNIFIED;
	int r = check_member(c, part, pid);

	return r < 0 ? r : check_number(c, CGROUP_PIDS, "pids.max", "pids.max", count);
}

int cgroup_kill(const struct cgroup *c)
{
	int r = c->dir[CGROUP_UNIFIED] < 0
			? -EOPNOTSUPP
			: file_write_text(c->dir[CGROUP_UNIFIED], "cgroup.kill", "1");

	return r == -ENOENT ? -EOPNOTSUPP : r;
}

/* The number behind a word at the start of a line, 0 when it is not there. */
static uint64_t read_counter(int dir, const char *file, const char *word)
{
	char text[1024];
	size_t n = strlen(word);

	if (dir < 0 || file_read_small(dir, file, text, sizeof(text)) < 0)
		return 0;
	for (const char *p = text; p != NULL && *p != '\0'; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, word, n) == 0 && p[n] == ' ')
			return strtoull(p + n, NULL, 10);
	}
	return 0;
}

uint64_t cgroup_oom_kills(const struct cgroup *c)
{
	return c->dir[CGROUP_MEMORY] >= 0
		       ? read_counter(c->dir[CGROUP_MEMORY], "memory.oom_control", "oom_kill")
		       : read_counter(c->dir[CGROUP_UNIFIED], "memory.events", "oom_kill");
}

uint64_t cgroup_pids_hits(const struct cgroup *c)
{
	int dir = c->dir[CGROUP_PIDS] >= 0 ? c->dir[CGROUP_PIDS] : c->dir[CGROUP_UNIFIED];

	return read_counter(dir, "pids.events", "max");
}

void cgroup_close(struct cgroup *c, int timeout_ms)
{
	for (int i = 0; i < CGROUP_PART_COUNT; i++) {
		/* A dead process leaves its group a moment after it was reaped. */
		for (int left = timeout_ms; c->dir[i] >= 0; left--) {
			struct timespec pause = {.tv_nsec = 1000000};

			if (unlinkat(c->base[i], c->name, AT_REMOVEDIR) == 0 || errno != EBUSY ||
				left <= 0)
				break;
			(void)nanosleep(&pause, NULL);
		}
		own_close(&c->dir[i]);
		own_close(&c->base[i]);
	}
	own_close(&c->oom_fd);
}
