/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_DERIVE_H
#define STORE_DERIVE_H

#include "ground/wire/json.h"
#include "store/seal.h"
#include "store/store.h"

/* Rows that one event stands for. */

struct derivation {
	const struct index_sink *sink; /* borrowed; members may be NULL */
	struct json_doc doc;
	struct id attempt;
	bool planned; /* the first event was what it must be; else nothing is handed out */
	uint64_t artifact_bytes; /* so far */
	/* the outcome waits for the end of the file: its row counts lines and bytes */
	bool settled;
	struct index_attempt outcome;
	char *reason; /* owned; outcome.reason */
};

struct event_line;
void derivation_init(struct derivation *d, const struct id *attempt, const struct index_sink *sink);
void derivation_done(struct derivation *d);
int derivation_add(
	struct derivation *d, const struct event_line *line); /* what the sink returned */
int derivation_end(struct derivation *d, uint64_t lines, uint64_t bytes);
/* Rows of runs/, then those of tombstones: parts of store_derive. */
int derive_runs(int dir, const struct index_sink *sink, struct err *err);
int derive_removed(int dir, const struct seal_list *seals, const struct id *only,
	const struct index_sink *sink, struct err *err);

#endif
