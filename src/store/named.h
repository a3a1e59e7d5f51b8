/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_NAMED_H
#define STORE_NAMED_H

#include "store/sets.h"
#include "store/store.h"

/* Which digests hemra's own lines name, without parsing what agents wrote; private to rm and gc. */

/* Adds every digest that a trusted line of events/<attempt>.jsonl names: blobs, manifests and others,
 * rather too many than too few. */
int named_add_events(
	struct store *s, const struct id *attempt, struct digest_set *set, struct err *err);
/* Of all attempts but `but` (may be NULL), and the digests in the index when x is not NULL. */
int named_add_all(struct store *s, struct index *x, const struct id *but, struct digest_set *set,
	struct err *err);
/* The start of the oldest attempt but `but` (may be NULL) whose events are held, less a day for clocks that step; 0: none lives.
 * Blobs renewed since then may be about to be named. */
int oldest_living(struct store *s, const struct id *but, struct wall *ret, struct err *err);
struct wall id_time(const struct id *id); /* when an id was made */

#endif
