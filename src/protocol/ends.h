/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_ENDS_H
#define PROTOCOL_ENDS_H

#include <stddef.h>
#include <stdint.h>

/* Keeps a stream of any length for the record within a bound: its beginning is passed on as it
 * comes, so that it can be followed and survives a crash; of the rest only the end is held, in a
 * ring, and passed on when the stream is over. What lies between is counted.
 *
 * Pieces are at most ENDS_PIECE_BYTES and do not cut a UTF-8 sequence where that can be helped. */
#define ENDS_PIECE_BYTES 65536

struct ends_hooks {
	void (*piece)(void *context, const char *bytes, size_t size);
	void (*lost)(void *context, uint64_t bytes); /* before the pieces of the end */
};

struct ends {
	uint64_t begin_left; /* of the beginning */
	char *piece;         /* owned; ENDS_PIECE_BYTES, made at first use */
	size_t piece_bytes;
	char *ring;                           /* owned; ring_max, made at first use */
	size_t ring_max, ring_bytes, ring_at; /* ring_at: where the next byte goes */
	uint64_t lost;
	struct ends_hooks hooks;
	void *context;
};

void ends_init(struct ends *e, uint64_t begin_max, size_t end_max, const struct ends_hooks *hooks,
	void *context);
void ends_done(struct ends *e); /* accepts a zeroed struct */
void ends_add(struct ends *e, const char *bytes, size_t size);
void ends_end(struct ends *e); /* once */

#endif
