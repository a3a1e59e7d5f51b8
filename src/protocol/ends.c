/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the beginning and the end of a stream. */

#include "protocol/ends.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/base/str.h"

void ends_init(struct ends *e, uint64_t begin_max, size_t end_max, const struct ends_hooks *hooks,
	void *context)
{
	*e = (struct ends){
		.begin_left = begin_max, .ring_max = end_max, .hooks = *hooks, .context = context};
}

void ends_done(struct ends *e)
{
	free(e->piece);
	free(e->ring);
	e->piece = e->ring = NULL;
}

/* Passes on what is complete; a sequence cut short at the end waits for its rest. */
static void piece_out(struct ends *e, size_t size)
{
	if (size == 0)
		return;
	e->hooks.piece(e->context, e->piece, size);
	e->piece_bytes -= size;
	(void)memmove(e->piece, e->piece + size, e->piece_bytes);
}

static void piece_add(struct ends *e, const char *bytes, size_t size)
{
	if (e->piece == NULL)
		e->piece = own_alloc(ENDS_PIECE_BYTES);
	while (size > 0) {
		size_t room = ENDS_PIECE_BYTES - e->piece_bytes, n = size < room ? size : room;

		(void)memcpy(e->piece + e->piece_bytes, bytes, n);
		e->piece_bytes += n;
		bytes += n;
		size -= n;
		piece_out(e, e->piece_bytes - str_utf8_cut(e->piece, e->piece_bytes));
	}
}

static void ring_add(struct ends *e, const char *bytes, size_t size)
{
	if (size > e->ring_max) {
		e->lost += size - e->ring_max;
		bytes += size - e->ring_max;
		size = e->ring_max;
	}
	if (size == 0)
		return;
	if (e->ring == NULL)
		e->ring = own_alloc(e->ring_max);
	if (e->ring_bytes + size > e->ring_max) {
		e->lost += e->ring_bytes + size - e->ring_max;
		e->ring_bytes = e->ring_max - size;
	}
	e->ring_bytes += size;
	while (size > 0) {
		size_t room = e->ring_max - e->ring_at, n = size < room ? size : room;

		(void)memcpy(e->ring + e->ring_at, bytes, n);
		e->ring_at = (e->ring_at + n) % e->ring_max;
		bytes += n;
		size -= n;
	}
}

void ends_add(struct ends *e, const char *bytes, size_t size)
{
	size_t n = size < e->begin_left ? size : (size_t)e->begin_left;

	if (n > 0) {
		piece_add(e, bytes, n);
		e->begin_left -= n;
	}
	if (n == size)
		return;
	if (e->piece_bytes > 0) { /* the beginning ends within a sequence: it belongs to the end */
		ring_add(e, e->piece, e->piece_bytes);
		e->piece_bytes = 0;
	}
	ring_add(e, bytes + n, size - n);
}

void ends_end(struct ends *e)
{
	size_t from = 0;

	if (e->ring_bytes > 0) {
		assert(e->ring_bytes <= e->ring_max && e->ring_max > 0);
		from = (e->ring_at + e->ring_max - e->ring_bytes) % e->ring_max;
	}

	/* a sequence whose beginning was lost is lost with it */
	for (int i = 0; i < 3 && e->lost > 0 && e->ring_bytes > 0; i++) {
		if (((unsigned char)e->ring[from] & 0xc0) != 0x80)
			break;
		from = (from + 1) % e->ring_max;
		e->ring_bytes--;
		e->lost++;
	}
	if (e->lost > 0)
		e->hooks.lost(e->context, e->lost);
	while (e->ring_bytes > 0) {
		size_t room = e->ring_max - from, n = e->ring_bytes < room ? e->ring_bytes : room;

		piece_add(e, e->ring + from, n);
		e->ring_bytes -= n;
		from = 0;
	}
	piece_out(e, e->piece_bytes);
}
