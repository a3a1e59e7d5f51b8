/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_TERMS_ID_H
#define GROUND_TERMS_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "ground/base/clock.h"

/* Runs and attempts are named by ULIDs (github.com/ulid/spec) in lower case: 26 characters of
 * Crockford's base32, 48 bits of milliseconds and 80 random bits, so they sort by age. */
#define ID_LENGTH 26

struct id {
	char text[ID_LENGTH + 1];
};

/* Makes ids that only grow, also within one millisecond: the engine owns one source. Zero to start. */
struct id_source {
	int64_t last_ms;
	uint8_t random[10];
};

struct id id_new(struct id_source *source, struct wall now);
bool id_is_valid(const char *text); /* exactly 26 characters of the alphabet, first 0 to 7 */
/* What a person may type for an id: 4 to 26 characters of the alphabet. */
bool id_is_prefix(const char *text);
bool id_is_none(const struct id *id);

#endif
