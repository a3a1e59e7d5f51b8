/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TASK_ROWS_H
#define TASK_ROWS_H

#include "ground/base/err.h"
#include "ground/wire/fields.h"
#include "task/task.h"

/* Tables of task.toml, read by rows. Unlike the operator's own files, a task may hold keys that
 * hemra does not know: they become notices, since Harbor passes them over too. */

/* A reader of task.toml: unknown keys become notices of the task, strings may be empty. */
struct reader row_reader(const char *file, struct task *t);
struct task *row_task(const struct reader *r); /* what its rows fill */

/* A notice "FILE:LINE: TABLE.KEY: …". */
void row_note(const struct reader *r, const struct toml *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Takers that many rows share. */
int row_pass(const struct reader *r, const struct toml *value,
	struct err *err); /* known, of no effect here */
int row_refuse(const struct reader *r, const struct toml *value,
	struct err *err); /* -ENOTSUP with the row's reason */

/* A notice of any text. */
void task_note(struct task *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
