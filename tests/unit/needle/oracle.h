/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_NEEDLE_ORACLE_H
#define TESTS_UNIT_NEEDLE_ORACLE_H

/* Slow and simple: every spelling is written out, every position is tried, units are read from the
 * front. needle must say the same. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"
#include "needle/needle.h"

struct spelling {
	uint8_t *text;   /* hex letters in lower case */
	uint8_t *either; /* 1 where the letter may also be upper case */
	size_t size;
	uint32_t secret;
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
/* Text made of noise and of spellings, whole and cut, in random case. */
void random_text(const struct oracle *o, uint64_t *state, const char *alphabet, struct buf *out);

#endif
