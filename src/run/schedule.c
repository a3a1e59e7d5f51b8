/* SPDX-License-Identifier: Apache-2.0 */
/* Schedule: as many attempts at once as allowed, in the order they were planned; and what signals
 * mean: the first asks for an orderly end, the third gives up waiting for it. */

#include "run/engine.h"

#include <signal.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"

void engine_changed(struct entry *entry)
{
	struct engine *e = entry->engine;

	if (e->progress != NULL)
		e->progress(e->context, e->report, (size_t)(entry - e->entries));
}

static void fill(struct engine *e);

void schedule_over(struct entry *entry)
{
	struct engine *e = entry->engine;

	if (entry->over)
		return;
	entry->over = true;
	e->active--;
	engine_changed(entry);
	fill(e);
}

/* An attempt that never got a steward. */
static void settle_unstarted(
	struct engine *e, struct entry *entry, enum outcome outcome, const char *why)
{
	struct err err = {0};

	if (engine_settle_orphan(e, entry, outcome, why, &err) < 0 && e->trouble.code == 0)
		e->trouble = err;
	entry->result->exit_status = 125;
	entry->over = true;
	engine_changed(entry);
}

static void fill(struct engine *e)
{
	while (e->next < e->count && (e->active < e->concurrency || e->cancelled)) {
		struct entry *entry = &e->entries[e->next++];
		struct err err = {0};

		if (e->cancelled) {
			settle_unstarted(
				e, entry, OUTCOME_CANCELLED, "cancelled before it started");
			continue;
		}
		if (steward_start(entry, &err) < 0) {
			settle_unstarted(e, entry, OUTCOME_INFRA_SETUP, err.text);
			continue;
		}
		e->active++;
	}
	if (e->active == 0 && e->next == e->count)
		loop_quit(e->loop);
}

static void handle_signal(void *context, int signo)
{
	struct engine *e = context;
	bool is_exec = e->request->exec_argv != NULL;

	e->signals++;
	e->report->signal = signo;
	if (e->signals >= 3 && !is_exec) {
		/* stewards see this process's end and stop in order; the next start tidies the rest */
		static const char text[] =
			"hemra: giving up waiting; attempts that still stop are settled "
			"at the next start\n";

		(void)!write(
			STDERR_FILENO, text, sizeof(text) - 1); /* the way out, whatever happens */
		_exit(128 + signo);
	}
	if (!is_exec) {
		e->cancelled = true;
		e->report->cancelled = true;
	}
	for (size_t i = 0; i < e->count; i++)
		if (e->entries[i].started && !e->entries[i].over && (is_exec || e->signals == 1))
			steward_cancel(&e->entries[i], signo);
	if (!is_exec)
		fill(e);
}

void schedule_run(struct engine *e)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

	(void)signal(SIGPIPE, SIG_IGN);
	loop_signals(e->loop, signals, handle_signal, e);
	fill(e);
	while (e->active > 0 || e->next < e->count)
		loop_turn(e->loop, /* timeout_ms= */ -1);
}
