/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_LINES_H
#define NEEDLE_LINES_H

#include "needle/hunt.h"
#include "needle/offsets.h"

/* Base64 and hex that were broken into lines: what the text of a hunt would hold without the gaps.
 *
 * A line is a row of base64 characters. Up to LINES_GAP_MAX blanks, tabs and line ends behind one of
 * LINES_RUN_MIN characters or more are a gap: what follows continues it. Ordinary words are shorter,
 * so ordinary text has few gaps, and where no form lies across one it is forgotten at once. */

#define LINES_RUN_MIN 32u
#define LINES_GAP_MAX 64u

/* Lines that something lies across. */
struct joined {
	struct hunt hunt;       /* over them without their gaps */
	struct offsets offsets; /* from there to the text with them */
	uint64_t gap_start;     /* where in that text; has a meaning while gap > 0 */
	unsigned gap;           /* bytes of the gap that the text ends in */
};

struct lines {
	unsigned run;          /* of a line that the text ends in; counts up to the minimum */
	struct joined *joined; /* owned; mostly NULL */
};

void lines_done(struct lines *l);
int lines_copy(struct lines *l, const struct lines *from); /* l is empty; -ENOMEM */

/* More of the text. before is the hunt over the text as it is, not yet fed with these bytes. */
struct lines_piece {
	const struct hunt *before; /* borrowed */
	const uint8_t *bytes;      /* borrowed */
	size_t size;
};

/* Offsets in matches are those of the text as it is. 0, what on_match returned, or -ENOMEM. */
int lines_feed(struct lines *l, const struct lines_piece *p, hunt_on_match on_match, void *context);

/* As with hunt.h; at is where the text ends. */
uint64_t lines_settled(const struct lines *l, uint64_t at);
bool lines_telling(const struct lines *l, struct match *ret);

#endif
