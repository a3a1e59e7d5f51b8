/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include "ground/base/buf.h"
#include "ground/base/clock.h"
#include "run/run.h"

/* What is seen while a run goes on, on standard error: one line redrawn in place on a terminal, a
 * line per change elsewhere, nothing when quiet. */
struct progress {
	bool quiet, redraws, color;
	bool drawn;        /* a line stands there that must go before anything else is written */
	struct mono began; /* when the first change was told */
	size_t columns;
};

void progress_init(struct progress *p, bool quiet);
void progress_done(struct progress *p); /* takes the line away */

run_progress_fn progress_changed; /* context: struct progress */

/* The line as it would be drawn after elapsed_ms; for tests and for progress_changed. */
void progress_line(const struct run_report *r, int64_t elapsed_ms, struct buf *out);

/* Mean and standard error of the graded attempts; false when none is graded. One graded attempt has
 * no standard error: -1. */
struct score_summary {
	size_t graded, done;
	double mean, standard_error;
};
bool score_summarise(const struct run_attempt *attempts, size_t count, struct score_summary *ret);

#endif
