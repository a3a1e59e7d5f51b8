/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_PUMP_H
#define PROTOCOL_PUMP_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/port.h"

/* Moves a stream from one port to another, one buffer at a time: it reads again only when all it
 * had is written, so a slow reader slows the writer and nothing piles up. When `to` fails, `from`
 * is closed, and the writer behind it learns what it would have learnt from its own pipe. */
struct loop;
struct loop_watch;

struct pump_hooks {
	/* Everything that was read, before it is written on. May be NULL. May call pump_close. */
	void (*seen)(void *context, const char *bytes, size_t size);
	/* Nothing more will pass; both ports are closed. At most once. Must not free the pump. */
	void (*over)(void *context);
};

enum pump_count {
	PUMP_COUNT_READ,    /* count is what the box wrote */
	PUMP_COUNT_WRITTEN, /* count is what the box was given */
};

struct pump {
	struct loop *loop;
	struct port from, to;
	struct loop_watch *reading, *writing;
	char *bytes; /* owned */
	size_t size, start, end;
	bool ended, over;
	bool last; /* the writer is dead: read left bytes, then it is the end */
	uint64_t left;
	enum pump_count counting;
	uint64_t count;
	bool hashing;
	crypto_hash_sha256_state hash;
	int error; /* errno that ended it, EPIPE excepted; 0 when none did */
	struct pump_hooks hooks;
	void *context;
};

/* Takes nothing yet: the ports are set by the caller with port_own() and port_borrow() first. */
void pump_init(struct pump *p, struct loop *loop, const struct pump_hooks *hooks, void *context);
void pump_done(struct pump *p); /* closes; calls no hook; accepts a pump that is done */
void pump_start(struct pump *p, size_t buffer_bytes);
/* Nobody writes into `from` any more: what its pipe holds now is taken, then it is over. */
void pump_last(struct pump *p);
void pump_close(struct pump *p); /* over, now; drops what was not delivered */

#endif
