/* SPDX-License-Identifier: Apache-2.0 */
/* The steward's side of its two sockets: the warden, which is not believed, and the engine.
 *
 * From the warden only the header is acted on. Every type is checked against what may come now; a
 * type, length or event that may not ends the warden and with it the attempt (outcome lost). */

#include "attempt/state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"
#include "ground/kernel/sock.h"
#include "protocol/protocol.h"

#define MESSAGES_PER_ROUND 256
#define WARDEN_WAIT_MS     5000
#define DECLARED_MAX       4096

static void warden_lost(struct attempt *a, const char *why)
{
	loop_watch_free(a->warden_watch);
	a->warden_watch = NULL;
	own_close(&a->warden_fd);
	if (!a->warden_done)
		attempt_fail(a, OUTCOME_LOST, "the warden is gone: %s", why);
	a->warden_done = true;
	supervise_kill(a);
}

/* The harness's events are all the warden may write. */
static bool may_write(enum event_type type)
{
	switch ((int)type) {
	case EVENT_HARNESS_HELLO:
	case EVENT_HARNESS_READY:
	case EVENT_HARNESS_START:
	case EVENT_HARNESS_MESSAGE:
	case EVENT_HARNESS_TOOL_CALL:
	case EVENT_HARNESS_TOOL_RESULT:
	case EVENT_HARNESS_USAGE:
	case EVENT_HARNESS_OTHER:
	case EVENT_HARNESS_RESULT:
	case EVENT_HARNESS_CANCEL:
	case EVENT_PROTOCOL_ERROR:
	case EVENT_DECISION:
	case EVENT_LIMIT:
	case EVENT_LOSS:
		return true;
	default:
		return false;
	}
}

static void handle_artifact(struct attempt *a, const struct msg *m)
{
	if (a->declared_count >= DECLARED_MAX || m->length == 0 || m->length > 4096 ||
		memchr(a->incoming, '\0', m->length) != NULL)
		return; /* what lies in the directory is swept up all the same */
	a->incoming[m->length] = '\0';
	strv_add(&a->declared, a->incoming);
	a->declared_count++;
}

static void handle_broke(struct attempt *a, const struct msg *m)
{
	char sentence[400];

	if (m->value[0] >= OUTCOME_COUNT)
		return;
	/* the warden's words are shown, never parsed */
	(void)snprintf(sentence, sizeof(sentence), "%.*s", (int)m->length, a->incoming);
	for (char *p = sentence; *p != '\0'; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
	attempt_fail(a, (enum outcome)m->value[0], "%s", sentence);
	supervise_stop(a, CANCEL_LIMIT);
}

static void handle_done(struct attempt *a, const struct msg *m)
{
	if (m->length != sizeof(a->done)) {
		warden_lost(a, "it said done in a wrong form");
		return;
	}
	(void)memcpy(&a->done, a->incoming, sizeof(a->done));
	a->done.reason[sizeof(a->done.reason) - 1] = '\0';
	if (a->done.outcome >= OUTCOME_COUNT)
		a->done.outcome = OUTCOME_LOST;
	a->warden_done = true;
}

static const char *handle_one(struct attempt *a, const struct msg *m)
{
	switch ((int)m->type) {
	case MSG_EVENT:
		if (m->value[0] >= EVENT_TYPE_COUNT || !may_write((enum event_type)m->value[0]))
			return "it sent an event that is not the harness's";
		note_event(a, (enum event_type)m->value[0], a->incoming, m->length);
		return NULL;
	case MSG_STREAM:
		if (m->value[0] != EVENT_HARNESS_STDERR && m->value[0] != EVENT_HARNESS_STDOUT)
			return "it sent a stream that is not the harness's";
		note_bytes(a, (enum event_type)m->value[0], a->incoming, m->length);
		return NULL;
	case MSG_READY:
		a->warden_ready = true;
		return NULL;
	case MSG_ARTIFACT:
		handle_artifact(a, m);
		return NULL;
	case MSG_RESULT:
		supervise_result(a);
		return NULL;
	case MSG_BROKE:
		handle_broke(a, m);
		return NULL;
	case MSG_DONE:
		handle_done(a, m);
		return NULL;
	default:
		return "it sent a message that it may not send";
	}
}

static void handle_warden(void *context, uint32_t events)
{
	struct attempt *a = context;

	(void)events;
	for (int i = 0; i < MESSAGES_PER_ROUND && a->warden_fd >= 0; i++) {
		struct sock_fds fds;
		struct msg m;
		const char *why = NULL;
		ssize_t n =
			sock_recv(a->warden_fd, &m, sizeof(m), a->incoming, MSG_PAYLOAD_MAX, &fds);

		if (n == -EAGAIN)
			return;
		for (size_t j = 0; j < fds.count; j++)
			(void)close(fds.fd[j]); /* nothing a warden sends carries descriptors */
		if (n <= 0)
			why = n == 0 ? "it ended" : "its socket failed";
		else if ((size_t)n < sizeof(m) || m.version != MSG_VERSION ||
			 m.length != (size_t)n - sizeof(m) || fds.count > 0)
			why = "it sent a packet in a wrong form";
		else
			why = handle_one(a, &m);
		if (why != NULL) {
			warden_lost(a, why);
			return;
		}
	}
}

int wire_to_warden(
	struct attempt *a, const struct msg *head, const void *body, const struct sock_fds *fds)
{
	struct msg m = *head;
	int r;

	if (a->warden_fd < 0)
		return -EPIPE;
	m.version = MSG_VERSION;
	r = sock_send(a->warden_fd, &m, sizeof(m), body, m.length, fds);
	if (r == -EAGAIN && sock_wait(a->warden_fd, POLLOUT, WARDEN_WAIT_MS) == 0)
		r = sock_send(a->warden_fd, &m, sizeof(m), body, m.length, fds);
	return r;
}

int wire_start_warden(struct attempt *a, attempt_warden_fn *warden, int start_fd, struct err *err)
{
	int pair[2], r = sock_pair(pair);

	if (r < 0)
		return err_set(err, -r, "make the warden's socket");
	a->incoming = own_alloc(MSG_PAYLOAD_MAX + 1);
	a->warden_pid = fork();
	if (a->warden_pid < 0) {
		r = errno;
		(void)close(pair[0]);
		(void)close(pair[1]);
		return err_set(err, r, "fork the warden");
	}
	if (a->warden_pid == 0) {
		(void)close(pair[0]);
		(void)close(start_fd);
		warden(pair[1]);
		_exit(1); /* it never returns */
	}
	(void)close(pair[1]);
	a->warden_fd = pair[0];
	a->warden_watch = loop_watch_new(a->loop, a->warden_fd, EPOLLIN, handle_warden, a);
	return 0;
}

int wire_await_warden(struct attempt *a, struct err *err)
{
	struct mono begun = mono_now();

	while (!a->warden_ready && !a->warden_done &&
		mono_ms_between(begun, mono_now()) < WARDEN_WAIT_MS)
		loop_turn(a->loop, 100);
	if (a->warden_ready)
		return 0;
	return err_say(err, EPROTO, "the warden did not lock itself down%s%s",
		a->failed ? ": " : "", a->failed ? a->reason : "");
}

void wire_end_warden(struct attempt *a)
{
	loop_watch_free(a->warden_watch);
	a->warden_watch = NULL;
	own_close(&a->warden_fd);
	if (a->warden_pid > 0) {
		(void)kill(a->warden_pid, SIGKILL); /* ours until it is waited for */
		while (waitpid(a->warden_pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	a->warden_pid = 0;
	free(a->incoming);
	a->incoming = NULL;
}

void wire_launch(struct attempt *a)
{
	const struct plan *p = &a->plan;
	bool local = p->sandbox.kind == SANDBOX_LOCAL;
	struct msg m = {.type = MSG_LAUNCH};
	struct buf payload;

	buf_init(&payload, MSG_PAYLOAD_MAX);
	if (p->harness.kind == HARNESS_PROGRAM) {
		char deadline[WALL_TEXT_SIZE];

		wall_format(wall_add_ms(wall_now(), p->limits.deadline_ms), deadline);
		protocol_run_start(p, local ? a->artifacts : "/hemra/artifacts",
			p->limits.deadline_ms > 0 ? deadline : NULL, &payload);
	} else if (p->harness.kind == HARNESS_COMMAND &&
		   p->harness.instruction == INSTRUCTION_STDIN && p->task.instruction != NULL) {
		(void)buf_add_text(&payload, p->task.instruction); /* checked as a whole below */
	}
	m.length = (uint32_t)payload.len;
	if (buf_status(&payload) < 0) {
		attempt_fail(a, OUTCOME_INFRA_SETUP,
			"the task's instruction is longer than a line may be");
		supervise_kill(a);
	} else if (wire_to_warden(a, &m, payload.data, NULL) < 0) {
		log_debug("the warden could not be told to launch"); /* its socket says why */
	}
	buf_done(&payload);
}

/* ---- engine ------------------------------------------------------------------------------------ */

void wire_to_engine(struct attempt *a, const struct msg *head, const void *body)
{
	struct msg m = *head;
	int r;

	if (a->engine_fd < 0 || a->engine_gone)
		return;
	m.version = MSG_VERSION;
	r = sock_send(a->engine_fd, &m, sizeof(m), body, m.length, NULL);
	if (r == -EAGAIN && sock_wait(a->engine_fd, POLLOUT, WARDEN_WAIT_MS) == 0)
		r = sock_send(a->engine_fd, &m, sizeof(m), body, m.length, NULL);
	if (r < 0)
		log_debug("message to the engine: %d",
			r); /* the record has it; the engine derives rows again */
}

/* A signal for an exec is passed on: the command decides what it means, but for the third one. */
static void handle_cancel(struct attempt *a, int signo)
{
	if (attempt_is_exec(a) && signo != 0 && a->box_running && !a->box_dead &&
		++a->signals < 3) {
		box_signal(a->box, signo);
		return;
	}
	a->cancelled = true;
	attempt_fail(a, OUTCOME_CANCELLED, "cancelled by the operator");
	if (attempt_is_exec(a) && signo != 0)
		a->exec_status = 128 + signo;
	supervise_stop(a, CANCEL_OPERATOR);
}

static void handle_engine(void *context, uint32_t events)
{
	struct attempt *a = context;
	struct sock_fds fds;
	struct msg m;
	ssize_t n = sock_recv(a->engine_fd, &m, sizeof(m), NULL, 0, &fds);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		loop_watch_free(a->engine_watch);
		a->engine_watch = NULL;
		a->engine_gone = a->cancelled = true;
		attempt_fail(a, OUTCOME_LOST, "the engine is gone");
		supervise_stop(a, CANCEL_OPERATOR);
		return;
	}
	if (n == sizeof(m) && m.type == MSG_CANCEL)
		handle_cancel(a, (int)m.value[1]);
}

void wire_watch_engine(struct attempt *a)
{
	a->engine_watch = loop_watch_new(a->loop, a->engine_fd, EPOLLIN, handle_engine, a);
}
