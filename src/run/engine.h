/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H

/* What the engine knows while it runs attempts; private to run/. */

#include <stdbool.h>
#include <sys/types.h>

#include "ground/loop/loop.h"
#include "run/run.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

struct engine;

/* What a record is written with. */
struct books {
	struct store *store; /* NULL without a record */
	struct index *index;
	struct seal_key *key;
};

/* What an attempt's events say of its beginning and end; plain data from a locked child. */
struct last_word {
	uint32_t planned, settled; /* is there such a line? */
	uint32_t local;
	uint32_t outcome, graded; /* from here on meaningful when it is settled */
	double score;
	int64_t duration_ms;
	struct usage usage;
	struct id run;
	char reason[504];
};

/* One attempt of the run: its plan, and its steward while there is one. */
struct entry {
	struct engine *engine;
	struct plan plan;
	int fd; /* socket with the steward, -1 when there is none */
	struct loop_watch *watch;
	struct loop_timer *claim_timer; /* a dead steward's lock may take a moment to fall */
	int claims_left;
	bool started, settled, over;
	struct run_attempt *result; /* borrowed from the report */
};

struct engine {
	const struct run_request *request;
	struct run_report *report;
	run_progress_fn *progress;
	void *context;
	struct loop *loop;
	struct books books;
	int run_lock; /* live/<run>.run, locked for as long as the engine lives */
	struct entry *entries;
	size_t count, next, active, concurrency;
	char *incoming;
	int signals; /* how many asked for the end */
	bool cancelled;
	struct err trouble; /* the first failure of the engine's own: store or index */
};

/* plan.c */
/* One plan per harness, task and attempt, in that order; nothing is written. */
int plans_make(
	const struct run_request *request, struct plan **ret, size_t *ret_count, struct err *err);
void plans_free(struct plan *plans, size_t count);

/* nursery.c */
/* to_come is how many more will be asked for, so that one can be made ready. */
int nursery_spawn(int steward_end, int plan_fd, int events_fd, size_t to_come, struct err *err);
void nursery_end(void);

/* record.c: what the engine itself writes */
int engine_open_store(struct engine *e, struct err *err);
int engine_record_plans(struct engine *e, struct err *err);
void engine_close_store(struct engine *e);
/* Ends an attempt that has no steward: appends attempt.settled and seals. -EWOULDBLOCK: a steward's
 * lock is still there. */
int engine_settle_orphan(struct engine *e, struct entry *entry, enum outcome outcome,
	const char *reason, struct err *err);
int engine_seal(struct engine *e, const struct id *attempt, const struct event_head *head,
	bool local, struct err *err);
void engine_row_settled(struct engine *e, struct entry *entry, const struct event_head *head,
	int64_t settled_us, uint64_t artifact_bytes);

/* steward.c: the engine's side of one steward */
int steward_start(struct entry *entry, struct err *err);
void steward_cancel(struct entry *entry, int signo);

/* orphan.c: attempts without a steward */
/* -EBADMSG when the events cannot be read. */
int orphan_read(
	const struct books *b, const struct id *attempt, struct last_word *ret, struct err *err);
/* Ends and seals an attempt, with this outcome unless its steward wrote another; ret has what holds.
 * The index is left alone. -EWOULDBLOCK: a steward's lock is still there. */
int orphan_settle(const struct books *b, const struct id *attempt, enum outcome outcome,
	const char *reason, struct last_word *ret, struct err *err);
/* Puts into the index what it lacks of these attempts, and of all runs. */
int orphan_rows(const struct books *b, const struct id *attempts, size_t count, struct err *err);

/* reap.c */
/* thorough: looks at every file of events, also when no engine died. */
int reap_store(const struct books *books, bool thorough, struct run_reaped *ret, struct err *err);
/* The work directory (beneath the store and beneath work, which may be NULL) and the socket. */
void reap_files(
	struct store *store, const struct id *attempt, const char *work, struct run_reaped *result);

/* schedule.c */
void schedule_run(struct engine *e);
void schedule_over(struct entry *entry);
void engine_changed(struct entry *entry);

#endif
