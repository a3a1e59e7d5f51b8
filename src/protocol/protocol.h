/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_PROTOCOL_H
#define PROTOCOL_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "ground/base/err.h"
#include "ground/terms/event.h"
#include "ground/terms/msg.h"
#include "ground/terms/outcome.h"

/* One session with a harness, as the warden runs it: it reads and writes the box's standard streams,
 * turns what the harness says into events, and judges whether the protocol holds. It owns no right:
 * it only has these descriptors and the hooks below. Format: docs/protocol.md.
 *
 * Life: session_new → session_launch (hello goes out; for a program, the 30 s handshake begins) →
 * … → session_exited (the harness's first process ended) → session_stopped (the box is dead, the
 * pipes are drained to their end) → hook done. Whoever runs the session may also session_cancel. */

enum session_kind {
	SESSION_PROGRAM, /* hemra/1 */
	SESSION_COMMAND, /* instruction on standard input or nowhere; output is log */
	SESSION_EXEC,    /* bytes are pumped between the operator's descriptors and the box */
};

/* Hooks are called from the loop; they take what they are given before they return. */
struct session_hooks {
	void (*event)(void *context, enum event_type type, const char *data, size_t size);
	/* Raw bytes of a stream (EVENT_HARNESS_STDERR, EVENT_HARNESS_STDOUT), any bytes, at most 64 KiB. */
	void (*stream)(void *context, enum event_type type, const void *bytes, size_t size);
	void (*ready)(void *context);                                    /* the handshake is done */
	void (*artifact)(void *context, const char *path, size_t size);  /* as declared, decoded, unchecked */
	void (*result)(void *context, enum outcome by_its_own_word);     /* at most once */
	/* The protocol, the handshake or a limit broke: the harness is to be stopped. At most once. */
	void (*broke)(void *context, enum outcome outcome, uint64_t offset, const char *sentence);
	void (*done)(void *context, const struct msg_done *done);        /* at most once, last */
};

struct session_streams {
	int input, output, error;       /* our ends of the box's standard streams; owned by the session */
	int from_in, to_out, to_err;    /* SESSION_EXEC: the operator's descriptors, borrowed; -1 otherwise */
};

struct session;
struct loop;

/* The limits travel as struct msg_session. Takes the streams in any case. */
struct session *session_new(struct loop *loop, const struct msg_session *limits,
	const struct session_streams *streams, const struct session_hooks *hooks, void *context);
void session_free(struct session *s); /* accepts NULL */

/* The harness runs now. For a program, payload is the run.start line without its newline, sent once
 * the harness is ready; for a command it is what goes to its standard input (may be empty). Borrowed. */
void session_launch(struct session *s, const char *payload, size_t size);
/* Sends run.cancel (programs, after the handshake) or nothing; events go on. */
void session_cancel(struct session *s, enum cancel_reason reason);
void session_exited(struct session *s, int wait_status);
void session_stopped(struct session *s);

/* Writes run.start for a plan: no secret, by contract. Paths are those of the box. */
struct plan;
struct buf;
void protocol_run_start(const struct plan *plan, const char *deadline_at, struct buf *out);

#endif
