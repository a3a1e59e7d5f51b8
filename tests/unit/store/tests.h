/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of the store unit program; each returns how many of its tests failed. */
#ifndef TESTS_UNIT_STORE_TESTS_H
#define TESTS_UNIT_STORE_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/store.h"

int test_log(void);
int test_log_faults(void);
int test_crash(void);
int test_blob(void);
int test_key(void);
int test_index(void);
int test_verify_events(void);
int test_verify_seals(void);
int test_verify_files(void);
int test_keep(void);
int test_export(void);
int test_locked(void);
int test_hostile(void);
int test_schema(void);
int test_unsealed_list(void);

/* A directory of the test's own: a key directory ("state") and a store ("store") in it. */
int place_make(void **state);
int place_remove(void **state);
const char *place(void);        /* its absolute path */
char *inside(const char *name); /* owned: a path in the store */

/* With three settled and sealed attempts of one run, artifacts, blobs and index. */
int rig_make(void **state);
extern struct store *rig_store;
extern struct seal_key *rig_key;
extern struct id rig_run, rig_attempts[3];
extern uint8_t rig_blobs[3][32]; /* of attempt n: its own artifact; all share one more */
extern char rig_manifests[3][65];

/* Plans, fills, settles and seals one attempt into rig_store and x. */
void rig_attempt(struct index *x, unsigned number, struct id *ret);
struct id new_id(void);

/* Files, by absolute path. */
struct buf;
void slurp(const char *path, struct buf *out);
void spill(const char *path, const void *bytes, size_t size); /* keeps the mode */
/* Lines of a file, for tampering: cut apart, changed, put back. */
struct lines {
	char **line; /* owned, each without its newline */
	size_t count;
};
void lines_read(const char *path, struct lines *ret);
void lines_write(const char *path, const struct lines *l);
void lines_drop(struct lines *l, size_t at);
void lines_insert(struct lines *l, size_t at, const char *text);
void lines_done(struct lines *l);
void replace_once(char *text, const char *from, const char *to); /* of equal length */

/* Changes the index as one would who has the sqlite3 program: the triggers go first and come back. */
void tamper(const char *sql);
void tamper_plainly(const char *sql); /* … without a thought for them */

/* store_verify() must find exactly these damning kinds, separated by blanks, sorted; "" for none. */
void must_find(const char *kinds);
void must_find_only(const struct id *only, const char *kinds);
/* … and among the remarks this kind. */
void must_remark(const char *kind);
/* The line that the last verify named for a kind. */
uint64_t line_of(const char *kind);
/* Collects findings; the context is unused. */
void collect(void *context, const struct store_finding *f);
void collect_reset(void);
const char *collected(void); /* damning kinds, sorted, separated by blanks */

#endif
