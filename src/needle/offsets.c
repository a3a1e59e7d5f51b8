/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets in a changed text and where they come from. */

#include "needle/offsets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void offsets_init(struct offsets *o)
{
	o->more = NULL;
	o->count = 0;
	o->room = KNOTS_FEW;
}

void offsets_done(struct offsets *o)
{
	free(o->more);
	offsets_init(o);
}

static const struct knot *knots_of(const struct offsets *o)
{
	return o->more != NULL ? o->more : o->few;
}

static int grow(struct offsets *o, size_t room)
{
	struct knot *grown = reallocarray(o->more, room, sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	if (o->more == NULL)
		memcpy(grown, o->few, o->count * sizeof(*grown));
	o->more = grown;
	o->room = room;
	return 0;
}

int offsets_add(struct offsets *o, const struct knot *k)
{
	if (o->count == o->room && grow(o, 4 * o->room) < 0)
		return -ENOMEM;
	(o->more != NULL ? o->more : o->few)[o->count++] = *k;
	return 0;
}

int offsets_copy(struct offsets *o, const struct offsets *from)
{
	const struct knot *knots = knots_of(from);
	int r = 0;

	for (size_t i = 0; i < from->count && r == 0; i++)
		r = offsets_add(o, &knots[i]);
	return r;
}

/* The last knot that begins at or before this offset, NULL when there is none. */
static const struct knot *last_knot(const struct offsets *o, uint64_t at)
{
	const struct knot *knots = knots_of(o);
	size_t low = 0, high = o->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (knots[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &knots[low - 1] : NULL;
}

uint64_t offsets_start(const struct offsets *o, uint64_t at)
{
	const struct knot *k = last_knot(o, at);

	if (k == NULL)
		return at;
	return at < k->at + k->size ? k->from : k->from + k->from_size + (at - k->at - k->size);
}

uint64_t offsets_end(const struct offsets *o, uint64_t at)
{
	/* a knot that begins here is not part of what ends here */
	const struct knot *k = at > 0 ? last_knot(o, at - 1) : NULL;

	if (k == NULL)
		return at;
	return at <= k->at + k->size ? k->from + k->from_size
				     : k->from + k->from_size + (at - k->at - k->size);
}

void offsets_forget(struct offsets *o, uint64_t before)
{
	const struct knot *k = before > 0 ? last_knot(o, before - 1) : NULL;
	struct knot *knots = o->more != NULL ? o->more : o->few;
	size_t gone = k != NULL ? (size_t)(k - knots) : 0;

	memmove(knots, knots + gone, (o->count - gone) * sizeof(*knots));
	o->count -= gone;
}
