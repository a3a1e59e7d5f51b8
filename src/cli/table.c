/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of text. */

#include "cli/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/out.h"
#include "ground/base/own.h"

void table_init(struct table *t, unsigned columns, unsigned right)
{
	assert(columns > 0 && columns <= 32);
	*t = (struct table){.columns = columns, .right = right};
}

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){.columns = t->columns, .right = t->right};
}

void table_add(struct table *t, const char *text)
{
	if (t->count == t->capacity) {
		t->capacity = t->capacity == 0 ? 64 : 2 * t->capacity;
		t->cells = reallocarray(t->cells, t->capacity, sizeof(*t->cells));
		if (t->cells == NULL)
			abort();
	}
	t->cells[t->count++] = out_line(text);
}

void table_addf(struct table *t, const char *format, ...)
{
	autodone(buf_done) struct buf b = {.max = 64 * 1024};
	va_list args;

	va_start(args, format);
	(void)buf_vaddf(&b, format, args); /* too long: what fits is nothing, and "" is shown */
	va_end(args);
	table_add(t, buf_text(&b));
}

/* Characters, not bytes. Wide ones count as one: names here are mostly plain. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void pad(struct buf *out, size_t count)
{
	while (count-- > 0)
		(void)buf_add_char(out, ' '); /* failure sticks */
}

void table_write(const struct table *t, bool bold, struct buf *out)
{
	size_t count = t->count, widths[32] = {0};

	assert(count % t->columns == 0);
	for (size_t i = 0; i < count; i++) {
		size_t width = width_of(t->cells[i]);

		if (width > widths[i % t->columns])
			widths[i % t->columns] = width;
	}
	for (size_t i = 0; i < count; i++) {
		unsigned column = (unsigned)(i % t->columns);
		size_t space = widths[column] - width_of(t->cells[i]);
		bool last = column + 1 == t->columns;

		if (column == 0 && i == 0 && bold)
			(void)buf_add_text(out, "\033[1m"); /* failure sticks */
		if ((t->right & (1u << column)) != 0)
			pad(out, space);
		(void)buf_add_text(out, t->cells[i]); /* failure sticks */
		if ((t->right & (1u << column)) == 0 && !last)
			pad(out, space);
		if (!last) {
			pad(out, 2);
			continue;
		}
		while (out->len > 0 && out->data[out->len - 1] == ' ')
			buf_truncate(out, out->len - 1);
		(void)buf_add_text(out, i + 1 == t->columns && bold ? "\033[0m\n" : "\n");
	}
}

void table_print(const struct table *t)
{
	autodone(buf_done) struct buf b = {.max = 64 * 1024 * 1024};

	table_write(t, out_has_color(), &b);
	(void)fputs(buf_text(&b), stdout); /* out_finish() sees failure */
}
