/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_PROGRAM_H
#define PROTOCOL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"
#include "ground/terms/msg.h"
#include "ground/terms/outcome.h"
#include "ground/wire/json.h"
#include "ground/wire/ndjson.h"

struct session;
struct loop_timer;

/* The harness's side of a hemra/1 session. It only moves forward. */
enum program_phase {
	PROGRAM_SILENT,    /* before launch: what it may have written waits in the pipe */
	PROGRAM_HANDSHAKE, /* hello is out, ready is awaited; ping, pong, unknown messages may come */
	PROGRAM_WORKING,   /* ready came, run.start is out; everything may come but another ready */
	PROGRAM_FINISHED, /* result came; only pong may come, then end-of-file */
};

struct program {
	struct session *session; /* borrowed: owner */
	enum program_phase phase;
	struct ndjson lines;
	struct json_doc doc;
	struct buf scratch; /* messages and wrapped lines on their way out */
	char *start;        /* owned; run.start, until it is sent */
	size_t start_bytes;
	int64_t seq; /* of the last event */
	struct usage usage;
	enum outcome word;  /* by result */
	bool needs_sign_in; /* refused, because of it */
	bool cut;           /* output ended within a line */
	bool output_over;
	/* Handshake, then: standard output is closed and the process goes on. */
	struct loop_timer *timer;
};

struct program *program_new(struct session *s);
void program_free(struct program *p); /* accepts NULL */
void program_launch(struct program *p, const char *start, size_t size);
void program_output(struct program *p, const char *bytes, size_t size);
void program_output_over(struct program *p);
void program_cancel(struct program *p);
void program_exited(struct program *p);
/* Outcome and reason by what passed, when nothing broke. */
enum outcome program_outcome(const struct program *p, char *reason, size_t size);

/* message.c: one line of the harness's. An ndjson line function; context is the program. Negative
 * when the session broke, -ENOMEM when only memory ran out. */
int program_line(void *context, const char *bytes, size_t size, uint64_t offset);
/* A byte that breaks the protocol: an event that holds what was around it, then the break.
 * at <= size; offset is where line starts in the stream. */
void program_fault(struct program *p, const char *line, size_t size, size_t at, uint64_t offset,
	const char *what);
void program_fault_event(struct program *p, const char *line, size_t size, size_t at,
	uint64_t offset, const char *what);

/* say.c: what hemra says. Each builds a line in p->scratch and queues it. */
void say_hello(struct program *p);
void say_start(struct program *p);
void say_cancel(struct program *p);
void say_pong(struct program *p);
/* id and option are JSON strings as they came, quotes included. */
void say_permission(struct program *p, struct str id, struct str option);
void say_unknown(struct program *p, struct str type);

#endif
