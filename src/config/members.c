/* SPDX-License-Identifier: Apache-2.0 */
/* Every member of a plan, in canonical order. */

#include "config/members.h"

#include "ground/base/own.h"

#define MANIFEST_VERSION "1"

#define NAMING(kind, values)                                                                       \
	static const char *kind##_word(unsigned value)                                             \
	{                                                                                          \
		return kind##_name((enum kind)value);                                              \
	}                                                                                          \
	static const struct naming kind##_naming = {kind##_word, values};

NAMING(harness_kind, HARNESS_KIND_COUNT)
NAMING(instruction_via, INSTRUCTION_VIA_COUNT)
NAMING(sandbox_kind, SANDBOX_KIND_COUNT)
NAMING(workspace_mode, WORKSPACE_MODE_COUNT)
NAMING(keep, KEEP_COUNT)

/* The members of one row, between braces of its own. */
#define AT(field)              offsetof(struct plan, field)
#define ONE(key, shape, field) key, SHAPE_##shape, SCOPE_MANIFEST, AT(field), 0, NULL
#define OWN(key, shape, field) key, SHAPE_##shape, SCOPE_PLAN, AT(field), 0, NULL
#define MANY(key, shape, field, count)                                                             \
	key, SHAPE_##shape, SCOPE_MANIFEST, AT(field), AT(count), NULL
#define NAMED(key, shape, field, how) key, SHAPE_##shape, SCOPE_MANIFEST, AT(field), 0, how
#define CHARS(key, scope, field)                                                                   \
	key, SHAPE_ARRAY, scope, AT(field), sizeof(((struct plan *)0)->field), NULL
#define ALWAYS(key, text) key, SHAPE_CONSTANT, SCOPE_MANIFEST, 0, 0, text
#define GROUP(key, rows)  key, SHAPE_GROUP, SCOPE_MANIFEST, 0, 0, rows
#define END               NULL, SHAPE_TEXT, SCOPE_PLAN, 0, 0, NULL

static const struct member harness_members[] = {
	{ONE("command", WORDS, harness.command)},
	{CHARS("digest", SCOPE_MANIFEST, harness.digest)},
	{ONE("env", WORDS, harness.env)},
	{NAMED("instruction", ENUM, harness.instruction, &instruction_via_naming)},
	{NAMED("kind", ENUM, harness.kind, &harness_kind_naming)},
	{ONE("model", TEXT, harness.model)},
	{MANY("mounts", MOUNTS, harness.mounts, harness.mount_count)},
	{ONE("name", TEXT, harness.name)},
	{END},
};

static const struct member limit_members[] = {
	{ONE("artifact_bytes", UINT64, limits.artifact_bytes)},
	{ONE("artifact_files", UINT64, limits.artifact_files)},
	{ONE("artifacts_bytes", UINT64, limits.artifacts_bytes)},
	{ONE("cancel_grace_ms", INT64, limits.cancel_grace_ms)},
	{ONE("deadline_ms", INT64, limits.deadline_ms)},
	{ONE("events_bytes", UINT64, limits.events_bytes)},
	{ONE("handshake_ms", INT64, limits.handshake_ms)},
	{ONE("line_bytes", UINT64, limits.line_bytes)},
	{ONE("stderr_bytes", UINT64, limits.stderr_bytes)},
	{ONE("term_grace_ms", INT64, limits.term_grace_ms)},
	{END},
};

static const struct member box_limit_members[] = {
	{ONE("cpu_millis", UINT64, sandbox.limits.cpu_millis)},
	{ONE("disk_bytes", UINT64, sandbox.limits.disk_bytes)},
	{ONE("memory_bytes", UINT64, sandbox.limits.memory_bytes)},
	{ONE("pids", UINT64, sandbox.limits.pids)},
	{END},
};

static const struct member sandbox_members[] = {
	{ONE("git_config_writable", BOOL, sandbox.git_config_writable)},
	{NAMED("kind", ENUM, sandbox.kind, &sandbox_kind_naming)},
	{GROUP("limits", box_limit_members)},
	{MANY("mounts", MOUNTS, sandbox.mounts, sandbox.mount_count)},
	{ALWAYS("network", "none")},
	{NAMED("require", FLAGS, sandbox.require, isolation_names)},
	{NAMED("weaker", FLAGS, sandbox.weaker, weaker_names)},
	{NAMED("workspace", ENUM, sandbox.workspace, &workspace_mode_naming)},
	{OWN("workspace_source", TEXT, sandbox.workspace_source)},
	{ONE("workspace_target", TEXT, sandbox.workspace_target)},
	{END},
};

static const struct member task_members[] = {
	{ONE("differences", WORDS, task.differences)},
	{CHARS("digest", SCOPE_MANIFEST, task.digest)},
	{OWN("directory", TEXT, task.directory)},
	{MANY("env", VARIABLES, task.env, task.env_count)},
	{OWN("environment", TEXT, task.environment)},
	{ONE("instruction", TEXT, task.instruction)},
	{ONE("name", TEXT, task.name)},
	{OWN("solution", TEXT, task.solution)},
	{MANY("solution_env", VARIABLES, task.solution_env, task.solution_env_count)},
	{OWN("tests", TEXT, task.tests)},
	{ONE("workdir", TEXT, task.workdir)},
	{END},
};

static const struct member verifier_members[] = {
	{MANY("env", VARIABLES, verifier.env, verifier.env_count)},
	{ONE("env_names", WORDS, verifier.env_names)},
	{ALWAYS("network", "none")},
	{ONE("present", BOOL, verifier.present)},
	{ONE("repeat", UNSIGNED, verifier.repeat)},
	{ONE("timeout_ms", INT64, verifier.timeout_ms)},
	{END},
};

const struct member plan_members[] = {
	{CHARS("attempt", SCOPE_PLAN, attempt.text)},
	{OWN("covered", WORDS, covered)},
	{OWN("created", TEXT, created)},
	{GROUP("harness", harness_members)},
	{ALWAYS("hemra", HEMRA_VERSION)},
	{OWN("index", UNSIGNED, index)},
	{NAMED("keep", ENUM, keep, &keep_naming)},
	{GROUP("limits", limit_members)},
	{ALWAYS("manifest", MANIFEST_VERSION)},
	{OWN("of", UNSIGNED, of)},
	{OWN("readonly", WORDS, readonly)},
	{ONE("record", BOOL, record)},
	{ONE("record_output", BOOL, record_output)},
	{ONE("redact", BOOL, redact)},
	{CHARS("run", SCOPE_PLAN, run.text)},
	{GROUP("sandbox", sandbox_members)},
	{MANY("secrets", SECRETS, secrets, secret_count)},
	{OWN("store", TEXT, store)},
	{GROUP("task", task_members)},
	{GROUP("verifier", verifier_members)},
	{OWN("work", TEXT, work)},
	{END},
};
