/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the automaton over bytes and follows what it points at. */

#include "needle/hunt.h"

#include <errno.h>
#include <stdlib.h>

#define WORK_FREE     (UINT64_C(1) << 20)
#define WORK_PER_BYTE 64u

#define FOUR_WALKS_MIN 96u /* bytes; below, walking early costs more than it saves */
#define BLOCK_BYTES    2048u

struct sink {
	hunt_on_match on_match;
	void *context;
};

void hunt_init(struct hunt *h, const struct needle *n, bool forgets)
{
	*h = (struct hunt){.n = n, .forgets = forgets};
}

void hunt_done(struct hunt *h)
{
	free(h->trails);
	*h = (struct hunt){.n = h->n, .forgets = h->forgets};
}

static bool is_wanted(const struct hunt *h, uint32_t form)
{
	return !h->runs_only || form_is_run(needle_form(h->n, form)->kind);
}

static int add_trail(struct hunt *h, const struct trail *t)
{
	if (h->trail_count == h->trail_room) {
		size_t room = h->trail_room > 0 ? h->trail_room * 2 : 16;
		struct trail *grown = reallocarray(h->trails, room, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		h->trails = grown;
		h->trail_room = room;
	}
	h->trails[h->trail_count++] = *t;
	return 0;
}

int hunt_copy(struct hunt *h, const struct hunt *from)
{
	int r = 0;

	h->state = from->state;
	h->at = from->at;
	h->work = from->work;
	for (size_t i = 0; i < from->trail_count && r == 0; i++)
		if (is_wanted(h, from->trails[i].form))
			r = add_trail(h, &from->trails[i]);
	return r;
}

static enum form_step follow(
	struct hunt *h, struct trail *t, const uint8_t *bytes, size_t size, size_t *ret_used)
{
	const struct needle *n = h->n;
	const struct form *f = needle_form(n, t->form);
	const struct form_spelling s = {
		.kind = f->kind,
		.value = n->values + n->starts[f->secret],
		.size = n->starts[f->secret + 1] - n->starts[f->secret],
	};
	enum form_step step = form_follow(&s, &t->place, bytes, size, ret_used);

	h->work += *ret_used + 1;
	return step;
}

/* The trails left open by earlier pieces, over the bytes of this one. */
static int follow_trails(struct hunt *h, const uint8_t *bytes, size_t size, struct sink sink)
{
	size_t kept = 0, i = 0;
	int r = 0;

	for (; i < h->trail_count && r == 0; i++) {
		struct trail t = h->trails[i];
		size_t used;
		enum form_step step = follow(h, &t, bytes, size, &used);

		if (step == FORM_ENDS) {
			struct match m = {t.start, h->at + used, needle_form(h->n, t.form)->secret};

			r = sink.on_match(sink.context, &m);
		} else if (step == FORM_MORE) {
			h->trails[kept++] = t;
		}
	}
	for (; i < h->trail_count; i++)
		h->trails[kept++] = h->trails[i];
	h->trail_count = kept;
	return r;
}

/* An anchor of form ends right before bytes. */
static int meet_anchor(struct hunt *h, uint32_t form, uint64_t at, const uint8_t *bytes,
	size_t size, struct match *m)
{
	const struct form *f = needle_form(h->n, form);
	struct trail t = {at - f->anchor, form, f->behind};
	enum form_step step = FORM_ENDS;
	size_t used = 0;

	if (f->anchor < f->size) {
		if (h->work > WORK_FREE + WORK_PER_BYTE * at)
			used = f->size - f->anchor;
		else
			step = follow(h, &t, bytes, size, &used);
	}
	*m = (struct match){t.start, at + used, f->secret};
	if (step == FORM_ENDS)
		return 1;
	return step == FORM_MORE && !h->forgets ? add_trail(h, &t) : 0;
}

/* Every word that ends in the present state, at bytes[i]. */
static int meet_words(struct hunt *h, const uint8_t *bytes, size_t i, size_t size, struct sink sink)
{
	const struct dfa *d = &h->n->dfa;
	uint32_t word = (h->state - d->accept_from) / d->classes;

	for (; word != DFA_NONE; word = d->out_link[word]) {
		for (uint32_t o = d->out_first[word]; o < d->out_first[word + 1]; o++) {
			struct match m;
			int r = is_wanted(h, d->outs[o]) ? meet_anchor(h, d->outs[o], h->at + i,
								   bytes + i, size - i, &m)
							 : 0;

			if (r > 0)
				r = sink.on_match(sink.context, &m);
			if (r != 0)
				return r;
		}
	}
	return 0;
}

/* Steps until a word ends or the bytes do; at least one step. */
static size_t run(const struct dfa *d, uint32_t *state, const uint8_t *bytes, size_t i, size_t size)
{
	const uint32_t *next = d->next;
	const uint16_t *class_of = d->class_of;
	uint32_t s = *state, accept_from = d->accept_from;

	do {
		s = next[s + class_of[bytes[i++]]];
	} while (s < accept_from && i < size);
	*state = s;
	return i;
}

/* A step waits for the one before, so one walk leaves the processor idle; four at once do not.
 * Each but the first begins at the start state, so many bytes early that a word that ends in its
 * part cannot have begun before it. True when no word ends in the first *ret_size of the bytes, the
 * state then being the one behind them; otherwise nothing is known but that it is worth looking. */
static bool is_quiet(
	const struct dfa *d, uint32_t *state, const uint8_t *bytes, size_t size, size_t *ret_size)
{
	const size_t early = DFA_WORD_MAX - 1, steps = (size + 3 * early) / 4,
		     apart = steps - early;
	const uint32_t *next = d->next, last = d->accept_from - 1;
	const uint16_t *class_of = d->class_of;
	uint32_t s0 = *state, s1 = 0, s2 = 0, s3 = 0, over = 0;

	for (const uint8_t *p = bytes, *end = bytes + steps; p < end; p++) {
		s0 = next[s0 + class_of[p[0]]];
		s1 = next[s1 + class_of[p[apart]]];
		s2 = next[s2 + class_of[p[2 * apart]]];
		s3 = next[s3 + class_of[p[3 * apart]]];
		over |= (last - s0) | (last - s1) | (last - s2) | (last - s3);
	}
	if (over >> 31 != 0)
		return false;
	*state = s3;
	*ret_size = steps + 3 * apart;
	return true;
}

/* Words that end in bytes[i..end); what follows them may reach to size. */
static int walk(
	struct hunt *h, const uint8_t *bytes, size_t i, size_t end, size_t size, struct sink sink)
{
	int r = 0;

	while (i < end && r == 0) {
		i = run(&h->n->dfa, &h->state, bytes, i, end);
		if (h->state >= h->n->dfa.accept_from)
			r = meet_words(h, bytes, i, size, sink);
	}
	return r;
}

int hunt_feed(
	struct hunt *h, const uint8_t *bytes, size_t size, hunt_on_match on_match, void *context)
{
	const struct sink sink = {on_match, context};
	int r;

	if (h->n->secret_count == 0) {
		h->at += size;
		return 0;
	}
	r = h->trail_count > 0 ? follow_trails(h, bytes, size, sink) : 0;
	for (size_t i = 0; i < size && r == 0;) {
		size_t part = size - i < BLOCK_BYTES ? size - i : BLOCK_BYTES;

		if (part < FOUR_WALKS_MIN ||
			!is_quiet(&h->n->dfa, &h->state, bytes + i, part, &part))
			r = walk(h, bytes, i, i + part, size, sink);
		i += part;
	}
	h->at += size;
	return r;
}

uint64_t hunt_settled(const struct hunt *h)
{
	uint64_t settled = h->at;

	if (h->n->secret_count > 0)
		settled -= dfa_depth(&h->n->dfa, h->state);
	for (size_t i = 0; i < h->trail_count; i++)
		if (h->trails[i].start < settled)
			settled = h->trails[i].start;
	return settled;
}

bool hunt_telling(const struct hunt *h, struct match *ret)
{
	struct dfa_telling telling = {DFA_NONE, 0};

	*ret = (struct match){UINT64_MAX, h->at, 0};
	if (h->n->secret_count > 0)
		telling = h->n->dfa.telling[h->state / h->n->dfa.classes];
	if (telling.name != DFA_NONE)
		*ret = (struct match){
			h->at - telling.depth, h->at, needle_form(h->n, telling.name)->secret};
	for (size_t i = 0; i < h->trail_count; i++) {
		const struct trail *t = &h->trails[i];
		const struct form *f = needle_form(h->n, t->form);

		if (t->start < ret->start && form_is_telling(f->kind, &t->place))
			*ret = (struct match){t->start, h->at, f->secret};
	}
	return ret->start != UINT64_MAX;
}
