/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "ground/base/buf.h"

/* Columns of text. The first row is the heading. Cells are made visible on their way in: control
 * characters of an agent never reach the terminal. */
struct table {
	char **cells; /* owned, count of them */
	size_t count, capacity;
	unsigned columns;
	unsigned right; /* bit n: column n is set to the right */
};

void table_init(struct table *t, unsigned columns, unsigned right);
void table_done(struct table *t);
void table_add(struct table *t, const char *text); /* NULL is "" */
void table_addf(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Two spaces between columns, nothing at the ends of lines; bold: the heading stands out. */
void table_write(const struct table *t, bool bold, struct buf *out);
void table_print(const struct table *t); /* on standard output */

#endif
