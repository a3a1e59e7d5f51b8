/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"
#include "ground/base/clock.h"
#include "ground/base/err.h"
#include "ground/base/str.h"
#include "ground/terms/id.h"
#include "store/dir.h"
#include "store/key.h"

/* Lines of seals.jsonl: writing them, and taking them apart. */

#define SEAL_LINE_MAX 8192
#define SEAL_WHY_MAX  250 /* bytes of a reason before escaping */

enum seal_kind {
	SEAL_ATTEMPT,   /* "seal": the head of an attempt's chain */
	SEAL_TOMBSTONE, /* "tombstone": an attempt was removed */
	SEAL_GC,        /* "gc": blobs and kept workspaces were removed */
	SEAL_KIND_COUNT,
};
extern const char *const seal_kind_names[];

struct seal_line {
	enum seal_kind kind;
	uint64_t n; /* from 1, without a gap */
	char store[STORE_ID_SIZE];
	struct id attempt;     /* none in a gc line */
	uint8_t head[32];      /* of what was sealed, or removed */
	uint64_t count, bytes; /* lines and bytes of events; gc: removed blobs and bytes */
	bool has_manifest, has_run;
	uint8_t manifest[32], run_sha256[32];
	struct id run;
	struct wall at;
	bool local;
	char why[SEAL_WHY_MAX + 1];
	uint64_t
		lost_n; /* 0, or: this line was known to the signer, and gone when this one was made */
	uint8_t lost[32];
	uint8_t previous[32], key[32], signature[64];
	uint8_t digest[32]; /* of the whole line */
	size_t signed_bytes;
};

/* Appends what line says (kind to why) to seals.jsonl, in order: lock, number, chain, sign, sync, note. */
int seal_append(struct store *s, struct seal_key *k, struct seal_line *line, struct err *err);

/* -EINVAL when it is not a line of ours; the signature is not checked. */
struct json_doc;
int seal_line_parse(struct json_doc *doc, struct str line, struct seal_line *ret);
bool seal_line_is_signed(const struct seal_line *line, struct str text);
void seal_genesis(const char *store_id, uint8_t ret[32]); /* "previous" of line 1 */

/* Every line of seals.jsonl that can be parsed, in the file's order. */
struct seal_list {
	struct seal_line *lines; /* owned */
	size_t count;
};
int seal_list_read(int dir, struct seal_list *ret, struct err *err); /* no file: no lines */
void seal_list_done(struct seal_list *l);
const struct seal_line *seal_list_find(const struct seal_list *l, enum seal_kind kind,
	const struct id *attempt); /* the last such line, or NULL */

#endif
