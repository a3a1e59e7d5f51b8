/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include "cli/table.h"
#include "cli/where.h"
#include "ground/wire/json.h"
#include "store/store.h"

/* Rows of the index, as lists, pages and JSON show them. */

/* A copy whose strings live as long as it does. */
struct row {
	struct index_attempt a; /* its strings are owned by the row */
};
int row_get(struct place *p, const struct id *attempt, struct row *ret, struct err *err);
void row_done(struct row *r); /* accepts a zeroed row */

void row_print(const struct index_attempt *a);                       /* a page's head */
void row_json(const struct index_attempt *a, struct json_writer *w); /* pairs of an open object */

void row_table_init(struct table *t);
void row_add(struct table *t, const struct index_attempt *a, struct place *p);

/* "TRIPPED; weaker: probe; removed" */
void row_add_marks(const struct index_attempt *a, struct buf *out);

#endif
