/* SPDX-License-Identifier: Apache-2.0 */
/* Reading rows. */

#include <errno.h>
#include <string.h>

#include "ground/base/own.h"
#include "store/index_db.h"

#define ATTEMPT_ROWS                                                                                          \
	"SELECT a.attempt, a.run, a.number, a.of, a.harness, a.task, a.manifest, a.sandbox,"                  \
	" coalesce(o.weaker, a.weaker), a.planned,"                                                           \
	" (SELECT t.state FROM attempt_transitions t WHERE t.attempt = a.attempt ORDER BY t.n DESC LIMIT 1)," \
	" o.outcome, o.reason, o.settled, o.duration_ms, o.input, o.output, o.cache_read,"                    \
	" o.cache_write, o.reasoning, o.cost_usd, o.events, o.event_bytes, o.artifact_bytes,"                 \
	" s.value, d.at, a.weaker"                                                                            \
	" FROM attempts a LEFT JOIN outcomes o ON o.attempt = a.attempt"                                      \
	" LEFT JOIN scores s ON s.attempt = a.attempt AND s.name = 'reward'"                                  \
	" LEFT JOIN tombstones d ON d.attempt = a.attempt"

#define RUN_ROWS                                                                                   \
	"SELECT r.run, r.created, r.file, count(a.attempt), count(o.attempt), count(s.value),"     \
	" coalesce(avg(s.value), 0), coalesce(sum(o.event_bytes + o.artifact_bytes), 0)"           \
	" FROM runs r LEFT JOIN attempts a ON a.run = r.run"                                       \
	" LEFT JOIN outcomes o ON o.attempt = a.attempt"                                           \
	" LEFT JOIN scores s ON s.attempt = a.attempt AND s.name = 'reward'"                       \
	" GROUP BY r.run ORDER BY r.run DESC"

#define OPEN_ROWS                                                                                  \
	ATTEMPT_ROWS " WHERE a.attempt IN (SELECT attempt FROM unsettled) ORDER BY a.attempt"

/* What no record stands for: what hangs on nothing, what readers would cut short or take for another
 * value, and a list of open attempts that is not what the rows say. */
#define OPEN_ATTEMPTS                                                                              \
	"SELECT attempt FROM attempts EXCEPT SELECT attempt FROM outcomes"                         \
	" EXCEPT SELECT attempt FROM tombstones"
#define BEYOND(column) column " NOT BETWEEN 0 AND 4294967295"
#define ODD_ROWS                                                                                                                \
	"SELECT attempt, 'score' FROM scores"                                                                                   \
	" WHERE name <> 'reward' OR attempt NOT IN (SELECT attempt FROM outcomes)"                                              \
	" UNION ALL SELECT attempt, 'outcome' FROM outcomes"                                                                    \
	" WHERE attempt NOT IN (SELECT attempt FROM attempts) OR settled = 0"                                                   \
	" OR min(ifnull(input, 0), ifnull(output, 0), ifnull(cache_read, 0),"                                                   \
	" ifnull(cache_write, 0), ifnull(reasoning, 0), ifnull(cost_usd, 0)) < 0"                                               \
	" OR " BEYOND(                                                                                                          \
		"weaker") " UNION ALL SELECT attempt, 'attempt' FROM attempts"                                                  \
			  " WHERE " BEYOND("number") " OR " BEYOND("of") " OR " BEYOND(                                         \
				  "weaker") " UNION ALL SELECT attempt, 'artifact' FROM artifacts WHERE declared NOT IN (0, 1)" \
					    " UNION ALL SELECT attempt, 'listed as open' FROM"                                  \
					    " (SELECT attempt FROM unsettled EXCEPT SELECT attempt FROM (" OPEN_ATTEMPTS        \
					    "))"                                                                                \
					    " UNION ALL SELECT attempt, 'not listed as open' FROM"                              \
					    " (SELECT attempt FROM (" OPEN_ATTEMPTS                                             \
					    ") EXCEPT SELECT attempt FROM unsettled)"

static void finalize(sqlite3_stmt **s)
{
	(void)sqlite3_finalize(*s); /* repeats an error that was told */
}

static int prepare(struct index *x, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	int code = sqlite3_prepare_v2(x->db, sql, -1, ret, NULL);

	return code != SQLITE_OK ? index_error(x, code, "read", err) : 0;
}

/* A NUL would hide what stands behind it. */
static const char *text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	if (text == NULL)
		return "";
	return strlen(text) == (size_t)sqlite3_column_bytes(s, column) ? text : "(holds a NUL)";
}

static void id_of(sqlite3_stmt *s, int column, struct id *ret)
{
	const char *text = text_of(s, column);

	*ret = (struct id){0};
	if (id_is_valid(text))
		(void)memcpy(ret->text, text, ID_LENGTH);
}

static int64_t usage_of(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, column);
}

static uint64_t number_of(sqlite3_stmt *s, int column)
{
	return (uint64_t)sqlite3_column_int64(s, column);
}

static void attempt_of(sqlite3_stmt *s, struct index_attempt *a)
{
	*a = (struct index_attempt){0};
	id_of(s, 0, &a->attempt);
	id_of(s, 1, &a->run);
	a->index = (unsigned)number_of(s, 2);
	a->of = (unsigned)number_of(s, 3);
	a->harness = text_of(s, 4);
	a->task = text_of(s, 5);
	a->manifest = text_of(s, 6);
	a->sandbox = text_of(s, 7);
	a->weaker = (unsigned)number_of(s, 8);
	a->planned.us = sqlite3_column_int64(s, 9);
	(void)state_parse(text_of(s, 10), &a->state); /* none yet: planned, which is 0 */
	if (sqlite3_column_type(s, 11) != SQLITE_NULL) {
		a->state = STATE_DONE;
		if (outcome_parse(text_of(s, 11), &a->outcome) < 0)
			a->outcome = OUTCOME_LOST; /* a word this hemra does not know */
	}
	a->reason = text_of(s, 12);
	a->settled.us = sqlite3_column_int64(s, 13);
	a->duration_ms = sqlite3_column_int64(s, 14);
	a->usage = (struct usage){.input = usage_of(s, 15),
		.output = usage_of(s, 16),
		.cache_read = usage_of(s, 17),
		.cache_write = usage_of(s, 18),
		.reasoning = usage_of(s, 19),
		.cost_usd = sqlite3_column_type(s, 20) == SQLITE_NULL
				    ? -1
				    : sqlite3_column_double(s, 20)};
	a->events = number_of(s, 21);
	a->event_bytes = number_of(s, 22);
	a->artifact_bytes = number_of(s, 23);
	a->graded = sqlite3_column_type(s, 24) != SQLITE_NULL;
	a->score = sqlite3_column_double(s, 24);
	a->removed = sqlite3_column_type(s, 25) != SQLITE_NULL;
}

/* Hands every row to fn; what fn returned when it stopped, else 0. */
static int each(struct index *x, sqlite3_stmt *s, int (*fn)(void *context, sqlite3_stmt *s),
	void *context, struct err *err)
{
	int code, r;

	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		r = fn(context, s);
		if (r != 0)
			return r;
	}
	return code != SQLITE_DONE ? index_error(x, code, "read", err) : 0;
}

struct attempt_call {
	index_attempt_fn *fn;
	void *context;
	unsigned count;
};

static int call_attempt(void *context, sqlite3_stmt *s)
{
	struct attempt_call *call = context;
	struct index_attempt a;

	call->count++;
	attempt_of(s, &a);
	return call->fn(call->context, &a);
}

int index_each_attempt(
	struct index *x, const struct id *run, index_attempt_fn *fn, void *context, struct err *err)
{
	struct attempt_call call = {fn, context, 0};
	autodone(finalize) sqlite3_stmt *s = NULL;
	int r = prepare(x,
		run != NULL ? ATTEMPT_ROWS " WHERE a.run = ?1 ORDER BY a.attempt"
			    : ATTEMPT_ROWS " ORDER BY a.attempt",
		&s, err);

	if (r < 0)
		return r;
	if (run != NULL)
		(void)sqlite3_bind_text(s, 1, run->text, -1, SQLITE_STATIC); /* fails at the step */
	return each(x, s, call_attempt, &call, err);
}

int index_each_open(struct index *x, index_attempt_fn *fn, void *context, struct err *err)
{
	struct attempt_call call = {fn, context, 0};
	autodone(finalize) sqlite3_stmt *s = NULL;
	int r = prepare(x, OPEN_ROWS, &s, err);

	return r < 0 ? r : each(x, s, call_attempt, &call, err);
}

int index_get_attempt(struct index *x, const struct id *attempt, index_attempt_fn *fn,
	void *context, struct err *err)
{
	struct attempt_call call = {fn, context, 0};
	autodone(finalize) sqlite3_stmt *s = NULL;
	int r = prepare(x, ATTEMPT_ROWS " WHERE a.attempt = ?1", &s, err);

	if (r < 0)
		return r;
	(void)sqlite3_bind_text(s, 1, attempt->text, -1, SQLITE_STATIC); /* fails at the step */
	r = each(x, s, call_attempt, &call, err);
	if (r == 0 && call.count == 0)
		return err_say(err, ENOENT, "no attempt %s", attempt->text);
	return r;
}

struct run_call {
	index_run_fn *fn;
	void *context;
};

static int call_run(void *context, sqlite3_stmt *s)
{
	struct run_call *call = context;
	struct index_run run = {0};

	id_of(s, 0, &run.run);
	run.created.us = sqlite3_column_int64(s, 1);
	run.file = text_of(s, 2);
	run.attempts = (unsigned)number_of(s, 3);
	run.done = (unsigned)number_of(s, 4);
	run.graded = (unsigned)number_of(s, 5);
	run.score_mean = sqlite3_column_double(s, 6);
	run.bytes = number_of(s, 7);
	return call->fn(call->context, &run);
}

int index_each_run(struct index *x, index_run_fn *fn, void *context, struct err *err)
{
	struct run_call call = {fn, context};
	autodone(finalize) sqlite3_stmt *s = NULL;
	int r = prepare(x, RUN_ROWS, &s, err);

	return r < 0 ? r : each(x, s, call_run, &call, err);
}

struct artifact_call {
	index_artifact_fn *fn;
	void *context;
};

static void digest_of(sqlite3_stmt *s, int column, uint8_t ret[32])
{
	const void *bytes = sqlite3_column_blob(s, column);

	(void)memset(ret, 0, 32);
	if (bytes != NULL && sqlite3_column_bytes(s, column) == 32)
		(void)memcpy(ret, bytes, 32);
}

static int call_artifact(void *context, sqlite3_stmt *s)
{
	struct artifact_call *call = context;
	struct index_artifact a = {0};

	id_of(s, 0, &a.attempt);
	a.path = text_of(s, 1);
	a.role = text_of(s, 2);
	a.bytes = number_of(s, 3);
	digest_of(s, 4, a.sha256);
	digest_of(s, 5, a.raw_sha256);
	a.declared = number_of(s, 6) != 0;
	return call->fn(call->context, &a);
}

#define ARTIFACT_ROWS                                                                              \
	"SELECT attempt, path, role, bytes, sha256, raw_sha256, declared FROM artifacts"

int index_each_artifact(struct index *x, const struct id *attempt, index_artifact_fn *fn,
	void *context, struct err *err)
{
	struct artifact_call call = {fn, context};
	autodone(finalize) sqlite3_stmt *s = NULL;
	int r = prepare(x, ARTIFACT_ROWS " WHERE attempt = ?1 ORDER BY n", &s, err);

	if (r < 0)
		return r;
	(void)sqlite3_bind_text(s, 1, attempt->text, -1, SQLITE_STATIC); /* fails at the step */
	return each(x, s, call_artifact, &call, err);
}

/* The index's own rows, in the shape that deriving gives. */
struct emission {
	const struct index_sink *sink;
	index_odd_fn *odd;
};

static int emit_run(void *context, sqlite3_stmt *s)
{
	const struct index_sink *sink = ((const struct emission *)context)->sink;
	struct id run;

	id_of(s, 0, &run);
	return sink->run(
		sink->context, &run, (struct wall){sqlite3_column_int64(s, 1)}, text_of(s, 2));
}

static int emit_attempt(void *context, sqlite3_stmt *s)
{
	const struct emission *e = context;
	const struct index_sink *sink = e->sink;
	struct index_attempt a;
	enum outcome unused;
	int r;

	attempt_of(s, &a);
	if (sqlite3_column_type(s, 11) != SQLITE_NULL &&
		outcome_parse(text_of(s, 11), &unused) < 0) {
		r = e->odd(sink->context, a.attempt.text, "outcome");
		if (r != 0)
			return r;
	}
	if (a.state == STATE_DONE && a.settled.us != 0) {
		r = sink->settled(sink->context, &a);
		if (r != 0)
			return r;
	}
	a.weaker = (unsigned)number_of(s, 26);
	return sink->planned(sink->context, &a);
}

static int emit_state(void *context, sqlite3_stmt *s)
{
	const struct emission *e = context;
	const struct index_sink *sink = e->sink;
	struct id attempt;
	enum state state;

	id_of(s, 0, &attempt);
	if (state_parse(text_of(s, 1), &state) < 0)
		return e->odd(sink->context, attempt.text, "state");
	return sink->state(
		sink->context, &attempt, state, (struct wall){sqlite3_column_int64(s, 2)});
}

static int emit_removed(void *context, sqlite3_stmt *s)
{
	const struct index_sink *sink = ((const struct emission *)context)->sink;
	struct id attempt;

	id_of(s, 0, &attempt);
	return sink->removed(
		sink->context, &attempt, (struct wall){sqlite3_column_int64(s, 1)}, text_of(s, 2));
}

static int emit_odd(void *context, sqlite3_stmt *s)
{
	const struct emission *e = context;

	return e->odd(e->sink->context, text_of(s, 0), text_of(s, 1));
}

static int emit(struct index *x, const char *sql, int (*fn)(void *context, sqlite3_stmt *s),
	struct emission *e, struct err *err)
{
	autodone(finalize) sqlite3_stmt *s = NULL;
	int r = prepare(x, sql, &s, err);

	return r < 0 ? r : each(x, s, fn, e, err);
}

int index_emit(struct index *x, const struct index_sink *sink, index_odd_fn *odd, struct err *err)
{
	struct emission e = {sink, odd};
	struct artifact_call artifact = {sink->artifact, sink->context};
	autodone(finalize) sqlite3_stmt *s = NULL;
	int r;

	/* one read transaction: all rows are of one moment */
	r = index_exec(x, "BEGIN", err);
	if (r < 0)
		return r;
	r = emit(x, "SELECT run, created, file FROM runs", emit_run, &e, err);
	if (r == 0)
		r = emit(x, ATTEMPT_ROWS, emit_attempt, &e, err);
	if (r == 0)
		r = emit(x, "SELECT attempt, state, at FROM attempt_transitions", emit_state, &e,
			err);
	if (r == 0)
		r = prepare(x, ARTIFACT_ROWS, &s, err);
	if (r == 0)
		r = each(x, s, call_artifact, &artifact, err);
	if (r == 0)
		r = emit(x, "SELECT attempt, at, why FROM tombstones", emit_removed, &e, err);
	if (r == 0)
		r = emit(x, ODD_ROWS, emit_odd, &e, err);
	(void)sqlite3_reset(s);              /* repeats an error that was told; accepts NULL */
	(void)index_exec(x, "COMMIT", NULL); /* nothing was written */
	return r;
}
