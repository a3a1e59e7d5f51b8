/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_HUNT_H
#define NEEDLE_HUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "needle/dfa.h"
#include "needle/form.h"
#include "needle/needle.h"
#include "needle/vec.h"

/* Finding, without replacing: bytes go in, matches come out, across any cutting of the bytes.
 *
 * The automaton knows only the first few symbols of every spelling (an anchor). Where one ends, the
 * rest is compared against the spelling itself; what the bytes at hand do not decide becomes a
 * trail, followed when more arrive. So memory does not grow with the length of secrets.
 *
 * A value that repeats itself could make that comparison quadratic. Comparing is therefore paid
 * from a budget that grows with the bytes seen; an anchor it cannot pay for counts as found. */

struct form {
	uint32_t secret;
	enum form_kind kind;
	uint32_t size;            /* of the spelling */
	uint32_t anchor;          /* symbols of it that the automaton finds */
	struct form_place behind; /* the place after them */
};

struct needle {
	size_t secret_count;
	char **names;        /* owned strings */
	uint32_t *starts;    /* owned: value i is values[starts[i]] up to starts[i + 1] */
	uint8_t *values;     /* owned, vault */
	size_t values_bytes; /* of the vault */
	struct vec forms;    /* struct form */
	struct dfa dfa;
	size_t longest;
};

struct match {
	/* from the first byte ever fed; end lies ahead of what was fed when the budget ran out */
	uint64_t start, end;
	uint32_t secret;
};

struct trail {
	uint64_t start;
	uint32_t form;
	struct form_place place;
};

struct hunt {
	const struct needle *n; /* borrowed */
	uint32_t state;
	uint64_t at;          /* bytes fed */
	uint64_t work;        /* comparisons paid for */
	bool runs_only;       /* looks for forms that form_is_run() alone */
	bool forgets;         /* nothing will follow: what is undecided at the end is no match */
	struct trail *trails; /* owned; holds no part of a secret */
	size_t trail_count, trail_room;
};

/* Called for every match, in no particular order; a value other than 0 ends the feeding. */
typedef int (*hunt_on_match)(void *context, const struct match *m);

void hunt_init(struct hunt *h, const struct needle *n, bool forgets);
void hunt_done(struct hunt *h);
/* Makes an initialised, empty hunt stand where from stands. -ENOMEM. */
int hunt_copy(struct hunt *h, const struct hunt *from);
/* 0, what on_match returned, or -ENOMEM. */
int hunt_feed(
	struct hunt *h, const uint8_t *bytes, size_t size, hunt_on_match on_match, void *context);
/* No match that is still to come begins before this offset. */
uint64_t hunt_settled(const struct hunt *h);
/* Do the bytes end in a beginning that gives a secret away? *ret is then the earliest. */
bool hunt_telling(const struct hunt *h, struct match *ret);

static inline const struct form *needle_form(const struct needle *n, uint32_t index)
{
	return vec_at(&n->forms, const struct form, index);
}

#endif
