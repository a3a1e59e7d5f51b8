/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_SCAN_H
#define NEEDLE_SCAN_H

#include "needle/decode.h"
#include "needle/lines.h"

/* A hunt over bytes and over everything they may mean (views): the bytes with escapes decoded,
 * those decoded again, and so on, as scan.c's table says; in each of them also runs of base64 that
 * were broken into lines. Matches have offsets in the bytes themselves and take whole escapes.
 * What occurs in several views is reported by each. */

enum view_name {
	VIEW_BYTES,
	VIEW_E, /* escapes decoded */
	VIEW_P, /* percent-encoding decoded */
	VIEW_EE,
	VIEW_EP, /* first escapes, then percent-encoding */
	VIEW_PE,
	VIEW_PP,
	VIEW_EEE,
	VIEW_EEP,
	VIEW_COUNT,
};

struct view {
	enum view_name name;
	struct hunt hunt;
	struct lines lines;
	struct offsets offsets;            /* from here to the view that this one decodes */
	uint8_t pending[DECODE_TAKEN_MAX]; /* of that view: an escape that is not complete */
	unsigned pending_bytes;
};

struct scan {
	struct view bytes;
	/* owned; NULL: so far the same as the view that it decodes, as far as can matter */
	struct view *decoded[VIEW_COUNT];
	unsigned decoded_count;
};

/* forgets: all bytes come at once, and nothing will follow. */
void scan_init(struct scan *s, const struct needle *n, bool forgets);
void scan_done(struct scan *s);
/* 0, what on_match returned, or -ENOMEM. */
int scan_feed(
	struct scan *s, const uint8_t *bytes, size_t size, hunt_on_match on_match, void *context);
/* No match that is still to come begins before the one, or ends at or before the other. */
uint64_t scan_settled(const struct scan *s);
uint64_t scan_decided(const struct scan *s);
/* As hunt_telling(), of all views. */
bool scan_telling(const struct scan *s, struct match *ret);

#endif
