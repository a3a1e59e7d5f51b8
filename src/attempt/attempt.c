/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt: the table of contents.
 *
 * Each phase is a call; the ones that wait run the loop until what they wait for has happened. A
 * phase that fails names the outcome with attempt_fail() and the rest is unwound in order: whatever
 * happens, the box is dead before anything is read, and what was recorded is settled. */

#include "attempt/state.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"

void attempt_fail(struct attempt *a, enum outcome outcome, const char *format, ...)
{
	va_list args;
	char reason[sizeof(a->reason)];

	va_start(args, format);
	(void)vsnprintf(reason, sizeof(reason), format, args); /* a cut sentence is still a sentence */
	va_end(args);
	if (a->failed) {
		log_debug("also %s: %s", outcome_name(outcome), reason);
		return;
	}
	a->failed = true;
	a->outcome = outcome;
	(void)memcpy(a->reason, reason, sizeof(reason));
}

void attempt_enter(struct attempt *a, enum state state)
{
	struct msg m = { .type = MSG_STATE, .value = { state } };
	struct buf data;

	a->state = state;
	buf_init(&data, 256);
	event_encode_state(state, &data);
	note_plain(a, EVENT_ATTEMPT_STATE, buf_text(&data), data.len);
	note_flush(a);
	buf_done(&data);
	m.value[1] = (uint64_t)event_log_at(a->log).us;
	wire_to_engine(a, &m, NULL);
}

bool attempt_is_exec(const struct attempt *a)
{
	return a->plan.harness.kind == HARNESS_EXEC;
}

static void attempt_done(struct attempt *a)
{
	box_free(a->box);
	wire_end_warden(a);
	control_close(a);
	note_close(a);
	secret_set_free(a->secrets);
	loop_free(a->loop);
	own_close(&a->engine_fd);
	own_close(&a->work_fd);
	plan_done(&a->plan);
	/* the rest goes with the process */
}

int attempt_steward(const struct attempt_start *start, attempt_warden_fn *warden)
{
	struct attempt a = { .engine_fd = start->engine_fd, .work_fd = -1, .warden_fd = -1,
		.live_fd = -1, .exec_status = -1, .started = mono_now() };
	struct err err = { 0 };
	int status;

	a.loop = loop_new();
	wire_watch_engine(&a);
	if (attempt_prepare(&a, start, &err) < 0 || wire_start_warden(&a, warden, &err) < 0 ||
		attempt_read_secrets(&a, &err) < 0 || attempt_prepare_files(&a, &err) < 0 ||
		attempt_prepare_command(&a, &err) < 0 || attempt_arm(&a, &err) < 0)
		attempt_fail(&a, err.code == ENOSPC ? OUTCOME_INFRA_ENVIRONMENT : OUTCOME_INFRA_SETUP,
			"%s", err.text);
	attempt_forget_environment(&a);
	supervise_run(&a);
	attempt_collect(&a);
	attempt_verify(&a);
	status = attempt_settle(&a);
	attempt_done(&a);
	return status;
}
