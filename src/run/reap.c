/* SPDX-License-Identifier: Apache-2.0 */
/* Reap: what dead engines and stewards left is settled and removed.
 *
 * An engine holds a lock on live/<run>.run while it lives, and writes there where its attempts work.
 * A steward holds the lock on its attempt's events. An attempt that is not settled, whose engine's
 * lock and whose steward's lock are free, is an orphan (orphan.c). Orphans are found in the index and,
 * where an engine died, among the events that the index does not know yet. */

#include "run/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/files.h"

struct orphan {
	struct id run, attempt;
	bool busy; /* its engine or its steward lives */
};

struct reap {
	const struct books *books;
	struct run_reaped *result;
	struct orphan *orphans; /* owned */
	size_t count, room;
	bool any_dead, any_living; /* engines */
};

static void add_orphan(struct reap *r, const struct id *run, const struct id *attempt)
{
	if (r->count == r->room) {
		r->room = r->room > 0 ? 2 * r->room : 16;
		r->orphans = reallocarray(r->orphans, r->room, sizeof(*r->orphans));
		if (r->orphans == NULL)
			abort();
	}
	r->orphans[r->count++] = (struct orphan){.run = *run, .attempt = *attempt};
}

static int add_unfinished(void *context, const struct index_attempt *row)
{
	if (row->state != STATE_DONE && !row->removed)
		add_orphan(context, &row->run, &row->attempt);
	return 0;
}

/* ---- engines ------------------------------------------------------------------------------------ */

typedef void lock_fn(struct reap *r, int live, const char *name, int fd);

/* fn for every live/<run>.run: fd holds its lock, or is -1 because its engine does. */
static void each_run_lock(struct reap *r, lock_fn *fn)
{
	int live = openat(store_fd(r->books->store), "live", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = live >= 0 ? fdopendir(live) : NULL;
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		autoclose int fd = -1;

		if (!str_ends(entry->d_name, ".run"))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			own_close(&fd);
		fn(r, dirfd(dir), entry->d_name, fd);
	}
	if (dir != NULL)
		(void)closedir(dir); /* only read from */
}

static void count_engine(struct reap *r, int live, const char *name, int fd)
{
	(void)live;
	(void)name;
	r->any_dead |= fd >= 0;
	r->any_living |= fd < 0;
}

static void remove_lock(struct reap *r, int live, const char *name, int fd)
{
	if (fd < 0)
		return;
	for (size_t i = 0; i < r->count; i++)
		if (r->orphans[i].busy && str_starts(name, r->orphans[i].run.text))
			return; /* its last attempts still stop */
	if (unlinkat(live, name, 0) == 0)
		r->result->sockets++;
}

/* A steward that was killed after its last line leaves its socket, and its attempt is none of the
 * unfinished. */
static void sweep_sockets(struct reap *r)
{
	int live = openat(store_fd(r->books->store), "live", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = live >= 0 ? fdopendir(live) : NULL;
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		autofree char *events = NULL;
		autoclose int fd = -1;

		if (!str_ends(entry->d_name, ".sock") || strlen(entry->d_name) != ID_LENGTH + 5)
			continue;
		events = own_printf("events/%.*s.jsonl", ID_LENGTH, entry->d_name);
		fd = openat(store_fd(r->books->store), events, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 ? errno != ENOENT : flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue; /* its steward lives */
		if (unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			r->result->sockets++;
	}
	if (dir != NULL)
		(void)closedir(dir); /* only read from */
}

/* Takes the lock of a run's engine: true when nobody holds it. *ret_work is where its attempts
 * worked when that was not the store, else NULL. */
static bool engine_is_dead(const struct reap *r, const struct id *run, char **ret_work)
{
	autofree char *name = own_printf("live/%s.run", run->text);
	autoclose int fd = openat(store_fd(r->books->store), name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	char work[4096];
	ssize_t n;

	*ret_work = NULL;
	if (fd < 0)
		return errno == ENOENT;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	n = read(fd, work, sizeof(work) - 1);
	if (n > 1 && work[0] == '/')
		*ret_work = own_strndup(work, (size_t)n);
	return true;
}

/* ---- events that the index does not know ---------------------------------------------------------- */

static int ignore_row(void *context, const struct index_attempt *row)
{
	(void)context;
	(void)row;
	return 0;
}

/* An engine that dies before its first line is written leaves a file in which nothing was ever
 * acknowledged. Only where no engine lives: one may be about to write. */
static void remove_empty(struct reap *r, int events, const char *name)
{
	autoclose int fd = openat(events, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (r->any_living || fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	if (unlinkat(events, name, 0) < 0)
		log_debug("events/%s: errno %d", name, errno); /* verify names it */
}

static void look_at_events(struct reap *r, int events, const char *name)
{
	struct id attempt = {0};
	struct last_word word;
	struct err err;

	if (strlen(name) != ID_LENGTH + strlen(".jsonl") || !str_ends(name, ".jsonl"))
		return;
	(void)memcpy(attempt.text, name, ID_LENGTH);
	if (!id_is_valid(attempt.text) ||
		index_get_attempt(r->books->index, &attempt, ignore_row, NULL, &err) != -ENOENT)
		return;
	if (orphan_read(r->books, &attempt, &word, &err) < 0)
		log_debug("events/%s: %s", name, err.text);
	else if (word.planned != 0)
		add_orphan(r, &word.run, &attempt);
	else
		remove_empty(r, events, name);
}

static int take_run(void *context, const struct index_attempt *row)
{
	*(struct id *)context = row->run;
	return 0;
}

/* An engine may die between a row and its seal. */
static int add_unsealed(void *context, const struct id *attempt)
{
	struct reap *r = context;
	struct id run = {0};
	struct err err;

	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->orphans[i].attempt.text, attempt->text) == 0)
			return 0;
	if (index_get_attempt(r->books->index, attempt, take_run, &run, &err) == 0 &&
		!id_is_none(&run))
		add_orphan(r, &run, attempt);
	return 0;
}

static void find_unknown(struct reap *r)
{
	int events =
		openat(store_fd(r->books->store), "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = events >= 0 ? fdopendir(events) : NULL;
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		look_at_events(r, dirfd(dir), entry->d_name);
	if (dir != NULL)
		(void)closedir(dir); /* only read from */
}

/* ---- one orphan ----------------------------------------------------------------------------------- */

void reap_files(
	struct store *store, const struct id *attempt, const char *work, struct run_reaped *result)
{
	autofree char *socket = own_printf("live/%s.sock", attempt->text);
	autofree char *inside = own_printf("%s/work", store_path(store));
	const char *const parents[] = {inside, work};

	if (unlinkat(store_fd(store), socket, 0) == 0)
		result->sockets++;
	for (size_t i = 0; i < array_count(parents); i++) {
		autoclose int parent =
			parents[i] != NULL ? open(parents[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)
					   : -1;
		struct stat st;

		if (parent < 0 || fstatat(parent, attempt->text, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (file_remove_tree(parent, attempt->text) == 0)
			result->directories++;
		else
			log_debug("work directory of %s could not be removed whole", attempt->text);
	}
}

static void reap_one(struct reap *r, struct orphan *o)
{
	autofree char *work = NULL;
	struct last_word word;
	struct err err;
	int e;

	o->busy = !engine_is_dead(r, &o->run, &work);
	if (o->busy)
		return;
	e = orphan_settle(r->books, &o->attempt, OUTCOME_LOST,
		"hemra died before the attempt was settled", &word, &err);
	o->busy = e < 0; /* -EWOULDBLOCK: its steward still stops it, in order */
	if (e < 0 && e != -EWOULDBLOCK)
		log_debug("reap %s: %s", o->attempt.text, err.text);
	if (e < 0)
		return;
	r->result->attempts++;
	reap_files(r->books->store, &o->attempt, work, r->result);
}

static int complete_rows(struct reap *r, struct err *err)
{
	autofree struct id *settled = own_alloc((r->count + 1) * sizeof(*settled));
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		if (!r->orphans[i].busy)
			settled[count++] = r->orphans[i].attempt;
	return count > 0 || r->any_dead ? orphan_rows(r->books, settled, count, err) : 0;
}

int reap_store(const struct books *books, bool thorough, struct run_reaped *ret, struct err *err)
{
	struct reap r = {.books = books, .result = ret};
	const struct sandbox_provider *native = sandbox_provider_find(SANDBOX_NATIVE);
	int e;

	*ret = (struct run_reaped){0};
	each_run_lock(&r, count_engine);
	e = index_each_open(books->index, add_unfinished, &r, err);
	if (e == 0 && (r.any_dead || thorough)) {
		find_unknown(&r);
		e = store_each_unsealed(books->store, add_unsealed, &r, err);
	}
	for (size_t i = 0; e == 0 && i < r.count; i++)
		reap_one(&r, &r.orphans[i]);
	if (e == 0)
		e = complete_rows(&r, err);
	if (e == 0)
		each_run_lock(&r, remove_lock);
	sweep_sockets(&r);
	free(r.orphans);
	if (e < 0)
		return e;
	e = native->sweep(/* dry_run= */ false, err);
	if (e > 0)
		ret->cgroups = (unsigned)e;
	return e < 0 ? e : 0;
}

int run_reap(const char *path, struct run_reaped *ret, struct err *err)
{
	struct books books = {0};
	int e = store_open(path, /* flags= */ 0, &books.store, err);

	if (e == 0)
		e = index_open(books.store, /* write= */ true, &books.index, err);
	if (e == 0)
		e = seal_key_open(&books.key, err);
	if (e == 0)
		e = reap_store(&books, /* thorough= */ true, ret, err);
	index_close(books.index);
	seal_key_close(books.key);
	store_close(books.store);
	return e;
}
