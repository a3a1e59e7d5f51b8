/* SPDX-License-Identifier: Apache-2.0 */
/* Plan: harnesses × tasks × attempts become plans; what cannot be enforced is refused here, before
 * anything is recorded. */

#include "run/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/base/variable.h"
#include "needle/needle.h"
#include "secret/secret.h"
#include "task/task.h"

#define ATTEMPTS_MAX 100000

void plans_free(struct plan *plans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		plan_done(&plans[i]);
	free(plans);
}

static void take_variables(
	struct plan_variable **to, size_t *to_count, const struct plan_variable *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		plan_variables_add(to, to_count, from[i].name, from[i].value);
}

static char *copy_or_null(const char *text)
{
	return text != NULL ? own_strdup(text) : NULL;
}

/* The task's half of a plan. What the operator said holds over what the task asks. */
static int put_task(const struct settings *s, const struct task *t, struct plan *p, struct err *err)
{
	if (p->harness.kind == HARNESS_ORACLE && t->solution == NULL)
		return err_say(
			err, EINVAL, "task '%s' has no solution/ for the oracle to run", t->name);
	p->task.name = own_strdup(t->name);
	(void)memcpy(p->task.digest, t->digest, sizeof(p->task.digest));
	p->task.directory = own_strdup(t->directory);
	p->task.instruction = copy_or_null(t->instruction);
	p->task.workdir = own_strdup(t->workdir);
	p->task.environment = copy_or_null(t->environment);
	p->task.tests = copy_or_null(t->tests);
	p->task.solution = copy_or_null(t->solution);
	take_variables(&p->task.env, &p->task.env_count, t->env, t->env_count);
	take_variables(&p->task.solution_env, &p->task.solution_env_count, t->solution_env,
		t->solution_env_count);
	take_variables(
		&p->verifier.env, &p->verifier.env_count, t->verifier_env, t->verifier_env_count);
	p->task.differences = strv_copy(t->differences);
	p->verifier.present = t->tests != NULL;
	p->verifier.timeout_ms = t->verifier_timeout_ms;
	if (s->deadline_ms < 0 && t->agent_timeout_ms > 0)
		p->limits.deadline_ms = t->agent_timeout_ms;
	if (!s->limit_said_memory)
		p->sandbox.limits.memory_bytes = t->limits.memory_bytes;
	if (!s->limit_said_cpus)
		p->sandbox.limits.cpu_millis = t->limits.cpu_millis;
	if (!s->limit_said_disk)
		p->sandbox.limits.disk_bytes = t->limits.disk_bytes;
	free(p->sandbox.workspace_target);
	p->sandbox.workspace_target = own_strdup(t->workdir);
	if (p->sandbox.workspace_source == NULL && t->environment != NULL)
		p->sandbox.workspace_source = own_strdup(t->environment);
	return 0;
}

static int put_exec(const struct run_request *request, struct plan *p, struct err *err)
{
	const char *source = p->sandbox.workspace_source;

	assert(request->exec_argv != NULL); /* only for an exec are we called */
	if (request->exec_argv[0] == NULL)
		return err_say(err, EINVAL, "exec needs a command");
	p->harness.command = strv_copy(request->exec_argv);
	p->task.name = own_strdup("exec");
	/* the directory keeps its path: what a build writes down stays true outside */
	free(p->sandbox.workspace_target);
	p->sandbox.workspace_target = own_strdup(source != NULL ? source : "/workspace");
	p->task.workdir = own_strdup(p->sandbox.workspace_target);
	return harness_digest(p) < 0 ? err_say(err, EILSEQ, "the command is not UTF-8") : 0;
}

/* A path as it was said, and as it is when the links in it are followed: copies and mounts meet it
 * under the second name. The last part need not be there yet. */
static void cover_path(struct plan *p, const char *path)
{
	autofree char *real = realpath(path, NULL);
	const char *name = strrchr(path, '/');

	strv_add(&p->covered, path);
	if (real == NULL && name != NULL && name > path && name[1] != '\0') {
		autofree char *parent = own_strndup(path, (size_t)(name - path));
		autofree char *real_parent = realpath(parent, NULL);

		real = real_parent != NULL ? own_printf("%s%s", real_parent, name) : NULL;
	}
	if (real != NULL && strcmp(real, path) != 0)
		strv_add(&p->covered, real);
}

/* Everything that no box may show. */
static void cover(const struct settings *s, struct plan *p)
{
	const char *credentials = getenv("CREDENTIALS_DIRECTORY");

	if (p->store != NULL)
		cover_path(p, p->store);
	if (s->work_dir != NULL)
		cover_path(p, s->work_dir);
	if (seal_key_directory() != NULL)
		cover_path(p, seal_key_directory());
	if (credentials != NULL && credentials[0] == '/')
		cover_path(p, credentials);
	for (size_t i = 0; i < p->secret_count; i++)
		if (str_starts(p->secrets[i].reference, "file:/"))
			cover_path(p, p->secrets[i].reference + strlen("file:"));
}

/* plan_build() checked against the usual place; a task or an exec may have moved it. */
static int check_workspace_place(const struct plan *p, struct err *err)
{
	for (size_t i = 0; i < p->harness.mount_count + p->sandbox.mount_count; i++) {
		const struct plan_mount *m =
			i < p->harness.mount_count ? &p->harness.mounts[i]
						   : &p->sandbox.mounts[i - p->harness.mount_count];

		if (strcmp(m->target, p->sandbox.workspace_target) == 0)
			return err_say(
				err, EINVAL, "mounts: '%s' is where the workspace is", m->target);
	}
	return 0;
}

/* What no box may show is not shown by asking for it either. */
static int check_source(const struct plan *p, const char *what, const char *path, struct err *err)
{
	autofree char *real = realpath(path, NULL);

	for (size_t i = 0; real != NULL && p->covered != NULL && p->covered[i] != NULL; i++) {
		autofree char *covered = realpath(p->covered[i], NULL);
		size_t n = covered != NULL ? strlen(covered) : 0;

		if (n > 0 && strncmp(real, covered, n) == 0 && (real[n] == '\0' || real[n] == '/'))
			return err_say(err, EPERM,
				"%s '%s' lies in '%s', which is hemra's own and never shown in a box",
				what, path, covered);
	}
	return 0;
}

static int check_sources(const struct plan *p, struct err *err)
{
	int r = 0;

	if (p->sandbox.workspace_source != NULL)
		r = check_source(p, "workspace", p->sandbox.workspace_source, err);
	for (size_t i = 0; i < p->harness.mount_count && r == 0; i++)
		r = check_source(p, "mount", p->harness.mounts[i].source, err);
	for (size_t i = 0; i < p->sandbox.mount_count && r == 0; i++)
		r = check_source(p, "mount", p->sandbox.mounts[i].source, err);
	return r;
}

/* The command is recorded as it stands: a value in it would be too. */
static int check_command(const struct plan *p, const char *name, const char *value, struct err *err)
{
	if (value == NULL || strlen(value) < NEEDLE_SECRET_MIN || variable_is_plain(name))
		return 0;
	for (size_t i = 0; p->harness.command != NULL && p->harness.command[i] != NULL; i++)
		if (strstr(p->harness.command[i], value) != NULL)
			return err_say(err, EINVAL,
				"the command's argument %zu holds the value of %s, which must not be recorded; "
				"let the command read the variable",
				i, name);
	return 0;
}

static int check_arguments(const struct plan *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0;
		p->redact && p->harness.env != NULL && p->harness.env[i] != NULL && r == 0; i++)
		r = check_command(p, p->harness.env[i], getenv(p->harness.env[i]), err);
	for (size_t i = 0; p->redact && i < p->secret_count && r == 0; i++)
		if (str_starts(p->secrets[i].reference, "env:"))
			r = check_command(p, p->secrets[i].name,
				getenv(p->secrets[i].reference + strlen("env:")), err);
	return r;
}

static int check_secrets(const struct plan *p, struct err *err)
{
	/* what is shorter would be found, and replaced, where it only happens to stand */
	size_t least = p->redact ? NEEDLE_SECRET_MIN : 1;

	for (size_t i = 0; i < p->secret_count; i++)
		if (secret_check(p->secrets[i].reference, least, err) < 0)
			return err_add(err, "secret '%s'", p->secrets[i].name);
	return 0;
}

static int check_limits(const struct plan *p, const struct sandbox_capabilities *c, struct err *err)
{
	const struct plan_limits *l = &p->sandbox.limits;
	const char *what = NULL;

	if ((p->sandbox.weaker & WEAKER_RESOURCE_LIMIT) != 0)
		return 0;
	if (l->memory_bytes > 0 && !c->limits_memory)
		what = "memory";
	else if (l->pids > 0 && !c->limits_pids)
		what = "pids";
	else if (l->cpu_millis > 0 && !c->limits_cpus)
		what = "cpus";
	else if (l->disk_bytes > 0 && !c->disk_enforced)
		what = "disk";
	if (what == NULL)
		return 0;
	return err_say(err, EPERM,
		"the limit '%s' cannot be enforced here (%s); --weaker resource_limit goes on without it",
		what, c->how);
}

static int check_isolation(
	const struct plan *p, const struct sandbox_capabilities *c, struct err *err)
{
	unsigned missing = p->sandbox.require & ~c->isolation;

	for (const struct flag_name *f = isolation_names; f->name != NULL; f++)
		if ((missing & f->flag) != 0)
			return err_say(err, EPERM, "required isolation '%s' is not offered: %s",
				f->name, c->sentence);
	return 0;
}

static int check_sandbox(const struct plan *p, struct err *err)
{
	const struct sandbox_provider *provider = sandbox_provider_find(p->sandbox.kind);
	struct sandbox_capabilities capabilities = {0};

	provider->capabilities(&p->sandbox.limits, p->sandbox.weaker, &capabilities);
	if (check_isolation(p, &capabilities, err) < 0)
		return -err->code;
	return check_limits(p, &capabilities, err);
}

/* One plan, but for ids. */
static int make_plan(const struct run_request *request, const char *harness,
	const struct task *task, struct plan *ret, struct err *err)
{
	const struct settings *s = &request->settings;

	if (plan_build(s, harness, request->base, ret, err) < 0)
		return -err->code;
	ret->store = s->record != 0 ? copy_or_null(s->store) : NULL;
	ret->record = ret->store != NULL;
	if ((task != NULL ? put_task(s, task, ret, err) : put_exec(request, ret, err)) < 0)
		goto fail;
	cover(s, ret);
	if (check_workspace_place(ret, err) < 0 || check_sources(ret, err) < 0 ||
		check_arguments(ret, err) < 0 || check_secrets(ret, err) < 0 ||
		check_sandbox(ret, err) < 0)
		goto fail;
	return 0;
fail:
	plan_done(ret);
	return -err->code;
}

static int load_tasks(
	const struct run_request *request, struct task **ret, size_t *ret_count, struct err *err)
{
	char *const *names = request->settings.tasks;
	size_t count = strv_count(names);
	struct task *tasks = own_alloc((count + 1) * sizeof(*tasks));
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		autofree char *path = names[i][0] == '/'
					      ? own_strdup(names[i])
					      : own_printf("%s/%s", request->base, names[i]);
		size_t same = 0;

		if (task_load(path, &tasks[kept], err) < 0) {
			while (kept > 0)
				task_done(&tasks[--kept]);
			free(tasks);
			return err_add(err, "task '%s'", names[i]);
		}
		while (same < kept && strcmp(tasks[same].digest, tasks[kept].digest) != 0)
			same++;
		for (size_t n = 0;
			same == kept && request->notice != NULL && n < tasks[kept].warning_count;
			n++)
			request->notice(tasks[kept].warnings[n].text);
		if (same < kept) /* the same content listed twice runs once */
			task_done(&tasks[kept]);
		else
			kept++;
	}
	*ret = tasks;
	*ret_count = kept;
	return 0;
}

struct plan_list {
	struct plan *plans;
	size_t count;
	struct id_source ids;
	struct id run;
	struct wall now;
};

static int add_plans(const struct run_request *request, const char *harness,
	const struct task *task, struct plan_list *list, struct err *err)
{
	unsigned attempts = request->settings.attempts > 0 ? request->settings.attempts : 1;
	const char *work = request->settings.work_dir;
	char created[WALL_TEXT_SIZE];

	if (list->count + attempts > ATTEMPTS_MAX)
		return err_say(err, E2BIG, "a run has at most %d attempts", ATTEMPTS_MAX);
	wall_format(list->now, created);
	for (unsigned i = 1; i <= attempts; i++) {
		struct plan *p = &list->plans[list->count];

		if (make_plan(request, harness, task, p, err) < 0)
			return -err->code;
		list->count++;
		p->run = list->run;
		p->attempt = id_new(&list->ids, list->now);
		p->index = i;
		p->of = attempts;
		p->created = own_strdup(created);
		if (p->harness.kind == HARNESS_EXEC && p->sandbox.workspace == WORKSPACE_BIND)
			continue;
		if (work != NULL)
			p->work = own_printf("%s/%s", work, p->attempt.text);
		else if (p->store != NULL)
			p->work = own_printf("%s/work/%s", p->store, p->attempt.text);
		else
			p->work = own_printf("%s/hemra-%s",
				getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp",
				p->attempt.text);
	}
	return 0;
}

static int make_all(const struct run_request *request, const struct task *tasks, size_t task_count,
	struct plan_list *list, struct err *err)
{
	char *const *harnesses = request->settings.harnesses;

	if (request->exec_argv != NULL)
		return add_plans(request, NULL, NULL, list, err);
	for (size_t h = 0; harnesses != NULL && harnesses[h] != NULL; h++)
		for (size_t t = 0; t < task_count; t++)
			if (add_plans(request, harnesses[h], &tasks[t], list, err) < 0)
				return -err->code;
	return 0;
}

/* Can boxes be made at all? Tried once for a run, before anything is recorded; an exec is its own
 * trial. */
static int check_usable(const struct plan *plans, size_t count, struct err *err)
{
	bool tried[SANDBOX_KIND_COUNT] = {false};

	for (size_t i = 0; i < count; i++) {
		enum sandbox_kind kind = plans[i].sandbox.kind;

		if (tried[kind])
			continue;
		tried[kind] = true;
		if (sandbox_provider_find(kind)->usable(err) < 0)
			return -err->code;
	}
	return 0;
}

int plans_make(
	const struct run_request *request, struct plan **ret, size_t *ret_count, struct err *err)
{
	const struct settings *s = &request->settings;
	struct plan_list list = {.now = wall_now()};
	struct task *tasks = NULL;
	size_t task_count = 0, room;
	int r;

	if (request->exec_argv == NULL && load_tasks(request, &tasks, &task_count, err) < 0)
		return -err->code;
	room = request->exec_argv != NULL ? 1
					  : strv_count(s->harnesses) * task_count *
						    (s->attempts > 0 ? s->attempts : 1);
	if (room > ATTEMPTS_MAX) {
		r = err_say(err, E2BIG, "a run has at most %d attempts", ATTEMPTS_MAX);
	} else {
		list.plans = own_alloc((room + 1) * sizeof(*list.plans));
		list.run = id_new(&list.ids, list.now);
		r = make_all(request, tasks, task_count, &list, err);
		if (r == 0 && request->exec_argv == NULL)
			r = check_usable(list.plans, list.count, err);
	}
	for (size_t i = 0; i < task_count; i++)
		task_done(&tasks[i]);
	free(tasks);
	if (r < 0) {
		plans_free(list.plans, list.count);
		return r;
	}
	*ret = list.plans;
	*ret_count = list.count;
	return 0;
}
