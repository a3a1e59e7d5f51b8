/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SETTERS_H
#define CLI_SETTERS_H

#include "cli/options.h"

/* What the rows of the option table do with their value: option_set_fn each. */
option_set_fn set_switch, set_text; /* write a bool, a borrowed string at row->at */
option_set_fn set_harness, set_task, set_attempts, set_concurrency;
option_set_fn set_sandbox, set_workspace, set_workspace_mode, set_mount, set_env, set_network;
option_set_fn set_require, set_weaker;
option_set_fn set_deadline, set_memory, set_pids, set_cpus, set_disk;
option_set_fn set_verifier_env, set_keep, set_no_redact, set_no_record, set_record_output;
option_set_fn set_work_dir, set_store, set_older_than, set_keep_work;

#endif
