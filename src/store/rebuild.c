/* SPDX-License-Identifier: Apache-2.0 */
/* The index, made anew from the record. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
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
	r = x->completes ? 0 : index_clear(x, err);
	if (r == 0)
		r = source(x, fd, err);
	x->in_transaction = false;
	if (r == 0)
		r = index_run_statement(x, INDEX_COMMIT, err);
	if (r < 0)
		(void)index_run_statement(
			x, INDEX_ROLLBACK, NULL); /* the first error is the one to tell */
	return r;
}

/* Sets a file that is no database any more aside. Nobody else can have it open in earnest. */
static int drop_broken(struct store *s, struct err *err)
{
	static const char *const names[] = {"index.sqlite-wal", "index.sqlite-shm", "index.sqlite"};
	autoclose int lock = -1;
	int r = store_lock(s, STORE_LOCK_EXCLUSIVE, &lock, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < array_count(names); i++)
		if (unlinkat(s->fd, names[i], 0) < 0 && errno != ENOENT)
			return err_set(err, errno, "remove the broken '%s/%s'", s->path, names[i]);
	return 0;
}

static int rebuild(struct store *s, int fd, int (*source)(struct index *x, int fd, struct err *err),
	struct err *err)
{
	struct index *x = NULL;
	int r = index_open(s, /* write= */ true, &x, err);

	if (r == 0)
		r = index_check(x, err);
	if (r == -EBADMSG) {
		index_close(x);
		x = NULL;
		r = drop_broken(s, err);
		if (r == 0)
			r = index_open(s, /* write= */ true, &x, err);
	}
	if (r == 0)
		r = fill(x, fd, source, err);
	index_close(x);
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
