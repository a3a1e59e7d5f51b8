/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_FORM_H
#define NEEDLE_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a value may be spelled. A form is spelled unit by unit straight from the value, so that long
 * secrets do not have to be stored once per form.
 *
 * A symbol is a byte, with FORM_EITHER_CASE when it is a hex letter that may also come in upper
 * case; the byte is then the lower-case one. */
#define FORM_EITHER_CASE 0x100u
#define FORM_UNIT_MAX    16 /* \\uXXXX\\uXXXX takes 14 */

/* The spellings, in form.c's table; FORM_RAW is the value itself. */
#define FORM_RAW 0u
extern const unsigned form_kind_count;

/* Where in a spelling one stands. Holds no part of the value. */
struct form_place {
	uint32_t at;  /* the unit: an offset into the value, or a character's number in base64 */
	uint32_t sub; /* symbols of that unit already passed */
};

/* Can the value be spelled this way? (\uXXXX needs UTF-8.) */
bool form_applies(unsigned kind, const uint8_t *value, size_t size);

/* Spells the unit at *at and moves *at to the next one. Returns its symbols, 0 at the end. */
unsigned form_spell(unsigned kind, const uint8_t *value, size_t size, uint32_t *at,
	uint16_t unit[FORM_UNIT_MAX]);

size_t form_size(unsigned kind, const uint8_t *value, size_t size);
bool form_same(unsigned a, unsigned b, const uint8_t *value, size_t size);

enum form_step {
	FORM_DIFFERS,
	FORM_ENDS, /* the spelling is complete */
	FORM_MORE, /* all bytes fit, more must follow */
};

struct form_spelling {
	unsigned kind;
	const uint8_t *value; /* borrowed */
	size_t size;          /* of the value */
};

/* Follows the spelling from *place over bytes; *ret_used is how many of them fitted. */
enum form_step form_follow(const struct form_spelling *s, struct form_place *place,
	const uint8_t *bytes, size_t count, size_t *ret_used);

static inline bool form_fits(uint16_t symbol, uint8_t byte)
{
	return byte == (uint8_t)symbol ||
	       ((symbol & FORM_EITHER_CASE) != 0 && (byte | 0x20) == (uint8_t)symbol);
}

#endif
