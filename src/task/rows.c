/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of task.toml share: notices, and keys that change nothing here. */

#include "task/rows.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define NOTICES_MAX  200 /* a task may hold any number of unknown keys */
#define NOTICE_BYTES 500

void task_note(struct task *t, const char *format, ...)
{
	struct task_notice *grown;
	char text[NOTICE_BYTES];
	va_list args;

	if (t->warning_count >= NOTICES_MAX)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args); /* a cut sentence is still a sentence */
	va_end(args);
	grown = reallocarray(t->warnings, t->warning_count + 1, sizeof(*grown));
	if (grown == NULL)
		abort();
	t->warnings = grown;
	grown[t->warning_count++] = (struct task_notice){own_strdup(text)};
}

void row_note(const struct reader *r, const struct toml *value, const char *format, ...)
{
	char what[NOTICE_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	task_note(row_task(r), "%s:%u: %s%s%s: %s", r->file, value->line, r->where,
		r->where[0] != '\0' ? "." : "", r->key, what);
}

int row_pass(const struct reader *r, const struct toml *value, struct err *err)
{
	(void)r, (void)value, (void)err; /* its type was right, and it changes nothing here */
	return 0;
}

int row_refuse(const struct reader *r, const struct toml *value, struct err *err)
{
	if (value->type == TOML_ARRAY && value->count == 0)
		return 0; /* an empty list asks for nothing */
	return field_refuse(r, value, ENOTSUP, err, "%s", r->expected);
}

static void note_unknown(const struct reader *r, const struct toml *value, const char *nearest)
{
	autodone(buf_done) struct buf name;
	struct reader at = *r;

	buf_init(&name, 400);
	str_add_visible(&name, value->key, strnlen(value->key, 80), /* keep_lines= */ false);
	at.key = buf_text(&name);
	if (nearest != NULL)
		row_note(&at, value, "unknown key, passed over (did you mean '%s'?)", nearest);
	else
		row_note(&at, value, "unknown key, passed over");
}

struct reader row_reader(const char *file, struct task *t)
{
	return (struct reader){.file = file,
		.where = "",
		.key = "",
		.target = t,
		.takes_empty = true,
		.on_unknown = note_unknown};
}

struct task *row_task(const struct reader *r)
{
	return r->target;
}
