/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "ground/base/err.h"
#include "ground/terms/msg.h"
#include "ground/terms/outcome.h"
#include "ground/terms/plan.h"

/* Many attempts: plan → schedule → settle → report. The engine lives here.
 *
 * run_nursery() forks the small process that stewards come from; call it first of all, before any
 * file of the operator's is parsed, a database opened or a secret touched. */
int run_nursery(struct err *err);

struct run_request {
	struct settings
		settings; /* borrowed; flags, files and environment already laid over one another */
	const char *base; /* directory that relative harness and task names stand against */
	const char *file; /* the run file as named, "exec", "check": for the lists */
	char **exec_argv; /* hemra exec: the command; settings.harnesses and tasks are then not used */
	void (*notice)(const char *
			text); /* told what a task asks for and nothing is done about; may be NULL */
	bool throw_away;       /* harness check without --store: the store goes when the run ends */
};

/* What became of one attempt. */
struct run_attempt {
	struct id id;
	const char *harness, *task; /* owned by the report */
	unsigned index, of;
	enum state state;
	enum outcome outcome; /* meaningful in STATE_DONE */
	char reason[504];
	bool graded;
	double score;
	int64_t duration_ms;
	struct usage usage;
	int exit_status; /* exec: the status to exit with */
	unsigned weaker;
	char planted
		[504]; /* what git on the host would now obey, fit to show; empty: nothing new */
	unsigned unexpected; /* probe claims that came out otherwise */
};

struct run_report {
	struct id run;
	struct run_attempt *attempts; /* owned */
	size_t count;
	char *store;    /* absolute; owned; NULL without a record */
	bool cancelled; /* a signal or `hemra cancel` ended it early */
	int signal;     /* SIGINT or SIGTERM when that is why, else 0 */
};
void run_report_done(struct run_report *r);

/* Told about every change, from the engine's loop. May be NULL. */
typedef void run_progress_fn(void *context, const struct run_report *so_far, size_t changed);

/* Makes every plan and refuses what cannot be enforced or resolved, before anything is recorded
 * (-EPERM with a sentence: a required isolation is not offered: exit 4; other errors: exit 2).
 * Writes the plans as one JSON object for --print-config. */
int run_print_config(const struct run_request *request, struct buf *out, struct err *err);

/* Plans, records, runs and settles everything. Needs run_nursery(). Errors as run_print_config;
 * once attempts have started the result is the report. */
int run_go(const struct run_request *request, run_progress_fn *progress, void *context,
	struct run_report *ret, struct err *err);

/* Asks the stewards behind these attempts to stop, through their control sockets in the store.
 * -ENOENT: no steward listens. */
int run_cancel(const char *store, const struct id *attempt, struct err *err);

/* Settles as lost what dead engines and stewards left in this store, and removes their work
 * directories, cgroups and sockets. Called at the start of every run and by doctor --reap. */
struct run_reaped {
	unsigned attempts, directories, cgroups, sockets;
};
int run_reap(const char *path, struct run_reaped *ret, struct err *err);

#endif
