/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

/* One function per verb: does it, says what came of it, returns the exit status. */
typedef int command_fn(const struct options *o);

command_fn command_run, command_exec, command_check;
command_fn command_runs, command_show, command_cancel;
command_fn command_export, command_verify, command_rm, command_gc;
command_fn command_doctor, command_help, command_version;

#endif
