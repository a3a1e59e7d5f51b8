/* SPDX-License-Identifier: Apache-2.0 */
/* What a run came to. */

#include "cli/report.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cli/out.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "ground/base/own.h"

/* Attempts of one harness on one task. */
struct cell {
	const struct run_attempt *attempts; /* copies, together */
	size_t count;
};

void report_add_weaker(unsigned weaker, struct buf *out)
{
	const char *comma = "";

	for (const struct flag_name *n = weaker_names; n->name != NULL; n++)
		if ((weaker & n->flag) != 0) {
			(void)buf_addf(out, "%s%s", comma, n->name); /* failure sticks */
			comma = ", ";
		}
}

static void add_outcomes(const struct cell *c, struct buf *out)
{
	unsigned counts[OUTCOME_COUNT] = {0}, unfinished = 0;
	const char *comma = "";

	for (size_t i = 0; i < c->count; i++) {
		if (c->attempts[i].state == STATE_DONE)
			counts[c->attempts[i].outcome]++;
		else
			unfinished++;
	}
	for (int i = 0; i < OUTCOME_COUNT; i++) {
		if (counts[i] == 0)
			continue;
		if (counts[i] == c->count)
			(void)buf_add_text(out, outcome_name((enum outcome)i)); /* failure sticks */
		else
			(void)buf_addf(
				out, "%s%u %s", comma, counts[i], outcome_name((enum outcome)i));
		comma = ", ";
	}
	if (unfinished > 0)
		(void)buf_addf(out, "%s%u unfinished", comma, unfinished);
}

static void add_marks(const struct cell *c, struct buf *out)
{
	unsigned weaker = 0, unexpected = 0, tripped = 0;

	for (size_t i = 0; i < c->count; i++) {
		weaker |= c->attempts[i].weaker;
		unexpected += c->attempts[i].unexpected;
		tripped += c->attempts[i].state == STATE_DONE &&
			   c->attempts[i].outcome == OUTCOME_TRIPPED;
	}
	if (tripped > 0)
		(void)buf_add_text(out, "TRIPPED"); /* failure sticks */
	if (unexpected > 0)
		(void)buf_addf(out, "%s%u claim%s not held", out->len > 0 ? "; " : "", unexpected,
			unexpected == 1 ? "" : "s");
	if (weaker != 0) {
		(void)buf_addf(out, "%sweaker: ", out->len > 0 ? "; " : "");
		report_add_weaker(weaker, out);
	}
}

static void add_ids(const struct cell *c, struct place *place, struct buf *out)
{
	for (size_t i = 0; i < c->count && i < 3; i++) {
		char id[WHERE_SHORT_SIZE];

		where_short(place, &c->attempts[i].id, id);
		(void)buf_addf(out, "%s%s", i == 0 ? "" : " ", id); /* failure sticks */
	}
	if (c->count > 3)
		(void)buf_addf(out, " +%zu", c->count - 3);
}

static void add_row(struct table *t, const struct cell *c, struct place *place)
{
	autodone(buf_done) struct buf outcomes = {.max = 4096}, marks = {.max = 4096},
				      ids = {.max = 4096};
	struct score_summary score;
	int64_t total = 0;
	char span[OUT_SPAN_SIZE];

	assert(c->count > 0);
	table_add(t, c->attempts[0].harness);
	table_add(t, c->attempts[0].task);
	for (size_t i = 0; i < c->count; i++)
		total += c->attempts[i].duration_ms;
	if (!score_summarise(c->attempts, c->count, &score))
		table_add(t, "ungraded");
	else if (score.standard_error >= 0)
		table_addf(t, "%.3f ± %.3f", score.mean, score.standard_error);
	else
		table_addf(t, "%.3f", score.mean);
	table_addf(t, "%zu/%zu", score.graded, c->count);
	add_outcomes(c, &outcomes);
	table_add(t, buf_text(&outcomes));
	out_span(total / (int64_t)c->count, span);
	table_add(t, span);
	add_ids(c, place, &ids);
	table_add(t, buf_text(&ids));
	add_marks(c, &marks);
	table_add(t, buf_text(&marks));
}

static bool is_same_cell(const struct run_attempt *a, const struct run_attempt *b)
{
	return strcmp(a->harness, b->harness) == 0 && strcmp(a->task, b->task) == 0;
}

/* One row per harness and task, in the order in which they come first. */
static void print_cells(const struct run_report *r, struct place *place)
{
	autofree struct run_attempt *together = own_alloc((r->count + 1) * sizeof(*together));
	autofree bool *taken = own_alloc(r->count + 1);
	struct table t;

	table_init(&t, 8, 1u << 2 | 1u << 3 | 1u << 5);
	for (size_t i = 0; i < 8; i++)
		table_add(&t, ((const char *const[]){"HARNESS", "TASK", "SCORE", "GRADED",
				      "OUTCOME", "TIME", "ATTEMPTS", "MARKS"})[i]);
	for (size_t i = 0; i < r->count; i++) {
		struct cell c = {together, 0};

		if (taken[i])
			continue;
		for (size_t j = i; j < r->count; j++)
			if (!taken[j] && is_same_cell(&r->attempts[i], &r->attempts[j])) {
				together[c.count++] = r->attempts[j];
				taken[j] = true;
			}
		add_row(&t, &c, place);
	}
	table_print(&t);
	table_done(&t);
}

/* Why attempts did not end as they should: each sentence once. */
static void print_reasons(const struct run_report *r, struct place *place)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct run_attempt *a = &r->attempts[i];
		autofree char *reason = out_line(a->reason);
		char id[WHERE_SHORT_SIZE];
		bool said = false;

		if (a->state != STATE_DONE || *reason == '\0' ||
			(a->outcome == OUTCOME_COMPLETED && a->graded))
			continue;
		for (size_t j = 0; j < i && !said; j++)
			said = r->attempts[j].state == STATE_DONE &&
			       r->attempts[j].outcome == a->outcome &&
			       strcmp(r->attempts[j].reason, a->reason) == 0;
		if (said)
			continue;
		where_short(place, &a->id, id);
		(void)printf("%s %s: %s\n", id, outcome_name(a->outcome),
			reason); /* out_finish() sees failure */
	}
}

void report_print(const struct run_report *r, struct place *place)
{
	char run[WHERE_SHORT_SIZE];

	/* out_finish() sees failure of all that is printed here */
	print_cells(r, place);
	print_reasons(r, place);
	for (size_t i = 0; i < r->count; i++)
		if (r->attempts[i].planted[0] != '\0')
			(void)printf(
				"look before you use git in the workspace; it would now obey: %s\n",
				r->attempts[i].planted);
	if (r->cancelled)
		(void)puts("The run was cancelled.");
	if (r->store == NULL)
		return;
	where_short(place, &r->run, run);
	(void)printf("\nrun %s is recorded in %s\n  hemra show %s\n", run, r->store, run);
	if (r->count > 0) {
		char first[WHERE_SHORT_SIZE];

		where_short(place, &r->attempts[0].id, first);
		(void)printf("  hemra show --events %s\n  hemra verify %s\n", first, run);
	}
}

static void json_attempt(const struct run_attempt *a, struct json_writer *w)
{
	bool done = a->state == STATE_DONE;

	json_object_open(w);
	json_pair_string(w, "attempt", a->id.text);
	json_pair_string(w, "harness", a->harness);
	json_pair_string(w, "task", a->task);
	json_pair_uint(w, "index", a->index);
	json_pair_uint(w, "of", a->of);
	json_pair_string(w, "state", state_name(a->state));
	json_pair_string(w, "outcome", done ? outcome_name(a->outcome) : NULL);
	json_pair_string(w, "reason", *a->reason != '\0' ? a->reason : NULL);
	json_pair_string(w, "planted", *a->planted != '\0' ? a->planted : NULL);
	json_pair_bool(w, "graded", done && a->graded);
	json_key(w, "score");
	if (done && a->graded)
		json_put_double(w, a->score);
	else
		json_put_null(w);
	json_pair_int(w, "duration_ms", a->duration_ms);
	store_put_usage(w, &a->usage);
	json_pair_int(w, "exit_status", a->exit_status);
	store_put_weaker(w, a->weaker);
	json_pair_uint(w, "unexpected_claims", a->unexpected);
	json_pair_bool(w, "tripped", done && a->outcome == OUTCOME_TRIPPED);
	json_object_close(w);
}

void report_json(const struct run_report *r, struct json_writer *w)
{
	struct score_summary score;
	bool graded = score_summarise(r->attempts, r->count, &score);

	json_object_open(w);
	json_pair_string(w, "run", r->run.text);
	json_pair_string(w, "store", r->store);
	json_pair_bool(w, "cancelled", r->cancelled);
	json_pair_uint(w, "count", r->count);
	json_pair_uint(w, "done", score.done);
	json_pair_uint(w, "graded", score.graded);
	json_key(w, "score_mean");
	if (graded)
		json_put_double(w, score.mean);
	else
		json_put_null(w);
	json_key(w, "score_standard_error");
	if (graded && score.standard_error >= 0)
		json_put_double(w, score.standard_error);
	else
		json_put_null(w);
	json_key(w, "attempts");
	json_array_open(w);
	for (size_t i = 0; i < r->count; i++)
		json_attempt(&r->attempts[i], w);
	json_array_close(w);
	json_object_close(w);
}
