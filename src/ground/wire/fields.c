/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a TOML table by rows. */

#include "ground/wire/fields.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define KEYS_MAX 32

static int say(const struct reader *r, const struct toml *value, int code, struct err *err,
	const char *format, va_list args) __attribute__((format(printf, 5, 0)));

static int say(const struct reader *r, const struct toml *value, int code, struct err *err,
	const char *format, va_list args)
{
	char what[sizeof(err->text)];

	(void)vsnprintf(what, sizeof(what), format, args); /* a cut sentence is still a sentence */
	return err_say(err, code, "%s:%u: %s%s%s: %s", r->file, value->line, r->where,
		r->where[0] != '\0' ? "." : "", r->key, what);
}

int field_refuse(const struct reader *r, const struct toml *value, int code, struct err *err,
	const char *format, ...)
{
	va_list args;
	int e;

	va_start(args, format);
	e = say(r, value, code, err, format, args);
	va_end(args);
	return e;
}

int field_say(
	const struct reader *r, const struct toml *value, struct err *err, const char *format, ...)
{
	va_list args;
	int e;

	va_start(args, format);
	e = say(r, value, EINVAL, err, format, args);
	va_end(args);
	return e;
}

/* The value as the operator wrote it, as far as it fits into a sentence. */
static void describe(const struct toml *value, struct buf *out)
{
	size_t shown = value->string_bytes < 60 ? value->string_bytes : 60;

	switch (value->type) {
	case TOML_STRING:
		(void)buf_add_text(out, "\""); /* the buffer remembers failure, here and below */
		str_add_visible(out, value->string, shown, /* keep_lines= */ false);
		(void)buf_add_text(out, shown < value->string_bytes ? "…\"" : "\"");
		break;
	case TOML_INTEGER:
		(void)buf_addf(out, "%lld", (long long)value->integer);
		break;
	case TOML_FLOAT:
		(void)buf_addf(out, "%g", value->number);
		break;
	case TOML_BOOLEAN:
	case TOML_DATE:
	case TOML_ARRAY:
	case TOML_TABLE:
		(void)buf_add_text(out, toml_type_name(value->type));
		break;
	}
}

int field_unexpected(const struct reader *r, const struct toml *value, struct err *err)
{
	autodone(buf_done) struct buf found;

	buf_init(&found, 1024);
	describe(value, &found);
	return field_say(r, value, err, "expected %s, found %s", r->expected, buf_text(&found));
}

/* The value itself is not shown: where a name or a table belongs, a secret may have been pasted. */
static int wrong_type(const struct reader *r, const struct toml *value, struct err *err)
{
	return field_say(
		r, value, err, "expected %s, found %s", r->expected, toml_type_name(value->type));
}

int field_word(
	const struct reader *r, const struct toml *value, const char *const *later, struct err *err)
{
	for (; later != NULL && *later != NULL; later++)
		if (strcmp(value->string, *later) == 0)
			return field_say(r, value, err, "\"%s\" is not built yet", *later);
	return field_unexpected(r, value, err);
}

int field_text(const struct reader *r, const struct toml *value, struct err *err)
{
	if (value->type != TOML_STRING)
		return wrong_type(r, value, err);
	if (value->string_bytes == 0 && !r->takes_empty)
		return field_unexpected(r, value, err);
	if (strlen(value->string) != value->string_bytes)
		return field_say(r, value, err, "the string holds a NUL character");
	return 0;
}

static const struct field *find(const struct field *fields, const char *key)
{
	while (fields->key != NULL && strcmp(fields->key, key) != 0)
		fields++;
	return fields->key != NULL ? fields : NULL;
}

int fields_read(const struct reader *r, const struct toml *table, const struct field *fields,
	const char *const *later, struct err *err)
{
	const char *known[KEYS_MAX];
	size_t n = 0;
	int e = 0;

	for (const struct field *f = fields; f->key != NULL; f++) {
		assert(n + 1 < KEYS_MAX);
		known[n++] = f->key;
	}
	known[n] = NULL;
	if (r->on_unknown == NULL)
		e = toml_check_keys(table, r->file, r->where, known, later, err);
	for (size_t i = 0; e == 0 && i < table->count; i++) {
		const struct toml *value = table->children[i];
		const struct field *f = find(fields, value->key);
		struct reader at = *r;

		if (f == NULL) {
			assert(r->on_unknown != NULL);
			r->on_unknown(r, value, str_nearest(value->key, known));
			continue;
		}
		at.key = f->key;
		at.expected = f->expected;
		if ((f->types & 1u << value->type) == 0)
			return wrong_type(&at, value, err);
		e = value->type == TOML_STRING ? field_text(&at, value, err) : 0;
		if (e == 0)
			e = f->take(&at, value, err);
	}
	return e;
}
