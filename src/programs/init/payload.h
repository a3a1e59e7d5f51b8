/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_INIT_PAYLOAD_H
#define PROGRAMS_INIT_PAYLOAD_H

#include <stdnoreturn.h>

#include "ground/base/err.h"
#include "programs/init/start.h"

/* The process that becomes the command: gives up every right, tries the box, waits for the word to
 * go, executes the command. Reports on the link; never returns. */
noreturn void payload_run(const struct start *s);

/* Finds argv[0] as the shell would, in PATH of envp. -ENOENT, -EACCES, -ENOTDIR with a sentence;
 * out gets the path. */
int command_find(const struct start *s, char *out, size_t room, struct err *err);

/* Can it be executed: it is a regular file with the right bit, and its interpreter, named by
 * "#!" or by the ELF header, can be too. */
int command_check(const char *path, struct err *err);

#endif
