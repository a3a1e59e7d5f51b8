/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TASK_ROWS_H
#define TASK_ROWS_H

#include "ground/base/err.h"
#include "ground/wire/toml.h"
#include "task/task.h"

/* Tables of task.toml, read by rows. Unlike the operator's own files, a task may hold keys that
 * hemra does not know: they become notices, since Harbor passes them over too. */

/* Where a value was found. Everything is borrowed for the call. */
struct task_reader {
	const char *file;     /* task.toml as the operator named it */
	const char *where;    /* the table's name; "" at the top */
	const char *key;      /* set by rows_read for the row's taker */
	const char *expected; /* likewise: what the value may be, or why it is refused */
	struct task *task;
};

#define ROW_TYPE(t) (1u << TOML_##t)
#define ROW_NUMBER  (ROW_TYPE(INTEGER) | ROW_TYPE(FLOAT))
#define ROW_ANY     (2u * ROW_TYPE(TABLE) - 1)

/* Ends with a row whose key is NULL. */
struct task_row {
	const char *key;
	unsigned types;
	const char *expected;
	int (*take)(const struct task_reader *r, const struct toml *value, struct err *err);
};

int rows_read(const struct task_reader *r, const struct toml *table, const struct task_row *rows,
	struct err *err);

/* "FILE:LINE: TABLE.KEY: …"; returns -code. */
int row_say(const struct task_reader *r, const struct toml *value, int code, struct err *err,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
int row_unexpected(
	const struct task_reader *r, const struct toml *value, struct err *err); /* -EINVAL */
void row_note(const struct task_reader *r, const struct toml *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Takers that many rows share. */
int row_pass(const struct task_reader *r, const struct toml *value,
	struct err *err); /* known, of no effect here */
int row_refuse(const struct task_reader *r, const struct toml *value,
	struct err *err); /* -ENOTSUP with the row's reason */

/* A notice of any text. */
void task_note(struct task *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
