/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_TERMS_MSG_H
#define GROUND_TERMS_MSG_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Messages between hemra's own processes: SOCK_SEQPACKET, a header of 64 bytes and at most one
 * opaque payload, file descriptors beside it. Whoever receives acts on the header alone; payload
 * bytes are scanned, logged, hashed or handed on, never parsed by a process that holds rights.
 * An unknown type, a wrong version or a wrong length ends the sender. */

#define MSG_VERSION     1
#define MSG_PAYLOAD_MAX (1024 * 1024 + 64 * 1024)

/* X(NAME, what it carries) */
#define MSG_TABLE(X)                                                                                \
	/* engine → nursery */                                                                    \
	X(SPAWN,                                                                                    \
		"value[0] how many more come; fds: engine socket, plan memfd, events file or none") \
	/* engine ↔ steward */                                                                    \
	X(STATE, "value[0] state, value[1] struct wall: the attempt entered a state")               \
	X(SETTLED, "value[0] outcome, value[1] events, value[2] bytes, value[3] flags; payload: "   \
		   "struct msg_settled")                                                            \
	X(ROW_ARTIFACT, "value[0] bytes; payload: struct msg_artifact, then the path")              \
	X(CANCEL, "value[0] enum cancel_reason; towards the steward and on to the warden")          \
	/* steward → warden */                                                                    \
	X(FDS, "value[0] enum session_kind; fds: standard input, output, error of the box; "        \
	       "payload: struct msg_session")                                                       \
	X(LAUNCH, "the harness runs; payload: run.start's line, or the instruction")                \
	X(STOPPED, "the box is dead: drain what the pipes still hold, then say done")               \
	X(EXITED, "value[0] wait status of the harness's first process")                            \
	/* warden → steward */                                                                    \
	X(EVENT, "value[0] enum event_type; payload: one JSON object's bytes")                      \
	X(STREAM, "value[0] event_type of a raw stream; payload: its bytes, any bytes")             \
	X(READY, "the warden is locked down, or (value[0] = 1) the harness shook hands")            \
	X(ARTIFACT, "payload: a path the harness declared, bytes as they came")                     \
	X(RESULT, "value[0] outcome by the harness's own word; the harness should exit now")        \
	X(BROKE, "value[0] outcome, value[1] offset; payload: sentence: stop the harness")          \
	X(DONE, "payload: struct msg_done; the warden has nothing more to say")

enum msg_type {
	MSG_NONE,
#define X(name, about) MSG_##name,
	MSG_TABLE(X)
#undef X
	MSG_TYPE_COUNT,
};

struct msg {
	uint16_t version;
	uint16_t type;   /* enum msg_type */
	uint32_t length; /* payload bytes */
	uint64_t value[6];
	uint64_t reserved; /* 0 */
};
static_assert(sizeof(struct msg) == 64, "the header is 64 bytes");

enum cancel_reason {
	CANCEL_OPERATOR,
	CANCEL_DEADLINE,
	CANCEL_LIMIT,
	CANCEL_REASON_COUNT,
};

const char *msg_type_name(enum msg_type type);
const char *cancel_reason_name(enum cancel_reason reason); /* "operator", "deadline", "limit" */

/* Usage as the harness reported it, summed; -1 where it said nothing. */
struct usage {
	int64_t input, output, cache_read, cache_write, reasoning; /* tokens */
	double cost_usd;                                           /* negative: unknown */
};

struct msg_session {
	uint32_t kind; /* enum session_kind of protocol/ */
	uint32_t reserved;
	uint64_t line_bytes, events_bytes, stderr_bytes;
	int64_t handshake_ms, cancel_grace_ms;
	int64_t deadline_ms; /* told in hello; 0: none */
	uint64_t artifact_files, artifact_bytes;
};

struct msg_done {
	/* enum outcome by what passed on the wire; the steward has the last word */
	uint32_t outcome;
	uint32_t shook_hands;
	uint32_t got_result;
	uint32_t reserved;
	uint64_t stdout_bytes, stderr_bytes, stdin_bytes;
	uint8_t stdin_sha256[32], stdout_sha256[32], stderr_sha256[32];
	struct usage usage;
	char reason[256]; /* a sentence, terminated */
};

enum settled_flag {
	SETTLED_GRADED = 1 << 0,
	SETTLED_SEAL = 1 << 1, /* there is an events file to seal */
};

struct msg_settled {
	uint8_t head[32]; /* chain head after the last line */
	double score;     /* meaningful with SETTLED_GRADED */
	int64_t duration_ms;
	int64_t settled_us; /* struct wall of the last line */
	uint64_t artifact_bytes;
	struct usage usage;
	int32_t exit_status; /* exec: what the command's status maps to */
	uint32_t unexpected; /* probe claims that did not come out as expected */
	char reason[504];
	char planted[504]; /* what git on the host would now obey, "a, b"; empty: nothing new */
};

struct msg_artifact {
	uint8_t sha256[32], raw_sha256[32];
	uint32_t declared;
	uint32_t path_bytes;
	char role[32];
};

#endif
