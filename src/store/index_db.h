/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_INDEX_DB_H
#define STORE_INDEX_DB_H

#include <sqlite3.h>
#include <stdbool.h>

#include "store/dir.h"
#include "store/store.h"

/* The index's connection, private to index_*.c: the only files that say sqlite3. */

enum index_statement {
	INDEX_BEGIN,
	INDEX_COMMIT,
	INDEX_ROLLBACK,
	INDEX_PUT_RUN,
	INDEX_PUT_ATTEMPT,
	INDEX_PUT_TRANSITION,
	INDEX_PUT_ARTIFACT,
	INDEX_ADD_ARTIFACT, /* unless it is there */
	INDEX_PUT_OUTCOME,
	INDEX_PUT_SCORE,
	INDEX_PUT_TOMBSTONE,
	INDEX_FIND,
	INDEX_BEFORE,
	INDEX_AFTER,
	INDEX_STATEMENT_COUNT,
};

enum index_mode {
	INDEX_READ,
	INDEX_WRITE,
	INDEX_WITNESS, /* for reading, and a foreign schema is no error but told in foreign */
};

struct index {
	struct store *store;                             /* borrowed */
	sqlite3 *db;                                     /* owned */
	sqlite3_stmt *statements[INDEX_STATEMENT_COUNT]; /* owned, prepared at first use */
	bool in_transaction; /* rebuilding: puts join the one that is open */
	bool completes;      /* rows that are there already are passed over */
	char foreign[128];   /* how the schema differs from hemra's; "" when it does not */
	bool is_unreadable;  /* it differs in a way that leaves its rows without a meaning */
};

int index_error(
	struct index *x, int code, const char *what, struct err *err); /* sqlite's code to -errno */
int index_statement(
	struct index *x, enum index_statement which, sqlite3_stmt **ret, struct err *err);
int index_run_statement(
	struct index *x, enum index_statement which, struct err *err); /* steps and resets */
int index_exec(struct index *x, const char *sql, struct err *err);

int index_check(struct index *x, struct err *err); /* -EBADMSG: the file is damaged */

/* What the index consists of; the database last. */
#define INDEX_FILES 4
extern const char *const index_files[INDEX_FILES];

int index_open_mode(struct store *s, enum index_mode mode, struct index **ret, struct err *err);
/* A new, empty one in memory. */
int index_open_private(struct store *s, struct index **ret, struct err *err);
int index_make_file(struct store *s, struct err *err); /* empty, 0600; fine when it is there */
void index_configure(struct index *x);
int index_set_wal(struct index *x, struct err *err);

/* -EUCLEAN, -ENOTSUP for a newer, -ENODATA for an older one that is not to be written. */
int index_schema_check(struct index *x, enum index_mode mode, struct err *err);
int index_schema_migrate(struct index *x, struct err *err);

/* Writes the rows that arrive on fd; see index_rebuild_from(). */
int index_receive(struct index *x, int fd, struct err *err);
/* The index's own rows handed to a sink, all members of which must be there. Rows that no record can
 * stand for go to odd, with the sink's context. */
typedef int index_odd_fn(void *context, const char *attempt, const char *what);
int index_emit(struct index *x, const struct index_sink *sink, index_odd_fn *odd, struct err *err);

#endif
