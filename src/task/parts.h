/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TASK_PARTS_H
#define TASK_PARTS_H

#include "ground/base/err.h"
#include "task/task.h"

/* The pieces that task_load() puts together. t->directory is set; file names in sentences begin
 * with directory as the operator named it. */

/* task.toml: everything it decides, its refusals and notices. */
int task_read_file(struct task *t, const char *directory, struct err *err);

/* Walks the parts of the task that Harbor packs: refuses links that leave their part, files that are
 * neither regular nor directories, and names that are not UTF-8; then fills t->digest. */
int task_read_tree(struct task *t, const char *directory, struct err *err);

/* Text without its leading canary lines and the blank lines after them. */
const char *task_skip_canary(const char *text);

#endif
