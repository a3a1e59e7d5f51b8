/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/wire/json.h"
#include "store/derive.h"
#include "store/seal.h"
#include "store/sets.h"
#include "store/store.h"
#include "store/witness.h"

/* Verifying, one concern per verify_*.c. */

/* A line of seals.jsonl as it stands in the file. */
struct seal_seen {
	struct seal_line line;
	uint64_t number; /* line in the file, from 1 */
	uint64_t end;    /* offset behind it */
	bool parsed, is_signed, known;
};

/* What came of one attempt's file. */
struct attempt_seen {
	struct id id;
	bool broken; /* a finding that makes its rows unfit for comparing */
	bool held;   /* it lives */
	bool sealed; /* before the witness was loaded */
};

struct verify {
	store_finding_fn *fn;
	void *context;
	int damning;
	int dir;                 /* the store or the export, borrowed */
	const struct witness *w; /* borrowed; NULL for an export */
	const struct id *only;   /* may be NULL */
	struct seal_seen *seals; /* owned */
	size_t seal_count;
	const struct seal_seen *
		*by_attempt; /* owned: the signed ones, by attempt, kind and place */
	size_t by_attempt_count;
	struct attempt_seen *attempts; /* owned, sorted by id */
	size_t attempt_count;
	struct digest_set manifests, blobs; /* named by events */
	struct row_set rows;                /* derived from events */
	struct json_doc doc;
};

void verify_init(struct verify *v, int dir, store_finding_fn *fn, void *context);
void verify_done(struct verify *v);

void verify_find(struct verify *v, const char *kind, const char *where, uint64_t line,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
void verify_remark(struct verify *v, const char *kind, const char *where, uint64_t line,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

int verify_seals(struct verify *v, const char *store_id, struct err *err);
/* The last line of a kind about an attempt, whose signature holds; or NULL. */
const struct seal_seen *verify_seal_of(
	const struct verify *v, enum seal_kind kind, const struct id *attempt);

/* Checks one events file; seal may be NULL. name is relative to v->dir. */
int verify_events_file(struct verify *v, const char *name, const struct seal_line *seal,
	struct attempt_seen *seen, struct err *err);
int verify_events(struct verify *v, struct err *err);
int verify_manifests(struct verify *v, struct err *err);
int verify_runs(struct verify *v, struct err *err);
int verify_blobs(struct verify *v, struct err *err);
int verify_index(struct verify *v, struct err *err);

/* SHA-256 of a regular file, opened without following links; its mode. -ENOENT. */
int verify_hash_file(int dir, const char *name, uint8_t ret[32], unsigned *ret_mode);

#endif
