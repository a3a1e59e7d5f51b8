/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_REDACT_H
#define NEEDLE_REDACT_H

#include "needle/scan.h"

/* Matches become regions (overlapping and touching ones are one), regions become replacements. */

#define SEEN_WORDS (NEEDLE_SECRETS_MAX / 64)

struct region {
	uint64_t start, end;
	struct match first; /* begins first; among those, ends first; then the lower secret */
	uint64_t seen[SEEN_WORDS]; /* one bit per secret that occurs in it */
	bool quoted;               /* the replacement brings its own quotes */
};

struct redact {
	const struct needle *n; /* borrowed */
	struct region *regions; /* owned, ascending, never touching each other */
	size_t count, room;
	uint64_t done;             /* everything before this offset has been written */
	bool replaced;             /* the last thing written is a replacement that ended at done */
	uint64_t seen[SEEN_WORDS]; /* by that replacement */
};

void redact_init(struct redact *r, const struct needle *n);
void redact_done(struct redact *r);

int redact_add(void *redact, const struct match *m); /* a hunt_on_match; -ENOMEM */
/* Counts what region holds and already does not. */
void redact_count(const struct redact *r, const uint64_t seen[SEEN_WORDS],
	const uint64_t already[SEEN_WORDS], uint64_t *counts);

/* Bytes at offset base and what may be said about them. */
struct stretch {
	const uint8_t *bytes;
	size_t size;
	uint64_t base;    /* offset of bytes[0]; redact.done lies inside */
	uint64_t settled; /* no match that is still to come begins before this */
	uint64_t decided; /* nor ends at or before this */
	bool final;       /* nothing is held back */
};

/* Writes what can be written: redact.done moves on. Returns replacements, or -errno of out. */
int redact_write(struct redact *r, const struct stretch *s, struct buf *out, uint64_t *counts);

#endif
