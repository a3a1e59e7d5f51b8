/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes and letters of JSON strings. */

#include "ground/wire/json_string.h"

#include <endian.h>
#include <string.h>

const char *json_plain_end(const char *p, const char *end)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;

	for (; end - p >= 8; p += 8) {
		uint64_t word, quote, slash, hits;

		(void)memcpy(&word, p, 8);
		word = le64toh(word);
		quote = word ^ (ones * '"');
		slash = word ^ (ones * '\\');
		/* a borrow can only raise a false hit above a true one, and the lowest is taken */
		hits = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) |
		       ((word - ones * 0x20) & ~word);
		hits &= tops;
		if (hits != 0)
			return p + (__builtin_ctzll(hits) >> 3);
	}
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
		p++;
	return p;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The \uXXXX at p as a number, or -1. */
static int32_t unicode_escape(const char *p, const char *end)
{
	int32_t value = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int digit = hex_value(p[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static inline bool is_high(int32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static inline bool is_low(int32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

size_t json_escape_size(const char *p, const char *end, const char **ret_what)
{
	int32_t unit;

	if (end - p >= 2 && p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) != NULL)
		return 2;
	unit = unicode_escape(p, end);
	if (unit < 0) {
		*ret_what = "no such escape";
		return 0;
	}
	if (is_low(unit) || (is_high(unit) && !is_low(unicode_escape(p + 6, end)))) {
		*ret_what = "half of a surrogate pair";
		return 0;
	}
	return is_high(unit) ? 12 : 6;
}

static uint8_t put_utf8(uint32_t rune, char out[4])
{
	if (rune < 0x80) {
		out[0] = (char)rune;
		return 1;
	}
	if (rune < 0x800) {
		out[0] = (char)(0xc0 | rune >> 6);
		out[1] = (char)(0x80 | (rune & 0x3f));
		return 2;
	}
	if (rune < 0x10000) {
		out[0] = (char)(0xe0 | rune >> 12);
		out[1] = (char)(0x80 | (rune >> 6 & 0x3f));
		out[2] = (char)(0x80 | (rune & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | rune >> 18);
	out[1] = (char)(0x80 | (rune >> 12 & 0x3f));
	out[2] = (char)(0x80 | (rune >> 6 & 0x3f));
	out[3] = (char)(0x80 | (rune & 0x3f));
	return 4;
}

uint8_t json_escape_decode(const char **p, const char *end, char out[4])
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	char c = (*p)[1];
	const char *found;
	int32_t unit;

	if (c != 'u') {
		found = strchr(from, c);
		out[0] = c;
		if (found != NULL)
			out[0] = to[found - from];
		*p += 2;
		return 1;
	}
	unit = unicode_escape(*p, end);
	*p += 6;
	if (is_high(unit)) {
		unit = 0x10000 + ((unit & 0x3ff) << 10) + (unicode_escape(*p, end) & 0x3ff);
		*p += 6;
	}
	return put_utf8((uint32_t)unit, out);
}

struct letters letters_of(const char *text, const struct json_node *node)
{
	return (struct letters){.p = text + node->at + 1, .end = text + node->at + node->size - 1};
}

int letters_next(struct letters *l)
{
	if (l->used < l->have)
		return (unsigned char)l->utf8[l->used++];
	if (l->p == l->end)
		return -1;
	if (*l->p != '\\')
		return (unsigned char)*l->p++;
	l->have = json_escape_decode(&l->p, l->end, l->utf8);
	l->used = 1;
	return (unsigned char)l->utf8[0];
}
