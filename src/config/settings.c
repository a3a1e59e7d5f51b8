/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as layers: what was not said stays silent, what was said holds over the layers below. */

#include "config/config.h"

#include <stdlib.h>

#include "config/limits.h"
#include "config/values.h"
#include "ground/base/own.h"

void settings_init(struct settings *s)
{
	*s = (struct settings){
		.deadline_ms = -1,
		.kind = SANDBOX_KIND_COUNT,
		.workspace = WORKSPACE_MODE_COUNT,
		.git_config_writable = -1,
		.keep = KEEP_COUNT,
		.redact = -1,
		.record = -1,
		.record_output = -1,
	};
}

void settings_done(struct settings *s)
{
	strv_free(s->harnesses);
	strv_free(s->tasks);
	free(s->workspace_source);
	mounts_free(s->mounts, s->mount_count);
	secrets_free(s->secrets, s->secret_count);
	free(s->store);
	free(s->work_dir);
	strv_free(s->verifier_env_names);
	strv_free(s->env);
	strv_free(s->files);
	settings_init(s);
}

static void words_over(char ***lower, char *const *upper)
{
	if (upper == NULL)
		return;
	strv_free(*lower);
	*lower = strv_copy(upper);
}

static void text_over(char **lower, const char *upper)
{
	if (upper == NULL)
		return;
	free(*lower);
	*lower = own_strdup(upper);
}

static void choice_over(int *lower, int upper)
{
	if (upper >= 0)
		*lower = upper;
}

static void limit_over(uint64_t *lower, bool *lower_said, uint64_t upper, bool upper_said)
{
	if (!upper_said)
		return;
	*lower = upper;
	*lower_said = true;
}

static void union_with(char ***lower, char *const *upper)
{
	for (; upper != NULL && *upper != NULL; upper++)
		names_put(lower, *upper);
}

void settings_lay_over(struct settings *lower, const struct settings *upper)
{
	words_over(&lower->harnesses, upper->harnesses);
	words_over(&lower->tasks, upper->tasks);
	if (upper->attempts > 0)
		lower->attempts = upper->attempts;
	if (upper->concurrency > 0)
		lower->concurrency = upper->concurrency;
	if (upper->deadline_ms >= 0)
		lower->deadline_ms = upper->deadline_ms;
	if (upper->kind != SANDBOX_KIND_COUNT)
		lower->kind = upper->kind;
	if (upper->workspace != WORKSPACE_MODE_COUNT)
		lower->workspace = upper->workspace;
	text_over(&lower->workspace_source, upper->workspace_source);
	limit_over(&lower->limits.memory_bytes, &lower->limit_said_memory,
		upper->limits.memory_bytes, upper->limit_said_memory);
	limit_over(&lower->limits.pids, &lower->limit_said_pids, upper->limits.pids,
		upper->limit_said_pids);
	limit_over(&lower->limits.cpu_millis, &lower->limit_said_cpus, upper->limits.cpu_millis,
		upper->limit_said_cpus);
	limit_over(&lower->limits.disk_bytes, &lower->limit_said_disk, upper->limits.disk_bytes,
		upper->limit_said_disk);
	limits_lay_over(&lower->bounds, &upper->bounds);
	for (size_t i = 0; i < upper->mount_count; i++)
		mounts_put(&lower->mounts, &lower->mount_count, &upper->mounts[i]);
	for (size_t i = 0; i < upper->secret_count; i++)
		secrets_put(&lower->secrets, &lower->secret_count, upper->secrets[i].name,
			upper->secrets[i].reference);
	choice_over(&lower->git_config_writable, upper->git_config_writable);
	lower->require |= upper->require;
	lower->weaker |= upper->weaker;
	if (upper->keep != KEEP_COUNT)
		lower->keep = upper->keep;
	choice_over(&lower->redact, upper->redact);
	choice_over(&lower->record, upper->record);
	choice_over(&lower->record_output, upper->record_output);
	text_over(&lower->store, upper->store);
	text_over(&lower->work_dir, upper->work_dir);
	union_with(&lower->verifier_env_names, upper->verifier_env_names);
	if (upper->verifier_repeat > 0)
		lower->verifier_repeat = upper->verifier_repeat;
	union_with(&lower->env, upper->env);
	union_with(&lower->files, upper->files);
}
