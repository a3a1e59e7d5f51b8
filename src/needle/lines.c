/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of base64 characters with gaps in them. */

#include "needle/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"

#define KNOTS_KEPT 256u

enum letter {
	LETTER_OTHER,
	LETTER_RUN,
	LETTER_GAP,
};

static const uint8_t letters[256] = {
	['0' ... '9'] = LETTER_RUN,
	['A' ... 'Z'] = LETTER_RUN,
	['a' ... 'z'] = LETTER_RUN,
	['+'] = LETTER_RUN,
	['/'] = LETTER_RUN,
	['-'] = LETTER_RUN,
	['_'] = LETTER_RUN,
	[' '] = LETTER_GAP,
	['\t'] = LETTER_GAP,
	['\n'] = LETTER_GAP,
	['\r'] = LETTER_GAP,
};

/* How many characters of a run end right before bytes[i], not looking before bytes[floor]. */
static size_t run_before(const uint8_t *bytes, size_t floor, size_t i)
{
	size_t start = i;

	while (start > floor && letters[bytes[start - 1]] == LETTER_RUN)
		start--;
	return i - start;
}

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

/* Are 16 bytes all base64 characters? */
static inline bool is_full(const uint8_t *p)
{
	bytes16 c, lower, run;
	halves both;

	memcpy(&c, p, sizeof(c));
	lower = c | 0x20;
	run = (bytes16)(lower - 'a' < 26) | (bytes16)(c - '0' < 10) | (bytes16)(c == '+') |
	      (bytes16)(c == '/') | (bytes16)(c == '-') | (bytes16)(c == '_');
	both = (halves)run;
	return (both[0] & both[1]) == UINT64_MAX;
}

static size_t run_end(const uint8_t *bytes, size_t i, size_t size)
{
	while (i + 16 <= size && is_full(bytes + i))
		i += 16;
	while (i < size && letters[bytes[i]] == LETTER_RUN)
		i++;
	return i;
}

/* Not 0: one of 8 bytes is below '+', as blanks and quotes are and no base64 character is. */
static inline uint64_t low_bytes(const uint8_t *p)
{
	const uint64_t ones = UINT64_MAX / 255;
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return (word - ones * '+') & ~word & ones * 0x80;
}

/* A run of the minimum covers 16 bytes that begin at a multiple of this. */
#define STRIDE (LINES_RUN_MIN - 15)

/* Somewhere inside the first run of the minimum in bytes[i..size), or of a shorter one; size when
 * there is none. Mostly there is none at all, which is faster to see without asking each time. */
static size_t find_run(const uint8_t *bytes, size_t i, size_t size)
{
	unsigned any = 0;

	for (size_t k = i; k + 16 <= size; k += STRIDE)
		any |= (low_bytes(bytes + k) | low_bytes(bytes + k + 8)) == 0;
	for (; any != 0 && i + 16 <= size; i += STRIDE)
		if (is_full(bytes + i))
			return i;
	return size;
}

/* The first gap at or behind i, size when there is none. */
static size_t find_gap(struct lines *l, const uint8_t *bytes, size_t i, size_t size)
{
	while (i < size) {
		size_t inside = l->run > 0 ? i : find_run(bytes, i, size), end, run;

		if (inside == size) {
			l->run = (unsigned)run_before(bytes, i, size);
			return size;
		}
		end = run_end(bytes, inside, size);
		run = l->run + end - inside + run_before(bytes, i, inside);
		l->run = run < LINES_RUN_MIN ? (unsigned)run : LINES_RUN_MIN;
		if (end == size || (run >= LINES_RUN_MIN && letters[bytes[end]] == LETTER_GAP))
			return end;
		l->run = 0;
		i = end + 1;
	}
	return size;
}

static void joined_free(struct joined *j)
{
	if (j == NULL)
		return;
	hunt_done(&j->hunt);
	offsets_done(&j->offsets);
	free(j);
}

static void init_hunt(struct hunt *h, const struct needle *n)
{
	hunt_init(h, n, /* forgets= */ false);
	h->runs_only = true;
}

static struct joined *joined_new(const struct needle *n)
{
	struct joined *j = own_alloc(sizeof(*j));

	init_hunt(&j->hunt, n);
	offsets_init(&j->offsets);
	return j;
}

void lines_done(struct lines *l)
{
	joined_free(l->joined);
	*l = (struct lines){0};
}

int lines_copy(struct lines *l, const struct lines *from)
{
	int r;

	l->run = from->run;
	if (from->joined == NULL)
		return 0;
	l->joined = joined_new(from->joined->hunt.n);
	l->joined->gap_start = from->joined->gap_start;
	l->joined->gap = from->joined->gap;
	r = hunt_copy(&l->joined->hunt, &from->joined->hunt);
	return r < 0 ? r : offsets_copy(&l->joined->offsets, &from->joined->offsets);
}

struct joined_sink {
	const struct joined *joined;
	hunt_on_match on_match;
	void *context;
};

static int pass_on(void *context, const struct match *m)
{
	const struct joined_sink *s = context;
	const struct match mapped = {offsets_start(&s->joined->offsets, m->start),
		offsets_end(&s->joined->offsets, m->end), m->secret};

	return s->on_match(s->context, &mapped);
}

/* Has something begun that may go on behind a gap? */
static bool is_carried(const struct hunt *h)
{
	return hunt_settled(h) < h->at;
}

/* A gap begins at bytes[i]: the hunt begins with the run before it, or with all of the text when
 * that run may have begun in an earlier piece. Mostly it also ends here. */
static int open_joined(
	struct lines *l, const struct lines_piece *p, size_t i, const struct joined_sink *sink)
{
	size_t run = run_before(p->bytes, 0, i);
	autodone(hunt_done) struct hunt h;
	int r = 0;

	init_hunt(&h, p->before->n);
	if (run == i)
		r = hunt_copy(&h, p->before);
	else
		h.at = p->before->at + i - run;
	if (r == 0)
		r = hunt_feed(&h, p->bytes + i - run, run, sink->on_match, sink->context);
	l->run = 0;
	if (r != 0 || !is_carried(&h))
		return r;
	l->joined = joined_new(h.n);
	l->joined->hunt = h;
	l->joined->gap_start = h.at;
	l->joined->gap = 1;
	init_hunt(&h, h.n);
	return 0;
}

static int close_gap(struct joined *j)
{
	const struct knot k = {j->hunt.at, j->gap_start, 0, j->gap};

	if (j->gap == 0)
		return 0;
	j->gap = 0;
	return offsets_add(&j->offsets, &k);
}

/* May a byte of a gap follow? */
static bool may_gap(const struct lines *l)
{
	const struct joined *j = l->joined;

	return j->gap > 0 ? j->gap < LINES_GAP_MAX
			  : l->run == LINES_RUN_MIN && is_carried(&j->hunt);
}

/* One byte of a gap or one stretch of the run; what is neither ends both. */
static int step(struct lines *l, const struct lines_piece *p, size_t *i, struct joined_sink *sink)
{
	struct joined *j = l->joined;
	size_t start = *i;
	int r;

	if (letters[p->bytes[start]] == LETTER_GAP && may_gap(l)) {
		if (j->gap++ == 0)
			j->gap_start = p->before->at + start;
		l->run = 0;
		(*i)++;
		return 0;
	}
	if (letters[p->bytes[start]] != LETTER_RUN) {
		lines_done(l);
		return 0;
	}
	*i = run_end(p->bytes, start, p->size);
	l->run = *i - start < LINES_RUN_MIN - l->run ? l->run + (unsigned)(*i - start)
						     : LINES_RUN_MIN;
	r = close_gap(j);
	if (r == 0)
		r = hunt_feed(&j->hunt, p->bytes + start, *i - start, pass_on, sink);
	if (j->offsets.count > KNOTS_KEPT)
		offsets_forget(&j->offsets, hunt_settled(&j->hunt));
	return r;
}

int lines_feed(struct lines *l, const struct lines_piece *p, hunt_on_match on_match, void *context)
{
	struct joined_sink sink = {NULL, on_match, context};
	int r = 0;

	for (size_t i = 0; i < p->size && r == 0;) {
		if (l->joined != NULL) {
			sink.joined = l->joined;
			r = step(l, p, &i, &sink);
			continue;
		}
		i = find_gap(l, p->bytes, i, p->size);
		if (i < p->size)
			r = open_joined(l, p, i++, &sink);
	}
	return r;
}

uint64_t lines_settled(const struct lines *l, uint64_t at)
{
	uint64_t settled;

	if (l->joined == NULL)
		return at;
	settled = hunt_settled(&l->joined->hunt);
	/* behind a gap that no form lies across, nothing can have begun */
	return settled < l->joined->hunt.at ? offsets_start(&l->joined->offsets, settled) : at;
}

bool lines_telling(const struct lines *l, struct match *ret)
{
	if (l->joined == NULL || !hunt_telling(&l->joined->hunt, ret))
		return false;
	ret->start = offsets_start(&l->joined->offsets, ret->start);
	return true;
}
