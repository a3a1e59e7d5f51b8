/* SPDX-License-Identifier: Apache-2.0 */
/* Spans, numbers with units, UTF-8, did-you-mean, and text made safe to show. */

#include "ground/base/str.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "ground/base/buf.h"

struct str str_of(const char *text)
{
	return (struct str){text, text != NULL ? strlen(text) : 0};
}

bool str_is(struct str s, const char *text)
{
	return str_same(s, str_of(text));
}

bool str_same(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

/* Reads digits from *text and moves it behind them. */
static int parse_digits(const char **text, uint64_t max, uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (digit > max || value > (max - digit) / 10)
			return -ERANGE;
		value = value * 10 + digit;
	}
	*text = p;
	*ret_value = value;
	return 0;
}

int str_parse_u64(const char *text, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;
	int r = parse_digits(&text, max, &value);

	if (r < 0)
		return r;
	if (*text != '\0')
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int str_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "kmgt";
	uint64_t value, factor = 1;
	int r = parse_digits(&text, UINT64_MAX >> 1, &value);

	if (r < 0)
		return r;
	if (*text != '\0') {
		const char *unit = strchr(units, *text | 0x20);

		if (unit == NULL)
			return -EINVAL;
		for (const char *u = units; u <= unit; u++)
			factor *= 1024;
		text++;
		if (strcmp(text, "") != 0 && strcmp(text, "B") != 0 && strcmp(text, "iB") != 0)
			return -EINVAL;
	}
	if (value > (UINT64_MAX >> 1) / factor)
		return -ERANGE;
	*ret_bytes = value * factor;
	return 0;
}

int str_parse_duration(const char *text, int64_t *ret_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
		{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
	const uint64_t ms_max = UINT64_C(10) * 366 * 86400000;
	uint64_t value;
	int r = parse_digits(&text, ms_max, &value);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		if (value > ms_max / units[i].ms)
			return -ERANGE;
		*ret_ms = (int64_t)(value * units[i].ms);
		return 0;
	}
	return -EINVAL;
}

void str_hex(const void *bytes, size_t size, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *b = bytes;

	for (size_t i = 0; i < size; i++) {
		out[2 * i] = digits[b[i] >> 4];
		out[2 * i + 1] = digits[b[i] & 15];
	}
	out[2 * size] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int str_unhex(const char *text, size_t size, void *out)
{
	unsigned char *b = out;

	if (strlen(text) != 2 * size)
		return -EINVAL;
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		b[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

/* Length of the well-formed sequence at p, 0 when there is none; *ret_rune is its code point.
 * A sequence that is right so far but ends at the span's end gives -1. */
static int utf8_sequence(const unsigned char *p, size_t n, uint32_t *ret_rune)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t rune;
	int length;

	if (p[0] < 0x80) {
		*ret_rune = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		length = 2;
	else if ((p[0] & 0xf0) == 0xe0)
		length = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		length = 4;
	else
		return 0;
	rune = p[0] & (0x7fu >> length);
	for (int i = 1; i < length; i++) {
		if ((size_t)i == n)
			return -1;
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		rune = rune << 6 | (p[i] & 0x3f);
		/* the second byte alone decides overlong forms, surrogates and the upper end */
		if (i == 1 &&
			((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
				(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)))
			return 0;
	}
	assert(rune >= least[length]);
	*ret_rune = rune;
	return length;
}

size_t str_utf8_prefix(const char *bytes, size_t size)
{
	const unsigned char *p = (const unsigned char *)bytes;
	uint32_t rune;

	for (size_t i = 0; i < size;) {
		uint64_t word;
		int length;

		/* eight ASCII bytes at a time */
		if (size - i >= 8) {
			(void)memcpy(&word, p + i, 8);
			if ((word & UINT64_C(0x8080808080808080)) == 0) {
				i += 8;
				continue;
			}
		}
		length = utf8_sequence(p + i, size - i, &rune);
		if (length <= 0)
			return i;
		i += (size_t)length;
	}
	return size;
}

bool str_is_utf8(const char *bytes, size_t size)
{
	return str_utf8_prefix(bytes, size) == size;
}

size_t str_utf8_cut(const char *bytes, size_t size)
{
	uint32_t rune;

	for (size_t back = 1; back <= 3 && back <= size; back++) {
		const unsigned char *p = (const unsigned char *)bytes + size - back;

		if ((*p & 0xc0) == 0x80)
			continue;
		return utf8_sequence(p, back, &rune) < 0 ? back : 0;
	}
	return 0;
}

static size_t edit_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), row[64];

	if (n >= 64 || m >= 64)
		return 64;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

const char *str_nearest(const char *word, const char *const *candidates)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 3 + 1;

	for (; *candidates != NULL; candidates++) {
		size_t distance = edit_distance(word, *candidates);

		if (distance <= best_distance && (best == NULL || distance < best_distance)) {
			best = *candidates;
			best_distance = distance;
		}
	}
	return best;
}

/* Characters that are printable by number but change how their neighbours are shown. */
static bool is_deceptive(uint32_t rune)
{
	return rune == 0x7f || (rune >= 0x80 && rune <= 0x9f) || rune == 0xad || rune == 0x34f ||
	       rune == 0x61c || rune == 0x115f || rune == 0x1160 ||
	       (rune >= 0x180b && rune <= 0x180f) || rune == 0x3164 || rune == 0xffa0 ||
	       (rune >= 0xfe00 && rune <= 0xfe0e) || (rune >= 0x200b && rune <= 0x200f) ||
	       (rune >= 0x2028 && rune <= 0x202e) || (rune >= 0x2060 && rune <= 0x206f) ||
	       rune == 0xfeff || (rune >= 0xfff9 && rune <= 0xfffb) ||
	       (rune >= 0xe0000 && rune <= 0xe0fff);
}

void str_add_visible(struct buf *out, const char *bytes, size_t size, bool keep_lines)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = 0; i < size;) {
		uint32_t rune = 0;
		int length = utf8_sequence(p + i, size - i, &rune);

		if (length <= 0) {
			(void)buf_addf(out, "\\x%02x", p[i]); /* the buffer remembers failure */
			i++;
			continue;
		}
		if (keep_lines && (rune == '\n' || rune == '\t'))
			(void)buf_add_char(out, (char)rune);
		else if (rune < 0x20)
			(void)buf_addf(out, "\\x%02x", rune);
		else if (is_deceptive(rune))
			(void)buf_addf(out, "\\u{%x}", rune);
		else
			(void)buf_add(out, p + i, (size_t)length);
		i += (size_t)length;
	}
}
