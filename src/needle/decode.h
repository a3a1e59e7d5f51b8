/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_DECODE_H
#define NEEDLE_DECODE_H

#include <stddef.h>
#include <stdint.h>

/* What a text means where its writer escaped some of its bytes, whichever. */
enum decoding {
	DECODE_ESCAPES, /* \" \\ \/ \' \b \f \n \r \t \uXXXX (also in pairs) \xXX */
	DECODE_PERCENT, /* %XX */
	DECODE_NOTHING, /* bytes as they are */
};

#define DECODE_TAKEN_MAX 12 /* bytes */
#define DECODE_GIVEN_MAX 4

/* The byte that every escape begins with. */
uint8_t decode_mark(enum decoding d);

/* Can a text in which bytes follow differ from what it means? Never wrong when it says no. */
int decode_matters(enum decoding d, const uint8_t *bytes, size_t size);

/* Reads what begins with the mark at bytes[0]. Returns how many bytes that takes; 0: it depends on
 * bytes that are not there yet. *ret_given bytes are what it means; a mark that begins no escape
 * means itself. */
unsigned decode_unit(enum decoding d, const uint8_t *bytes, size_t size,
	uint8_t given[DECODE_GIVEN_MAX], unsigned *ret_given);

/* The value of a hex digit, -1 when it is none. */
int decode_hex(uint8_t c);

#endif
