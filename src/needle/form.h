/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_FORM_H
#define NEEDLE_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a value may be encoded as a whole. (What may be written differently from character to
 * character is decoded before, see decode.h.) A form is spelled unit by unit straight from the
 * value, so that long secrets do not have to be stored once per form.
 *
 * A symbol is a byte, and in its upper eight bits another byte that may stand in its place, 0 when
 * there is none. */
#define FORM_UNIT_MAX 3

enum form_kind {
	FORM_RAW,
	FORM_BASE64, /* of three, by how many bytes of others come before, modulo 3 */
	FORM_BASE64_BEHIND_ONE,
	FORM_BASE64_BEHIND_TWO,
	FORM_HEX,
	FORM_HEX_SPACED, /* 73 6b */
	FORM_HEX_COLONS, /* 73:6b */
	FORM_KIND_COUNT,
};

/* Where in a spelling one stands. Holds no part of the value. */
struct form_place {
	uint32_t at;  /* the unit: an offset into the value, or a character's number in base64 */
	uint32_t sub; /* symbols of that unit already passed */
};

/* Spells the unit at *at and moves *at to the next one. Returns its symbols, 0 at the end. */
unsigned form_spell(enum form_kind kind, const uint8_t *value, size_t size, uint32_t *at,
	uint16_t unit[FORM_UNIT_MAX]);

size_t form_size(enum form_kind kind, size_t size);
bool form_same(enum form_kind a, enum form_kind b, const uint8_t *value, size_t size);

/* Of letters, digits and + / - _ alone, so that line breaks may be taken out of it. */
bool form_is_run(enum form_kind kind);

/* So many symbols give away FORM_TELLING_BYTES of the value; so much has a place passed. */
#define FORM_TELLING_BYTES 8
unsigned form_telling_symbols(enum form_kind kind);
bool form_is_telling(enum form_kind kind, const struct form_place *place);

enum form_step {
	FORM_DIFFERS,
	FORM_ENDS, /* the spelling is complete */
	FORM_MORE, /* all bytes fit, more must follow */
};

struct form_spelling {
	enum form_kind kind;
	const uint8_t *value; /* borrowed */
	size_t size;          /* of the value */
};

/* Follows the spelling from *place over bytes; *ret_used is how many of them fitted. */
enum form_step form_follow(const struct form_spelling *s, struct form_place *place,
	const uint8_t *bytes, size_t count, size_t *ret_used);

static inline uint16_t form_symbol(uint8_t byte, uint8_t other)
{
	return (uint16_t)(byte | other << 8);
}

/* The byte that may stand in place of a symbol's own; 0: none. */
static inline uint8_t form_other(uint16_t symbol)
{
	return (uint8_t)(symbol >> 8);
}

static inline bool form_fits(uint16_t symbol, uint8_t byte)
{
	return byte == (uint8_t)symbol || (byte == form_other(symbol) && byte != 0);
}

#endif
