/* SPDX-License-Identifier: Apache-2.0 */
/* The index, made anew from the record.
 *
 * How it works: the new one is put together in memory. Then its pages overwrite those of the file, by
 * SQLite's own copying: under its locks and in one transaction, so that a process that has the index
 * open goes on with the new rows. Renaming a new file over the old one would leave such a process
 * writing into a file without a name, beside a log that belongs to another. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/index_db.h"

/* Errors of a put inside a sink travel beside its number. */
struct writing {
	struct index *index;
	struct err err;
};

static int write_run(void *context, const struct id *run, struct wall created, const char *file)
{
	struct writing *w = context;

	return index_put_run(w->index, run, created, file, &w->err);
}

static int write_planned(void *context, const struct index_attempt *a)
{
	struct writing *w = context;

	return index_put_planned(w->index, a, &w->err);
}

/* A state that was entered twice stands once. */
static int write_state(void *context, const struct id *attempt, enum state s, struct wall at)
{
	struct writing *w = context;
	int r = index_put_state(w->index, attempt, s, at, &w->err);

	return r == -EEXIST ? 0 : r;
}

static int write_artifact(void *context, const struct index_artifact *a)
{
	struct writing *w = context;

	return index_put_artifact(w->index, a, &w->err);
}

static int write_settled(void *context, const struct index_attempt *a)
{
	struct writing *w = context;

	return index_put_settled(w->index, a, &w->err);
}

static int write_removed(void *context, const struct id *attempt, struct wall at, const char *why)
{
	struct writing *w = context;

	return index_put_removed(w->index, attempt, at, why, &w->err);
}

static int from_here(struct index *x, int fd, struct err *err)
{
	struct writing w = {.index = x};
	const struct index_sink sink = {.context = &w,
		.run = write_run,
		.planned = write_planned,
		.state = write_state,
		.artifact = write_artifact,
		.settled = write_settled,
		.removed = write_removed};
	int r = store_derive(x->store, /* only= */ NULL, &sink, err);

	(void)fd;
	if (r != 0 && w.err.code != 0 && err != NULL)
		*err = w.err;
	return r;
}

static int fill(struct index *x, int fd, int (*source)(struct index *x, int fd, struct err *err),
	struct err *err)
{
	int r = index_run_statement(x, INDEX_BEGIN, err);

	if (r < 0)
		return r;
	x->in_transaction = true;
	r = source(x, fd, err);
	x->in_transaction = false;
	if (r == 0)
		r = index_run_statement(x, INDEX_COMMIT, err);
	if (r < 0)
		(void)index_run_statement(
			x, INDEX_ROLLBACK, NULL); /* the first error is the one to tell */
	return r;
}

/* The file that is there, of which nothing is believed: its schema is never read, so nothing in it
 * runs. db is NULL when it cannot be overwritten as a database. */
struct old {
	struct index index; /* statements unused */
	int64_t data_version;
};

static void old_close(struct old *o)
{
	(void)sqlite3_close(o->index.db); /* cannot fail: nothing is prepared */
	o->index.db = NULL;
}

static int read_data_version(struct old *o, int64_t *ret)
{
	sqlite3_stmt *s;
	int code = sqlite3_prepare_v2(o->index.db, "PRAGMA data_version", -1, &s, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s); /* repeats the error of the step */
	return code == SQLITE_ROW ? 0 : -EBADMSG;
}

/* Ours alone, and no other name for it. */
static bool is_own_file(const struct store *s)
{
	for (size_t i = 0; i < INDEX_FILES; i++) {
		struct stat st;

		if (fstatat(s->fd, index_files[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid())
			return false;
	}
	return true;
}

static void old_open(struct old *o, struct store *s)
{
	autofree char *path = own_printf("%s/index.sqlite", s->path);

	*o = (struct old){.index = {.store = s}};
	if (!is_own_file(s))
		return;
	if (sqlite3_open_v2(path, &o->index.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		    NULL) != SQLITE_OK) {
		old_close(o);
		return;
	}
	index_configure(&o->index);
	if (read_data_version(o, &o->data_version) < 0)
		old_close(o);
}

static int check_unchanged(struct old *o, struct err *err)
{
	int64_t now;

	if (read_data_version(o, &now) == 0 && now != o->data_version)
		return err_say(err, EBUSY,
			"another hemra wrote into '%s/index.sqlite' meanwhile: try again when its run is over",
			o->index.store->path);
	return 0;
}

/* Every page of the old one by a page of the new one, in one transaction. */
static int overwrite(struct old *o, struct index *fresh, struct err *err)
{
	sqlite3_backup *copy;
	int code, r = check_unchanged(o, err);

	if (r < 0)
		return r;
	copy = sqlite3_backup_init(o->index.db, "main", fresh->db, "main");
	if (copy == NULL)
		return index_error(&o->index, sqlite3_errcode(o->index.db), "replace", err);
	code = sqlite3_backup_step(copy, -1);
	(void)sqlite3_backup_finish(copy); /* repeats an error of the step */
	return code != SQLITE_DONE ? index_error(&o->index, code, "replace", err) : 0;
}

/* Removes a file that cannot be overwritten. Nobody else can have it open in earnest. */
static int drop_old(struct store *s, struct err *err)
{
	autoclose int lock = -1;
	int r = store_lock(s, STORE_LOCK_EXCLUSIVE, &lock, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < INDEX_FILES; i++)
		if (unlinkat(s->fd, index_files[i], 0) < 0 && errno != ENOENT)
			return err_set(
				err, errno, "remove the broken '%s/%s'", s->path, index_files[i]);
	return index_make_file(s, err);
}

/* Whether the file now is an index, set up for the next one who writes. */
static int look_at_result(struct store *s, struct err *err)
{
	struct index *x = NULL;
	int r = index_open(s, /* write= */ true, &x, err);

	index_close(x);
	return r;
}

static bool is_for_another_time(int r)
{
	return r == -EBUSY || r == -ENOSPC || r == -EROFS || r == -ENOMEM;
}

static int take_place(struct old *o, struct index *fresh, struct err *err)
{
	struct store *s = fresh->store;
	int r = -EBADMSG;

	if (o->index.db != NULL) {
		r = overwrite(o, fresh, err);
		old_close(o);
		if (r == 0)
			r = look_at_result(s, err);
	}
	if (r == 0 || is_for_another_time(r))
		return r;
	r = drop_old(s, err);
	if (r < 0)
		return r;
	old_open(o, s);
	if (o->index.db == NULL)
		return err_say(err, EIO, "'%s/index.sqlite' cannot be opened anew", s->path);
	r = overwrite(o, fresh, err);
	old_close(o);
	return r == 0 ? look_at_result(s, err) : r;
}

static int rebuild(struct store *s, int fd, int (*source)(struct index *x, int fd, struct err *err),
	struct err *err)
{
	autodone(old_close) struct old old = {0};
	struct index *fresh = NULL;
	int r = store_may_write(s, err);

	if (r == 0) {
		old_open(&old, s);
		r = index_open_private(s, &fresh, err);
	}
	if (r == 0)
		r = fill(fresh, fd, source, err);
	if (r == 0)
		r = take_place(&old, fresh, err);
	index_close(fresh);
	return r < 0 ? err_add_to(r, err, "rebuild the index") : r;
}

int index_rebuild(struct store *s, struct err *err)
{
	return rebuild(s, /* fd= */ -1, from_here, err);
}

int index_rebuild_from(struct store *s, int fd, struct err *err)
{
	return rebuild(s, fd, index_receive, err);
}

int index_complete_from(struct index *x, int fd, struct err *err)
{
	int r;

	x->completes = true;
	r = fill(x, fd, index_receive, err);
	x->completes = false;
	return r < 0 ? err_add_to(r, err, "complete the index") : r;
}
