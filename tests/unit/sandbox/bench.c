/* SPDX-License-Identifier: Apache-2.0 */
/* What a box costs, from start to death, beside bubblewrap with the same mounts: by the clock, and
 * in processor time of all its processes. The variants take turns, so that whatever else the
 * machine does falls on all of them. Prints; judges nothing. "bench_sandbox ROUNDS VARIANT" runs one variant alone,
 * for a profiler. */

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/clock.h"
#include "ground/base/own.h"
#include "rig.h"
#include "tests.h"

#define ROUNDS_DEFAULT 100

static const char *const bwrap[] = {"bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr",
	"--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
	"/lib64", "--symlink", "usr/sbin", "/sbin", "--ro-bind-try", "/etc/alternatives",
	"/etc/alternatives", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
	"--ro-bind-try", "/etc/ssl/certs", "/etc/ssl/certs", "--ro-bind-try", "/etc/fonts",
	"/etc/fonts", "--ro-bind-try", "/etc/perl", "/etc/perl", "--ro-bind-try", "/etc/xdg",
	"/etc/xdg", "--ro-bind-try", "/etc/terminfo", "/etc/terminfo", "--ro-bind-try",
	"/etc/python3", "/etc/python3", "--ro-bind-try", "/etc/services", "/etc/services",
	"--ro-bind-try", "/etc/mime.types", "/etc/mime.types", "--proc", "/proc", "--dev", "/dev",
	"--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/home", "--dir", "/home/agent",
	"/bin/true", NULL};

static struct rig r;

static void run_box(unsigned weaker)
{
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.weaker = weaker;
	r.argv[0] = "/bin/true";
	if (rig_run(&r) < 0 || !r.exited)
		exit(1);
}

static void run_probe(void)
{
	run_box(0);
}

static void run_plain(void)
{
	run_box(WEAKER_PROBE);
}

static void spawn(const char *const *argv)
{
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ) != 0 ||
		waitpid(pid, &status, 0) < 0 || status != 0)
		exit(1);
}

static void run_bwrap(void)
{
	spawn(bwrap);
}

static void run_true(void)
{
	static const char *const argv[] = {"/bin/true", NULL};

	spawn(argv);
}

#define AHEAD_US 5000 /* enough for all that can be done before */

static void warm(void)
{
	sandbox_warm();
	(void)usleep(AHEAD_US);
}

static const struct {
	const char *name;
	void (*run)(void);
	void (*prepare)(void); /* not in the figures; may be NULL */
} variants[] = {{"box with probe", run_probe, NULL}, {"box without probe", run_plain, NULL},
	{"warm, with probe", run_probe, warm}, {"warm, without probe", run_plain, warm},
	{"bwrap, same mounts", run_bwrap, NULL}, {"posix_spawn", run_true, NULL}};

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t processor_ns(int who)
{
	struct rusage use;

	if (getrusage(who, &use) < 0)
		exit(1);
	return ((int64_t)use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000 +
	       ((int64_t)use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
}

static int64_t all_processor_ns(void)
{
	return processor_ns(RUSAGE_SELF) + processor_ns(RUSAGE_CHILDREN);
}

static double milliseconds(int64_t *sorted, size_t count, size_t percent)
{
	return (double)sorted[count * percent / 100] / 1e6;
}

static void print(const char *who, const char *name, int64_t *walls, int64_t *busy, size_t count)
{
	qsort(walls, count, sizeof(*walls), compare);
	qsort(busy, count, sizeof(*busy), compare);
	printf("%-5s %-20s p10 %6.2f  p50 %6.2f  p95 %6.2f ms   processor p50 %6.2f ms\n", who,
		name, milliseconds(walls, count, 10), milliseconds(walls, count, 50),
		milliseconds(walls, count, 95), milliseconds(busy, count, 50));
}

/* only: the number of the one variant to run, or their count for all. */
static void measure(const char *who, size_t rounds, size_t only)
{
	int64_t *walls[array_count(variants)], *busy[array_count(variants)];

	for (size_t v = 0; v < array_count(variants); v++) {
		walls[v] = own_alloc(rounds * sizeof(int64_t));
		busy[v] = own_alloc(rounds * sizeof(int64_t));
	}
	for (size_t i = 0; i < rounds; i++)
		for (size_t v = 0; v < array_count(variants); v++) {
			struct mono begun;
			int64_t used;

			if (only < array_count(variants) && v != only)
				continue;
			if (variants[v].prepare != NULL)
				variants[v].prepare();
			begun = mono_now();
			used = all_processor_ns();
			variants[v].run();
			walls[v][i] = mono_now().ns - begun.ns;
			busy[v][i] = all_processor_ns() - used;
		}
	for (size_t v = 0; v < array_count(variants); v++) {
		print(who, variants[v].name, walls[v], busy[v], rounds);
		free(walls[v]);
		free(busy[v]);
	}
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS_DEFAULT;
	size_t only = argc > 2 ? strtoul(argv[2], NULL, 10) : array_count(variants);
	struct err err;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (sandbox_init(&err) < 0 || rounds == 0)
		return 1;
	if (geteuid() != 0) {
		measure("user", rounds, only);
		return 0;
	}
	measure("root", rounds, only);
	become_user();
	measure("user", rounds, only);
	return 0;
}
