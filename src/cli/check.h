/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/locked.h"
#include "ground/base/err.h"

/* The two tasks of `harness check`, and what an attempt's events say about a harness. */

/* Writes tasks/echo and tasks/cancel beneath directory. */
int check_write_tasks(const char *directory, int64_t echo_deadline_ms, struct err *err);

/* What the events of one attempt hold: plain numbers, so a reader can hand them over. */
struct check_facts {
	bool hello, ready, result, cancelled, exited, lingered, protocol_error;
	uint32_t messages, tool_calls, usages, outputs;
	uint32_t claims, claims_held, limits,
		limits_held;        /* limits: claims about memory and processes */
	int64_t cancel_us, exit_us; /* times of the deadline and of the exit; 0: none */
};

struct check_source {
	int fd; /* of the events file */
	struct check_facts facts;
};
locked_fn check_read; /* context: struct check_source; its facts are the answer */

#endif
