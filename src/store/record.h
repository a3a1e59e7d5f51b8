/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "ground/wire/json.h"
#include "store/store.h"

/* record.json of an export: what the index knows of the attempt, and its artifacts. It is derived, so
 * verifying an export writes it again from the events and compares bytes. */
struct record {
	struct json_writer writer;
};

void record_open(struct record *r, struct buf *out, const struct index_attempt *a);
void record_add_artifact(struct record *r, const struct index_artifact *a);
void record_close(struct record *r);

#endif
