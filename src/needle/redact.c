/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of matches, and writing bytes with those regions replaced. */

#include "needle/redact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "needle/unit.h"

void redact_init(struct redact *r, const struct needle *n)
{
	*r = (struct redact){.n = n};
}

void redact_done(struct redact *r)
{
	free(r->regions);
	*r = (struct redact){.n = r->n};
}

static void mark(uint64_t seen[SEEN_WORDS], uint32_t secret)
{
	seen[secret / 64] |= UINT64_C(1) << (secret % 64);
}

static bool is_before(const struct match *a, const struct match *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	return a->end != b->end ? a->end < b->end : a->secret < b->secret;
}

static int insert(struct redact *r, size_t at, const struct match *m)
{
	if (r->count == r->room) {
		size_t room = r->room > 0 ? r->room * 2 : 8;
		struct region *grown = reallocarray(r->regions, room, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		r->regions = grown;
		r->room = room;
	}
	memmove(r->regions + at + 1, r->regions + at, (r->count - at) * sizeof(*r->regions));
	r->regions[at] = (struct region){.start = m->start, .end = m->end, .first = *m};
	mark(r->regions[at].seen, m->secret);
	r->count++;
	return 0;
}

int redact_add(void *redact, const struct match *m)
{
	struct redact *r = redact;
	size_t low, high = r->count;
	struct region *into;

	if (m->end <= r->done)
		return 0; /* found in a view only after a stream was flushed */
	while (high > 0 && r->regions[high - 1].start > m->end)
		high--;
	for (low = high; low > 0 && r->regions[low - 1].end >= m->start;)
		low--;
	if (low == high)
		return insert(r, low, m);
	into = &r->regions[low];
	for (size_t i = low; i < high; i++) {
		const struct region *from = &r->regions[i];

		into->start = from->start < into->start ? from->start : into->start;
		into->end = from->end > into->end ? from->end : into->end;
		if (is_before(&from->first, &into->first))
			into->first = from->first;
		for (size_t w = 0; w < SEEN_WORDS; w++)
			into->seen[w] |= from->seen[w];
	}
	into->start = m->start < into->start ? m->start : into->start;
	into->end = m->end > into->end ? m->end : into->end;
	if (is_before(m, &into->first))
		into->first = *m;
	mark(into->seen, m->secret);
	memmove(into + 1, r->regions + high, (r->count - high) * sizeof(*into));
	r->count -= high - low - 1;
	return 0;
}

void redact_count(const struct redact *r, const uint64_t seen[SEEN_WORDS],
	const uint64_t already[SEEN_WORDS], uint64_t *counts)
{
	for (size_t i = 0; counts != NULL && i < r->n->secret_count; i++)
		counts[i] += (seen[i / 64] & ~already[i / 64]) >> (i % 64) & 1;
}

/* Nothing that is still to come begins before the region or lies inside it. */
static bool is_known(const struct region *g, const struct stretch *s)
{
	uint64_t end = s->base + s->size;

	return g->start <= s->settled && (g->end < end ? g->end : end) <= s->decided;
}

/* Writes bytes up to the region and its replacement. Returns how many replacements that were: 0
 * when it goes on where the last one ended. */
static int write_region(struct redact *r, const struct stretch *s, struct region *g,
	struct buf *out, uint64_t *counts)
{
	static const uint64_t none[SEEN_WORDS];
	size_t done = (size_t)(r->done - s->base), from, last, end;
	uint64_t target = g->end < s->base + s->size ? g->end : s->base + s->size;
	bool joins, cut;

	from = g->start > r->done ? (size_t)(g->start - s->base) : done;
	from = unit_start(s->bytes, done, from, s->size);
	joins = r->replaced && from == done;
	(void)buf_add(out, s->bytes + done, from - done); /* the buffer remembers failure */
	if (!joins) {
		const char *name = r->n->names[g->first.secret], *quote = g->quoted ? "\"" : "";

		(void)buf_addf(out, "%s[redacted:%s]%s", quote, name, quote);
	}
	redact_count(r, g->seen, joins ? r->seen : none, counts);
	for (size_t w = 0; w < SEEN_WORDS; w++)
		r->seen[w] = g->seen[w] | (joins ? r->seen[w] : 0);
	end = unit_end(s->bytes, from, (size_t)(target - s->base), s->size, &last, &cut);
	/* a unit that the end of the bytes cuts: what follows joins this replacement */
	g->start = s->base + (cut && !s->final ? last : end);
	r->done = g->start;
	r->replaced = true;
	return joins ? 0 : 1;
}

/* How far nothing can be replaced any more, not even as a part of a unit. */
static size_t plain_end(const struct redact *r, const struct stretch *s, size_t done)
{
	uint64_t end = s->settled;

	if (r->count > 0 && r->regions[0].start < end)
		end = r->regions[0].start;
	return unit_start(s->bytes, done, end > r->done ? (size_t)(end - s->base) : done, s->size);
}

int redact_write(struct redact *r, const struct stretch *s, struct buf *out, uint64_t *counts)
{
	size_t written = 0, done, plain;
	int replacements = 0;

	for (; written < r->count; written++) {
		struct region *g = &r->regions[written];

		if (!s->final && !is_known(g, s))
			break;
		replacements += write_region(r, s, g, out, counts);
		if (g->end > g->start)
			break; /* its rest has not arrived */
	}
	if (written > 0)
		memmove(r->regions, r->regions + written,
			(r->count - written) * sizeof(*r->regions));
	r->count -= written;
	done = (size_t)(r->done - s->base);
	plain = s->final ? s->size : plain_end(r, s, done);
	if (plain > done) {
		(void)buf_add(out, s->bytes + done, plain - done); /* as above */
		r->done = s->base + plain;
		r->replaced = false;
	}
	return buf_status(out) < 0 ? buf_status(out) : replacements;
}
