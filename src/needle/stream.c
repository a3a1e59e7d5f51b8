/* SPDX-License-Identifier: Apache-2.0 */
/* Looking through bytes that arrive in pieces. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "needle/redact.h"

struct needle_stream {
	struct scan scan;
	struct redact redact;
	struct vec held;   /* bytes from redact.done on */
	uint64_t given_up; /* a secret that begins before this offset has begun in the output */
	uint64_t split[SEEN_WORDS];
	uint64_t splits;
};

struct needle_stream *needle_stream_new(const struct needle *n)
{
	struct needle_stream *s = own_alloc(sizeof(*s));

	scan_init(&s->scan, n, /* forgets= */ false);
	redact_init(&s->redact, n);
	return s;
}

void needle_stream_free(struct needle_stream *s)
{
	if (s == NULL)
		return;
	scan_done(&s->scan);
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
	struct stretch all = {
		bytes, size, base, scan_settled(&s->scan), scan_decided(&s->scan), final};
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

static int on_match(void *stream, const struct match *m)
{
	struct needle_stream *s = stream;

	if (m->start < s->given_up && m->end > s->given_up)
		s->split[m->secret / 64] |= UINT64_C(1) << (m->secret % 64);
	return redact_add(&s->redact, m);
}

static unsigned count_bits(const uint64_t bits[SEEN_WORDS])
{
	unsigned count = 0;

	for (size_t w = 0; w < SEEN_WORDS; w++)
		count += (unsigned)__builtin_popcountll(bits[w]);
	return count;
}

static int look(struct needle_stream *s, const void *bytes, size_t size)
{
	int r;

	memset(s->split, 0, sizeof(s->split));
	r = scan_feed(&s->scan, bytes, size, on_match, s);
	s->splits += count_bits(s->split);
	return r;
}

static int write_more(
	struct needle_stream *s, const void *bytes, size_t size, struct buf *out, uint64_t *counts)
{
	if (s->held.used > 0) {
		void *room = vec_add(&s->held, size);

		if (room == NULL)
			return -ENOMEM;
		memcpy(room, bytes, size);
		return write_out(s, s->held.items, s->held.used, /* final= */ false, out, counts);
	}
	return write_out(s, bytes, size, /* final= */ false, out, counts);
}

int needle_stream_write(
	struct needle_stream *s, const void *bytes, size_t size, struct buf *out, uint64_t *counts)
{
	int r, flushed = 0;

	if (size == 0)
		return 0;
	r = look(s, bytes, size);
	if (r == 0)
		r = write_more(s, bytes, size, out, counts);
	if (r >= 0 && s->held.used > NEEDLE_HOLD_MAX)
		flushed = needle_stream_flush(s, out, counts);
	return r < 0 || flushed < 0 ? (r < 0 ? r : flushed) : r + flushed;
}

int needle_stream_flush(struct needle_stream *s, struct buf *out, uint64_t *counts)
{
	uint64_t plain_end = s->redact.done + s->held.used;
	struct match telling;

	if (s->held.used == 0)
		return 0;
	if (scan_telling(&s->scan, &telling)) {
		int r = redact_add(&s->redact, &telling);

		if (r < 0)
			return r;
		plain_end = telling.start;
	}
	if (plain_end > s->redact.done)
		s->given_up = plain_end;
	return write_out(s, s->held.items, s->held.used, /* final= */ true, out, counts);
}

uint64_t needle_stream_splits(const struct needle_stream *s)
{
	return s->splits;
}

struct needle_seam {
	struct scan scan;
	uint64_t piece; /* where the present piece begins */
	uint64_t seen[SEEN_WORDS];
};

struct needle_seam *needle_seam_new(const struct needle *n)
{
	struct needle_seam *s = own_alloc(sizeof(*s));

	scan_init(&s->scan, n, /* forgets= */ false);
	return s;
}

void needle_seam_free(struct needle_seam *s)
{
	if (s == NULL)
		return;
	scan_done(&s->scan);
	free(s);
}

static int note_crossing(void *context, const struct match *m)
{
	struct needle_seam *s = context;

	/* what a view finds late has been found before */
	if (m->start < s->piece && m->end > s->piece)
		s->seen[m->secret / 64] |= UINT64_C(1) << (m->secret % 64);
	return 0;
}

unsigned needle_seam_feed(struct needle_seam *s, const void *bytes, size_t size)
{
	memset(s->seen, 0, sizeof(s->seen));
	s->piece = s->scan.bytes.hunt.at;
	/* without memory for a trail the match that it would have found is not counted */
	(void)scan_feed(&s->scan, bytes, size, note_crossing, s);
	return count_bits(s->seen);
}
