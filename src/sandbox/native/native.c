/* SPDX-License-Identifier: Apache-2.0 */
/* The native provider: namespaces, a root of its own, a filter, a control group. */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/clock.h"
#include "ground/base/own.h"
#include "ground/kernel/cgroup.h"
#include "ground/kernel/landlock.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/pidfd.h"
#include "ground/terms/init.h"
#include "sandbox/box.h"
#include "sandbox/native/native.h"

#define TRIAL_MS 5000

static bool wants_limits(const struct plan_limits *l)
{
	return l->memory_bytes > 0 || l->pids > 0 || l->cpu_millis > 0;
}

/* Makes the group and refuses what it cannot enforce, unless that was named as a shortfall. */
static int open_cgroup(struct box *b, const struct box_spec *spec, struct err *err)
{
	struct cgroup_limits limits = {
		.memory_bytes = spec->limits.memory_bytes,
		.pids = spec->limits.pids,
		.cpu_millis = spec->limits.cpu_millis,
	};
	bool may_lack = (spec->weaker & WEAKER_RESOURCE_LIMIT) != 0;
	const char *lacking;
	int r;

	/* without a limit none is needed: the death of pid 1 is that of all its namespace */
	if ((spec->without & BOX_WITHOUT_LIMITS) != 0 || !wants_limits(&spec->limits))
		return 0;
	r = cgroup_open(&b->cgroup, spec->name, &limits);
	if (r < 0 && !may_lack)
		return err_set(err, -r, "make the control group of the box");
	if (may_lack)
		return 0;
	/* processes are also limited by RLIMIT_NPROC, which counts per box */
	lacking = limits.memory_bytes > 0 && !b->cgroup.can_memory ? "memory"
		  : limits.cpu_millis > 0 && !b->cgroup.can_cpu    ? "cpus"
								   : NULL;
	if (lacking == NULL)
		return 0;
	return err_say(err, EOPNOTSUPP,
		"the limit on %s cannot be enforced: this user may not make control groups here; "
		"run in a "
		"systemd user session that delegates them, run as root, or accept it with --weaker "
		"resource_limit",
		lacking);
}

/* Pipes go to the box's user, so that /dev/stdout can be opened by name inside. */
static int give_pipes(const struct box_spec *spec, const struct native_ids *ids, struct err *err)
{
	struct stat st;

	for (int i = 0; i < 3 && ids->is_root; i++)
		if (spec->stdio[i] >= 0 && fstat(spec->stdio[i], &st) == 0 &&
			S_ISFIFO(st.st_mode) &&
			fchown(spec->stdio[i], ids->owner_uid, ids->owner_gid) < 0)
			return err_set(err, errno, "give the pipes to the box's user");
	return 0;
}

static unsigned start_flags(const struct box_spec *spec, const struct native_ids *ids)
{
	return INIT_NATIVE | (ids->is_root ? 0 : INIT_NESTED) |
	       ((spec->weaker & WEAKER_LANDLOCK) == 0 ? INIT_LANDLOCK : 0) |
	       ((spec->weaker & WEAKER_SECCOMP) == 0 ? INIT_SECCOMP : 0);
}

/* The one that native_warm() began; taken or killed by the first start. */
static struct shell warm = SHELL_NONE;
static pid_t warmed_by; /* whoever is forked from its steward must leave it alone */

void native_warm(void)
{
	struct err unused;

	if (warmed_by == getpid())
		return;
	warmed_by = getpid();
	if (shell_begin(&warm, /* without= */ 0, /* disk= */ NULL, &CGROUP_NONE, &unused) < 0)
		warm = SHELL_NONE;
	else
		layout_prepare_mapping(&warm.ids);
}

void native_warm_drop(void)
{
	if (warmed_by != getpid())
		return;
	warmed_by = 0;
	shell_done(&warm);
}

static bool take_warm(const struct box_spec *spec, struct shell *ret)
{
	if (warmed_by != getpid() || warm.pidfd < 0)
		return false;
	if (wants_limits(&spec->limits) || spec->limits.disk_bytes > 0 || spec->without != 0) {
		native_warm_drop();
		return false;
	}
	warmed_by = 0;
	*ret = warm;
	warm = SHELL_NONE;
	return true;
}

/* The shell that the spec's box starts from. What does not depend on it can be planned then, while
 * the child is at work. */
static int open_shell(
	struct box *b, const struct box_spec *spec, struct shell *ret, struct err *err)
{
	char disk[32];
	int r;

	if (take_warm(spec, ret))
		return 0;
	(void)snprintf(disk, sizeof(disk), "%llu", (unsigned long long)spec->limits.disk_bytes);
	r = open_cgroup(b, spec, err);
	return r < 0 ? r
		     : shell_begin(ret, spec->without, spec->limits.disk_bytes > 0 ? disk : NULL,
			       &b->cgroup, err);
}

static int build(struct box *b, const struct box_spec *spec, struct err *err)
{
	struct layout layout = {0};
	struct shell s = SHELL_NONE;
	bool is_filtered = (spec->weaker & WEAKER_SECCOMP) == 0;
	int r = open_shell(b, spec, &s, err);

	if (r == 0)
		r = box_write_start(b, SANDBOX_NATIVE, spec, start_flags(spec, &s.ids),
			is_filtered ? native_filter() : NULL, err);
	if (r == 0)
		r = layout_make(&layout, spec, &s.ids, err);
	if (r == 0)
		r = give_pipes(spec, &s.ids, err);
	if (r == 0)
		r = shell_finish(&s, &layout, spec->stdio, err);
	layout_done(&layout);
	if (r == 0) {
		b->pid = s.pid;
		b->pidfd = take_fd(&s.pidfd);
		b->control = take_fd(&s.control);
		b->link = take_fd(&s.link);
		box_begin(b);
	}
	shell_done(&s);
	return r;
}

static int native_start(struct loop *loop, const struct box_spec *spec, box_report_fn *fn,
	void *context, struct box **ret, struct err *err)
{
	struct box *b;
	int r = sandbox_init(err);

	if (r < 0)
		return r;
	b = box_new(loop, spec, fn, context);
	r = build(b, spec, err);
	if (r < 0) {
		box_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

static void native_capabilities(
	const struct plan_limits *limits, unsigned weaker, struct sandbox_capabilities *ret)
{
	struct cgroup c;
	bool all_set = limits->memory_bytes > 0 && limits->pids > 0 && limits->cpu_millis > 0;
	int abi = landlock_abi();

	*ret = (struct sandbox_capabilities){
		.isolation = ISOLATION_NETWORK_BLOCK | ISOLATION_FILE_SYSTEM};
	cgroup_probe(&c, ret->how, sizeof(ret->how));
	ret->limits_memory = c.can_memory;
	ret->limits_cpus = c.can_cpu;
	ret->limits_pids = true; /* RLIMIT_NPROC counts per box where there is no group */
	if (all_set && c.can_memory && c.can_cpu && (weaker & WEAKER_RESOURCE_LIMIT) == 0)
		ret->isolation |= ISOLATION_RESOURCE_LIMIT;
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		"namespaces of its own for users, mounts, processes, network, ipc, names and "
		"groups; %s; %s",
		(weaker & WEAKER_SECCOMP) != 0 ? "no system call filter" : "system calls filtered",
		abi < 0                           ? "no Landlock in this kernel"
		: (weaker & WEAKER_LANDLOCK) != 0 ? "no Landlock"
						  : "Landlock");
}

struct trial {
	bool is_over, is_armed;
	struct err error;
};

static void take_trial(void *context, const struct box_report *r)
{
	struct trial *t = context;

	if (r->type == BOX_REPORT_FAILED)
		t->error = r->error;
	t->is_armed = t->is_armed || r->type == BOX_REPORT_ARMED;
	t->is_over = t->is_armed || r->type == BOX_REPORT_FAILED || r->type == BOX_REPORT_DEAD;
}

/* Builds one and throws it away: nothing else says as much. */
static int native_usable(struct err *err)
{
	char *none[] = {NULL};
	struct box_spec spec = {.name = "trial",
		.envp = none,
		.cwd = "/",
		.stdio = {-1, -1, -1},
		.probe_only = true,
		.weaker = WEAKER_PROBE};
	struct trial t = {0};
	struct loop *loop = loop_new();
	struct mono end = mono_add_ms(mono_now(), TRIAL_MS);
	struct box *b = NULL;
	int r;

	sandbox_owner(SANDBOX_NATIVE, &spec.owner_uid, &spec.owner_gid);
	r = native_start(loop, &spec, take_trial, &t, &b, err);
	while (r == 0 && !t.is_over && mono_ms_between(mono_now(), end) > 0)
		loop_turn(loop, 100);
	box_free(b);
	loop_free(loop);
	if (r < 0 || t.is_armed)
		return r;
	if (t.error.code == 0)
		return err_say(
			err, ETIMEDOUT, "a trial box was not built within %d s", TRIAL_MS / 1000);
	if (err != NULL)
		*err = t.error;
	return native_explain(err);
}

static int native_sweep(bool dry_run, struct err *err)
{
	int n = cgroup_sweep(dry_run);

	if (n == -ENOENT)
		return 0; /* no control groups on this machine */
	return n < 0 ? err_set(err, -n, "look for control groups that dead runs left") : n;
}

const struct sandbox_provider sandbox_native = {
	.name = "native",
	.capabilities = native_capabilities,
	.usable = native_usable,
	.start = native_start,
	.sweep = native_sweep,
};
