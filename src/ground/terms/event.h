/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_TERMS_EVENT_H
#define GROUND_TERMS_EVENT_H

#include <stddef.h>
#include <stdint.h>

/* Every kind of line in an events file. docs/events.md is generated from this table.
 * X(NAME, source, type, the fields of data, what it says) */
#define EVENT_TABLE(X)                                                                             \
	X(ATTEMPT_PLANNED, RUNNER, "attempt.planned",                                              \
		"run, attempt, index, of, harness, task, manifest, hemra",                         \
		"first line: the attempt is planned; manifest is the digest of "                   \
		"manifests/<digest>.json")                                                         \
	X(ATTEMPT_STATE, RUNNER, "attempt.state", "state", "the attempt entered a state")          \
	X(ATTEMPT_SETTLED, RUNNER, "attempt.settled",                                              \
		"outcome, reason, score, graded, usage, duration_ms, weaker",                      \
		"last line of an attempt that ended in order")                                     \
	X(ATTEMPT_TOMBSTONE, RUNNER, "attempt.tombstone", "when, why, removed",                    \
		"what was deleted, when and why")                                                  \
	X(PROBE_RESULT, RUNNER, "probe.result", "claims, held, unexpected, duration_us",           \
		"what the probe tried in this box and what came of it")                            \
	X(HARNESS_HELLO, RUNNER, "harness.hello", "hello as sent", "the handshake's first half")   \
	X(HARNESS_READY, HARNESS, "harness.ready", "ready as received",                            \
		"the handshake's second half")                                                     \
	X(HARNESS_START, RUNNER, "harness.start", "run.start as sent",                             \
		"the task as the harness got it")                                                  \
	X(HARNESS_MESSAGE, HARNESS, "harness.message", "event as received",                        \
		"kinds message, thought")                                                          \
	X(HARNESS_TOOL_CALL, HARNESS, "harness.tool_call", "event as received", "kind tool.call")  \
	X(HARNESS_TOOL_RESULT, HARNESS, "harness.tool_result", "event as received",                \
		"kind tool.result")                                                                \
	X(HARNESS_USAGE, HARNESS, "harness.usage", "event as received", "kind usage")              \
	X(HARNESS_OTHER, HARNESS, "harness.other", "line as received",                             \
		"every other kind or type, kept as it came")                                       \
	X(HARNESS_RESULT, HARNESS, "harness.result", "result as received",                         \
		"the harness's own verdict on itself")                                             \
	X(HARNESS_CANCEL, RUNNER, "harness.cancel", "reason, grace_ms", "run.cancel was sent")     \
	X(HARNESS_STDERR, STDERR, "harness.stderr", "text or b64", "a piece of standard error")    \
	X(HARNESS_STDOUT, HARNESS, "harness.stdout", "text or b64",                                \
		"a piece of standard output of a command")                                         \
	X(HARNESS_EXIT, RUNNER, "harness.exit", "code or signal, oom, lingered, survivors",        \
		"how the harness's process ended")                                                 \
	X(PROTOCOL_ERROR, RUNNER, "protocol.error", "what, offset, sample",                        \
		"which byte of standard output broke the protocol, and the bytes around it")       \
	X(ARTIFACT, RUNNER, "artifact",                                                            \
		"path, role, media_type, bytes, sha256, raw_sha256, declared, refused",            \
		"a file taken in, or refused with the reason")                                     \
	X(WORKSPACE, RUNNER, "workspace", "added, changed, removed, planted, listing",             \
		"what the attempt changed; planted names files that a host program would run")     \
	X(LIMIT, RUNNER, "limit", "which, value, limit", "a limit was hit")                        \
	X(DECISION, RUNNER, "decision", "what, verdict, rule",                                     \
		"a decision, written before it took effect")                                       \
	X(CANCEL, OPERATOR, "cancel", "by_uid, by_pid", "somebody asked for the attempt to stop")  \
	X(LOSS, RUNNER, "loss", "what, count", "something that could not be recorded, counted")    \
	X(REDACTED, RUNNER, "redacted", "counts by name, split",                                   \
		"how often each secret's value was replaced before it was written")                \
	X(VERIFIER_START, VERIFIER, "verifier.start", "repeat, timeout_ms",                        \
		"the verifier's box starts")                                                       \
	X(VERIFIER_OUTPUT, VERIFIER, "verifier.output", "text or b64",                             \
		"a piece of the verifier's output")                                                \
	X(VERIFIER_EXIT, VERIFIER, "verifier.exit", "code or signal, duration_ms",                 \
		"the verifier ended")                                                              \
	X(SCORE, VERIFIER, "score", "graded, reward, rewards, source, reason, warnings",           \
		"what the verifier's reward files said")                                           \
	X(EXEC_STREAMS, RUNNER, "exec.streams", "stdin, stdout, stderr: bytes and sha256",         \
		"sizes and digests of what passed through an exec")

enum event_type {
#define X(name, source, type, data, about) EVENT_##name,
	EVENT_TABLE(X)
#undef X
	EVENT_TYPE_COUNT,
};

const char *event_type_name(enum event_type type);
const char *event_type_source(enum event_type type); /* "runner", "harness", … */
const char *event_type_data(enum event_type type);   /* the fields, for the docs */
const char *event_type_about(enum event_type type);
int event_type_parse(const char *name, enum event_type *ret); /* -EINVAL */

/* One event on its way to the record. data is the bytes of one JSON object without any byte below
 * 0x20; the record refuses others. */
struct event {
	enum event_type type;
	const char *data; /* borrowed */
	size_t data_bytes;
};

/* Where nouns send events: wired by attempt/prepare.c. Returns 0 or -errno when the record cannot
 * take it (disk full); the caller stops what it was doing. */
struct event_sink {
	int (*put)(void *context, const struct event *event);
	void *context;
};

#endif
