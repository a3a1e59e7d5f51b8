/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_EVENT_VIEW_H
#define CLI_EVENT_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/locked.h"
#include "ground/base/buf.h"
#include "ground/base/err.h"
#include "ground/wire/json.h"

/* Events files as a person reads them. All of it runs in a locked child: the bytes are an
 * agent's. */

#define EVENT_NODES_MAX (1024 * 1024) /* JSON values in one line */
#define EVENT_DEPTH_MAX 80            /* an agent's 64, and what the record puts around it */

enum events_flag {
	EVENTS_JSON = 1 << 0,    /* the lines as they are, not readable ones */
	EVENTS_ARRAY = 1 << 1,   /* with EVENTS_JSON: elements of an array, with commas between */
	EVENTS_NOTABLE = 1 << 2, /* only what says how the attempt went: no messages, no output */
	EVENTS_LOCAL = 1 << 3,   /* local time of day instead of whole UTC stamps */
};

/* One event, readable, on one line with its newline. d is an initialised document. A line
 * that is no event is shown as damaged. */
void event_view_line(
	struct json_doc *d, const char *line, size_t size, unsigned flags, struct buf *out);

struct events_source {
	int fd;       /* of the events file */
	int until_fd; /* -1: to the end of the file; else until this hangs up or it settled */
	int close_fd; /* closed first, -1: none; the parent's side of until_fd's pipe */
	unsigned flags;
};

/* Prints them on standard output; context is a struct events_source. */
locked_fn events_print;

/* Calls fn for every whole line, in order; fn returns false to stop. */
typedef bool events_line_fn(void *context, const char *line, size_t size);
int events_each(int fd, int until_fd, events_line_fn *fn, void *context, struct err *err);

#endif
