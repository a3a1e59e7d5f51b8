/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/clock.h"
#include "ground/base/err.h"
#include "ground/terms/event.h"
#include "ground/terms/id.h"
#include "ground/terms/msg.h"
#include "ground/terms/outcome.h"

/* The store: events are the record, everything else is derived from them or named by them.
 *
 *   manifests/<digest>.json   canonical manifests            runs/<run>.json   what was asked for
 *   events/<attempt>.jsonl    one event per line, chained    seals.jsonl       signed heads, chained
 *   blobs/sha256/ab/cdef…     content, 0444                  trials/<attempt>/ verifier's files
 *   index.sqlite              derived, can be rebuilt        live/, work/, lock, id
 *
 * Formats, to the byte: docs/record.md. Events of one attempt are written by whoever holds the lock
 * (flock) on its file; seals by whoever holds the lock on seals.jsonl; rows by the engine that owns
 * the run. */

/* ---- the directory ---------------------------------------------------------------------------- */

struct store;

enum store_open_flag {
	STORE_CREATE = 1 << 0, /* make it (0700, with .gitignore "*") when it is not there */
	STORE_READ = 1 << 1,   /* nothing will be written: it may be another user's */
};

/* -EPERM for a store of another user, be it root who opens it, but with STORE_READ: what was written
 * there its owner could not use. With STORE_READ all that writes gives -EROFS. */
int store_open(const char *path, unsigned flags, struct store **ret, struct err *err);
void store_close(struct store *s);             /* accepts NULL */
const char *store_path(const struct store *s); /* absolute */
int store_fd(const struct store *s);           /* O_PATH of the directory, borrowed */
bool store_is_loose(const struct store *s);    /* others may read it */
const char *store_id(
	const struct store *s); /* 32 hex digits, made once; "" when its file is gone */

/* Writes a file beside its place and links or renames it in, with fdatasync of file and directory. name is relative to
 * the store. store_put_once leaves an equal existing file alone (manifests, runs). */
int store_put_once(
	struct store *s, const char *name, const void *bytes, size_t size, struct err *err);
int store_put(struct store *s, const char *name, const void *bytes, size_t size, struct err *err);

/* ---- an attempt's events ------------------------------------------------------------------------ */

/* A log appends lines, numbers, stamps and chains them. Lines gather in memory and are written by
 * event_log_flush; a decision is flushed before it takes effect. Not for concurrent use. */
struct event_log;

#define EVENT_DATA_MAX (2 * 1024 * 1024) /* bytes of data in one line */

/* Makes events/<attempt>.jsonl (it must not exist) and takes its lock (-EWOULDBLOCK when held). */
int event_log_create(struct store *s, const struct id *attempt, const uint8_t manifest[32],
	struct event_log **ret, struct err *err);
/* Goes on with a file that holds whole lines already, its lock held through fd (taken on success).
 * fd must be open for reading and writing. A torn tail is cut off (event_log_torn says how much) and stays in
 * a file beside (<name>.<offset>.torn), and a loss event that says so is appended. -EBADMSG: a line
 * does not fit the chain. -ENODATA: not one whole line. */
int event_log_adopt(int fd, const struct id *attempt, const uint8_t manifest[32],
	struct event_log **ret, struct err *err);
/* Opens an existing log by id and adopts it: for orphans. -EWOULDBLOCK: its steward lives. */
int event_log_claim(
	struct store *s, const struct id *attempt, struct event_log **ret, struct err *err);
/* Counts and chains, writes nowhere: for runs without a record. */
struct event_log *event_log_memory(const struct id *attempt, const uint8_t manifest[32]);
void event_log_close(struct event_log *l); /* flushes what it can; accepts NULL */

int event_log_fd(const struct event_log *l); /* borrowed; -1 for a memory log */
/* data must be a JSON object's bytes without bytes below 0x20: -EINVAL otherwise. -ENOSPC and the
 * like come from flush, which keeps what it could not write for the next try. -ENOBUFS: more than
 * EVENT_PENDING_MAX bytes wait for a flush. */
#define EVENT_PENDING_MAX (16 * 1024 * 1024)
int event_log_append(
	struct event_log *l, enum event_type type, const void *data, size_t size, struct err *err);
int event_log_flush(struct event_log *l, struct err *err);
int event_log_sync(struct event_log *l, struct err *err); /* flush, then fdatasync */
size_t event_log_pending(const struct event_log *l);      /* bytes not yet flushed */
/* The time in the last line's "ts": rows of the index carry exactly this time. */
struct wall event_log_at(const struct event_log *l);
uint64_t event_log_torn(const struct event_log *l); /* bytes that adopting cut off */

struct event_head {
	uint8_t hash[32];
	uint64_t count, bytes; /* lines and bytes up to and with the last one */
};
void event_log_head(const struct event_log *l, struct event_head *ret);

/* ---- blobs --------------------------------------------------------------------------------------- */

/* An unnamed file in the store for content on its way to becoming a blob (O_TMPFILE, or an unlinked
 * one). Link it once its digest is known. */
int store_blob_open(struct store *s, int *ret_fd, struct err *err);
/* Syncs, makes it 0444 and links it as its digest; an equal blob is left alone. fd stays the caller's. */
int store_blob_link(struct store *s, int fd, const uint8_t sha256[32], struct err *err);
/* Copies a regular file, from its beginning, into a blob and hashes it on the way. -EFBIG: more than
 * max_bytes; -EBUSY: its size changed meanwhile. fd's type and place were checked by the caller. */
int store_blob_copy(struct store *s, int fd, uint64_t max_bytes, uint8_t ret_sha256[32],
	uint64_t *ret_bytes, struct err *err);
int store_blob_put(
	struct store *s, const void *bytes, size_t size, uint8_t ret_sha256[32], struct err *err);
/* Opens for reading; -ENOENT. */
int store_blob_get(struct store *s, const uint8_t sha256[32], int *ret_fd, struct err *err);
int store_sync_directories(struct store *s, struct err *err); /* after linking, before sealing */

/* ---- seals ---------------------------------------------------------------------------------------- */

/* The key lives in $XDG_STATE_HOME/hemra/keys (made at first use), beside it the last seal's digest
 * and count per store. */
struct seal_key;

int seal_key_open(struct seal_key **ret, struct err *err);
void seal_key_close(struct seal_key *k); /* wipes; accepts NULL */
const char *seal_key_directory(void);    /* absolute, borrowed; covered in every box */

/* Appends a seal line under the lock of seals.jsonl, synced, and moves the note beside the key. The
 * line also names manifest, run and the digest of runs/<run>.json, taken from the first event. local
 * marks that the agent had the operator's rights. */
int store_seal(struct store *s, struct seal_key *k, const struct id *attempt,
	const struct event_head *head, bool local, struct err *err);
/* Is exactly this head of the attempt sealed? Reads all of seals.jsonl. 1, 0, -errno. */
int store_is_sealed(
	struct store *s, const struct id *attempt, const struct event_head *head, struct err *err);
/* Every attempt that has a file of events and neither a seal nor a tombstone, and whose events nobody
 * holds; oldest first. Whether it is settled its events say: they are not read here, only names and
 * seals.jsonl, once; signatures are for verify. Non-zero stops. */
typedef int store_attempt_fn(void *context, const struct id *attempt);
int store_each_unsealed(struct store *s, store_attempt_fn *fn, void *context, struct err *err);
/* Removes this store's note beside the key: for a store that is thrown away. */
int store_forget(struct store *s, struct err *err);

/* ---- data of the events that rows are derived from ------------------------------------------------- */

struct index_attempt;
struct index_artifact;
struct buf;
/* Each appends one JSON object: what the index says and what the events say comes from one place. */
void event_encode_planned(const struct index_attempt *a, struct buf *out);
void event_encode_state(enum state s, struct buf *out);
void event_encode_settled(const struct index_attempt *a, struct buf *out);
/* The members "weaker" (an array of names) and "usage" (what nobody reported is null) of an object. */
struct json_writer;
void store_put_weaker(struct json_writer *w, unsigned weaker);
void store_put_usage(struct json_writer *w, const struct usage *u);
/* media_type and refused may be NULL; a refused file has no blob and no row. */
void event_encode_artifact(const struct index_artifact *a, const char *media_type,
	const char *refused, struct buf *out);
/* runs/<run>.json must hold "created" (wall_format) and "file" at its top level; more is welcome. */

/* ---- the index ------------------------------------------------------------------------------------ */

/* SQLite (WAL, STRICT, append-only triggers); derived from the events. */
struct index;

/* Migrates when write. -EUCLEAN: its tables, indexes, views or triggers are not exactly hemra's; none of
 * them was used. -EINVAL: it is not a regular file. -EBADMSG: it is damaged. The sentence names
 * `doctor --reindex`, which mends them all. */
int index_open(struct store *s, bool write, struct index **ret, struct err *err);
void index_close(struct index *x); /* accepts NULL */

struct index_attempt {
	struct id run, attempt;
	unsigned index, of;
	const char *harness, *task; /* borrowed; in results until the next row */
	const char *manifest;       /* hex */
	const char *sandbox;
	unsigned weaker;
	struct wall planned, settled; /* settled.us 0: not yet */
	enum state state;
	enum outcome outcome; /* meaningful in state done */
	const char *reason;
	bool graded;
	double score;
	int64_t duration_ms;
	struct usage usage;
	uint64_t events, event_bytes, artifact_bytes;
	bool removed; /* a tombstone stands for it */
};

struct index_artifact {
	struct id attempt;
	const char *path, *role;
	uint64_t bytes;
	uint8_t sha256[32], raw_sha256[32];
	bool declared;
};

struct index_run {
	struct id run;
	struct wall created;
	const char *file; /* the run file as named, or "exec" */
	unsigned attempts, done, graded;
	double score_mean; /* over graded ones */
	uint64_t bytes;
};

int index_put_run(struct index *x, const struct id *run, struct wall created, const char *file,
	struct err *err);
int index_put_planned(struct index *x, const struct index_attempt *a, struct err *err);
int index_put_state(
	struct index *x, const struct id *attempt, enum state s, struct wall at, struct err *err);
int index_put_artifact(struct index *x, const struct index_artifact *a, struct err *err);
int index_put_settled(struct index *x, const struct index_attempt *a, struct err *err);
int index_put_removed(struct index *x, const struct id *attempt, struct wall at, const char *why,
	struct err *err);

typedef int index_run_fn(void *context, const struct index_run *row);         /* non-zero stops */
typedef int index_attempt_fn(void *context, const struct index_attempt *row); /* non-zero stops */
typedef int index_artifact_fn(void *context, const struct index_artifact *row);
int index_each_run(
	struct index *x, index_run_fn *fn, void *context, struct err *err); /* newest first */
int index_each_attempt(struct index *x, const struct id *run, index_attempt_fn *fn, void *context,
	struct err *err); /* run NULL: all, oldest first */
/* Those that have neither an outcome nor a tombstone, oldest first; costs no walk through the others. */
int index_each_open(struct index *x, index_attempt_fn *fn, void *context, struct err *err);
int index_each_artifact(struct index *x, const struct id *attempt, index_artifact_fn *fn,
	void *context, struct err *err);
int index_get_attempt(struct index *x, const struct id *attempt, index_attempt_fn *fn,
	void *context, struct err *err);
/* The one run or attempt whose id begins with prefix: -ENOENT, -EEXIST (the sentence lists some),
 * -EINVAL under four characters. */
int index_find(
	struct index *x, const char *prefix, struct id *ret, bool *ret_is_run, struct err *err);
/* How many characters make this id unique among all: at least 4. */
unsigned index_shortest(struct index *x, const struct id *id);

/* Where derived rows go. Any member may be NULL. Non-zero stops with that value. */
struct index_sink {
	void *context;
	int (*run)(void *context, const struct id *run, struct wall created, const char *file);
	int (*planned)(void *context, const struct index_attempt *a);
	int (*state)(void *context, const struct id *attempt, enum state s, struct wall at);
	int (*artifact)(void *context, const struct index_artifact *a);
	int (*settled)(void *context, const struct index_attempt *a);
	int (*removed)(void *context, const struct id *attempt, struct wall at, const char *why);
};

/* Reads runs/, manifests/, events/ and seals.jsonl and hands out every row they stand for, runs first.
 * Reads what agents wrote and only reads: call it in a locked child, with index_pipe_sink() towards
 * a parent that calls index_rebuild_from(). only may be NULL. A file that cannot be read as a
 * record is left out (verify names it). */
int store_derive(
	struct store *s, const struct id *only, const struct index_sink *sink, struct err *err);
/* Rows as frames of fixed layout on a pipe. The sink's context is the descriptor, borrowed. */
void index_pipe_sink(const int *fd, struct index_sink *ret);
/* Replaces the whole index by one of the rows that arrive on fd until a frame that says the end; -EPROTO
 * when it does not come or a frame is not well-formed: then nothing is changed. The new one is put
 * together apart and takes the old one's place page by page in one transaction, so nothing of the old
 * one is kept or run, and a connection that is open elsewhere or in this process stays good and sees
 * the new rows; -EBUSY when one of them writes, or wrote since this began (a row might be lost). A
 * file that is no database, or not this user's, is removed instead. A connection of this process that
 * was open on such a file is of no use after: close it and open another. */
int index_rebuild_from(struct store *s, int fd, struct err *err);
int index_pipe_end(int fd, struct err *err);
/* The same for an index that only lacks rows, because an engine died: those that are there stay. */
int index_complete_from(struct index *x, int fd, struct err *err);
/* Both in this process, without a locked child. */
int index_rebuild(struct store *s, struct err *err);

/* ---- whole attempts ------------------------------------------------------------------------------- */

/* Loads what verify compares the store with and what lies outside of its reach: the public keys that
 * this user trusts (its own and those in the file "signers" beside it), the note beside the key, and a
 * copy of the index's rows. Call it before the child is locked: verify itself then only reads
 * beneath the store and needs no SQLite. Without this call store_verify does it. */
int store_witness_load(struct store *s, struct err *err);

/* Recomputes everything: lines, chains, seals, blobs, manifests, runs, index. Each finding is one kind
 * of tampering or damage, named; verify itself never changes a byte. Reads what agents wrote: call it
 * in a locked child. Returns how many findings mean that the record does not hold; -errno when it
 * could not look. */

struct store_finding {
	const char *kind; /* "line.changed", "seal.missing", … docs/record.md lists all */
	bool damning; /* false: a remark (an attempt that still runs, a torn tail that was stated) */
	const char *where; /* attempt id, file or blob */
	uint64_t line;     /* 0 when it is not about a line */
	const char *sentence;
};
typedef void store_finding_fn(void *context, const struct store_finding *f);
int store_verify(struct store *s, const struct id *only /* may be NULL */, store_finding_fn *fn,
	void *context, struct err *err);

/* Writes manifest, record, events.jsonl, artifact blobs, seal and public key to a new directory that
 * verifies without the store; of a run, one such directory per attempt beneath attempts/, and run.json.
 * An attempt that is not sealed is refused (-EBUSY while it lives, -ENODATA else). */
int store_export(struct store *s, struct index *x, const struct id *attempt_or_run, bool is_run,
	const char *directory, struct err *err);
/* Verifies an exported directory; only reads beneath it. Whose key it is, is the reader's to judge: a
 * remark names it. */
int store_verify_export(
	const char *directory, store_finding_fn *fn, void *context, struct err *err);

/* Removes an attempt's events, trial and work files, and the manifest and blobs that nothing else
 * names; first leaves a tombstone in seals.jsonl that says when and why. Refuses a living one
 * (-EBUSY). Finishes a removal that was cut short. Holds `lock` exclusively. */
struct store_removal {
	const struct id *attempt; /* borrowed */
	const char *why;          /* borrowed */
};
int store_remove(struct store *s, struct index *x, struct seal_key *k,
	const struct store_removal *what, uint64_t *ret_bytes, struct err *err);

struct store_gc {
	int64_t older_than_ms;    /* kept workspaces older than this go; 0: not by age */
	uint64_t keep_work_bytes; /* kept workspaces beyond this go, oldest first */
	bool dry_run;
	uint64_t blobs, work_directories, sockets, bytes; /* results */
};
/* Removes blobs that neither an event nor the index (x may be NULL) names, kept workspaces over the limits, and sockets of attempts that do
 * not live. What a living attempt may be about to name stays. Leaves a line of kind "gc" in
 * seals.jsonl when it removed anything but sockets. Holds `lock` exclusively. */
int store_gc(
	struct store *s, struct index *x, struct seal_key *k, struct store_gc *gc, struct err *err);

#endif
