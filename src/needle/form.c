/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a value: itself, base64, hex. */

#include "needle/form.h"

#include <assert.h>
#include <string.h>

/* What stands between two bytes of a hex form; 0 nothing. */
static uint8_t separator(enum form_kind kind)
{
	return kind == FORM_HEX_SPACED ? ' ' : kind == FORM_HEX_COLONS ? ':' : 0;
}

static bool is_base64(enum form_kind kind)
{
	return kind >= FORM_BASE64 && kind <= FORM_BASE64_BEHIND_TWO;
}

/* A space may be a plus sign, as forms of the web write it. */
static unsigned spell_raw(uint8_t byte, uint16_t *unit)
{
	unit[0] = form_symbol(byte, byte == ' ' ? '+' : 0);
	return 1;
}

static uint16_t hex_symbol(unsigned digit)
{
	return digit < 10 ? form_symbol((uint8_t)('0' + digit), 0)
			  : form_symbol((uint8_t)('a' + digit - 10), (uint8_t)('A' + digit - 10));
}

static unsigned spell_hex(enum form_kind kind, uint8_t byte, bool first, uint16_t *unit)
{
	unsigned n = 0;

	if (!first && separator(kind) != 0)
		unit[n++] = separator(kind);
	unit[n++] = hex_symbol(byte >> 4);
	unit[n++] = hex_symbol(byte & 15);
	return n;
}

/* The first character that the value alone decides, and the first behind them. Bits before the
 * value belong to a stranger, so does the last character when it is not filled. */
static void base64_span(enum form_kind kind, size_t size, uint32_t *ret_first, uint32_t *ret_end)
{
	uint32_t shift = kind - FORM_BASE64;

	*ret_first = (shift * 8 + 5) / 6;
	*ret_end = (uint32_t)((shift + size) * 8 / 6);
}

static uint16_t base64_symbol(unsigned six)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	if (six < 62)
		return form_symbol((uint8_t)alphabet[six], 0);
	return six == 62 ? form_symbol('+', '-') : form_symbol('/', '_');
}

static unsigned spell_base64(
	enum form_kind kind, const uint8_t *value, size_t size, uint32_t *at, uint16_t *unit)
{
	uint32_t first, end, bit, pair;

	base64_span(kind, size, &first, &end);
	if (first + *at >= end)
		return 0;
	bit = (first + *at) * 6 - (kind - FORM_BASE64) * 8;
	pair = (uint32_t)value[bit / 8] << 8;
	if (bit / 8 + 1 < size)
		pair |= value[bit / 8 + 1];
	unit[0] = base64_symbol(pair >> (10 - bit % 8) & 63);
	(*at)++;
	return 1;
}

unsigned form_spell(enum form_kind kind, const uint8_t *value, size_t size, uint32_t *at,
	uint16_t unit[FORM_UNIT_MAX])
{
	uint32_t i = *at;

	assert(kind < FORM_KIND_COUNT);
	if (is_base64(kind))
		return spell_base64(kind, value, size, at, unit);
	if (i >= size)
		return 0;
	(*at)++;
	return kind == FORM_RAW ? spell_raw(value[i], unit)
				: spell_hex(kind, value[i], i == 0, unit);
}

size_t form_size(enum form_kind kind, size_t size)
{
	uint32_t first, end;

	if (kind == FORM_RAW)
		return size;
	if (!is_base64(kind))
		return 2 * size + (separator(kind) != 0 ? size - 1 : 0);
	base64_span(kind, size, &first, &end);
	return end - first;
}

bool form_same(enum form_kind a, enum form_kind b, const uint8_t *value, size_t size)
{
	uint16_t unit_a[FORM_UNIT_MAX], unit_b[FORM_UNIT_MAX];
	uint32_t at_a = 0, at_b = 0;
	unsigned n_a = 0, n_b = 0, i_a = 0, i_b = 0;
	bool same = form_size(a, size) == form_size(b, size);

	while (same) {
		if (i_a == n_a) {
			n_a = form_spell(a, value, size, &at_a, unit_a);
			i_a = 0;
		}
		if (i_b == n_b) {
			n_b = form_spell(b, value, size, &at_b, unit_b);
			i_b = 0;
		}
		if (n_a == 0 || n_b == 0)
			break;
		same = unit_a[i_a++] == unit_b[i_b++];
	}
	explicit_bzero(unit_a, sizeof(unit_a));
	explicit_bzero(unit_b, sizeof(unit_b));
	return same;
}

bool form_is_run(enum form_kind kind)
{
	return is_base64(kind) || kind == FORM_HEX;
}

unsigned form_telling_symbols(enum form_kind kind)
{
	if (is_base64(kind))
		return (FORM_TELLING_BYTES * 8 + 5) / 6;
	return (unsigned)form_size(kind, FORM_TELLING_BYTES);
}

bool form_is_telling(enum form_kind kind, const struct form_place *place)
{
	return place->at >= (is_base64(kind) ? form_telling_symbols(kind) : FORM_TELLING_BYTES);
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
