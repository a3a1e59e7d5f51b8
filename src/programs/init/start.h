/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_INIT_START_H
#define PROGRAMS_INIT_START_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "ground/terms/init.h"

/* The start message as pid 1 uses it. Everything points into one mapping. */
struct start {
	struct init_start head;
	const struct sock_filter *filter; /* head.filter_count instructions */
	char **lists[INIT_LIST_COUNT];    /* NULL-terminated */
	void *memory;
	size_t memory_bytes;
};

/* Receives the whole message from the control socket, which is non-blocking. -errno: -EPIPE when
 * the steward is gone, -EPROTO when it is not what init.h says. */
int start_receive(int control, struct start *ret);

/* Overwrites and unmaps it: it holds the values of secrets. */
void start_wipe(struct start *s);

#endif
