/* SPDX-License-Identifier: Apache-2.0 */
/* Inserting rows. */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "store/index_db.h"

/* Binding cannot fail here but for memory, and then the step fails as well. */
static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	(void)sqlite3_bind_text(s, at, text != NULL ? text : "", -1, SQLITE_STATIC);
}

static void bind_number(sqlite3_stmt *s, int at, uint64_t value)
{
	(void)sqlite3_bind_int64(s, at, (sqlite3_int64)value);
}

/* Usage that nobody reported is NULL. */
static void bind_usage(sqlite3_stmt *s, int at, int64_t value)
{
	if (value >= 0)
		(void)sqlite3_bind_int64(s, at, value);
}

/* The row is told as the thing it stands for. */
static int put(struct index *x, enum index_statement which, const char *what, const struct id *id,
	struct err *err)
{
	int r = index_run_statement(x, which, err);

	return r < 0 ? err_add_to(r, err, "put %s of %s", what, id->text) : 0;
}

int index_put_run(struct index *x, const struct id *run, struct wall created, const char *file,
	struct err *err)
{
	sqlite3_stmt *s;
	int r = index_statement(x, INDEX_PUT_RUN, &s, err);

	if (r < 0)
		return r;
	bind_text(s, 1, run->text);
	bind_number(s, 2, (uint64_t)created.us);
	bind_text(s, 3, file);
	return put(x, INDEX_PUT_RUN, "the row", run, err);
}

int index_put_planned(struct index *x, const struct index_attempt *a, struct err *err)
{
	sqlite3_stmt *s;
	int r = index_statement(x, INDEX_PUT_ATTEMPT, &s, err);

	if (r < 0)
		return r;
	bind_text(s, 1, a->attempt.text);
	bind_text(s, 2, a->run.text);
	bind_number(s, 3, a->index);
	bind_number(s, 4, a->of);
	bind_text(s, 5, a->harness);
	bind_text(s, 6, a->task);
	bind_text(s, 7, a->manifest);
	bind_text(s, 8, a->sandbox);
	bind_number(s, 9, a->weaker);
	bind_number(s, 10, (uint64_t)a->planned.us);
	return put(x, INDEX_PUT_ATTEMPT, "the row", &a->attempt, err);
}

int index_put_state(struct index *x, const struct id *attempt, enum state state, struct wall at,
	struct err *err)
{
	sqlite3_stmt *s;
	int r = index_statement(x, INDEX_PUT_TRANSITION, &s, err);

	if (r < 0)
		return r;
	bind_text(s, 1, attempt->text);
	bind_text(s, 2, state_name(state));
	bind_number(s, 3, (uint64_t)at.us);
	return put(x, INDEX_PUT_TRANSITION, "a state", attempt, err);
}

int index_put_artifact(struct index *x, const struct index_artifact *a, struct err *err)
{
	enum index_statement which = x->completes ? INDEX_ADD_ARTIFACT : INDEX_PUT_ARTIFACT;
	sqlite3_stmt *s;
	int r = index_statement(x, which, &s, err);

	if (r < 0)
		return r;
	bind_text(s, 1, a->attempt.text);
	bind_text(s, 2, a->path);
	bind_text(s, 3, a->role);
	bind_number(s, 4, a->bytes);
	(void)sqlite3_bind_blob(s, 5, a->sha256, 32, SQLITE_STATIC);
	(void)sqlite3_bind_blob(s, 6, a->raw_sha256, 32, SQLITE_STATIC);
	bind_number(s, 7, a->declared);
	return put(x, which, "an artifact", &a->attempt, err);
}

static int put_outcome(struct index *x, const struct index_attempt *a, struct err *err)
{
	sqlite3_stmt *s;
	int r = index_statement(x, INDEX_PUT_OUTCOME, &s, err);

	if (r < 0)
		return r;
	bind_text(s, 1, a->attempt.text);
	bind_text(s, 2, outcome_name(a->outcome));
	bind_text(s, 3, a->reason);
	bind_number(s, 4, (uint64_t)a->settled.us);
	bind_number(s, 5, (uint64_t)a->duration_ms);
	bind_number(s, 6, a->weaker);
	bind_usage(s, 7, a->usage.input);
	bind_usage(s, 8, a->usage.output);
	bind_usage(s, 9, a->usage.cache_read);
	bind_usage(s, 10, a->usage.cache_write);
	bind_usage(s, 11, a->usage.reasoning);
	if (a->usage.cost_usd >= 0)
		(void)sqlite3_bind_double(s, 12, a->usage.cost_usd);
	bind_number(s, 13, a->events);
	bind_number(s, 14, a->event_bytes);
	bind_number(s, 15, a->artifact_bytes);
	return put(x, INDEX_PUT_OUTCOME, "the outcome", &a->attempt, err);
}

static int put_score(struct index *x, const struct index_attempt *a, struct err *err)
{
	sqlite3_stmt *s;
	int r = index_statement(x, INDEX_PUT_SCORE, &s, err);

	if (r < 0)
		return r;
	bind_text(s, 1, a->attempt.text);
	bind_text(s, 2, "reward");
	(void)sqlite3_bind_double(s, 3, a->score);
	return put(x, INDEX_PUT_SCORE, "the score", &a->attempt, err);
}

int index_put_settled(struct index *x, const struct index_attempt *a, struct err *err)
{
	bool alone = !x->in_transaction;
	int r;

	r = alone ? index_run_statement(x, INDEX_BEGIN, err) : 0;
	if (r < 0)
		return r;
	r = put_outcome(x, a, err);
	if (r == 0 && a->graded)
		r = put_score(x, a, err);
	if (r == 0 && alone)
		r = index_run_statement(x, INDEX_COMMIT, err);
	if (r < 0 && alone)
		(void)index_run_statement(
			x, INDEX_ROLLBACK, NULL); /* the first error is the one to tell */
	return r;
}

int index_put_removed(
	struct index *x, const struct id *attempt, struct wall at, const char *why, struct err *err)
{
	sqlite3_stmt *s;
	int r = index_statement(x, INDEX_PUT_TOMBSTONE, &s, err);

	if (r < 0)
		return r;
	bind_text(s, 1, attempt->text);
	bind_number(s, 2, (uint64_t)at.us);
	bind_text(s, 3, why);
	return put(x, INDEX_PUT_TOMBSTONE, "the removal", attempt, err);
}
