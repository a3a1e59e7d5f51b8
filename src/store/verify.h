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

/* A blob as an artifact's event names it. */
struct named_blob {
	uint8_t digest[32];
	uint64_t bytes; /* UINT64_MAX: the event does not say */
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
	struct digest_set manifests; /* named by events */
	struct named_blob *blobs;    /* owned; named by events */
	size_t blob_count, blob_room;
	bool no_runs;        /* runs/ could not be listed */
	struct row_set rows; /* derived from events */
	struct json_doc doc;
};

void verify_init(struct verify *v, int dir, store_finding_fn *fn, void *context);
void verify_done(struct verify *v);

void verify_find(struct verify *v, const char *kind, const char *where, uint64_t line,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
void verify_remark(struct verify *v, const char *kind, const char *where, uint64_t line,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

void verify_seals(struct verify *v, const char *store_id);
/* The last line of a kind about an attempt, whose signature holds; or NULL. */
const struct seal_seen *verify_seal_of(
	const struct verify *v, enum seal_kind kind, const struct id *attempt);

/* Checks one events file; seal may be NULL. name is relative to v->dir. */
void verify_events_file(struct verify *v, const char *name, const struct seal_line *seal,
	struct attempt_seen *seen);
void verify_events(struct verify *v);
void verify_manifests(struct verify *v);
void verify_runs(struct verify *v);
void verify_blobs(struct verify *v);
int verify_index(struct verify *v, struct err *err);

void verify_name_blob(struct verify *v, const uint8_t digest[32], uint64_t bytes);

/* The files that have findings of their own when they cannot be read: <noun>.missing, <noun>.not_a_file
 * and <noun>.unreadable. */
enum verify_noun {
	NOUN_EVENTS,
	NOUN_SEALS,
	NOUN_SEAL,
	NOUN_MANIFEST,
	NOUN_RUN,
	NOUN_RECORD,
	NOUN_BLOB,
	NOUN_ID,
	NOUN_LOCK,
	NOUN_COUNT,
};
void verify_find_unread(struct verify *v, enum verify_noun noun, const char *where, int r);
/* Lists a directory of the store. When it cannot be listed that is told, and it has no names. */
char **verify_list(struct verify *v, const char *name); /* owned by the caller */

/* A file whose content is known by its digest. Its size is looked at before a byte of it is read. */
struct verify_file {
	enum verify_noun noun;
	const char *name; /* relative to v->dir */
	const uint8_t *digest;
	uint64_t bytes_min, bytes_max;
};
/* Tells what is wrong with it. true: nothing is, and its mode. */
bool verify_file(struct verify *v, const struct verify_file *f, unsigned *ret_mode);

#endif
