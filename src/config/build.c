/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to a plan: the defaults, and what must hold between keys. */

#include "config/config.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "config/limits.h"
#include "config/values.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/base/variable.h"

#define WORKSPACE_TARGET "/workspace"
#define PLAN_TEXT_MAX    ((size_t)64 * 1024 * 1024)

static void fill_limits(const struct settings *s, bool is_exec, struct plan *plan)
{
	int64_t unsaid_ms = is_exec ? 0 : INT64_C(15) * 60 * 1000;

	plan->limits = s->bounds;
	plan->limits.deadline_ms = s->deadline_ms >= 0 ? s->deadline_ms : unsaid_ms;
	limits_fill(&plan->limits);
}

static void fill_sandbox(const struct settings *s, bool is_exec, struct plan *plan)
{
	enum workspace_mode unsaid = is_exec ? WORKSPACE_BIND : WORKSPACE_COPY;

	plan->sandbox.kind = s->kind != SANDBOX_KIND_COUNT ? s->kind : SANDBOX_NATIVE;
	plan->sandbox.limits = s->limits;
	plan->sandbox.workspace = s->workspace != WORKSPACE_MODE_COUNT ? s->workspace : unsaid;
	if (s->workspace_source != NULL)
		plan->sandbox.workspace_source = own_strdup(s->workspace_source);
	plan->sandbox.workspace_target = own_strdup(WORKSPACE_TARGET);
	for (size_t i = 0; i < s->mount_count; i++)
		mounts_put(&plan->sandbox.mounts, &plan->sandbox.mount_count, &s->mounts[i]);
	plan->sandbox.git_config_writable = s->git_config_writable == 1;
	plan->sandbox.require = s->require;
	plan->sandbox.weaker = s->weaker;
}

static void fill_rest(const struct settings *s, struct plan *plan)
{
	for (size_t i = 0; i < s->secret_count; i++)
		secrets_put(&plan->secrets, &plan->secret_count, s->secrets[i].name,
			s->secrets[i].reference);
	plan->verifier.repeat = s->verifier_repeat > 0 ? s->verifier_repeat : 1;
	plan->verifier.env_names = strv_copy(s->verifier_env_names);
	plan->keep = s->keep != KEEP_COUNT ? s->keep : KEEP_FAILED;
	plan->redact = s->redact != 0;
	plan->record = s->record != 0;
	plan->record_output = s->record_output == 1;
	plan->readonly = strv_copy(s->files);
}

static bool is_secret(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->secret_count; i++)
		if (strcmp(plan->secrets[i].name, name) == 0)
			return true;
	return false;
}

/* Names of flags did not pass the checks that names of files passed. */
static int check_variable(const char *key, const char *name, struct err *err)
{
	const char *refusal = variable_refusal(name);

	if (refusal != NULL)
		return err_say(err, EINVAL, "%s: %s %s", key, name, refusal);
	return 0;
}

static int add_env(const struct settings *s, struct plan *plan, struct err *err)
{
	for (char **name = s->env; name != NULL && *name != NULL; name++) {
		int e = check_variable("env", *name, err);

		if (e < 0)
			return e;
		if (!is_secret(plan, *name) && getenv(*name) == NULL)
			return err_say(err, ENOENT,
				"env: %s is not set in hemra's environment and not named in [secrets]",
				*name);
		names_put(&plan->harness.env, *name);
	}
	for (char **name = s->verifier_env_names; name != NULL && *name != NULL; name++) {
		int e = check_variable("verifier.env", *name, err);

		if (e < 0)
			return e;
		if (getenv(*name) == NULL)
			return err_say(err, ENOENT,
				"verifier.env: %s is not set in hemra's environment", *name);
	}
	return 0;
}

/* ---- what must hold between keys -------------------------------------------------------------- */

static int check_mounts(const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < plan->sandbox.mount_count + plan->harness.mount_count; i++) {
		const struct plan_mount *m =
			i < plan->sandbox.mount_count
				? &plan->sandbox.mounts[i]
				: &plan->harness.mounts[i - plan->sandbox.mount_count];

		if (strcmp(m->target, plan->sandbox.workspace_target) == 0)
			return err_say(
				err, EINVAL, "mounts: '%s' is where the workspace is", m->target);
		if (plan->sandbox.kind == SANDBOX_LOCAL && strcmp(m->source, m->target) != 0)
			return err_say(err, EINVAL,
				"mounts: sandbox local has no mounts, so '%s' cannot be seen as '%s'",
				m->source, m->target);
	}
	for (size_t i = 0; i < plan->sandbox.mount_count; i++)
		for (size_t k = 0; k < plan->harness.mount_count; k++)
			if (strcmp(plan->sandbox.mounts[i].target,
				    plan->harness.mounts[k].target) == 0)
				return err_say(err, EINVAL,
					"mounts: run and harness both mount something on '%s'",
					plan->sandbox.mounts[i].target);
	return 0;
}

/* A home holds keys and start-up files; whoever can write there owns its user. */
static bool is_home_or_above(const char *path)
{
	const struct passwd *user = getpwuid(getuid());
	const char *const homes[] = {
		getenv("HOME"), user != NULL ? user->pw_dir : NULL, "/root", "/home"};
	const char *rest;

	if (strcmp(path, "/") == 0)
		return true;
	for (size_t i = 0; i < array_count(homes); i++) {
		autofree char *home = homes[i] != NULL ? realpath(homes[i], NULL) : NULL;

		/* a machine whose user has no home says "/" */
		if (home != NULL && strcmp(home, "/") != 0 && path_beneath(home, path) != NULL)
			return true;
	}
	rest = path_beneath(path, "/home");
	return rest != NULL && rest[0] == '/' && strchr(rest + 1, '/') == NULL;
}

static int check_workspace(struct plan *plan, struct err *err)
{
	autofree char *real = NULL;

	if (plan->sandbox.workspace_source == NULL)
		return 0;
	real = realpath(plan->sandbox.workspace_source, NULL);
	if (real == NULL)
		return err_set(err, errno, "workspace '%s'", plan->sandbox.workspace_source);
	if (is_home_or_above(real))
		return err_say(err, EINVAL,
			"workspace '%s': the root, a home and what holds homes are refused; name a directory in it",
			real);
	free(plan->sandbox.workspace_source);
	plan->sandbox.workspace_source = take_ptr(&real);
	return 0;
}

static int check_text(const struct plan *plan, struct err *err)
{
	autodone(buf_done) struct buf out;
	int e;

	buf_init(&out, PLAN_TEXT_MAX);
	e = plan_encode(plan, &out);
	if (e == -EILSEQ)
		return err_say(err, EILSEQ,
			"a path or name of this plan is not UTF-8 and could not be recorded");
	return e < 0 ? err_set(err, -e, "write the plan") : 0;
}

static int build(const struct settings *s, const char *harness, const char *base, struct plan *plan,
	struct err *err)
{
	int e = 0;

	fill_limits(s, harness == NULL, plan);
	fill_sandbox(s, harness == NULL, plan);
	fill_rest(s, plan);
	if (harness != NULL) {
		e = harness_read(harness, base, plan, &plan->readonly, err);
	} else {
		plan->harness.kind = HARNESS_EXEC;
		plan->harness.name = own_strdup("exec");
	}
	if (e == 0)
		e = add_env(s, plan, err);
	if (e == 0)
		e = check_mounts(plan, err);
	if (e == 0)
		e = check_workspace(plan, err);
	if (e == 0)
		e = check_text(plan, err);
	return e;
}

int plan_build(const struct settings *s, const char *harness, const char *base, struct plan *ret,
	struct err *err)
{
	struct plan plan = {0};
	int e = build(s, harness, base, &plan, err);

	if (e < 0) {
		plan_done(&plan);
		return e;
	}
	*ret = plan;
	return 0;
}
