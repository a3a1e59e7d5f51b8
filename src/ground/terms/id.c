/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that sort by age. */

#include "ground/terms/id.h"

#include <string.h>

#include "ground/base/rand.h"

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

struct id id_new(struct id_source *source, struct wall now)
{
	int64_t ms = now.us / 1000;
	uint8_t bytes[16];
	struct id id;

	if (ms > source->last_ms) {
		source->last_ms = ms;
		rand_bytes(source->random, sizeof(source->random));
		source->random[0] &= 0x7f; /* room to count upward within the millisecond */
	} else {
		for (int i = 9; i >= 0 && ++source->random[i] == 0; i--)
			;
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
