/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_DIR_H
#define STORE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ground/base/buf.h"
#include "ground/base/err.h"

/* The directory itself, private to store/. */

#define STORE_ID_SIZE  33                 /* 32 hex digits and the terminator */
#define STORE_FILE_MAX (16 * 1024 * 1024) /* manifests, runs and other small files */
#define STORE_BUCKETS  256

/* err_add() that keeps r also where nobody wants the sentence. */
#define err_add_to(r, ...) ((void)err_add(__VA_ARGS__), (r))

struct witness;

struct store {
	char *path; /* owned, absolute */
	int fd;     /* O_PATH */
	bool loose;
	bool reads_only; /* opened with STORE_READ */
	char id[STORE_ID_SIZE];
	bool dirty_bucket[STORE_BUCKETS]; /* blob directories with names that are not synced yet */
	bool dirty_buckets;               /* blobs/sha256 got a new bucket */
	struct witness *witness;          /* owned, may be NULL */
};

/* -EROFS when the store was opened for reading only: asked before anything is written. */
int store_may_write(const struct store *s, struct err *err);

/* Files of a directory, relative to a descriptor. All give a sentence. */
/* Opens a regular file, whatever stands in its place: a link, a directory, a FIFO or a device is -EINVAL
 * and is never waited for. flags and the mode 0600 as of open(2). */
int fileat_open(int dir, const char *name, int flags, int *ret_fd, struct err *err);
bool fileat_exists(int dir, const char *name);
int fileat_read(int dir, const char *name, size_t max, struct buf *out,
	struct err *
		err); /* appends; -ENOENT, -EINVAL, -EMSGSIZE; out has room for 16 KiB beyond max */
int fd_write(int fd, const void *bytes, size_t size, struct err *err);
int fileat_put(
	int dir, const char *name, const void *bytes, size_t size, mode_t mode, struct err *err);
int fileat_put_once(
	int dir, const char *name, const void *bytes, size_t size, mode_t mode, struct err *err);
int fileat_copy(int from, int to_dir, const char *name, mode_t mode,
	struct err *err);  /* from its beginning; must not exist */
uint64_t fd_bytes(int fd); /* of a file that is open; 0 when it cannot be asked */
int dirat_sync(int dir, const char *name, struct err *err); /* "." for dir itself */
int dirat_make(int dir, const char *name, struct err *err); /* 0700; fine when it is there */
/* Names in a directory, sorted, "." and ".." left out. -ENOENT gives none. */
int dirat_list(int dir, const char *name, char ***ret_names, struct err *err);

/* Holds `lock`: shared while a blob is linked, exclusive in rm and gc. */
enum store_lock_kind {
	STORE_LOCK_SHARED,
	STORE_LOCK_EXCLUSIVE,
};
int store_lock(struct store *s, enum store_lock_kind kind, int *ret_fd, struct err *err);

/* events/<attempt>.jsonl and the like. */
#define EVENTS_NAME_SIZE 64
struct id;
void events_name(const struct id *attempt, char out[EVENTS_NAME_SIZE]);
/* Whether name is <id>.jsonl; then the id. */
bool events_name_parse(const char *name, struct id *ret);
/* Whether somebody holds the lock of this attempt's events: it lives. */
bool events_are_held(int store_dir, const struct id *attempt);
/* The runs whose engine lives: it holds the lock of live/<run>.run. Those that cannot be asked do not. */
char **runs_living(int store_dir); /* owned by the caller */

#endif
