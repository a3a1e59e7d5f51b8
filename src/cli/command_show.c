/* SPDX-License-Identifier: Apache-2.0 */
/* hemra runs, show and cancel: looking at what is recorded, and stopping what is not over. */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/rows.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/where.h"
#include "ground/base/own.h"
#include "run/run.h"

#define JSON_MAX ((size_t)256 * 1024 * 1024)

/* ---- runs ---- */

struct listing {
	struct place *place;
	struct table table;
	struct json_writer *json; /* NULL: the table */
	size_t count;
};

static void add_run(struct listing *l, const struct index_run *row)
{
	char id[WHERE_SHORT_SIZE], when[OUT_TIME_SIZE], bytes[OUT_BYTES_SIZE];

	where_short(l->place, &row->run, id);
	out_time(row->created, out_is_terminal(), when);
	out_bytes(row->bytes, bytes);
	table_add(&l->table, id);
	table_add(&l->table, when);
	table_add(&l->table, row->file);
	table_addf(&l->table, "%u/%u", row->done, row->attempts);
	if (row->graded > 0)
		table_addf(&l->table, "%.3f", row->score_mean);
	else
		table_add(&l->table, "ungraded");
	table_addf(&l->table, "%u", row->graded);
	table_add(&l->table, bytes);
}

static void json_run(struct json_writer *w, const struct index_run *row)
{
	char when[OUT_TIME_SIZE];

	out_time(row->created, /* local= */ false, when);
	json_object_open(w);
	json_pair_string(w, "run", row->run.text);
	json_pair_string(w, "created", when);
	json_pair_string(w, "file", row->file);
	json_pair_uint(w, "attempts", row->attempts);
	json_pair_uint(w, "done", row->done);
	json_pair_uint(w, "graded", row->graded);
	json_key(w, "score_mean");
	if (row->graded > 0)
		json_put_double(w, row->score_mean);
	else
		json_put_null(w);
	json_pair_uint(w, "bytes", row->bytes);
	json_object_close(w);
}

static int list_run(void *context, const struct index_run *row)
{
	struct listing *l = context;

	l->count++;
	if (l->json != NULL)
		json_run(l->json, row);
	else
		add_run(l, row);
	return 0;
}

static int list_runs(const struct options *o, struct place *p)
{
	static const char *const heads[] = {
		"RUN", "CREATED", "FILE", "DONE", "SCORE", "GRADED", "BYTES"};
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct json_writer w = {0};
	struct listing l = {.place = p, .json = o->json ? &w : NULL};
	struct err err;
	int r;

	json_writer_init(&w, &out);
	json_object_open(&w);
	json_pair_string(&w, "store", store_path(p->store));
	json_key(&w, "runs");
	json_array_open(&w);
	table_init(&l.table, array_count(heads), 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6);
	for (size_t i = 0; i < array_count(heads); i++)
		table_add(&l.table, heads[i]);
	r = index_each_run(p->index, list_run, &l, &err);
	json_array_close(&w);
	json_object_close(&w);
	if (r >= 0 && o->json)
		out_json(&out);
	else if (r >= 0 && l.count == 0)
		(void)printf(
			"no runs in %s\n", store_path(p->store)); /* out_finish() sees failure */
	else if (r >= 0)
		table_print(&l.table);
	table_done(&l.table);
	return r < 0 ? out_failure(o, &err, /* hint= */ NULL) : EXIT_DONE;
}

int command_runs(const struct options *o)
{
	autodone(where_done) struct place p = {0};
	struct err err;

	if (where_open(o, &p, &err) < 0 || where_index(&p, /* write= */ false, &err) < 0)
		return where_failure(o, &p, &err);
	return list_runs(o, &p);
}

/* ---- show ---- */

int command_show(const struct options *o)
{
	autodone(where_done) struct place p = {0};
	bool is_run = false;
	struct err err;
	struct id id;

	if (o->diff && (o->events || o->follow)) {
		(void)err_say(
			&err, EINVAL, "--diff shows one thing, --events and --follow another");
		return out_failure(o, &err, /* hint= */ NULL);
	}
	if (where_open_find(o, &p, &id, &is_run, &err) < 0)
		return where_failure(o, &p, &err);
	if (is_run && (o->events || o->follow || o->diff)) {
		(void)err_say(&err, EINVAL, "%s is a run; --%s is about one attempt",
			o->operands[0],
			o->diff     ? "diff"
			: o->events ? "events"
				    : "follow");
		return out_failure(o, &err, "hemra show without it lists the run's attempts");
	}
	if (is_run)
		return show_run(o, &p, &id);
	if (o->diff)
		return show_diff(o, &p, &id);
	if (o->events || o->follow)
		return show_events(o, &p, &id);
	return show_attempt(o, &p, &id);
}

/* ---- cancel ---- */

#define CANCEL_STEP_MS  100
#define CANCEL_QUIET_MS 5000 /* so long without a sign of life: no engine stands behind the rest */

/* Attempts that have not ended. */
struct living {
	struct id *ids; /* owned */
	size_t count;
};

static void living_done(struct living *l)
{
	free(l->ids);
	*l = (struct living){0};
}

static bool living_has(const struct living *l, const struct id *id)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->ids[i].text, id->text) == 0)
			return true;
	return false;
}

static void living_add(struct living *l, const struct id *id)
{
	l->ids = reallocarray(l->ids, l->count + 1, sizeof(*l->ids));
	if (l->ids == NULL)
		abort();
	l->ids[l->count++] = *id;
}

static int note_living(void *context, const struct index_attempt *row)
{
	if (row->state != STATE_DONE && !row->removed)
		living_add(context, &row->attempt);
	return 0;
}

static int list_living(
	struct place *p, const struct id *id, bool is_run, struct living *ret, struct err *err)
{
	return is_run ? index_each_attempt(p->index, id, note_living, ret, err)
		      : index_get_attempt(p->index, id, note_living, ret, err);
}

struct cancelling {
	const struct options *o;
	struct place *place;
	struct living asked;
	bool waiting;  /* one that was not asked yet may still start */
	bool stopping; /* one that was asked has not ended */
	bool moved;    /* something was asked in this round */
};

/* Asks every attempt of now that was not asked before. */
static int ask_all(struct cancelling *c, const struct living *now, struct err *err)
{
	c->waiting = c->stopping = c->moved = false;
	for (size_t i = 0; i < now->count; i++) {
		char id[WHERE_SHORT_SIZE];
		int r;

		if (living_has(&c->asked, &now->ids[i])) {
			c->stopping = true;
			continue;
		}
		r = run_cancel(store_path(c->place->store), &now->ids[i], err);
		if (r == -ENOENT) { /* not started yet, or ended a moment ago */
			c->waiting = true;
			continue;
		}
		if (r < 0)
			return r;
		living_add(&c->asked, &now->ids[i]);
		c->moved = true;
		where_short(c->place, &now->ids[i], id);
		if (!c->o->json)
			(void)printf("asked %s to stop\n", id); /* out_finish() sees failure */
	}
	return 0;
}

/* An engine starts the next attempt where one ended, so all of a run is asked as it starts. */
static int cancel_rounds(struct cancelling *c, const struct id *id, bool is_run, struct err *err)
{
	int quiet_ms = 0;

	for (;;) {
		autodone(living_done) struct living now = {0};
		int r = list_living(c->place, id, is_run, &now, err);

		if (r >= 0)
			r = ask_all(c, &now, err);
		if (r < 0)
			return r;
		if (!is_run || !c->waiting)
			return 0;
		quiet_ms = c->moved || c->stopping ? 0 : quiet_ms + CANCEL_STEP_MS;
		if (quiet_ms >= CANCEL_QUIET_MS || (quiet_ms > 0 && c->asked.count == 0))
			return 0;
		(void)poll(NULL, 0, CANCEL_STEP_MS); /* an early end only asks again sooner */
	}
}

static int say_cancelled(const struct cancelling *c)
{
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct json_writer w;
	struct err err;

	if (c->asked.count == 0) {
		(void)err_say(&err, ENOENT, "nothing of %s is running", c->o->operands[0]);
		return out_failure(
			c->o, &err, "hemra doctor --reap settles what a dead hemra left");
	}
	json_writer_init(&w, &out);
	json_object_open(&w);
	json_key(&w, "cancelled");
	json_array_open(&w);
	for (size_t i = 0; i < c->asked.count; i++)
		json_put_string(&w, c->asked.ids[i].text);
	json_array_close(&w);
	json_object_close(&w);
	if (c->o->json)
		out_json(&out);
	return EXIT_DONE;
}

int command_cancel(const struct options *o)
{
	autodone(where_done) struct place p = {0};
	struct cancelling c = {.o = o, .place = &p};
	bool is_run = false;
	struct err err;
	struct id id;
	int r = where_open_find(o, &p, &id, &is_run, &err), status;

	if (r == 0)
		r = cancel_rounds(&c, &id, is_run, &err);
	status = r < 0 ? where_failure(o, &p, &err) : say_cancelled(&c);
	living_done(&c.asked);
	return status;
}
