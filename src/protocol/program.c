/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a hemra/1 session: handshake, work, result, and what its end means.
 *
 * How it works. message.c takes the lines one by one and moves `phase` forward; here are the things
 * that are no line: launch, cancel, silence, end-of-file. End-of-file and the end of the process
 * arrive in either order, so neither is judged at once: the outcome is worked out when the session
 * ends. Only a harness that closes its output and goes on running is told off, after a second. */

#include "protocol/program.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/loop/loop.h"
#include "protocol/session.h"

#define DEPTH_MAX 64

/* A value takes two bytes at least, its comma included. */
#define NODES_MAX (PROTOCOL_LINE_BYTES_MAX / 2 + 2)

/* How long a harness may live on with its standard output closed and no result given. */
#define SILENT_MS 1000

static void handle_timer(void *context)
{
	struct program *p = context;
	struct session *s = p->session;

	if (p->output_over && p->phase == PROGRAM_WORKING) {
		session_break(s, OUTCOME_CRASHED, s->output_taken,
			"it closed its standard output without a result");
	} else if (p->output_over) {
		session_break(s, OUTCOME_HANDSHAKE_FAILED, s->output_taken,
			"it closed its standard output before ready");
	} else if (!s->broken) {
		session_limit_event(s, "handshake_ms", (uint64_t)s->limits.handshake_ms,
			(uint64_t)s->limits.handshake_ms);
		session_break(s, OUTCOME_HANDSHAKE_FAILED, s->output_taken,
			"it did not say ready in time");
	}
}

struct program *program_new(struct session *s)
{
	struct program *p = own_alloc(sizeof(*p));

	p->session = s;
	p->usage = (struct usage){-1, -1, -1, -1, -1, -1};
	ndjson_init(&p->lines, s->limits.line_bytes);
	json_doc_init(&p->doc, NODES_MAX, DEPTH_MAX);
	buf_init(&p->scratch, MSG_PAYLOAD_MAX + 1);
	p->timer = loop_timer_new(s->loop, handle_timer, p);
	return p;
}

void program_free(struct program *p)
{
	if (p == NULL)
		return;
	loop_timer_free(p->timer);
	ndjson_done(&p->lines);
	json_doc_done(&p->doc);
	buf_done(&p->scratch);
	free(p->start);
	free(p);
}

void program_launch(struct program *p, const char *start, size_t size)
{
	struct session *s = p->session;

	assert(size > 0 && size <= MSG_PAYLOAD_MAX);
	p->start = own_strndup(start, size);
	p->start_bytes = size;
	p->phase = PROGRAM_HANDSHAKE;
	say_hello(p);
	loop_timer_arm(p->timer, s->limits.handshake_ms);
}

void program_output(struct program *p, const char *bytes, size_t size)
{
	struct session *s = p->session;
	int r = ndjson_feed(&p->lines, bytes, size, program_line, p);

	if (r == -EMSGSIZE) {
		session_limit_event(s, "line", s->limits.line_bytes + 1, s->limits.line_bytes);
		session_break(s, OUTCOME_LIMIT_LINE, p->lines.offset,
			"it wrote a longer line than allowed");
	} else if (r == -ENOMEM) {
		session_break(s, OUTCOME_INFRA_ENVIRONMENT, p->lines.offset,
			"no memory for a line of its output");
	}
}

void program_output_over(struct program *p)
{
	const struct buf *pending = &p->lines.pending;
	struct session *s = p->session;

	p->output_over = true;
	if (s->broken || p->phase == PROGRAM_SILENT)
		return;
	loop_timer_disarm(p->timer);
	if (pending->len > 0 && p->phase == PROGRAM_FINISHED) {
		program_fault(
			p, pending->data, pending->len, 0, p->lines.offset, "output after result");
		return;
	}
	if (pending->len > 0) {
		program_fault_event(p, pending->data, pending->len, pending->len, p->lines.offset,
			"standard output ended in the middle of a line");
		p->cut = true;
	}
	if (p->phase != PROGRAM_FINISHED && !s->exited && !s->stopped)
		loop_timer_arm(p->timer, SILENT_MS);
}

void program_cancel(struct program *p)
{
	/* before ready it waits for ready, in the place of run.start */
	if (p->phase == PROGRAM_WORKING && p->session->outbox.queue.len < OUTBOX_BYTES)
		say_cancel(p);
}

void program_exited(struct program *p)
{
	loop_timer_disarm(p->timer);
}

enum outcome program_outcome(const struct program *p, char *reason, size_t size)
{
	const struct session *s = p->session;
	const char *how = p->cut ? "ended in the middle of a line" : "ended";
	char ended[64];

	if (p->phase == PROGRAM_FINISHED) {
		if (p->word == OUTCOME_REFUSED)
			(void)snprintf(reason, size,
				p->needs_sign_in ? "it needs a sign-in that it was not given"
						 : "it declined the task");
		else if (p->word == OUTCOME_AGENT_ERROR)
			(void)snprintf(reason, size, "it reported that it did not complete");
		return p->word;
	}
	session_exit_text(s, ended, sizeof(ended));
	if (p->phase == PROGRAM_WORKING)
		(void)snprintf(reason, size, "it %s without a result: %s", how, ended);
	else
		(void)snprintf(reason, size, "it %s before ready: %s", how, ended);
	if (s->cancel_asked)
		return session_cancelled_outcome(s);
	return p->phase == PROGRAM_WORKING ? OUTCOME_CRASHED : OUTCOME_HANDSHAKE_FAILED;
}
