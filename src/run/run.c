/* SPDX-License-Identifier: Apache-2.0 */
/* A run: the table of contents. */

#include "run/run.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"
#include "run/engine.h"

void run_report_done(struct run_report *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free((char *)(uintptr_t)r->attempts[i].harness);
		free((char *)(uintptr_t)r->attempts[i].task);
	}
	free(r->attempts);
	free(r->store);
	*r = (struct run_report){0};
}

int run_print_config(const struct run_request *request, struct buf *out, struct err *err)
{
	struct plan *plans;
	struct json_writer w;
	size_t count;
	int r = 0;

	if (plans_make(request, &plans, &count, err) < 0)
		return -err->code;
	json_writer_init(&w, out);
	json_object_open(&w);
	json_key(&w, "plans");
	json_array_open(&w);
	for (size_t i = 0; i < count && r == 0; i++) {
		autodone(buf_done) struct buf one;

		buf_init(&one, 16 * 1024 * 1024);
		r = plan_show(&plans[i], &one);
		json_put_raw(&w, buf_text(&one), one.len);
	}
	json_array_close(&w);
	json_object_close(&w);
	plans_free(plans, count);
	if (r == 0)
		r = buf_status(out);
	return r < 0 ? err_set(err, -r, "write the plan") : 0;
}

static void fill_report(
	struct engine *e, struct plan *plans, size_t count, struct run_report *report)
{
	report->run = plans[0].run;
	report->attempts = own_alloc(count * sizeof(*report->attempts));
	report->count = count;
	e->entries = own_alloc(count * sizeof(*e->entries));
	e->count = count;
	for (size_t i = 0; i < count; i++) {
		e->entries[i] = (struct entry){
			.engine = e, .plan = plans[i], .fd = -1, .result = &report->attempts[i]};
		report->attempts[i] = (struct run_attempt){.id = plans[i].attempt,
			.harness = own_strdup(plans[i].harness.name),
			.task = own_strdup(plans[i].task.name),
			.index = plans[i].index,
			.of = plans[i].of,
			.weaker = plans[i].sandbox.weaker};
	}
	free(plans); /* their content moved */
}

static int go(struct engine *e, struct err *err)
{
	if (engine_open_store(e, err) < 0 || engine_record_plans(e, err) < 0)
		return -err->code;
	schedule_run(e);
	return 0;
}

int run_go(const struct run_request *request, run_progress_fn *progress, void *context,
	struct run_report *ret, struct err *err)
{
	struct run_report report = {0};
	struct engine e = {.request = request,
		.report = &report,
		.progress = progress,
		.context = context,
		.run_lock = -1,
		.concurrency =
			request->settings.concurrency > 0 ? request->settings.concurrency : 1};
	struct plan *plans;
	size_t count;
	int r;

	if (plans_make(request, &plans, &count, err) < 0)
		return -err->code;
	if (count == 0)
		return err_say(err, EINVAL, "there is nothing to run");
	fill_report(&e, plans, count, &report);
	e.loop = loop_new();
	e.incoming = own_alloc(MSG_PAYLOAD_MAX + 1);
	r = go(&e, err);
	nursery_end();
	if (r == 0 && e.trouble.code != 0) {
		*err = e.trouble;
		r = -err->code;
	}
	engine_close_store(&e);
	loop_free(e.loop);
	for (size_t i = 0; i < e.count; i++)
		plan_done(&e.entries[i].plan);
	free(e.entries);
	free(e.incoming);
	if (r < 0) {
		run_report_done(&report);
		return r;
	}
	*ret = report;
	return 0;
}
