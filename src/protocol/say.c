/* SPDX-License-Identifier: Apache-2.0 */
/* What hemra says in a hemra/1 session. */

#include <stdio.h>

#include "ground/terms/plan.h"
#include "protocol/program.h"
#include "protocol/session.h"

#define TMP_IN_BOX "/tmp"

/* A type of the harness's longer than this is not repeated to it. */
#define TYPE_BYTES_MAX 256

static struct json_writer open_message(struct program *p, const char *type)
{
	struct json_writer w;

	buf_reset(&p->scratch);
	json_writer_init(&w, &p->scratch);
	json_object_open(&w);
	json_pair_string(&w, "type", type);
	return w;
}

/* Ends the message in scratch, records it when the record has a kind for it, and queues it. */
static void send_message(struct program *p, struct json_writer *w, enum event_type type)
{
	struct session *s = p->session;

	if (w != NULL)
		json_object_close(w);
	if (type != EVENT_TYPE_COUNT)
		s->hooks.event(s->context, type, p->scratch.data, p->scratch.len);
	(void)buf_add_char(&p->scratch, '\n');
	if (outbox_put(&s->outbox, p->scratch.data, p->scratch.len) < 0)
		program_fault(p, "", 0, 0, s->output_taken,
			"it asks and does not read the answers on its standard input");
}

void say_hello(struct program *p)
{
	const struct msg_session *limits = &p->session->limits;
	struct json_writer w = open_message(p, "hello");

	json_pair_string(&w, "protocol", "hemra/1");
	json_pair_string(&w, "min", "hemra/1");
	json_key(&w, "runner");
	json_object_open(&w);
	json_pair_string(&w, "name", "hemra");
	json_pair_string(&w, "version", HEMRA_VERSION);
	json_object_close(&w);
	json_key(&w, "limits");
	json_object_open(&w);
	json_pair_uint(&w, "line_bytes", limits->line_bytes);
	json_pair_uint(&w, "events_bytes", limits->events_bytes);
	json_pair_uint(&w, "stderr_bytes", limits->stderr_bytes);
	json_pair_int(&w, "handshake_ms", limits->handshake_ms);
	if (limits->deadline_ms > 0)
		json_pair_int(&w, "deadline_ms", limits->deadline_ms);
	json_pair_uint(&w, "artifact_files", limits->artifact_files);
	json_pair_uint(&w, "artifact_bytes", limits->artifact_bytes);
	json_object_close(&w);
	send_message(p, &w, EVENT_HARNESS_HELLO);
}

void say_start(struct program *p)
{
	buf_reset(&p->scratch);
	(void)buf_add(&p->scratch, p->start, p->start_bytes);
	send_message(p, /* w= */ NULL, EVENT_HARNESS_START);
}

static void put_reason(struct json_writer *w, const struct session *s)
{
	json_pair_string(w, "reason", cancel_reason_name(s->cancel_reason));
	json_pair_int(w, "grace_ms", s->limits.cancel_grace_ms);
	json_object_close(w);
}

void say_cancel(struct program *p)
{
	struct session *s = p->session;
	struct json_writer w;
	struct buf data;

	buf_init(&data, TYPE_BYTES_MAX);
	json_writer_init(&w, &data);
	json_object_open(&w);
	put_reason(&w, s);
	session_event_consume(s, EVENT_HARNESS_CANCEL, &data);
	w = open_message(p, "run.cancel");
	put_reason(&w, s);
	send_message(p, /* w= */ NULL, EVENT_TYPE_COUNT);
}

void say_pong(struct program *p)
{
	struct json_writer w = open_message(p, "pong");

	send_message(p, &w, EVENT_TYPE_COUNT);
}

void say_permission(struct program *p, struct str id, struct str option)
{
	struct session *s = p->session;
	struct json_writer w;
	struct buf data;

	buf_init(&data, 4096);
	json_writer_init(&w, &data);
	json_object_open(&w);
	json_pair_string(&w, "what", "permission.request");
	json_pair_string(&w, "verdict", "deny");
	json_pair_string(&w, "rule", "this version grants no permission that a harness asks for");
	json_key(&w, "id");
	json_put_raw(&w, id.p, id.n);
	json_key(&w, "option");
	json_put_raw(&w, option.p, option.n);
	json_object_close(&w);
	session_event_consume(s, EVENT_DECISION, &data);
	w = open_message(p, "permission.reply");
	json_key(&w, "id");
	json_put_raw(&w, id.p, id.n);
	json_key(&w, "option");
	json_put_raw(&w, option.p, option.n);
	send_message(p, &w, EVENT_TYPE_COUNT);
}

void say_unknown(struct program *p, struct str type)
{
	struct json_writer w = open_message(p, "error");

	json_pair_string(&w, "code", "unknown_type");
	json_pair_string(&w, "message", "hemra/1 has no message of this type; it was stored");
	if (type.n <= TYPE_BYTES_MAX) {
		json_key(&w, "of");
		json_put_raw(&w, type.p, type.n);
	}
	send_message(p, &w, EVENT_TYPE_COUNT);
}

static void put_task(struct json_writer *w, const struct plan *plan)
{
	json_key(w, "task");
	json_object_open(w);
	json_pair_string(w, "id", plan->task.name);
	if (plan->task.digest[0] != '\0') {
		char digest[sizeof("sha256:") + 64];

		(void)snprintf(digest, sizeof(digest), "sha256:%s", plan->task.digest);
		json_pair_string(w, "digest", digest);
	}
	json_pair_string(
		w, "instruction", plan->task.instruction != NULL ? plan->task.instruction : "");
	json_object_close(w);
}

void protocol_run_start(
	const struct plan *plan, const char *artifacts, const char *deadline_at, struct buf *out)
{
	const char *workdir = plan->task.workdir;
	struct json_writer w;

	json_writer_init(&w, out);
	json_object_open(&w);
	json_pair_string(&w, "type", "run.start");
	json_pair_string(&w, "run_id", plan->run.text);
	json_pair_string(&w, "attempt_id", plan->attempt.text);
	put_task(&w, plan);
	json_key(&w, "paths");
	json_object_open(&w);
	json_pair_string(
		&w, "workspace", workdir != NULL ? workdir : plan->sandbox.workspace_target);
	json_pair_string(&w, "artifacts", artifacts);
	json_pair_string(&w, "tmp", TMP_IN_BOX);
	json_object_close(&w);
	json_key(&w, "model");
	json_object_open(&w);
	if (plan->harness.model != NULL)
		json_pair_string(&w, "name", plan->harness.model);
	json_object_close(&w);
	json_key(&w, "mcp");
	json_array_open(&w);
	json_array_close(&w);
	json_key(&w, "params");
	json_object_open(&w);
	json_object_close(&w);
	json_key(&w, "limits");
	json_object_open(&w);
	if (plan->limits.deadline_ms > 0)
		json_pair_int(&w, "deadline_ms", plan->limits.deadline_ms);
	json_pair_uint(&w, "artifact_files", plan->limits.artifact_files);
	json_pair_uint(&w, "artifact_bytes", plan->limits.artifact_bytes);
	json_pair_uint(&w, "artifacts_bytes", plan->limits.artifacts_bytes);
	json_object_close(&w);
	if (deadline_at != NULL)
		json_pair_string(&w, "deadline_at", deadline_at);
	json_object_close(&w);
}
