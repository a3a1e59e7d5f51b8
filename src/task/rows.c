/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a table of task.toml by rows. */

#include "task/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define KEYS_MAX     32
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

void row_note(const struct task_reader *r, const struct toml *value, const char *format, ...)
{
	char what[NOTICE_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	task_note(r->task, "%s:%u: %s%s%s: %s", r->file, value->line, r->where,
		r->where[0] != '\0' ? "." : "", r->key, what);
}

int row_say(const struct task_reader *r, const struct toml *value, int code, struct err *err,
	const char *format, ...)
{
	char what[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return err_say(err, code, "%s:%u: %s%s%s: %s", r->file, value->line, r->where,
		r->where[0] != '\0' ? "." : "", r->key, what);
}

int row_unexpected(const struct task_reader *r, const struct toml *value, struct err *err)
{
	autodone(buf_done) struct buf found;

	buf_init(&found, 1024);
	switch (value->type) {
	case TOML_STRING:
		(void)buf_add_text(&found, "\""); /* the buffer remembers failure, here and below */
		str_add_visible(&found, value->string,
			value->string_bytes < 60 ? value->string_bytes : 60,
			/* keep_lines= */ false);
		(void)buf_add_text(&found, "\"");
		break;
	case TOML_INTEGER:
		(void)buf_addf(&found, "%lld", (long long)value->integer);
		break;
	case TOML_FLOAT:
		(void)buf_addf(&found, "%g", value->number);
		break;
	case TOML_BOOLEAN:
	case TOML_DATE:
	case TOML_ARRAY:
	case TOML_TABLE:
		(void)buf_add_text(&found, toml_type_name(value->type));
		break;
	}
	return row_say(
		r, value, EINVAL, err, "expected %s, found %s", r->expected, buf_text(&found));
}

int row_pass(const struct task_reader *r, const struct toml *value, struct err *err)
{
	(void)r, (void)value, (void)err; /* its type was right, and it changes nothing here */
	return 0;
}

int row_refuse(const struct task_reader *r, const struct toml *value, struct err *err)
{
	if (value->type == TOML_ARRAY && value->count == 0)
		return 0; /* an empty list asks for nothing */
	return row_say(r, value, ENOTSUP, err, "%s", r->expected);
}

static const struct task_row *find(const struct task_row *rows, const char *key)
{
	while (rows->key != NULL && strcmp(rows->key, key) != 0)
		rows++;
	return rows->key != NULL ? rows : NULL;
}

static void note_unknown(
	const struct task_reader *r, const struct toml *value, const struct task_row *rows)
{
	autodone(buf_done) struct buf name;
	const char *known[KEYS_MAX];
	struct task_reader at = *r;
	const char *near;
	size_t n = 0;

	for (; rows->key != NULL; rows++) {
		assert(n + 1 < KEYS_MAX);
		known[n++] = rows->key;
	}
	known[n] = NULL;
	near = str_nearest(value->key, known);
	buf_init(&name, 400);
	str_add_visible(&name, value->key, strnlen(value->key, 80), /* keep_lines= */ false);
	at.key = buf_text(&name);
	if (near != NULL)
		row_note(&at, value, "unknown key, passed over (did you mean '%s'?)", near);
	else
		row_note(&at, value, "unknown key, passed over");
}

int rows_read(const struct task_reader *r, const struct toml *table, const struct task_row *rows,
	struct err *err)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct toml *value = table->children[i];
		const struct task_row *row = find(rows, value->key);
		struct task_reader at = *r;
		int e;

		if (row == NULL) {
			note_unknown(r, value, rows);
			continue;
		}
		at.key = row->key;
		at.expected = row->expected;
		if ((row->types & 1u << value->type) == 0)
			return row_say(&at, value, EINVAL, err, "expected %s, found %s",
				at.expected, toml_type_name(value->type));
		if (value->type == TOML_STRING && strlen(value->string) != value->string_bytes)
			return row_say(&at, value, EINVAL, err, "the string holds a NUL character");
		e = row->take(&at, value, err);
		if (e < 0)
			return e;
	}
	return 0;
}
