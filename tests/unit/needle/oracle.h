/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_NEEDLE_ORACLE_H
#define TESTS_UNIT_NEEDLE_ORACLE_H

/* Slow and simple: every form is written out, every decoding of the text is written out, every
 * position of each is tried, units are read from the front. needle must say the same. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"
#include "needle/needle.h"

struct spelling {
	uint8_t *text;
	uint8_t *other; /* bytes that may stand there too, 0 none */
	size_t size;
	uint32_t secret;
	bool form;  /* what is looked for in every decoding; the others are here to make texts of */
	bool lines; /* may be broken into lines */
	char kind[32];
};

struct oracle {
	const struct needle_secret *secrets; /* borrowed */
	size_t secret_count;
	struct spelling *spellings;
	size_t count;
};

void oracle_init(struct oracle *o, const struct needle_secret *secrets, size_t count);
void oracle_done(struct oracle *o);
int oracle_redact(const struct oracle *o, const uint8_t *text, size_t size, struct buf *out,
	uint64_t *counts);
bool oracle_occurs(const struct oracle *o, const uint8_t *text, size_t size);

/* A generator of its own, so that a failure can be repeated. */
uint32_t random_next(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t bound);
/* The same text, some of its bytes escaped; then perhaps, without percents, some of those. */
void random_disguise(uint64_t *state, const uint8_t *text, size_t size, struct buf *out);
/* Text made of noise and of spellings, whole, cut, disguised and broken into lines. */
void random_text(const struct oracle *o, uint64_t *state, const char *alphabet, struct buf *out);

#endif
