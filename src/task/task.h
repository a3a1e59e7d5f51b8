/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TASK_TASK_H
#define TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/err.h"
#include "ground/terms/plan.h"

/* Tasks in Harbor's directory format (github.com/laude-institute/harbor, task.toml
 * schema 1.x): task.toml, instruction.md, environment/, tests/, solution/. */

/* A message about a file: what is wrong, or what was passed over. */
struct task_notice {
	char *text; /* owned, "FILE:LINE: KEY: sentence" */
};

struct task {
	char *directory;   /* absolute, resolved */
	char *name;        /* [task].name or the directory's */
	char digest[65];   /* Harbor's content digest */
	char *instruction; /* canary lines stripped */
	char *workdir;     /* environment.workdir, or "/workspace" */
	char *environment; /* absolute path of environment/ */
	char *tests;       /* absolute path of tests/, or NULL */
	char *solution;    /* absolute path of solution/, or NULL */
	struct plan_variable *env, *verifier_env,
		*solution_env; /* ${VAR} and ${VAR:-def} resolved */
	size_t env_count, verifier_env_count, solution_env_count;
	int64_t agent_timeout_ms;    /* 0: none given */
	int64_t verifier_timeout_ms; /* default 600,000 */
	struct plan_limits limits; /* cpus, memory_mb, storage_mb as the task asks; 0: not asked */
	bool wants_network; /* network_mode public (Harbor's default) or an allow-list: the operator's policy decides */
	struct task_notice *warnings; /* unknown keys and the like */
	size_t warning_count;
	char **differences; /* e.g. "environment.network_mode = public"; what the operator's policy overrides */
};

/* Loads and validates. Refuses by name, before anything starts, what the host root cannot honour:
 * gpus, tpu, windows, a Dockerfile or docker_image or docker-compose.yaml, steps, healthcheck,
 * mcp_servers, a separate verifier, verifier collect hooks, users. Errors name file:line and key. */
int task_load(const char *directory, struct task *ret, struct err *err);
void task_done(struct task *t);

/* The content digest as it is now, hex: has a task changed since it was loaded? */
int task_digest(const char *directory, char ret[65], struct err *err);

#endif
