/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/where.h"
#include "ground/base/buf.h"
#include "ground/wire/json.h"
#include "run/run.h"

/* What a run came to: a table of harness × task, what went wrong, where the record lies. place may
 * hold no store (then ids are whole). */
void report_print(const struct run_report *r, struct place *place);
void report_json(const struct run_report *r, struct json_writer *w); /* one object */

/* "probe, seccomp" of a set of weaker flags; "" for none. */
void report_add_weaker(unsigned weaker, struct buf *out);

#endif
