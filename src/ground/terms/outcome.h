/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_TERMS_OUTCOME_H
#define GROUND_TERMS_OUTCOME_H

/* How an attempt can stand and how it can end. The names are what the record, the database, --json
 * and the pages show; both sets are closed. */

/* States, in order; an attempt only moves forward and may skip. */
#define STATE_TABLE(X)                                                                             \
	X(PLANNED, "planned", "the manifest is written, nothing has started")                      \
	X(PREPARING, "preparing", "workspace and files are being laid out")                        \
	X(ARMING, "arming", "the box is built and its probe is trying it")                         \
	X(RUNNING, "running", "the harness runs in the box")                                       \
	X(COLLECTING, "collecting", "the box is dead; artifacts and changes are read")             \
	X(VERIFYING, "verifying", "the verifier runs in a box of its own")                         \
	X(JUDGING, "judging", "judges run in boxes of their own")                                  \
	X(DONE, "done", "settled and sealed")

enum state {
#define X(name, text, about) STATE_##name,
	STATE_TABLE(X)
#undef X
	STATE_COUNT,
};

#define OUTCOME_TABLE(X)                                                                           \
	X(COMPLETED, "completed", "the harness said it was done")                                  \
	X(REFUSED, "refused",                                                                      \
		"the harness declined the task, or needs a sign-in it was not given")              \
	X(AGENT_ERROR, "agent_error", "the harness reported an error of its own")                  \
	X(AGENT_TIMEOUT, "agent_timeout", "the deadline passed")                                   \
	X(LIMIT_EVENTS, "limit:events", "more bytes of events than allowed")                       \
	X(LIMIT_LINE, "limit:line", "a line longer than allowed")                                  \
	X(LIMIT_MEMORY, "limit:memory", "the box ran out of its memory")                           \
	X(LIMIT_PIDS, "limit:pids", "the box ran out of its processes")                            \
	X(LIMIT_DISK, "limit:disk", "the box ran out of its disk")                                 \
	X(LIMIT_CALLS, "limit:calls", "more model calls than allowed")                             \
	X(LIMIT_TOKENS, "limit:tokens", "more tokens than allowed")                                \
	X(LIMIT_COST, "limit:cost", "more money than allowed")                                     \
	X(PROTOCOL_ERROR, "protocol_error", "the harness broke the protocol")                      \
	X(HANDSHAKE_FAILED, "handshake_failed",                                                    \
		"no ready in time, or the harness ended before it")                                \
	X(CRASHED, "crashed", "the harness ended without a result")                                \
	X(CANCELLED, "cancelled", "the operator cancelled it")                                     \
	X(TRIPPED, "tripped", "a decoy was touched")                                               \
	X(NOT_CONTAINED, "not_contained", "the probe found the box open; the harness never ran")   \
	X(INFRA_SETUP, "infra:setup", "the box or its files could not be made")                    \
	X(INFRA_MODEL, "infra:model", "the model's service failed")                                \
	X(INFRA_ENVIRONMENT, "infra:environment", "the machine failed: disk full and the like")    \
	X(VERIFIER_ERROR, "verifier_error", "the verifier could not grade")                        \
	X(LOST, "lost", "a process of hemra's own died; the record ends where it ends")

enum outcome {
#define X(name, text, about) OUTCOME_##name,
	OUTCOME_TABLE(X)
#undef X
	OUTCOME_COUNT,
};

const char *state_name(enum state s);
int state_parse(const char *text, enum state *ret); /* -EINVAL */
const char *outcome_name(enum outcome o);
const char *outcome_about(enum outcome o);
int outcome_parse(const char *text, enum outcome *ret); /* -EINVAL */

#endif
