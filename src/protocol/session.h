/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_SESSION_H
#define PROTOCOL_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/ends.h"
#include "protocol/outbox.h"
#include "protocol/protocol.h"
#include "protocol/pump.h"

/* What the files of this folder share. Every kind of session reads its two outputs through pumps;
 * exec has a third one for its input, the others an outbox. Only a program has words to judge. */
struct program;

struct session {
	struct loop *loop; /* borrowed */
	enum session_kind kind;
	struct msg_session limits;
	struct session_hooks hooks;
	void *context;

	struct pump input, output, error; /* input: SESSION_EXEC only */
	struct outbox outbox;             /* the others */
	struct ends kept_output, kept_error;
	struct program *program; /* owned; NULL for other kinds */

	uint64_t output_taken;     /* bytes of standard output within the limit */
	uint64_t output_discarded; /* read and dropped after something broke */

	bool launched, exited, stopped, finished;
	bool cancel_asked;
	enum cancel_reason cancel_reason;
	int wait_status;

	bool broken;
	enum outcome broken_outcome;
	char broken_reason[256];

	struct loop_timer *end_timer; /* after session_stopped: the bound, then the end itself */
};

/* The harness broke something: tells the owner, once. what is a sentence without words of the
 * harness's, because a reason is shown and stored in places that no redaction reaches. */
void session_break(struct session *s, enum outcome outcome, uint64_t offset, const char *what);
/* Events. which: "events", "line", "handshake_ms". */
void session_limit_event(struct session *s, const char *which, uint64_t value, uint64_t limit);
void session_loss_event(struct session *s, const char *what, uint64_t count);
/* data holds one JSON object; it is done after. */
void session_event_consume(struct session *s, enum event_type type, struct buf *data);

/* What cancelling asks for as an outcome. */
enum outcome session_cancelled_outcome(const struct session *s);
/* "exit status 3", "killed by SIGSEGV", "it was not seen to end". */
void session_exit_text(const struct session *s, char *out, size_t size);

#endif
