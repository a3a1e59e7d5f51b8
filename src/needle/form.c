/* SPDX-License-Identifier: Apache-2.0 */
/* The spellings of a value: raw, base64, hex, percent-encoding, JSON escapes. */

#include "needle/form.h"

#include <assert.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/base/str.h"

enum family {
	FAMILY_RAW,
	FAMILY_BASE64,
	FAMILY_HEX,
	FAMILY_PERCENT,
	FAMILY_JSON,
};

enum form_flag {
	FLAG_URL = 1 << 0,   /* base64: the alphabet with - and _ */
	FLAG_PLUS = 1 << 1,  /* percent: a space is a plus sign */
	FLAG_ALL = 1 << 2,   /* percent, JSON: every character is escaped */
	FLAG_SLASH = 1 << 3, /* JSON: \/ */
	FLAG_ASCII = 1 << 4, /* JSON: characters beyond ASCII as \uXXXX */
	FLAG_LINES = 1 << 5, /* JSON: U+2028 and U+2029 as \uXXXX */
	FLAG_TWICE = 1 << 6, /* JSON inside a JSON string */
	FLAG_LONG = 1 << 7,  /* JSON: control characters without their short form */
	FLAG_OUTER = 1 << 8, /* JSON twice: only the outer writer escapes what is beyond ASCII */
};

/* chars: percent: what stays as it is beside letters and digits; JSON: what becomes \u00XX beside
 * what must. */
static const struct {
	enum family family;
	unsigned flags;
	unsigned shift; /* base64: bytes of others before the value, modulo 3 */
	const char *chars;
} kinds[] = {
	{FAMILY_RAW, 0, 0, ""},
	{FAMILY_BASE64, 0, 0, ""},
	{FAMILY_BASE64, 0, 1, ""},
	{FAMILY_BASE64, 0, 2, ""},
	{FAMILY_BASE64, FLAG_URL, 0, ""},
	{FAMILY_BASE64, FLAG_URL, 1, ""},
	{FAMILY_BASE64, FLAG_URL, 2, ""},
	{FAMILY_HEX, 0, 0, ""},
	{FAMILY_PERCENT, 0, 0, "-_.!~*'()"},            /* encodeURIComponent */
	{FAMILY_PERCENT, FLAG_PLUS, 0, "*-._"},         /* application/x-www-form-urlencoded */
	{FAMILY_PERCENT, FLAG_PLUS, 0, "-._~"},         /* Python's quote_plus */
	{FAMILY_PERCENT, 0, 0, "-._~"},                 /* RFC 3986's unreserved */
	{FAMILY_PERCENT, 0, 0, "-._~/"},                /* Python's quote */
	{FAMILY_PERCENT, 0, 0, "-_.!~*'();/?:@&=+$,#"}, /* encodeURI */
	{FAMILY_PERCENT, FLAG_ALL, 0, ""},
	{FAMILY_JSON, 0, 0, ""},
	{FAMILY_JSON, FLAG_ASCII, 0, ""},
	{FAMILY_JSON, FLAG_SLASH, 0, ""},
	{FAMILY_JSON, FLAG_SLASH | FLAG_ASCII, 0, ""}, /* PHP */
	{FAMILY_JSON, FLAG_LINES, 0, "<>&"},           /* Go */
	{FAMILY_JSON, FLAG_LINES, 0, "<>&='"},         /* Gson */
	{FAMILY_JSON, FLAG_ASCII | FLAG_LONG, 0, ""},
	{FAMILY_JSON, FLAG_ASCII, 0, "\"&'+<>`\x7f"}, /* .NET */
	{FAMILY_JSON, FLAG_ALL | FLAG_ASCII | FLAG_LONG, 0, ""},
	{FAMILY_JSON, FLAG_TWICE, 0, ""},
	{FAMILY_JSON, FLAG_TWICE | FLAG_ASCII, 0, ""},
	{FAMILY_JSON, FLAG_TWICE | FLAG_ASCII | FLAG_OUTER, 0, ""},
	{FAMILY_JSON, FLAG_TWICE | FLAG_SLASH, 0, ""},
	{FAMILY_JSON, FLAG_TWICE | FLAG_SLASH | FLAG_ASCII, 0, ""},
	{FAMILY_JSON, FLAG_TWICE | FLAG_LINES, 0, "<>&"},
	{FAMILY_JSON, FLAG_TWICE | FLAG_LINES, 0, "<>&='"},
	{FAMILY_JSON, FLAG_TWICE | FLAG_ASCII | FLAG_LONG, 0, ""},
	{FAMILY_JSON, FLAG_TWICE | FLAG_ASCII, 0, "\"&'+<>`\x7f"},
	{FAMILY_JSON, FLAG_TWICE | FLAG_ALL | FLAG_ASCII | FLAG_LONG, 0, ""},
};

const unsigned form_kind_count = array_count(kinds);

static uint16_t hex_symbol(unsigned digit)
{
	return digit < 10 ? (uint16_t)('0' + digit)
			  : (uint16_t)(('a' + digit - 10) | FORM_EITHER_CASE);
}

static unsigned spell_hex(uint8_t byte, uint16_t *unit)
{
	unit[0] = hex_symbol(byte >> 4);
	unit[1] = hex_symbol(byte & 15);
	return 2;
}

/* The first character that the value alone decides, and the first behind them. Bits before the
 * value belong to a stranger, so does the last character when it is not filled. */
static void base64_span(unsigned shift, size_t size, uint32_t *ret_first, uint32_t *ret_end)
{
	*ret_first = (shift * 8 + 5) / 6;
	*ret_end = (uint32_t)((shift + size) * 8 / 6);
}

static unsigned spell_base64(
	unsigned kind, const uint8_t *value, size_t size, uint32_t *at, uint16_t *unit)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	uint32_t first, end, bit, pair, six;

	base64_span(kinds[kind].shift, size, &first, &end);
	if (first + *at >= end)
		return 0;
	bit = (first + *at) * 6 - kinds[kind].shift * 8;
	pair = (uint32_t)value[bit / 8] << 8;
	if (bit / 8 + 1 < size)
		pair |= value[bit / 8 + 1];
	six = pair >> (10 - bit % 8) & 63;
	if (six < 62)
		unit[0] = (uint8_t)alphabet[six];
	else if ((kinds[kind].flags & FLAG_URL) != 0)
		unit[0] = six == 62 ? '-' : '_';
	else
		unit[0] = six == 62 ? '+' : '/';
	(*at)++;
	return 1;
}

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_listed(const char *chars, uint8_t c)
{
	return c != 0 && strchr(chars, c) != NULL;
}

static unsigned spell_percent(unsigned kind, uint8_t c, uint16_t *unit)
{
	unsigned flags = kinds[kind].flags;

	if ((flags & FLAG_ALL) == 0 && (is_alnum(c) || is_listed(kinds[kind].chars, c))) {
		unit[0] = c;
		return 1;
	}
	if ((flags & FLAG_PLUS) != 0 && c == ' ') {
		unit[0] = '+';
		return 1;
	}
	unit[0] = '%';
	return 1 + spell_hex(c, unit + 1);
}

/* Reads the character at p; the value is UTF-8 when this is asked for more than ASCII. */
static unsigned rune_at(const uint8_t *p, size_t size, uint32_t *ret_rune)
{
	unsigned length = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (length > size)
		length = 1;
	*ret_rune = length == 1 ? p[0] : p[0] & (0x7fu >> length);
	for (unsigned i = 1; i < length; i++)
		*ret_rune = *ret_rune << 6 | (p[i] & 0x3f);
	return length;
}

static unsigned spell_backslash(bool twice, uint16_t *unit)
{
	unit[0] = '\\';
	unit[1] = '\\';
	return twice ? 2 : 1;
}

static unsigned spell_u(bool twice, uint32_t code, uint16_t *unit)
{
	unsigned n = spell_backslash(twice, unit);

	unit[n++] = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		unit[n++] = hex_symbol(code >> shift & 15);
	return n;
}

/* The letter behind the backslash, 0 when there is no short escape. */
static uint8_t short_escape(unsigned kind, uint8_t c)
{
	static const char from[] = "\b\f\n\r\t", to[] = "bfnrt";
	unsigned flags = kinds[kind].flags;
	const char *found;

	if ((flags & FLAG_ALL) != 0 || is_listed(kinds[kind].chars, c))
		return 0;
	if (c == '"' || c == '\\' || (c == '/' && (flags & FLAG_SLASH) != 0))
		return c;
	found = c != 0 && (flags & FLAG_LONG) == 0 ? strchr(from, c) : NULL;
	return found != NULL ? (uint8_t)to[found - from] : 0;
}

static bool needs_u(unsigned kind, uint32_t rune)
{
	unsigned flags = kinds[kind].flags;

	if ((flags & FLAG_ALL) != 0 || rune < 0x20)
		return true;
	if (rune < 0x80)
		return is_listed(kinds[kind].chars, (uint8_t)rune);
	if ((flags & FLAG_LINES) != 0 && (rune == 0x2028 || rune == 0x2029))
		return true;
	return (flags & FLAG_ASCII) != 0;
}

static unsigned spell_json(
	unsigned kind, const uint8_t *value, size_t size, uint32_t *at, uint16_t *unit)
{
	bool twice = (kinds[kind].flags & FLAG_TWICE) != 0;
	uint8_t c = value[*at], letter = short_escape(kind, c);
	uint32_t rune;
	unsigned length, n;

	if (letter != 0) {
		n = spell_backslash(twice, unit);
		/* the letter itself is escaped again when it is a quote or a backslash */
		if (twice && (letter == '"' || letter == '\\'))
			unit[n++] = '\\';
		/* a writer of \/ writes it at both levels */
		if (twice && letter == '/')
			unit[n++] = '\\';
		unit[n++] = letter;
		(*at)++;
		return n;
	}
	length = rune_at(value + *at, size - *at, &rune);
	if (!needs_u(kind, rune)) {
		unit[0] = c;
		(*at)++;
		return 1;
	}
	*at += length;
	if (rune >= 0x80 && (kinds[kind].flags & FLAG_OUTER) != 0)
		twice = false;
	if (rune < 0x10000)
		return spell_u(twice, rune, unit);
	rune -= 0x10000;
	n = spell_u(twice, 0xd800 + (rune >> 10), unit);
	return n + spell_u(twice, 0xdc00 + (rune & 0x3ff), unit + n);
}

bool form_applies(unsigned kind, const uint8_t *value, size_t size)
{
	if ((kinds[kind].flags & (FLAG_ASCII | FLAG_LINES)) == 0)
		return true;
	return str_is_utf8((const char *)value, size);
}

unsigned form_spell(unsigned kind, const uint8_t *value, size_t size, uint32_t *at,
	uint16_t unit[FORM_UNIT_MAX])
{
	assert(kind < form_kind_count);
	if (kinds[kind].family == FAMILY_BASE64)
		return spell_base64(kind, value, size, at, unit);
	if (*at >= size)
		return 0;
	if (kinds[kind].family == FAMILY_JSON)
		return spell_json(kind, value, size, at, unit);
	if (kinds[kind].family == FAMILY_PERCENT)
		return spell_percent(kind, value[(*at)++], unit);
	if (kinds[kind].family == FAMILY_HEX)
		return spell_hex(value[(*at)++], unit);
	unit[0] = value[(*at)++];
	return 1;
}

size_t form_size(unsigned kind, const uint8_t *value, size_t size)
{
	uint16_t unit[FORM_UNIT_MAX];
	uint32_t at = 0, first, end;
	size_t total = 0;
	unsigned n;

	if (kinds[kind].family == FAMILY_RAW)
		return size;
	if (kinds[kind].family == FAMILY_HEX)
		return 2 * size;
	if (kinds[kind].family == FAMILY_BASE64) {
		base64_span(kinds[kind].shift, size, &first, &end);
		return end - first;
	}
	while ((n = form_spell(kind, value, size, &at, unit)) > 0)
		total += n;
	explicit_bzero(unit, sizeof(unit));
	return total;
}

bool form_same(unsigned a, unsigned b, const uint8_t *value, size_t size)
{
	uint16_t unit_a[FORM_UNIT_MAX], unit_b[FORM_UNIT_MAX];
	uint32_t at_a = 0, at_b = 0;
	unsigned n_a = 0, n_b = 0, i_a = 0, i_b = 0;
	bool same = true;

	while (same) {
		if (i_a == n_a) {
			n_a = form_spell(a, value, size, &at_a, unit_a);
			i_a = 0;
		}
		if (i_b == n_b) {
			n_b = form_spell(b, value, size, &at_b, unit_b);
			i_b = 0;
		}
		if (n_a == 0 || n_b == 0) {
			same = n_a == n_b;
			break;
		}
		same = unit_a[i_a++] == unit_b[i_b++];
	}
	explicit_bzero(unit_a, sizeof(unit_a));
	explicit_bzero(unit_b, sizeof(unit_b));
	return same;
}

enum form_step form_follow(const struct form_spelling *s, struct form_place *place,
	const uint8_t *bytes, size_t count, size_t *ret_used)
{
	enum form_step step = FORM_MORE;
	uint16_t unit[FORM_UNIT_MAX];
	size_t used = 0;

	for (;;) {
		uint32_t next = place->at;
		unsigned n = form_spell(s->kind, s->value, s->size, &next, unit);

		if (n == 0) {
			step = FORM_ENDS;
			break;
		}
		while (place->sub < n && used < count && form_fits(unit[place->sub], bytes[used])) {
			place->sub++;
			used++;
		}
		if (place->sub < n) {
			step = used < count ? FORM_DIFFERS : FORM_MORE;
			break;
		}
		*place = (struct form_place){next, 0};
	}
	explicit_bzero(unit, sizeof(unit));
	*ret_used = used;
	return step;
}
