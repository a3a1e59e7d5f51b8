/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session, whatever its kind.
 *
 * How it works. The two outputs of the box are read by pumps from launch to the end of the box. A
 * program's output goes line by line into program.c, a command's into the record, an exec's on to
 * the operator. Once something broke, output is still read and dropped, so that a harness that
 * wants to stop in order is not held by a full pipe.
 *
 * The end: session_stopped says that nobody writes any more. Each pump then takes what its pipe
 * holds at that moment, so a process that outlived its box and floods cannot delay the end. When
 * both outputs are over, or after two seconds, done is said from a timer, never from within the
 * call that found the end. Only an exec may take longer: what its command wrote belongs to the
 * operator, whose reader may be slow (a pager); a cancel ends that wait. */

#include "protocol/session.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ground/base/own.h"
#include "ground/loop/loop.h"
#include "ground/wire/json.h"
#include "protocol/program.h"

#define END_WAIT_MS       2000
#define SMALL_EVENT_BYTES 1024
#define READ_BYTES        (128 * 1024)
#define EXEC_BYTES        (64 * 1024)
#define STDERR_READ_BYTES (16 * 1024)

void session_event_consume(struct session *s, enum event_type type, struct buf *data)
{
	assert(buf_status(data) == 0);
	s->hooks.event(s->context, type, data->data, data->len);
	buf_done(data);
}

void session_loss_event(struct session *s, const char *what, uint64_t count)
{
	struct json_writer w;
	struct buf data;

	buf_init(&data, SMALL_EVENT_BYTES);
	json_writer_init(&w, &data);
	json_object_open(&w);
	json_pair_string(&w, "what", what);
	json_pair_uint(&w, "count", count);
	json_object_close(&w);
	session_event_consume(s, EVENT_LOSS, &data);
}

void session_break(struct session *s, enum outcome outcome, uint64_t offset, const char *what)
{
	if (s->broken)
		return;
	s->broken = true;
	s->broken_outcome = outcome;
	(void)snprintf(s->broken_reason, sizeof(s->broken_reason), "%s", what); /* cut if need be */
	s->hooks.broke(s->context, outcome, offset, s->broken_reason);
}

void session_limit_event(struct session *s, const char *which, uint64_t value, uint64_t limit)
{
	struct json_writer w;
	struct buf data;

	buf_init(&data, SMALL_EVENT_BYTES);
	json_writer_init(&w, &data);
	json_object_open(&w);
	json_pair_string(&w, "which", which);
	json_pair_uint(&w, "value", value);
	json_pair_uint(&w, "limit", limit);
	json_object_close(&w);
	session_event_consume(s, EVENT_LIMIT, &data);
}

enum outcome session_cancelled_outcome(const struct session *s)
{
	return s->cancel_reason == CANCEL_DEADLINE ? OUTCOME_AGENT_TIMEOUT : OUTCOME_CANCELLED;
}

void session_exit_text(const struct session *s, char *out, size_t size)
{
	const char *name;

	if (!s->exited) {
		(void)snprintf(out, size, "its end was not seen");
	} else if (WIFSIGNALED(s->wait_status)) {
		name = sigabbrev_np(WTERMSIG(s->wait_status));
		(void)snprintf(out, size, "killed by SIG%s", name != NULL ? name : "?");
	} else {
		(void)snprintf(out, size, "exit status %d", WEXITSTATUS(s->wait_status));
	}
}

/* Outputs */

static void output_seen(void *context, const char *bytes, size_t size)
{
	struct session *s = context;
	uint64_t room = s->limits.events_bytes - s->output_taken;
	size_t take = size < room ? size : (size_t)room;

	if (s->broken) {
		s->output_discarded += size;
		if (s->output_discarded > s->limits.events_bytes)
			pump_close(&s->output); /* from here on its writer gets SIGPIPE */
		return;
	}
	s->output_taken += take;
	if (take > 0 && s->kind == SESSION_PROGRAM)
		program_output(s->program, bytes, take);
	else if (take > 0)
		ends_add(&s->kept_output, bytes, take);
	if (take < size && !s->broken) {
		session_limit_event(
			s, "events", s->output_taken + size - take, s->limits.events_bytes);
		session_break(s, OUTCOME_LIMIT_EVENTS, s->output_taken,
			"it wrote more bytes on its standard output than allowed");
	}
}

static void exec_output_seen(void *context, const char *bytes, size_t size)
{
	struct session *s = context;

	if (s->hooks.stream != NULL)
		ends_add(&s->kept_output, bytes, size);
}

static void error_seen(void *context, const char *bytes, size_t size)
{
	struct session *s = context;

	if (s->hooks.stream != NULL)
		ends_add(&s->kept_error, bytes, size);
}

static void finish_when_over(struct session *s)
{
	if (s->stopped && !s->finished && s->output.over && s->error.over)
		loop_timer_arm(s->end_timer, 0);
}

static void output_over(void *context)
{
	struct session *s = context;

	if (s->kind == SESSION_PROGRAM)
		program_output_over(s->program);
	else
		ends_end(&s->kept_output);
	finish_when_over(s);
}

static void error_over(void *context)
{
	struct session *s = context;

	ends_end(&s->kept_error);
	finish_when_over(s);
}

static void input_over(void *context)
{
	(void)context; /* the box's input is closed; nothing waits for it */
}

static void output_piece(void *context, const char *bytes, size_t size)
{
	struct session *s = context;

	s->hooks.stream(s->context, EVENT_HARNESS_STDOUT, bytes, size);
}

static void error_piece(void *context, const char *bytes, size_t size)
{
	struct session *s = context;

	s->hooks.stream(s->context, EVENT_HARNESS_STDERR, bytes, size);
}

static void output_lost(void *context, uint64_t bytes)
{
	session_loss_event(context, "bytes of standard output", bytes);
}

static void error_lost(void *context, uint64_t bytes)
{
	session_loss_event(context, "bytes of standard error", bytes);
}

/* The end */

/* By the exit status of the first process: commands and exec. */
static enum outcome exit_outcome(const struct session *s, char *reason, size_t size)
{
	int failed = s->output.error != 0 ? s->output.error : s->error.error;

	if (s->kind == SESSION_EXEC && failed != 0) {
		(void)snprintf(
			reason, size, "its output could not be written: %s", strerror(failed));
		return OUTCOME_INFRA_ENVIRONMENT;
	}
	if (s->exited && WIFEXITED(s->wait_status) && WEXITSTATUS(s->wait_status) == 0)
		return OUTCOME_COMPLETED;
	session_exit_text(s, reason, size);
	if (s->cancel_asked)
		return session_cancelled_outcome(s);
	return s->exited && WIFEXITED(s->wait_status) ? OUTCOME_AGENT_ERROR : OUTCOME_CRASHED;
}

static void pump_report(struct pump *p, uint64_t *bytes, uint8_t sha256[32])
{
	*bytes = p->count;
	if (p->hashing)
		(void)crypto_hash_sha256_final(&p->hash, sha256);
}

static void finish(struct session *s)
{
	struct msg_done done = {.usage = {-1, -1, -1, -1, -1, -1}};

	s->finished = true;
	pump_close(&s->input);
	outbox_done(&s->outbox);
	if (s->kind == SESSION_PROGRAM) {
		done.outcome = program_outcome(s->program, done.reason, sizeof(done.reason));
		done.shook_hands = s->program->phase >= PROGRAM_WORKING;
		done.got_result = s->program->phase == PROGRAM_FINISHED;
		done.usage = s->program->usage;
	} else {
		done.outcome = exit_outcome(s, done.reason, sizeof(done.reason));
	}
	if (s->broken) {
		done.outcome = s->broken_outcome;
		(void)snprintf(done.reason, sizeof(done.reason), "%s", s->broken_reason);
	}
	pump_report(&s->input, &done.stdin_bytes, done.stdin_sha256);
	pump_report(&s->output, &done.stdout_bytes, done.stdout_sha256);
	pump_report(&s->error, &done.stderr_bytes, done.stderr_sha256);
	if (s->kind != SESSION_EXEC)
		done.stdin_bytes = s->outbox.written;
	s->hooks.done(s->context, &done); /* the last thing: it may free the session */
}

static void handle_end(void *context)
{
	struct session *s = context;

	if (!s->output.over || !s->error.over) { /* the bound passed */
		if (s->kind == SESSION_EXEC && !s->cancel_asked)
			return; /* what is left is counted and waits for the operator's reader */
		pump_close(&s->output);
		pump_close(&s->error);
		return; /* both are over now, which has armed the timer again */
	}
	finish(s);
}

/* The door */

static void exec_streams(struct session *s, const struct session_streams *streams)
{
	port_borrow(&s->input.from, streams->from_in);
	port_own(&s->input.to, streams->input);
	port_own(&s->output.from, streams->output);
	port_borrow(&s->output.to, streams->to_out);
	port_own(&s->error.from, streams->error);
	port_borrow(&s->error.to, streams->to_err);
	s->input.counting = PUMP_COUNT_WRITTEN;
	s->input.hashing = s->output.hashing = s->error.hashing = true;
	outbox_init(&s->outbox, /* fd= */ -1);
}

static void harness_streams(struct session *s, const struct session_streams *streams)
{
	port_borrow(&s->input.from, /* fd= */ -1);
	port_own(&s->input.to, /* fd= */ -1);
	port_own(&s->output.from, streams->output);
	port_borrow(&s->output.to, /* fd= */ -1);
	port_own(&s->error.from, streams->error);
	port_borrow(&s->error.to, /* fd= */ -1);
	outbox_init(&s->outbox, streams->input);
}

static void keeps_init(struct session *s)
{
	static const struct ends_hooks output_hooks = {output_piece, output_lost};
	static const struct ends_hooks error_hooks = {error_piece, error_lost};
	uint64_t begin = s->limits.stderr_bytes / 2;

	if (s->kind == SESSION_EXEC) {
		uint64_t max = s->limits.events_bytes > 0 ? s->limits.events_bytes : UINT64_MAX;

		ends_init(&s->kept_output, max, /* end_max= */ 0, &output_hooks, s);
		ends_init(&s->kept_error, max, /* end_max= */ 0, &error_hooks, s);
		return;
	}
	/* a command's output has its limit before it comes here */
	ends_init(&s->kept_output, UINT64_MAX, /* end_max= */ 0, &output_hooks, s);
	ends_init(&s->kept_error, begin, s->limits.stderr_bytes - begin, &error_hooks, s);
}

struct session *session_new(struct loop *loop, const struct msg_session *limits,
	const struct session_streams *streams, const struct session_hooks *hooks, void *context)
{
	static const struct pump_hooks input_hooks = {NULL, input_over};
	static const struct pump_hooks output_hooks = {output_seen, output_over};
	static const struct pump_hooks exec_output_hooks = {exec_output_seen, output_over};
	static const struct pump_hooks error_hooks = {error_seen, error_over};
	struct session *s = own_alloc(sizeof(*s));

	s->loop = loop;
	s->kind = (enum session_kind)limits->kind;
	s->limits = *limits;
	s->hooks = *hooks;
	s->context = context;
	assert(s->kind != SESSION_PROGRAM ||
		(limits->line_bytes > 0 && limits->line_bytes <= PROTOCOL_LINE_BYTES_MAX));
	(void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an errno here, everywhere */
	if (s->kind == SESSION_EXEC)
		exec_streams(s, streams);
	else
		harness_streams(s, streams);
	pump_init(&s->input, loop, &input_hooks, s);
	pump_init(
		&s->output, loop, s->kind == SESSION_EXEC ? &exec_output_hooks : &output_hooks, s);
	pump_init(&s->error, loop, &error_hooks, s);
	keeps_init(s);
	if (s->kind == SESSION_PROGRAM)
		s->program = program_new(s);
	s->end_timer = loop_timer_new(loop, handle_end, s);
	return s;
}

void session_free(struct session *s)
{
	if (s == NULL)
		return;
	loop_timer_free(s->end_timer);
	program_free(s->program);
	outbox_done(&s->outbox);
	pump_done(&s->input);
	pump_done(&s->output);
	pump_done(&s->error);
	ends_done(&s->kept_output);
	ends_done(&s->kept_error);
	free(s);
}

void session_launch(struct session *s, const char *payload, size_t size)
{
	assert(!s->launched);
	if (s->stopped)
		return;
	s->launched = true;
	outbox_start(&s->outbox, s->loop);
	if (s->kind == SESSION_PROGRAM) {
		program_launch(s->program, payload, size);
	} else if (s->kind == SESSION_COMMAND) {
		(void)outbox_put(&s->outbox, payload, size); /* the queue is empty: it has room */
		outbox_end(&s->outbox);
	} else {
		pump_start(&s->input, EXEC_BYTES);
	}
	pump_start(&s->output, s->kind == SESSION_EXEC ? EXEC_BYTES : READ_BYTES);
	pump_start(&s->error, s->kind == SESSION_EXEC ? EXEC_BYTES : STDERR_READ_BYTES);
}

void session_cancel(struct session *s, enum cancel_reason reason)
{
	if (s->cancel_asked || s->finished)
		return;
	s->cancel_asked = true;
	s->cancel_reason = reason;
	if (s->kind == SESSION_PROGRAM)
		program_cancel(s->program);
	if (s->stopped && s->kind == SESSION_EXEC)
		loop_timer_arm(s->end_timer, 0); /* it waits for an operator who has had enough */
}

void session_exited(struct session *s, int wait_status)
{
	s->exited = true;
	s->wait_status = wait_status;
	pump_close(&s->input); /* what the operator types now is not for this command */
	if (s->kind == SESSION_PROGRAM)
		program_exited(s->program);
}

void session_stopped(struct session *s)
{
	if (s->stopped)
		return;
	s->stopped = true;
	loop_timer_arm(s->end_timer, END_WAIT_MS);
	pump_close(&s->input);
	if (s->launched) {
		pump_last(&s->output);
		pump_last(&s->error);
	} else {
		pump_close(&s->output);
		pump_close(&s->error);
	}
	finish_when_over(s);
}
