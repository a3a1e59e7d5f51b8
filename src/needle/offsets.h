/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_OFFSETS_H
#define NEEDLE_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

/* From offsets in a text that was changed in places to offsets in the text it was made from. Only
 * the places are kept (knots); between them one text runs as the other does. Both texts begin with
 * the same offset. Holds no byte of either. */

struct knot {
	uint64_t at, from; /* where it begins, in the changed text and in the other */
	uint32_t size, from_size;
};

#define KNOTS_FEW 8u

struct offsets {
	struct knot *more; /* owned; all of them once there are more than a few, otherwise NULL */
	size_t count, room;
	struct knot few[KNOTS_FEW];
};

void offsets_init(struct offsets *o);
void offsets_done(struct offsets *o);
int offsets_copy(struct offsets *o, const struct offsets *from); /* o is initialised; -ENOMEM */

int offsets_add(struct offsets *o, const struct knot *k); /* behind all others; -ENOMEM */
/* Where what begins at this offset begins in the other text, and where what ends here ends. */
uint64_t offsets_start(const struct offsets *o, uint64_t at);
uint64_t offsets_end(const struct offsets *o, uint64_t at);
/* Nothing before this offset will be asked about. */
void offsets_forget(struct offsets *o, uint64_t before);

#endif
