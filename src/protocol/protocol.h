/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_PROTOCOL_H
#define PROTOCOL_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "ground/base/err.h"
#include "ground/terms/event.h"
#include "ground/terms/msg.h"
#include "ground/terms/outcome.h"

/* One session with a harness, as the warden runs it: it reads and writes the box's standard
 * streams, turns what the harness says into events, and judges whether the protocol holds. It owns
 * no right: it only has these descriptors and the hooks below. Format: docs/protocol.md.
 *
 * Life: session_new → session_launch (hello goes out; for a program, the handshake begins) → … →
 * session_exited (the harness's first process ended) → session_stopped (the box is dead, what the
 * pipes hold is taken) → hook done, two seconds later at most. Only an exec waits longer, for an
 * operator who is slow to read what the command wrote; session_cancel ends that wait too.
 * Whoever runs the session may session_cancel at any time. A session never blocks the loop.
 *
 * System calls beyond the loop's: read write recvfrom sendto splice pipe2 poll fstat fcntl (F_SETFL
 * on our own ends) ioctl (FIONREAD, TCGETS) close rt_sigaction (SIGPIPE is ignored from
 * session_new on). */

enum session_kind {
	SESSION_PROGRAM, /* hemra/1 */
	SESSION_COMMAND, /* instruction on standard input or nowhere; output is log */
	SESSION_EXEC,    /* bytes are pumped between the operator's descriptors and the box */
};

/* Hooks are called from the loop, event also from session_launch and session_cancel; they take what
 * they are given before they return. None may free the session but done. All are set but stream,
 * which may be NULL: then the streams are not for the record. */
struct session_hooks {
	/* One JSON object without a byte below 0x20, at most MSG_PAYLOAD_MAX bytes. */
	void (*event)(void *context, enum event_type type, const char *data, size_t size);
	/* EVENT_HARNESS_STDERR or EVENT_HARNESS_STDOUT: any bytes, at most 64 KiB of them. */
	void (*stream)(void *context, enum event_type type, const void *bytes, size_t size);
	void (*ready)(void *context); /* the handshake is done */
	void (*artifact)(
		void *context, const char *path, size_t size); /* as declared, decoded, unchecked */
	void (*result)(void *context, enum outcome by_its_own_word); /* at most once */
	/* Protocol, handshake or a limit broke: the harness is to be stopped. At most once. sentence
	 * holds no word of the harness's. */
	void (*broke)(void *context, enum outcome outcome, uint64_t offset, const char *sentence);
	void (*done)(void *context, const struct msg_done *done); /* at most once, last */
};

#define PROTOCOL_LINE_BYTES_MAX (1024 * 1024) /* with its newline, whatever the limits say */

struct session_streams {
	int input, output, error; /* our ends of the box's standard streams; owned by the session */
	/* SESSION_EXEC: the operator's descriptors, borrowed; three numbers even if one file is
	 * behind them; -1 for none. Nothing is set on them, not even O_NONBLOCK. */
	int from_in, to_out, to_err;
};

struct session;
struct loop;

/* The limits travel as struct msg_session; line_bytes is at most PROTOCOL_LINE_BYTES_MAX. For an
 * exec events_bytes bounds what each stream gives to the record, 0 meaning no bound.
 * Takes input, output and error in any case. */
struct session *session_new(struct loop *loop, const struct msg_session *limits,
	const struct session_streams *streams, const struct session_hooks *hooks, void *context);
void session_free(struct session *s); /* accepts NULL */

/* The harness runs now. payload, borrowed, at most MSG_PAYLOAD_MAX: for a program the run.start line
 * without its newline, sent once the harness is ready; for a command what goes to its standard
 * input, may be empty; for an exec nothing. */
void session_launch(struct session *s, const char *payload, size_t size);
/* Sends run.cancel (to a program that shook hands) or nothing; events go on. The first reason
 * stands. */
void session_cancel(struct session *s, enum cancel_reason reason);
void session_exited(struct session *s, int wait_status);
void session_stopped(struct session *s);

/* Writes run.start for a plan: no secret, by contract. artifacts is where the harness finds that
 * directory; deadline_at may be NULL. */
struct plan;
struct buf;
void protocol_run_start(
	const struct plan *plan, const char *artifacts, const char *deadline_at, struct buf *out);

#endif
