/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_DFA_H
#define NEEDLE_DFA_H

#include <stddef.h>
#include <stdint.h>

#include "ground/base/err.h"

struct dfa_telling {
	uint32_t name;  /* of a word so much of which has been seen that it is given away */
	uint32_t depth; /* how many bytes back it began */
};

/* A dense automaton over byte classes that finds short words (the beginnings of spellings) in one
 * pass. A state is the offset of its row, so a step is next[state + class_of[byte]]; state 0 is the
 * start. States at and above accept_from end at least one word. */
struct dfa {
	/* all owned, in vaults */
	uint32_t *next;              /* a row per state */
	uint8_t *depth;              /* per state: how many bytes back its longest word began */
	struct dfa_telling *telling; /* per state; DFA_NONE: nothing is given away */
	uint32_t *out_first; /* per accepting state, and one more: where in outs its words are */
	uint32_t *out_link; /* per accepting state: the one whose words end here too, or DFA_NONE */
	uint32_t *outs;     /* what the caller named the words */
	size_t next_bytes, depth_bytes, telling_bytes, first_bytes, link_bytes, outs_bytes;
	uint16_t class_of[256];
	uint32_t classes;
	uint32_t states;
	uint32_t accept_from;
};

#define DFA_NONE      UINT32_MAX
#define DFA_BYTES_MAX (128u << 20)
#define DFA_WORD_MAX  16u

struct dfa_maker;

struct dfa_maker *dfa_maker_new(void); /* NULL: no memory */
void dfa_maker_free(struct dfa_maker *m);

struct dfa_word {
	const uint16_t *symbols; /* borrowed; as form.h has them */
	unsigned count;
	unsigned telling; /* so many of them give it away */
	uint32_t name;
};

/* -ENOMEM. */
int dfa_maker_add(struct dfa_maker *m, const struct dfa_word *w);
/* -ENOMEM, -E2BIG over DFA_BYTES_MAX. On failure d is empty. */
int dfa_make(struct dfa_maker *m, struct dfa *d, struct err *err);
void dfa_done(struct dfa *d);

static inline uint32_t dfa_depth(const struct dfa *d, uint32_t state)
{
	return d->depth[state / d->classes];
}

#endif
