/* SPDX-License-Identifier: Apache-2.0 */
/* TOML: the library behind the first call, sentences, and help for those who walk the tree. */

#include "ground/wire/toml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/wire/toml_shim.h"

static int load(const char *file, toml_shim_parse **ret, struct err *err)
{
	static toml_shim_parse *loaded; /* once for the life of the process */
	void *library, *symbol;

	if (loaded == NULL) {
		library = dlopen(TOML_SHIM_FILE, RTLD_NOW | RTLD_LOCAL);
		symbol = library != NULL ? dlsym(library, TOML_SHIM_FUNCTION) : NULL;
		if (symbol == NULL)
			return err_say(err, ENOENT, "%s: cannot be read: %s", file, dlerror());
		(void)memcpy(&loaded, &symbol,
			sizeof(loaded)); /* C has no cast from an object to a function */
	}
	*ret = loaded;
	return 0;
}

/* p is at a quote; returns what is behind the string. *line counts the newlines within. A string
 * that does not end is left to toml++ to report. */
static const char *skip_string(const char *p, const char *end, unsigned *line)
{
	const char quote = *p;
	const bool is_long = end - p >= 3 && p[1] == quote && p[2] == quote;

	for (p += is_long ? 3 : 1; p < end; p++) {
		if (*p == '\\' && quote == '"' && end - p > 1) {
			p++;
		} else if (*p == quote && !is_long) {
			return p + 1;
		} else if (is_long && end - p >= 3 && p[0] == quote && p[1] == quote &&
			   p[2] == quote) {
			/* up to two more quotes belong to the string */
			for (p += 3; p < end && *p == quote; p++)
				;
			return p;
		}
		if (*p == '\n') {
			if (!is_long)
				return p;
			(*line)++;
		}
	}
	return p;
}

/* The line of the first key that has too many parts, 0 when there is none. toml++ frees its tree by
 * recursion, one level for each part of a dotted key, and older ones take any number of parts. */
static unsigned overlong_key_line(const char *text, size_t size)
{
	const char *p = text, *end = text + size;
	unsigned line = 1, dots = 0;

	while (p < end) {
		switch (*p) {
		case '"':
		case '\'':
			p = skip_string(p, end, &line);
			continue;
		case '#':
			p = memchr(p, '\n', (size_t)(end - p));
			if (p == NULL)
				return 0;
			continue;
		case '.':
			if (++dots >= TOML_DEPTH_MAX)
				return line;
			break;
		case '\n':
			line++;
			dots = 0;
			break;
		case '=':
		case ',':
		case '[':
		case ']':
		case '{':
		case '}':
			dots = 0;
			break;
		default:
			break;
		}
		p++;
	}
	return 0;
}

/* The first byte that TOML allows nowhere, size when there is none: so toml++ never sees one, and the
 * sentence does not depend on its version. */
static size_t forbidden_at(const char *text, size_t size, const char **ret_what)
{
	size_t utf8 = str_utf8_prefix(text, size);

	for (size_t i = 0; i < utf8; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\r' && (i + 1 == size || text[i + 1] != '\n')) {
			*ret_what = "a carriage return without a newline";
			return i;
		}
		if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) {
			*ret_what = "a control character";
			return i;
		}
	}
	*ret_what = "not UTF-8";
	return utf8;
}

static unsigned line_of(const char *text, size_t offset)
{
	unsigned line = 1;

	for (size_t i = 0; i < offset; i++)
		line += text[i] == '\n';
	return line;
}

int toml_parse(const char *text, size_t size, const char *file, struct toml **ret, struct err *err)
{
	static const char preface[] = "Error while parsing ";
	toml_shim_parse *parse = NULL;
	struct toml_fault fault = {0};
	autodone(buf_done) struct buf what = {0};
	const char *forbidden;
	unsigned line;
	size_t at;
	int r;

	if (size > TOML_BYTES_MAX)
		return err_say(err, E2BIG, "%s: larger than %d MiB", file, TOML_BYTES_MAX >> 20);
	at = forbidden_at(text, size, &forbidden);
	if (at < size)
		return err_say(err, EINVAL, "%s:%u: %s", file, line_of(text, at), forbidden);
	line = overlong_key_line(text, size);
	if (line > 0)
		return err_say(err, E2BIG, "%s:%u: a key of more than %d parts", file, line,
			TOML_DEPTH_MAX);
	r = load(file, &parse, err);
	if (r < 0)
		return r;
	r = parse(text, size, ret, &fault);
	if (r == 0)
		return 0;
	buf_init(&what, 4 * sizeof(fault.what));
	str_add_visible(&what, fault.what, strlen(fault.what), /* keep_lines= */ false);
	return err_say(err, -r, "%s:%u: %s", file, fault.line,
		buf_text(&what) + (str_starts(buf_text(&what), preface) ? sizeof(preface) - 1 : 0));
}

void toml_free(struct toml *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->count; i++)
		toml_free(t->children[i]); /* as deep as TOML_DEPTH_MAX */
	free(t->children);
	free(t->string);
	free(t->key);
	free(t);
}

const struct toml *toml_get(const struct toml *table, const char *key)
{
	if (table == NULL || table->type != TOML_TABLE)
		return NULL;
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->children[i]->key, key) == 0)
			return table->children[i];
	return NULL;
}

const char *toml_type_name(enum toml_type type)
{
	static const char *const names[] = {
		[TOML_STRING] = "a string",
		[TOML_INTEGER] = "an integer",
		[TOML_FLOAT] = "a float",
		[TOML_BOOLEAN] = "a boolean",
		[TOML_DATE] = "a date",
		[TOML_ARRAY] = "an array",
		[TOML_TABLE] = "a table",
	};

	return (size_t)type < array_count(names) ? names[type] : "nothing";
}

static bool is_in(const char *const *words, const char *word)
{
	for (; words != NULL && *words != NULL; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

int toml_check_keys(const struct toml *table, const char *file, const char *where,
	const char *const *known, const char *const *later, struct err *err)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct toml *t = table->children[i];
		const char *near;
		autodone(buf_done) struct buf name = {0};

		if (is_in(known, t->key))
			continue;
		buf_init(&name, 400); /* a longer name is cut: the sentence could not hold it */
		str_add_visible(&name, t->key, strnlen(t->key, 80), /* keep_lines= */ false);
		if (is_in(later, t->key))
			return err_say(err, EINVAL, "%s:%u: key '%s%s%s' is not built yet", file,
				t->line, where, *where != '\0' ? "." : "", buf_text(&name));
		near = str_nearest(t->key, known);
		if (near != NULL)
			return err_say(err, EINVAL,
				"%s:%u: unknown key '%s%s%s' (did you mean '%s'?)", file, t->line,
				where, *where != '\0' ? "." : "", buf_text(&name), near);
		return err_say(err, EINVAL, "%s:%u: unknown key '%s%s%s'", file, t->line, where,
			*where != '\0' ? "." : "", buf_text(&name));
	}
	return 0;
}
