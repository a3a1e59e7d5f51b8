/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_OUTBOX_H
#define PROTOCOL_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"
#include "protocol/port.h"

/* What waits to be written to the box's standard input. The loop never waits for a reader: a queue
 * that has grown to OUTBOX_BYTES takes nothing more. A reader that closed its end is no error;
 * what it is sent is dropped. */
#define OUTBOX_BYTES (1024 * 1024)

struct loop;
struct loop_watch;

struct outbox {
	struct port to;
	struct loop_watch *watch;
	struct buf queue;
	bool ending; /* close when the queue is empty */
	bool gone;   /* closed, by us or by the reader */
	uint64_t written;
};

void outbox_init(struct outbox *o, int fd); /* takes fd */
void outbox_done(struct outbox *o);         /* accepts an outbox that is done */
void outbox_start(struct outbox *o, struct loop *loop);
/* 0, or -ENOBUFS when OUTBOX_BYTES already wait. One message may reach beyond that, whole. */
int outbox_put(struct outbox *o, const char *bytes, size_t size);
void outbox_end(struct outbox *o); /* end-of-file once all is written */

#endif
