/* SPDX-License-Identifier: Apache-2.0 */
/* Looking through bytes that arrive in pieces. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "needle/redact.h"

struct needle_stream {
	struct hunt hunt;
	struct redact redact;
	struct vec held; /* bytes from redact.done on */
};

struct needle_stream *needle_stream_new(const struct needle *n)
{
	struct needle_stream *s = own_alloc(sizeof(*s));

	hunt_init(&s->hunt, n, /* forgets= */ false);
	redact_init(&s->redact, n);
	return s;
}

void needle_stream_free(struct needle_stream *s)
{
	if (s == NULL)
		return;
	hunt_done(&s->hunt);
	redact_done(&s->redact);
	vec_done(&s->held);
	free(s);
}

size_t needle_stream_held(const struct needle_stream *s)
{
	return s->held.used;
}

/* Writes from bytes, which begin at redact.done, and keeps the rest of them. */
static int write_out(struct needle_stream *s, const uint8_t *bytes, size_t size, bool final,
	struct buf *out, uint64_t *counts)
{
	uint64_t base = s->redact.done;
	struct stretch all = {bytes, size, base, hunt_settled(&s->hunt), final};
	int replacements = redact_write(&s->redact, &all, out, counts);
	size_t written = (size_t)(s->redact.done - base), left = size - written;

	if (s->held.used > 0) {
		memmove(s->held.items, bytes + written, left);
		explicit_bzero((uint8_t *)s->held.items + left, size - left);
		s->held.used = left;
	} else if (left > 0) {
		void *room = vec_add(&s->held, left);

		if (room == NULL)
			return -ENOMEM;
		memcpy(room, bytes + written, left);
	}
	return replacements;
}

int needle_stream_write(
	struct needle_stream *s, const void *bytes, size_t size, struct buf *out, uint64_t *counts)
{
	int r;

	if (size == 0)
		return 0;
	r = hunt_feed(&s->hunt, bytes, size, redact_add, &s->redact);
	if (r < 0)
		return r;
	if (s->held.used > 0) {
		void *room = vec_add(&s->held, size);

		if (room == NULL)
			return -ENOMEM;
		memcpy(room, bytes, size);
		return write_out(s, s->held.items, s->held.used, /* final= */ false, out, counts);
	}
	return write_out(s, bytes, size, /* final= */ false, out, counts);
}

int needle_stream_flush(struct needle_stream *s, struct buf *out, uint64_t *counts)
{
	if (s->held.used == 0)
		return 0;
	return write_out(s, s->held.items, s->held.used, /* final= */ true, out, counts);
}

struct needle_seam {
	struct hunt hunt;
	uint64_t piece; /* where the present piece begins */
	uint64_t seen[SEEN_WORDS];
};

struct needle_seam *needle_seam_new(const struct needle *n)
{
	struct needle_seam *s = own_alloc(sizeof(*s));

	hunt_init(&s->hunt, n, /* forgets= */ false);
	return s;
}

void needle_seam_free(struct needle_seam *s)
{
	if (s == NULL)
		return;
	hunt_done(&s->hunt);
	free(s);
}

static int note_crossing(void *context, const struct match *m)
{
	struct needle_seam *s = context;

	if (m->start < s->piece)
		s->seen[m->secret / 64] |= UINT64_C(1) << (m->secret % 64);
	return 0;
}

unsigned needle_seam_feed(struct needle_seam *s, const void *bytes, size_t size)
{
	unsigned crossed = 0;

	memset(s->seen, 0, sizeof(s->seen));
	s->piece = s->hunt.at;
	/* without memory for a trail the match that it would have found is not counted */
	(void)hunt_feed(&s->hunt, bytes, size, note_crossing, s);
	for (size_t w = 0; w < SEEN_WORDS; w++)
		crossed += (unsigned)__builtin_popcountll(s->seen[w]);
	return crossed;
}
