/* SPDX-License-Identifier: Apache-2.0 */
/* Reap: what dead engines and stewards left is settled and removed.
 *
 * An engine holds a lock on live/<run>.run while it lives, and writes there where its attempts work.
 * A steward holds the lock on its attempt's events. An attempt that is not settled, whose engine's
 * lock and whose steward's lock are free, is an orphan: it gets its last line (outcome lost, unless
 * its steward wrote one), its seal and its row, and its work directory and socket go. */

#include "run/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/files.h"
#include "ground/kernel/lockdown.h"

#define LINE_MAX_BYTES 65536 /* a settled line of ours is far shorter */

struct orphan {
	struct id run, attempt;
	bool local;
};

struct reap {
	struct store *store;
	struct index *index;
	struct seal_key *key;
	struct run_reaped *result;
	struct orphan *orphans;
	size_t count, room;
};

/* What the last line of an attempt's events says; plain data from a locked child. */
struct last_word {
	uint32_t found, outcome, graded, reserved;
	double score;
	int64_t duration_ms, settled_us;
	struct usage usage;
	char reason[504];
};

static int collect(void *context, const struct index_attempt *row)
{
	struct reap *r = context;

	if (row->state == STATE_DONE || row->removed)
		return 0;
	if (r->count == r->room) {
		r->room = r->room > 0 ? 2 * r->room : 16;
		r->orphans = reallocarray(r->orphans, r->room, sizeof(*r->orphans));
		if (r->orphans == NULL)
			abort();
	}
	r->orphans[r->count++] = (struct orphan){ row->run, row->attempt, strcmp(row->sandbox, "local") == 0 };
	return 0;
}

/* Takes the lock of a run's engine: true when nobody holds it. *ret_work is where its attempts
 * worked when that was not the store, else NULL. */
static bool engine_is_dead(const struct reap *r, const struct id *run, char **ret_work)
{
	autofree char *name = own_printf("live/%s.run", run->text);
	autoclose int fd = openat(store_fd(r->store), name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
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

static int take_last_word(void *context, const struct index_attempt *a)
{
	struct last_word *w = context;

	w->found = 1;
	w->outcome = (uint32_t)a->outcome;
	w->graded = a->graded;
	w->score = a->score;
	w->duration_ms = a->duration_ms;
	w->settled_us = a->settled.us;
	w->usage = a->usage;
	(void)snprintf(w->reason, sizeof(w->reason), "%s", a->reason != NULL ? a->reason : "");
	return 0;
}

/* Events hold what agents wrote: a locked child reads them. */
static void read_last_word(const struct reap *r, const struct id *attempt, struct last_word *ret)
{
	autoclose int in = -1, out = -1;
	int ends[2];
	pid_t pid;

	*ret = (struct last_word){ 0 };
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	in = ends[0];
	out = ends[1];
	pid = fork();
	if (pid == 0) {
		struct index_sink sink = { .context = ret, .settled = take_last_word };
		int directory = store_fd(r->store);
		struct err err = { 0 };

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (lockdown_reader(&directory, 1, /* flags= */ 0, &err) < 0 ||
			store_derive(r->store, attempt, &sink, &err) < 0)
			_exit(1);
		_exit(write(out, ret, sizeof(*ret)) == sizeof(*ret) ? 0 : 1);
	}
	own_close(&out);
	if (pid < 0 || read(in, ret, sizeof(*ret)) != sizeof(*ret))
		*ret = (struct last_word){ 0 };
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	ret->reason[sizeof(ret->reason) - 1] = '\0';
	if (ret->outcome >= OUTCOME_COUNT)
		ret->found = 0;
}

static int settle(struct reap *r, const struct orphan *o, struct err *err)
{
	struct index_attempt row = { .run = o->run, .attempt = o->attempt, .state = STATE_DONE,
		.harness = "", .task = "", .manifest = "", .sandbox = "",
		.outcome = OUTCOME_LOST, .reason = "hemra died before the attempt was settled",
		.usage = { -1, -1, -1, -1, -1, -1 } };
	autodone(buf_done) struct buf data;
	struct event_log *log = NULL;
	struct event_head head;
	struct last_word word;
	int e;

	buf_init(&data, LINE_MAX_BYTES);
	e = event_log_claim(r->store, &o->attempt, &log, err);
	if (e < 0)
		return e;
	read_last_word(r, &o->attempt, &word);
	if (word.found != 0) {
		row.outcome = (enum outcome)word.outcome;
		row.reason = word.reason;
		row.graded = word.graded != 0;
		row.score = word.score;
		row.duration_ms = word.duration_ms;
		row.usage = word.usage;
	} else {
		event_encode_settled(&row, &data);
		e = event_log_append(log, EVENT_ATTEMPT_SETTLED, buf_text(&data), data.len, err);
	}
	if (e == 0)
		e = event_log_sync(log, err);
	event_log_head(log, &head);
	row.settled = event_log_at(log);
	row.events = head.count;
	row.event_bytes = head.bytes;
	event_log_close(log);
	if (e == 0)
		e = store_seal(r->store, r->key, &o->attempt, &head, o->local, err);
	if (e == 0)
		e = index_put_settled(r->index, &row, err);
	return e;
}

void reap_files(struct store *store, const struct id *attempt, const char *work, struct run_reaped *result)
{
	autofree char *socket = own_printf("live/%s.sock", attempt->text);
	autofree char *inside = own_printf("%s/work", store_path(store));
	const char *const parents[] = { inside, work };

	if (unlinkat(store_fd(store), socket, 0) == 0)
		result->sockets++;
	for (size_t i = 0; i < array_count(parents); i++) {
		autoclose int parent = parents[i] != NULL
					       ? open(parents[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)
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

static void reap_one(struct reap *r, const struct orphan *o)
{
	autofree char *work = NULL;
	struct err err = { 0 };
	int e;

	if (!engine_is_dead(r, &o->run, &work))
		return;
	e = settle(r, o, &err);
	if (e == -EWOULDBLOCK)
		return; /* its steward still stops it, in order */
	if (e < 0) {
		log_debug("reap %s: %s", o->attempt.text, err.text);
		return;
	}
	r->result->attempts++;
	reap_files(r->store, &o->attempt, work, r->result);
}

/* Lock files of runs whose engine is dead. */
static void reap_run_locks(struct reap *r)
{
	int live = openat(store_fd(r->store), "live", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = live >= 0 ? fdopendir(live) : NULL;
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		autoclose int fd = -1;

		if (!str_ends(entry->d_name, ".run"))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			r->result->sockets++;
	}
	if (dir != NULL)
		(void)closedir(dir); /* only read from */
}

int reap_store(struct store *store, struct index *index, struct seal_key *key, struct run_reaped *ret,
	struct err *err)
{
	struct reap r = { .store = store, .index = index, .key = key, .result = ret };
	const struct sandbox_provider *native = sandbox_provider_find(SANDBOX_NATIVE);
	int e;

	*ret = (struct run_reaped){ 0 };
	e = index_each_attempt(index, NULL, collect, &r, err);
	for (size_t i = 0; e == 0 && i < r.count; i++)
		reap_one(&r, &r.orphans[i]);
	free(r.orphans);
	if (e < 0)
		return e;
	if (r.count > 0)
		reap_run_locks(&r);
	e = native->sweep(/* dry_run= */ false, err);
	if (e > 0)
		ret->cgroups = (unsigned)e;
	return e < 0 ? e : 0;
}

int run_reap(const char *path, struct run_reaped *ret, struct err *err)
{
	struct store *store = NULL;
	struct index *index = NULL;
	struct seal_key *key = NULL;
	int e = store_open(path, /* flags= */ 0, &store, err);

	if (e == 0)
		e = index_open(store, /* write= */ true, &index, err);
	if (e == 0)
		e = seal_key_open(&key, err);
	if (e == 0)
		e = reap_store(store, index, key, ret, err);
	index_close(index);
	seal_key_close(key);
	store_close(store);
	return e;
}
