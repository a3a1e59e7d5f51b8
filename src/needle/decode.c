/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes of JSON and its relatives, and percent-encoding, one at a time. */

#include "needle/decode.h"

#include <stdbool.h>
#include <string.h>

int decode_hex(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

uint8_t decode_mark(enum decoding d)
{
	return d == DECODE_PERCENT ? '%' : '\\';
}

/* As many of the digits as are there; false when one of them is none. */
static bool read_digits(const uint8_t *p, size_t there, unsigned digits, uint32_t *ret_value)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < digits && i < there; i++) {
		if (decode_hex(p[i]) < 0)
			return false;
		value = value << 4 | (uint32_t)decode_hex(p[i]);
	}
	*ret_value = value;
	return true;
}

int decode_matters(enum decoding d, const uint8_t *bytes, size_t size)
{
	const uint8_t *p = bytes, *end = bytes + size;
	uint32_t value;

	if (d == DECODE_ESCAPES)
		return memchr(bytes, '\\', size) != NULL;
	for (; (p = memchr(p, '%', (size_t)(end - p))) != NULL; p++)
		if (read_digits(p + 1, (size_t)(end - p - 1), 2, &value))
			return 1;
	return 0;
}

/* Half a pair alone becomes three bytes like any other character: nothing is lost. */
static unsigned put_character(uint32_t code, uint8_t given[DECODE_GIVEN_MAX])
{
	unsigned n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (unsigned i = n - 1; i > 0; i--, code >>= 6)
		given[i] = (uint8_t)(0x80 | (code & 0x3f));
	given[0] = (uint8_t)(lead[n] | code);
	return n;
}

static unsigned literal(const uint8_t *p, uint8_t *given, unsigned *ret_given)
{
	given[0] = p[0];
	*ret_given = 1;
	return 1;
}

static unsigned decode_u(const uint8_t *p, size_t size, uint8_t *given, unsigned *ret_given)
{
	uint32_t code, low = 0;
	unsigned taken = 6;

	if (!read_digits(p + 2, size - 2, 4, &code))
		return literal(p, given, ret_given);
	if (size < 6)
		return 0;
	if (code >= 0xd800 && code <= 0xdbff && (size < 7 || p[6] == '\\') &&
		(size < 8 || p[7] == 'u') && (size < 9 || read_digits(p + 8, size - 8, 4, &low))) {
		if (size < 12)
			return 0;
		if (low >= 0xdc00 && low <= 0xdfff) {
			code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
			taken = 12;
		}
	}
	*ret_given = put_character(code, given);
	return taken;
}

/* Two hex digits behind so many other bytes. */
static unsigned decode_byte(
	const uint8_t *p, size_t size, unsigned before, uint8_t *given, unsigned *ret_given)
{
	uint32_t value;

	if (!read_digits(p + before, size - before, 2, &value))
		return literal(p, given, ret_given);
	if (size < before + 2)
		return 0;
	given[0] = (uint8_t)value;
	*ret_given = 1;
	return before + 2;
}

unsigned decode_unit(enum decoding d, const uint8_t *bytes, size_t size,
	uint8_t given[DECODE_GIVEN_MAX], unsigned *ret_given)
{
	static const char from[] = "\"\\/'bfnrt", to[] = "\"\\/'\b\f\n\r\t";
	const char *found;

	if (d == DECODE_PERCENT)
		return decode_byte(bytes, size, 1, given, ret_given);
	if (size < 2)
		return 0;
	if (bytes[1] == 'u')
		return decode_u(bytes, size, given, ret_given);
	if (bytes[1] == 'x')
		return decode_byte(bytes, size, 2, given, ret_given);
	found = bytes[1] != 0 ? strchr(from, bytes[1]) : NULL;
	if (found == NULL)
		return literal(bytes, given, ret_given);
	given[0] = (uint8_t)to[found - from];
	*ret_given = 1;
	return 2;
}
