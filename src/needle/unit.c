/* SPDX-License-Identifier: Apache-2.0 */
/* Borders of characters and escapes in text that may or may not be JSON. */

#include "needle/unit.h"

#include "needle/decode.h"

/* How much of \uXXXX stands at p: 6 all of it (then *ret_code), fewer when the end cuts it, 0 when
 * something else stands there. */
static size_t u_escape(const uint8_t *p, size_t left, unsigned *ret_code)
{
	unsigned code = 0;

	for (size_t i = 0; i < 6; i++) {
		if (i == left)
			return left;
		if (i < 2) {
			if (p[i] != (i == 0 ? '\\' : 'u'))
				return 0;
			continue;
		}
		if (decode_hex(p[i]) < 0)
			return 0;
		code = code << 4 | (unsigned)decode_hex(p[i]);
	}
	*ret_code = code;
	return 6;
}

static size_t escape_size(const uint8_t *p, size_t left, bool *ret_cut)
{
	unsigned code = 0, low = 0;
	size_t n;

	if (left == 1) {
		*ret_cut = true;
		return 1;
	}
	n = u_escape(p, left, &code);
	if (n == 0)
		return 2;
	if (n < 6) {
		*ret_cut = true;
		return n;
	}
	if (code < 0xd800 || code > 0xdbff)
		return 6;
	n = u_escape(p + 6, left - 6, &low);
	if (n == 6)
		return low >= 0xdc00 && low <= 0xdfff ? 12 : 6;
	*ret_cut = n == left - 6;
	return 6 + n;
}

static size_t character_size(const uint8_t *p, size_t left, bool *ret_cut)
{
	size_t n = p[0] < 0xc2 || p[0] > 0xf4 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	for (size_t i = 1; i < n; i++) {
		if (i == left) {
			*ret_cut = true;
			return left;
		}
		if ((p[i] & 0xc0) != 0x80)
			return 1;
	}
	return n;
}

static size_t unit_size(const uint8_t *p, size_t left, bool *ret_cut)
{
	*ret_cut = false;
	return p[0] == '\\' ? escape_size(p, left, ret_cut) : character_size(p, left, ret_cut);
}

/* A backslash begins an escape unless an odd number of backslashes stands right before it. */
static bool begins_escape(const uint8_t *bytes, size_t floor, size_t at)
{
	size_t run = 0;

	while (at - run > floor && bytes[at - run - 1] == '\\')
		run++;
	return run % 2 == 0;
}

size_t unit_start(const uint8_t *bytes, size_t floor, size_t pos, size_t size)
{
	size_t lowest = pos - floor > UNIT_MAX ? pos - UNIT_MAX : floor;

	for (size_t at = lowest; at < pos; at++) {
		bool cut;
		size_t n;

		if (bytes[at] < 0x80 && (bytes[at] != '\\' || !begins_escape(bytes, floor, at)))
			continue;
		n = unit_size(bytes + at, size - at, &cut);
		if (at + n > pos || (cut && at + n == pos))
			return at;
	}
	return pos;
}

size_t unit_end(
	const uint8_t *bytes, size_t from, size_t pos, size_t size, size_t *ret_last, bool *ret_cut)
{
	*ret_cut = false;
	*ret_last = from;
	while (from < pos) {
		*ret_last = from;
		from += unit_size(bytes + from, size - from, ret_cut);
	}
	return from;
}
