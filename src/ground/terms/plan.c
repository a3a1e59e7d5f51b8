/* SPDX-License-Identifier: Apache-2.0 */
/* Names and ownership of a plan. */

#include "ground/terms/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"

static const char *const harness_kinds[] = {[HARNESS_PROGRAM] = "program",
	[HARNESS_COMMAND] = "command",
	[HARNESS_ORACLE] = "oracle",
	[HARNESS_NOP] = "nop",
	[HARNESS_EXEC] = "exec"};
static const char *const instruction_vias[] = {[INSTRUCTION_ARGUMENT] = "argument",
	[INSTRUCTION_STDIN] = "stdin",
	[INSTRUCTION_FILE] = "file"};
static const char *const sandbox_kinds[] = {[SANDBOX_NATIVE] = "native", [SANDBOX_LOCAL] = "local"};
static const char *const workspace_modes[] = {[WORKSPACE_COPY] = "copy", [WORKSPACE_BIND] = "bind"};
static const char *const keeps[] = {
	[KEEP_FAILED] = "failed", [KEEP_ALL] = "all", [KEEP_NONE] = "none"};

static_assert(array_count(harness_kinds) == HARNESS_KIND_COUNT, "names");
static_assert(array_count(instruction_vias) == INSTRUCTION_VIA_COUNT, "names");
static_assert(array_count(sandbox_kinds) == SANDBOX_KIND_COUNT, "names");
static_assert(array_count(workspace_modes) == WORKSPACE_MODE_COUNT, "names");
static_assert(array_count(keeps) == KEEP_COUNT, "names");

#define NAME_FUNCTIONS(kind, table)                                                                \
	const char *kind##_name(enum kind value)                                                   \
	{                                                                                          \
		assert((size_t)value < array_count(table));                                        \
		return (table)[value];                                                             \
	}                                                                                          \
	int kind##_parse(const char *text, enum kind *ret)                                         \
	{                                                                                          \
		for (size_t i = 0; i < array_count(table); i++)                                    \
			if (strcmp(text, (table)[i]) == 0) {                                       \
				*ret = (enum kind)i;                                               \
				return 0;                                                          \
			}                                                                          \
		return -EINVAL;                                                                    \
	}

NAME_FUNCTIONS(harness_kind, harness_kinds)
NAME_FUNCTIONS(instruction_via, instruction_vias)
NAME_FUNCTIONS(sandbox_kind, sandbox_kinds)
NAME_FUNCTIONS(workspace_mode, workspace_modes)
NAME_FUNCTIONS(keep, keeps)

const struct flag_name isolation_names[] = {
	{ISOLATION_NETWORK_BLOCK, "network_block", "no route to any host"},
	{ISOLATION_RESOURCE_LIMIT, "resource_limit",
		"memory, processor and process limits are all set and enforced"},
	{ISOLATION_FILE_SYSTEM, "file_system",
		"only the workspace and what was mounted can be written"},
	{0, NULL, NULL},
};

const struct flag_name weaker_names[] = {
	{WEAKER_PROBE, "probe", "the box is not tried before the harness starts"},
	{WEAKER_RESOURCE_LIMIT, "resource_limit", "a limit that was asked for is not enforced"},
	{WEAKER_SECCOMP, "seccomp", "no system call is filtered"},
	{WEAKER_LANDLOCK, "landlock", "Landlock is not used"},
	{0, NULL, NULL},
};

int flag_parse(const struct flag_name *names, const char *text, unsigned *ret_flag)
{
	for (; names->name != NULL; names++)
		if (strcmp(names->name, text) == 0) {
			*ret_flag = names->flag;
			return 0;
		}
	return -EINVAL;
}

void plan_mounts_add(struct plan_mount **mounts, size_t *count, const char *source,
	const char *target, bool writable)
{
	struct plan_mount *grown = reallocarray(*mounts, *count + 1, sizeof(**mounts));

	if (grown == NULL)
		abort();
	*mounts = grown;
	grown[(*count)++] = (struct plan_mount){own_strdup(source), own_strdup(target), writable};
}

void plan_variables_add(
	struct plan_variable **v, size_t *count, const char *name, const char *value)
{
	struct plan_variable *grown = reallocarray(*v, *count + 1, sizeof(**v));

	if (grown == NULL)
		abort();
	*v = grown;
	grown[(*count)++] = (struct plan_variable){own_strdup(name), own_strdup(value)};
}

static void mounts_free(struct plan_mount *mounts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(mounts[i].source);
		free(mounts[i].target);
	}
	free(mounts);
}

static void variables_free(struct plan_variable *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(v[i].name);
		free(v[i].value);
	}
	free(v);
}

void plan_done(struct plan *p)
{
	free(p->created);
	free(p->harness.name);
	strv_free(p->harness.command);
	strv_free(p->harness.env);
	mounts_free(p->harness.mounts, p->harness.mount_count);
	free(p->harness.model);
	free(p->task.name);
	free(p->task.directory);
	free(p->task.instruction);
	free(p->task.workdir);
	free(p->task.environment);
	free(p->task.tests);
	free(p->task.solution);
	variables_free(p->task.env, p->task.env_count);
	variables_free(p->task.solution_env, p->task.solution_env_count);
	strv_free(p->task.differences);
	free(p->sandbox.workspace_source);
	free(p->sandbox.workspace_target);
	mounts_free(p->sandbox.mounts, p->sandbox.mount_count);
	for (size_t i = 0; i < p->secret_count; i++) {
		free(p->secrets[i].name);
		free(p->secrets[i].reference);
	}
	free(p->secrets);
	variables_free(p->verifier.env, p->verifier.env_count);
	strv_free(p->verifier.env_names);
	free(p->store);
	free(p->work);
	strv_free(p->covered);
	strv_free(p->readonly);
	*p = (struct plan){0};
}
