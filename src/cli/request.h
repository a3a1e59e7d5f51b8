/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include "cli/options.h"
#include "config/config.h"
#include "ground/base/err.h"
#include "run/run.h"

/* What the engine is asked to do: environment, user's file, run file and flags laid over one
 * another, lowest first. */
struct request {
	struct run_request run; /* its pointers lie here */
	char *base;             /* owned */
};

/* path is the run file, or NULL. On failure nothing is kept. Reads the operator's files: the
 * nursery must exist before. */
int request_for_run(
	const struct options *o, const char *path, struct request *ret, struct err *err);
/* hemra exec: on the current directory, in place, without deadline, unless flags say otherwise. */
int request_for_exec(const struct options *o, struct request *ret, struct err *err);
/* hemra harness check: two tasks beneath directory, the record in store. */
int request_for_check(const struct options *o, const char *directory, const char *store,
	struct request *ret, struct err *err);
void request_done(struct request *r);

/* After run_go() failed: as out_failure(), or as out_machine_failure() when it was not the
 * operator's words and files: the plans, which is all that those decide, can be made. */
int request_failure(const struct options *o, struct request *r, const struct err *err);
/* What helps after an errno of reading files or of run_go(); NULL when the sentence says it all. */
const char *request_hint(int code);

#endif
