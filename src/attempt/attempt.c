/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt: the table of contents.
 *
 * Each phase is a call; the ones that wait run the loop until what they wait for has happened. A
 * phase that fails names the outcome with attempt_fail() and the rest is unwound in order: whatever
 * happens, the box is dead before anything is read, and what was recorded is settled. */

#include "attempt/state.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"
#include "ground/kernel/sock.h"

void attempt_fail(struct attempt *a, enum outcome outcome, const char *format, ...)
{
	va_list args;
	char reason[sizeof(a->reason)];

	va_start(args, format);
	(void)vsnprintf(
		reason, sizeof(reason), format, args); /* a cut sentence is still a sentence */
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
	struct msg m = {.type = MSG_STATE, .value = {state}};
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

/* False when no attempt comes. */
static bool await_start(int start_fd, struct attempt_start *ret)
{
	struct sock_fds fds = {.count = 0};
	struct msg m;
	ssize_t n;

	do {
		(void)sock_wait(start_fd, POLLIN, /* timeout_ms= */ -1); /* ends with the nursery */
		n = sock_recv(start_fd, &m, sizeof(m), NULL, 0, &fds);
	} while (n == -EAGAIN);
	if (n != sizeof(m) || m.version != MSG_VERSION || m.type != MSG_SPAWN || fds.count < 2 ||
		fds.count > 3)
		return false;
	*ret = (struct attempt_start){fds.fd[0], fds.fd[1], fds.count == 3 ? fds.fd[2] : -1};
	return true;
}

static void run(struct attempt *a, const struct attempt_start *start)
{
	struct err err = {0};

	a->engine_fd = start->engine_fd;
	a->started = mono_now();
	(void)prctl(PR_SET_NAME, "hemra-steward");
	wire_watch_engine(a);
	if (attempt_prepare(a, start, &err) < 0 || attempt_read_secrets(a, &err) < 0 ||
		attempt_prepare_files(a, &err) < 0 || attempt_prepare_command(a, &err) < 0 ||
		attempt_arm(a, &err) < 0)
		attempt_fail(a,
			err.code == ENOSPC ? OUTCOME_INFRA_ENVIRONMENT : OUTCOME_INFRA_SETUP, "%s",
			err.text);
	attempt_forget_environment(a);
	supervise_run(a);
	attempt_collect(a);
	attempt_verify(a);
}

int attempt_steward(int start_fd, attempt_warden_fn *warden)
{
	struct attempt a = {.engine_fd = -1,
		.work_fd = -1,
		.warden_fd = -1,
		.live_fd = -1,
		.exec_status = -1,
		.loop = loop_new()};
	struct attempt_start start;
	struct err err = {0};
	int status = 0;

	supervise_prepare(&a);
	/* before any secret is read, and while the engine still plans */
	if (wire_start_warden(&a, warden, start_fd, &err) < 0)
		attempt_fail(&a, OUTCOME_INFRA_SETUP, "%s", err.text);
	if (await_start(start_fd, &start)) {
		run(&a, &start);
		status = attempt_settle(&a);
	}
	(void)close(start_fd);
	attempt_done(&a);
	return status;
}
