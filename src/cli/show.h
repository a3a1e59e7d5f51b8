/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli/options.h"
#include "cli/where.h"
#include "store/store.h"

/* The pages of `show ID`. Return the exit status. */
int show_run(const struct options *o, struct place *p, const struct id *run);
int show_attempt(const struct options *o, struct place *p, const struct id *attempt);
int show_events(const struct options *o, struct place *p, const struct id *attempt);
int show_diff(const struct options *o, struct place *p, const struct id *attempt);

/* Opens events/<attempt>.jsonl for reading: -ENOENT with a sentence. */
int show_open_events(struct place *p, const struct id *attempt, int *ret_fd, struct err *err);

#endif
