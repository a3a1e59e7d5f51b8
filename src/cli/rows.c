/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the index. */

#include "cli/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/out.h"
#include "cli/report.h"
#include "ground/base/own.h"

static int copy_row(void *context, const struct index_attempt *a)
{
	struct row *r = context;

	r->a = *a;
	r->a.harness = own_strdup(a->harness != NULL ? a->harness : "");
	r->a.task = own_strdup(a->task != NULL ? a->task : "");
	r->a.manifest = own_strdup(a->manifest != NULL ? a->manifest : "");
	r->a.sandbox = own_strdup(a->sandbox != NULL ? a->sandbox : "");
	r->a.reason = own_strdup(a->reason != NULL ? a->reason : "");
	return 1;
}

int row_get(struct place *p, const struct id *attempt, struct row *ret, struct err *err)
{
	struct row r = {0};
	int result = index_get_attempt(p->index, attempt, copy_row, &r, err);

	if (result < 0)
		return result;
	if (r.a.harness == NULL)
		return err_say(err, ENOENT, "no attempt %s", attempt->text);
	*ret = r;
	return 0;
}

void row_done(struct row *r)
{
	free((char *)r->a.harness);
	free((char *)r->a.task);
	free((char *)r->a.manifest);
	free((char *)r->a.sandbox);
	free((char *)r->a.reason);
	*r = (struct row){0};
}

static bool is_done(const struct index_attempt *a)
{
	return a->state == STATE_DONE;
}

void row_add_marks(const struct index_attempt *a, struct buf *out)
{
	const char *between = "";

	if (is_done(a) && a->outcome == OUTCOME_TRIPPED) {
		(void)buf_add_text(out, "TRIPPED"); /* failure sticks, here and below */
		between = "; ";
	}
	if (a->weaker != 0) {
		(void)buf_addf(out, "%sweaker: ", between);
		report_add_weaker(a->weaker, out);
		between = "; ";
	}
	if (a->removed)
		(void)buf_addf(out, "%sremoved", between);
}

static void print_pair(const char *name, const char *value)
{
	autofree char *shown = out_line(value);

	if (*shown != '\0')
		(void)printf("%-10s %s\n", name, shown); /* out_finish() sees failure */
}

static void print_usage(const struct usage *u)
{
	if (u->input < 0 && u->output < 0 && u->cost_usd < 0)
		return;
	(void)printf("%-10s", "usage"); /* out_finish() sees failure, here and below */
	if (u->input >= 0)
		(void)printf(" %" PRId64 " in", u->input);
	if (u->output >= 0)
		(void)printf(" %" PRId64 " out", u->output);
	if (u->cost_usd >= 0)
		(void)printf(" $%.4f", u->cost_usd);
	(void)putchar('\n');
}

void row_print(const struct index_attempt *a)
{
	autodone(buf_done) struct buf marks = {.max = 4096};
	char planned[OUT_TIME_SIZE], settled[OUT_TIME_SIZE], span[OUT_SPAN_SIZE],
		bytes[OUT_BYTES_SIZE];

	print_pair("attempt", a->attempt.text);
	print_pair("run", a->run.text);
	print_pair("harness", a->harness);
	print_pair("task", a->task);
	(void)printf("%-10s %u of %u\n", "number", a->index,
		a->of); /* out_finish() sees failure, here and below */
	print_pair("sandbox", a->sandbox);
	row_add_marks(a, &marks);
	print_pair("marks", buf_text(&marks));
	print_pair("state", state_name(a->state));
	if (is_done(a)) {
		(void)printf("%-10s %s (%s)\n", "outcome", outcome_name(a->outcome),
			outcome_about(a->outcome));
		print_pair("reason", a->reason);
		if (a->graded)
			(void)printf("%-10s %.3f\n", "score", a->score);
		else
			print_pair("score", "ungraded");
	}
	out_time(a->planned, out_is_terminal(), planned);
	out_time(a->settled, out_is_terminal(), settled);
	print_pair("planned", planned);
	print_pair("settled", settled);
	if (is_done(a)) {
		out_span(a->duration_ms, span);
		print_pair("duration", span);
		print_usage(&a->usage);
		out_bytes(a->event_bytes + a->artifact_bytes, bytes);
		(void)printf("%-10s %" PRIu64 " events, %s in all\n", "size", a->events, bytes);
	}
	print_pair("manifest", a->manifest);
}

static void pair_time(struct json_writer *w, const char *key, struct wall t)
{
	char text[OUT_TIME_SIZE];

	out_time(t, /* local= */ false, text);
	json_pair_string(w, key, t.us != 0 ? text : NULL);
}

void row_json(const struct index_attempt *a, struct json_writer *w)
{
	json_pair_string(w, "attempt", a->attempt.text);
	json_pair_string(w, "run", a->run.text);
	json_pair_uint(w, "index", a->index);
	json_pair_uint(w, "of", a->of);
	json_pair_string(w, "harness", a->harness);
	json_pair_string(w, "task", a->task);
	json_pair_string(w, "sandbox", a->sandbox);
	json_pair_string(w, "manifest", a->manifest);
	store_put_weaker(w, a->weaker);
	json_pair_string(w, "state", state_name(a->state));
	json_pair_string(w, "outcome", is_done(a) ? outcome_name(a->outcome) : NULL);
	json_pair_string(w, "reason", a->reason != NULL && *a->reason != '\0' ? a->reason : NULL);
	json_pair_bool(w, "graded", is_done(a) && a->graded);
	json_key(w, "score");
	if (is_done(a) && a->graded)
		json_put_double(w, a->score);
	else
		json_put_null(w);
	json_pair_bool(w, "tripped", is_done(a) && a->outcome == OUTCOME_TRIPPED);
	json_pair_bool(w, "removed", a->removed);
	pair_time(w, "planned", a->planned);
	pair_time(w, "settled", a->settled);
	json_pair_int(w, "duration_ms", a->duration_ms);
	store_put_usage(w, &a->usage);
	json_pair_uint(w, "events", a->events);
	json_pair_uint(w, "event_bytes", a->event_bytes);
	json_pair_uint(w, "artifact_bytes", a->artifact_bytes);
}

void row_table_init(struct table *t)
{
	static const char *const heads[] = {
		"ATTEMPT", "HARNESS", "TASK", "N", "STATE", "OUTCOME", "SCORE", "TIME", "MARKS"};

	table_init(t, array_count(heads), 1u << 3 | 1u << 6 | 1u << 7);
	for (size_t i = 0; i < array_count(heads); i++)
		table_add(t, heads[i]);
}

void row_add(struct table *t, const struct index_attempt *a, struct place *p)
{
	autodone(buf_done) struct buf marks = {.max = 4096};
	char id[WHERE_SHORT_SIZE], span[OUT_SPAN_SIZE];

	where_short(p, &a->attempt, id);
	table_add(t, id);
	table_add(t, a->harness);
	table_add(t, a->task);
	table_addf(t, "%u/%u", a->index, a->of);
	table_add(t, state_name(a->state));
	table_add(t, is_done(a) ? outcome_name(a->outcome) : "-");
	if (is_done(a) && a->graded)
		table_addf(t, "%.3f", a->score);
	else
		table_add(t, is_done(a) ? "ungraded" : "-");
	out_span(is_done(a) ? a->duration_ms : -1, span);
	table_add(t, span);
	row_add_marks(a, &marks);
	table_add(t, buf_text(&marks));
}
