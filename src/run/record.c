/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine itself writes: manifests, the run's file, the first line of every attempt, rows,
 * seals, and the last line of attempts that have no steward to write it. */

#include "run/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/wire/json.h"

#define MANIFEST_MAX (64 * 1024 * 1024)

static int lock_run(struct engine *e, struct err *err)
{
	autofree char *name = own_printf("live/%s.run", e->report->run.text);
	const char *work = e->request->settings.work_dir;

	e->run_lock = openat(
		store_fd(e->books.store), name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (e->run_lock < 0)
		return err_set(err, errno, "make '%s'", name);
	if (flock(e->run_lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, errno, "lock '%s'", name);
	/* where reap finds the work directories of a dead engine */
	if (work != NULL && write(e->run_lock, work, strlen(work)) != (ssize_t)strlen(work))
		return err_set(err, errno != 0 ? errno : ENOSPC, "write '%s'", name);
	return 0;
}

int engine_open_store(struct engine *e, struct err *err)
{
	const struct settings *s = &e->request->settings;
	struct run_reaped reaped;

	if (s->record == 0 || s->store == NULL)
		return 0;
	if (store_open(s->store, STORE_CREATE, &e->books.store, err) < 0 ||
		seal_key_open(&e->books.key, err) < 0 ||
		index_open(e->books.store, /* write= */ true, &e->books.index, err) < 0)
		return -err->code;
	e->report->store = own_strdup(store_path(e->books.store));
	if (s->work_dir != NULL && mkdir(s->work_dir, 0700) < 0 && errno != EEXIST)
		return err_set(err, errno, "make work directory '%s'", s->work_dir);
	if (lock_run(e, err) < 0)
		return -err->code;
	/* what others left is tidied first; a failure there must not stop this run */
	if (reap_store(&e->books, /* thorough= */ false, &reaped, err) < 0)
		log_debug("reap: %s", err->text);
	return 0;
}

void engine_close_store(struct engine *e)
{
	if (e->run_lock >= 0) {
		autofree char *name = own_printf("live/%s.run", e->report->run.text);

		(void)unlinkat(
			store_fd(e->books.store), name, 0); /* swept at the next start otherwise */
		own_close(&e->run_lock);
	}
	index_close(e->books.index);
	seal_key_close(e->books.key);
	store_close(e->books.store);
	e->books.index = NULL;
	e->books.key = NULL;
	e->books.store = NULL;
}

static int put_run_file(struct engine *e, struct err *err)
{
	autofree char *name = own_printf("runs/%s.json", e->report->run.text);
	autodone(buf_done) struct buf out;
	struct json_writer w;

	buf_init(&out, MANIFEST_MAX);
	json_writer_init(&w, &out);
	json_object_open(&w);
	json_pair_string(&w, "created", e->entries[0].plan.created);
	json_pair_string(&w, "file", e->request->file);
	json_pair_string(&w, "hemra", HEMRA_VERSION);
	json_pair_string(&w, "run", e->report->run.text);
	json_key(&w, "attempts");
	json_array_open(&w);
	for (size_t i = 0; i < e->count; i++) {
		const struct plan *p = &e->entries[i].plan;

		json_object_open(&w);
		json_pair_string(&w, "attempt", p->attempt.text);
		json_pair_string(&w, "harness", p->harness.name);
		json_pair_string(&w, "task", p->task.name);
		json_pair_uint(&w, "index", p->index);
		json_object_close(&w);
	}
	json_array_close(&w);
	json_object_close(&w);
	(void)buf_add_char(&out, '\n'); /* checked as a whole below */
	if (buf_status(&out) < 0)
		return err_set(err, -buf_status(&out), "write %s", name);
	return store_put_once(e->books.store, name, buf_text(&out), out.len, err);
}

static struct index_attempt row_of(const struct plan *p, const char *manifest)
{
	return (struct index_attempt){.run = p->run,
		.attempt = p->attempt,
		.index = p->index,
		.of = p->of,
		.harness = p->harness.name,
		.task = p->task.name,
		.manifest = manifest,
		.sandbox = sandbox_kind_name(p->sandbox.kind),
		.weaker = p->sandbox.weaker,
		.usage = {-1, -1, -1, -1, -1, -1}};
}

static int put_manifest(
	struct engine *e, const struct plan *p, uint8_t ret_digest[32], struct err *err)
{
	autodone(buf_done) struct buf manifest;
	autofree char *name = NULL;
	char hex[65];
	int r;

	buf_init(&manifest, MANIFEST_MAX);
	r = manifest_encode(p, &manifest, ret_digest);
	if (r < 0)
		return err_set(err, -r, "write the manifest of %s", p->attempt.text);
	str_hex(ret_digest, 32, hex);
	name = own_printf("manifests/%s.json", hex);
	return store_put_once(e->books.store, name, buf_text(&manifest), manifest.len, err);
}

static int record_plan(struct engine *e, struct entry *entry, struct err *err)
{
	const struct plan *p = &entry->plan;
	struct index_attempt row;
	struct event_log *log = NULL;
	autodone(buf_done) struct buf data;
	uint8_t digest[32];
	char hex[65];
	int r;

	buf_init(&data, 65536);
	if (put_manifest(e, p, digest, err) < 0)
		return -err->code;
	str_hex(digest, 32, hex);
	row = row_of(p, hex);
	event_encode_planned(&row, &data);
	if (event_log_create(e->books.store, &p->attempt, digest, &log, err) < 0)
		return -err->code;
	r = event_log_append(log, EVENT_ATTEMPT_PLANNED, buf_text(&data), data.len, err);
	if (r == 0)
		r = event_log_sync(log, err);
	row.planned = event_log_at(log);
	event_log_close(log);
	return r < 0 ? r : index_put_planned(e->books.index, &row, err);
}

int engine_record_plans(struct engine *e, struct err *err)
{
	struct wall created = {0};

	if (e->books.store == NULL)
		return 0;
	(void)wall_parse(e->entries[0].plan.created, &created); /* we wrote it */
	if (put_run_file(e, err) < 0 ||
		index_put_run(e->books.index, &e->report->run, created, e->request->file, err) < 0)
		return -err->code;
	for (size_t i = 0; i < e->count; i++)
		if (record_plan(e, &e->entries[i], err) < 0)
			return err_add(
				err, "record the plan of %s", e->entries[i].plan.attempt.text);
	return 0;
}

int engine_seal(struct engine *e, const struct id *attempt, const struct event_head *head,
	bool local, struct err *err)
{
	if (store_seal(e->books.store, e->books.key, attempt, head, local, err) < 0)
		return err_add(err, "seal %s", attempt->text);
	return 0;
}

void engine_row_settled(struct engine *e, struct entry *entry, const struct event_head *head,
	int64_t settled_us, uint64_t artifact_bytes)
{
	const struct run_attempt *result = entry->result;
	struct index_attempt row = row_of(&entry->plan, "");
	struct err err = {0};

	row.state = STATE_DONE;
	row.settled.us = settled_us;
	row.artifact_bytes = artifact_bytes;
	row.outcome = result->outcome;
	row.reason = result->reason;
	row.graded = result->graded;
	row.score = result->score;
	row.duration_ms = result->duration_ms;
	row.usage = result->usage;
	row.events = head->count;
	row.event_bytes = head->bytes;
	if (index_put_settled(e->books.index, &row, &err) < 0 && e->trouble.code == 0)
		e->trouble = err;
}

int engine_settle_orphan(struct engine *e, struct entry *entry, enum outcome outcome,
	const char *reason, struct err *err)
{
	const struct id *attempt = &entry->plan.attempt;
	struct run_attempt *result = entry->result;
	struct last_word word = {.outcome = (uint32_t)outcome, .usage = {-1, -1, -1, -1, -1, -1}};
	int r = 0;

	(void)snprintf(word.reason, sizeof(word.reason), "%s", reason);
	if (e->books.store != NULL)
		r = orphan_settle(&e->books, attempt, outcome, reason, &word, err);
	if (r == 0 && e->books.store != NULL)
		r = orphan_rows(&e->books, attempt, 1, err);
	result->state = STATE_DONE;
	result->outcome = (enum outcome)word.outcome;
	result->graded = word.graded != 0;
	result->score = word.score;
	result->duration_ms = word.duration_ms;
	result->usage = word.usage;
	(void)snprintf(result->reason, sizeof(result->reason), "%s", word.reason);
	return r;
}
