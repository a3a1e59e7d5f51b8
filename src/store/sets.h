/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SETS_H
#define STORE_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Sorted sets: digests that are named, and rows as text for comparing. Allocation aborts; their size is
 * that of the store. */

struct digest_set {
	uint8_t (*digests)[32]; /* owned */
	size_t count, room;
	bool sorted;
};
void digest_set_add(struct digest_set *s, const uint8_t digest[32]);
bool digest_set_has(struct digest_set *s, const uint8_t digest[32]);
void digest_set_unique(struct digest_set *s); /* sorts, drops doubles */
void digest_set_done(struct digest_set *s);

/* A row: "<id> <what> …" and everything it says. Sorted by key, rows of an attempt stand together. */
struct row {
	char *key, *text; /* owned */
};
struct row_set {
	struct row *rows; /* owned */
	size_t count, room;
};
void row_set_sink(struct row_set *s, struct index_sink *ret); /* every member is there */
/* A row that no record can stand for; its context is the set. */
int row_set_add_odd(void *context, const char *attempt, const char *what);
void row_set_sort(struct row_set *s);
void row_set_done(struct row_set *s);

#endif
