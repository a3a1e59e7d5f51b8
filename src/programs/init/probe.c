/* SPDX-License-Identifier: Apache-2.0 */
/* The probe: tries from inside what the box promises, one forked child for all of it.
 *
 * How it works: results lie in shared memory. The child goes through the claims and writes each
 * result; when an attempt kills it (an i386 call on a kernel that has none raises SIGSEGV), the
 * claim is decided by the signal and a new child goes on behind it. Attempts that would change the
 * child if they worked come last. Nothing waits: every attempt is refused, or works, at once. */

#include "programs/init/probe.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "programs/init/payload.h"

static const struct {
	enum claim claim;
	probe_fn *fn;
} attempts[] = {
	{CLAIM_FILES_HOME, probe_files_home},
	{CLAIM_FILES_STORE, probe_files_store},
	{CLAIM_FILES_OUTSIDE, probe_files_outside},
	{CLAIM_FILES_SOCKETS, probe_files_sockets},
	{CLAIM_FILES_DEVICES, probe_files_devices},
	{CLAIM_FILES_WORKSPACE, probe_files_workspace},
	{CLAIM_FILES_TEMP, probe_files_temp},
	{CLAIM_NET_V4, probe_net_v4},
	{CLAIM_NET_V6, probe_net_v6},
	{CLAIM_NET_UDP, probe_net_udp},
	{CLAIM_NET_RAW, probe_net_raw},
	{CLAIM_NET_VSOCK, probe_net_vsock},
	{CLAIM_NET_LOOPBACK, probe_net_loopback},
	{CLAIM_PROC_OUTSIDE, probe_proc_outside},
	{CLAIM_PROC_PTRACE, probe_proc_ptrace},
	{CLAIM_PROC_SIGNAL, probe_proc_signal},
	{CLAIM_SYS_KERNEL, probe_sys_kernel},
	{CLAIM_SYS_ABI, probe_sys_abi},
	{CLAIM_SYS_CLONE3, probe_sys_clone3},
	{CLAIM_PRIV_CAPABILITIES, probe_priv_capabilities},
	{CLAIM_PRIV_NO_NEW, probe_priv_no_new},
	{CLAIM_PRIV_CORE, probe_priv_core},
	{CLAIM_PRIV_FDS, probe_priv_fds},
	{CLAIM_PRIV_SYSCTL, probe_priv_sysctl},
	{CLAIM_LIMIT_PIDS, probe_limit_pids},
	{CLAIM_EXEC_COMMAND, probe_exec_command},
	/* these would change who tries */
	{CLAIM_SYS_MOUNT, probe_sys_mount},
	{CLAIM_SYS_NAMESPACE, probe_sys_namespace},
};

struct board {
	volatile size_t at; /* attempts begun */
	struct claim_result results[array_count(attempts)];
};

bool probe_refused(struct claim_result *r, size_t part, long value, const int *errnos)
{
	r->part = (uint8_t)part;
	r->detail = value < 0 ? (int32_t)-value : 0;
	r->verdict = CLAIM_BROKEN;
	for (; value < 0 && *errnos != 0; errnos++)
		if (*errnos == -value)
			r->verdict = CLAIM_HELD;
	return r->verdict == CLAIM_HELD;
}

bool probe_worked(struct claim_result *r, size_t part, long value)
{
	r->part = (uint8_t)part;
	r->detail = value < 0 ? (int32_t)-value : 0;
	r->verdict = value < 0 ? CLAIM_BROKEN : CLAIM_HELD;
	return value >= 0;
}

static uint64_t now_ns(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool is_asked(const struct start *s, size_t i)
{
	return (s->head.claims >> attempts[i].claim & 1) != 0;
}

static noreturn void try_from(const struct start *s, struct board *b, size_t i)
{
	for (; i < array_count(attempts); i++) {
		struct claim_result *r = &b->results[i];
		uint64_t begun = now_ns();

		b->at = i;
		if (!is_asked(s, i))
			continue;
		r->detail = 0;
		attempts[i].fn(s, r);
		r->time_ns = now_ns() - begun;
	}
	_exit(0);
}

/* Runs the attempts from i on in one child; returns where to go on. */
static size_t try_in_child(const struct start *s, struct board *b, size_t i)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		try_from(s, b, i);
	if (pid < 0)
		return array_count(attempts); /* all that is left stays untried */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		return array_count(attempts);
	i = b->at;
	b->results[i].detail = WTERMSIG(status);
	b->results[i].verdict = attempts[i].claim == CLAIM_SYS_ABI && WTERMSIG(status) == SIGSEGV
					? CLAIM_HELD /* this kernel has no i386 calls at all */
					: CLAIM_UNTRIED;
	return i + 1;
}

size_t probe_run(const struct start *s, struct claim_result *results)
{
	struct board *b =
		mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t count = 0;

	if (b == MAP_FAILED)
		return 0; /* claims that are expected and not reported count as not held */
	for (size_t i = 0; i < array_count(attempts); i++)
		b->results[i] = (struct claim_result){.claim = (uint16_t)attempts[i].claim,
			.verdict = CLAIM_UNTRIED,
			.detail = ECANCELED};
	for (size_t i = 0; i < array_count(attempts);)
		i = try_in_child(s, b, i);
	for (size_t i = 0; i < array_count(attempts); i++)
		if (is_asked(s, i))
			results[count++] = b->results[i];
	(void)munmap(b, sizeof(*b));
	return count;
}

void probe_limit_pids(const struct start *s, struct claim_result *r)
{
	struct rlimit limit;

	/* The group's limit is read back by the steward; the floor beneath it is read here. */
	if (getrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_max > s->head.process_promise)
		r->verdict = CLAIM_BROKEN;
	else
		r->verdict = CLAIM_HELD;
	r->detail = limit.rlim_max > INT32_MAX ? INT32_MAX : (int32_t)limit.rlim_max;
}

void probe_exec_command(const struct start *s, struct claim_result *r)
{
	char path[4096];
	struct err err;
	int found = command_find(s, path, sizeof(path), &err);

	if (probe_worked(r, 0, found))
		(void)probe_worked(r, 1, command_check(path, &err));
}
