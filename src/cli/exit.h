/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "run/run.h"

/* Exit statuses. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_GATE = 1,      /* a gate failed: a record does not verify */
	EXIT_USAGE = 2,     /* usage or configuration */
	EXIT_UNGRADED = 3,  /* some attempts ungraded, or the machine or store failed */
	EXIT_ISOLATION = 4, /* required isolation not met */
	EXIT_TRIPPED = 5,
	/* exec only */
	EXIT_DEADLINE = 124,
	EXIT_HEMRA = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* Of two statuses the one that counts: a signal first, then usage, then 4, 5, 1, 3, 0. */
int exit_worse(int a, int b);
/* code: a positive errno. Where the words or files of the operator are at fault 2, where a required
 * isolation is not offered 4 (EPERM of run and check), else 3. */
int exit_of_error(enum verb verb, int code);
int exit_of_attempt(const struct run_attempt *a);
int exit_of_report(const struct run_report *r); /* run, harness check */
int exit_of_exec(const struct run_report *r);   /* exec */

#endif
