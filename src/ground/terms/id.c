/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that sort by age. */

#include "ground/terms/id.h"

#include <string.h>

#include "ground/base/rand.h"

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* Adds a random step of up to 2^64 to the 80 random bits: ids of one millisecond grow, and differ
 * early, so that a person can still tell them apart by a few characters. True when they overflowed. */
static bool step(uint8_t random[10])
{
	uint8_t add[10] = {0};
	unsigned carry = 1; /* at least one */

	rand_bytes(add + 2, 8);
	for (int i = 9; i >= 0; i--) {
		carry += (unsigned)random[i] + add[i];
		random[i] = (uint8_t)carry;
		carry >>= 8;
	}
	return carry != 0;
}

struct id id_new(struct id_source *source, struct wall now)
{
	int64_t ms = now.us / 1000;
	uint8_t bytes[16];
	struct id id;

	if (ms > source->last_ms || step(source->random)) {
		/* a millisecond that is full borrows the next one */
		source->last_ms = ms > source->last_ms ? ms : source->last_ms + 1;
		rand_bytes(source->random, sizeof(source->random));
		source->random[0] &= 0x7f; /* room to grow within the millisecond */
	}
	for (int i = 0; i < 6; i++)
		bytes[i] = (uint8_t)((uint64_t)source->last_ms >> (40 - 8 * i));
	(void)memcpy(bytes + 6, source->random, 10);
	/* 128 bits in 26 digits of 5: the first digit holds the upper 3 bits */
	for (int digit = 0; digit < ID_LENGTH; digit++) {
		unsigned value = 0;

		for (int bit = 0; bit < 5; bit++) {
			int at = digit * 5 + bit - 2;

			value <<= 1;
			if (at >= 0)
				value |= (bytes[at / 8] >> (7 - at % 8)) & 1u;
		}
		id.text[digit] = alphabet[value];
	}
	id.text[ID_LENGTH] = '\0';
	return id;
}

bool id_is_valid(const char *text)
{
	return strlen(text) == ID_LENGTH && text[0] <= '7' && strspn(text, alphabet) == ID_LENGTH;
}

bool id_is_prefix(const char *text)
{
	size_t n = strlen(text);

	return n >= 4 && n <= ID_LENGTH && strspn(text, alphabet) == n;
}

bool id_is_none(const struct id *id)
{
	return id->text[0] == '\0';
}
