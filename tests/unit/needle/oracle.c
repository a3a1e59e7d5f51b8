/* SPDX-License-Identifier: Apache-2.0 */
/* What needle should find, by the slowest way. */

#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/base/str.h"

static struct spelling *begin(struct oracle *o, size_t room, uint32_t secret, const char *kind)
{
	struct spelling *s;

	o->spellings = reallocarray(o->spellings, o->count + 1, sizeof(*o->spellings));
	s = &o->spellings[o->count++];
	*s = (struct spelling){
		.text = own_alloc(room), .either = own_alloc(room), .secret = secret};
	(void)snprintf(s->kind, sizeof(s->kind), "%s", kind);
	return s;
}

static void put(struct spelling *s, uint8_t c)
{
	s->text[s->size++] = c;
}

static void put_hex(struct spelling *s, unsigned value, int digits)
{
	for (int i = digits - 1; i >= 0; i--) {
		unsigned d = value >> (4 * i) & 15;

		s->either[s->size] = d >= 10;
		put(s, (uint8_t) "0123456789abcdef"[d]);
	}
}

static size_t encode64(const uint8_t *in, size_t size, bool url, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t n = 0;

	for (size_t bit = 0; bit + 6 <= size * 8; bit += 6) {
		unsigned v = 0;

		for (size_t i = bit; i < bit + 6; i++)
			v = v << 1 | (in[i / 8] >> (7 - i % 8) & 1);
		out[n++] = v < 62 ? digits[v] : v == 62 ? (url ? '-' : '+') : (url ? '_' : '/');
	}
	return n;
}

/* The characters that stay the same whatever stands before and behind. */
static void add_base64(struct oracle *o, uint32_t secret, unsigned shift, bool url)
{
	const struct needle_secret *v = &o->secrets[secret];
	size_t total = v->value_bytes + shift + 3, n;
	uint8_t *zeros = calloc(1, total), *ones = malloc(total);
	char *a = malloc(2 * total), *b = malloc(2 * total);
	struct spelling *s = begin(o, 2 * total, secret, url ? "base64url" : "base64");

	memset(ones, 0xff, total);
	memcpy(zeros + shift, v->value, v->value_bytes);
	memcpy(ones + shift, v->value, v->value_bytes);
	n = encode64(zeros, total, url, a);
	(void)encode64(ones, total, url, b);
	for (size_t i = 0; i < n; i++)
		if (a[i] == b[i])
			put(s, (uint8_t)a[i]);
	free(zeros);
	free(ones);
	free(a);
	free(b);
}

static void add_percent(struct oracle *o, uint32_t secret, const char *keep, bool plus, bool all)
{
	const struct needle_secret *v = &o->secrets[secret];
	struct spelling *s = begin(o, 3 * v->value_bytes, secret, all ? "percent-full" : "percent");

	for (size_t i = 0; i < v->value_bytes; i++) {
		uint8_t c = ((const uint8_t *)v->value)[i];
		bool alnum =
			(c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');

		if (!all && (alnum || (c != 0 && strchr(keep, c) != NULL))) {
			put(s, c);
		} else if (plus && c == ' ') {
			put(s, '+');
		} else {
			put(s, '%');
			put_hex(s, c, 2);
		}
	}
}

struct json_style {
	const char *also; /* characters that become \u00XX */
	bool ascii, slash, all, lines, longer;
};

static void put_u(struct spelling *s, uint32_t rune, bool twice)
{
	if (rune >= 0x10000) {
		put_u(s, 0xd800 + ((rune - 0x10000) >> 10), twice);
		rune = 0xdc00 + ((rune - 0x10000) & 0x3ff);
	}
	put(s, '\\');
	if (twice)
		put(s, '\\');
	put(s, 'u');
	put_hex(s, rune, 4);
}

static size_t decode(const uint8_t *p, uint32_t *ret_rune)
{
	if (p[0] < 0x80) {
		*ret_rune = p[0];
		return 1;
	}
	if (p[0] < 0xe0) {
		*ret_rune = (uint32_t)(p[0] & 31) << 6 | (p[1] & 63);
		return 2;
	}
	if (p[0] < 0xf0) {
		*ret_rune = (uint32_t)(p[0] & 15) << 12 | (uint32_t)(p[1] & 63) << 6 | (p[2] & 63);
		return 3;
	}
	*ret_rune = (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 63) << 12 |
		    (uint32_t)(p[2] & 63) << 6 | (p[3] & 63);
	return 4;
}

static void add_json(struct oracle *o, uint32_t secret, const struct json_style *style, bool twice)
{
	const struct needle_secret *v = &o->secrets[secret];
	const uint8_t *p = v->value, *end = p + v->value_bytes;
	struct spelling *s = begin(o, 16 * v->value_bytes, secret, twice ? "json-twice" : "json");

	while (p < end) {
		static const char from[] = "\"\\\b\f\n\r\t/", to[] = "\"\\bfnrt/";
		uint32_t rune = *p;
		size_t n = style->ascii || style->lines ? decode(p, &rune) : 1;
		const char *brief = rune != 0 && rune < 0x80 ? strchr(from, (int)rune) : NULL;
		bool also = rune != 0 && rune < 0x80 && strchr(style->also, (int)rune) != NULL;

		if (brief != NULL &&
			((*brief == '/' && !style->slash) || (style->longer && *brief < 0x20)))
			brief = NULL;
		if (brief != NULL && !also && !style->all) {
			char letter = to[brief - from];

			put(s, '\\');
			if (twice)
				put(s, '\\');
			if (twice && (letter == '"' || letter == '\\' || letter == '/'))
				put(s, '\\');
			put(s, (uint8_t)letter);
		} else if (rune < 0x20 || also || style->all || (style->ascii && rune >= 0x80) ||
			   (style->lines && (rune == 0x2028 || rune == 0x2029))) {
			put_u(s, rune, twice);
		} else {
			for (size_t i = 0; i < n; i++)
				put(s, p[i]);
		}
		p += n;
	}
}

static void spell(struct oracle *o, uint32_t secret)
{
	static const struct json_style styles[] = {
		{"", false, false, false, false, false},
		{"", false, true, false, false, false},
		{"", true, false, false, false, false},
		{"", true, true, false, false, false},
		{"", true, false, false, false, true},
		{"<>&", false, false, false, true, false},
		{"<>&='", false, false, false, true, false},
		{"\"&'+<>`\x7f", true, false, false, false, false},
		{"", true, false, true, false, true},
	};
	const struct needle_secret *v = &o->secrets[secret];
	const uint8_t *value = v->value;
	bool utf8 = str_is_utf8(v->value, v->value_bytes);
	struct spelling *s = begin(o, v->value_bytes, secret, "raw");

	for (size_t i = 0; i < v->value_bytes; i++)
		put(s, value[i]);
	for (unsigned shift = 0; shift < 3; shift++) {
		add_base64(o, secret, shift, false);
		add_base64(o, secret, shift, true);
	}
	s = begin(o, 2 * v->value_bytes, secret, "hex");
	for (size_t i = 0; i < v->value_bytes; i++)
		put_hex(s, value[i], 2);
	add_percent(o, secret, "-_.!~*'()", false, false);
	add_percent(o, secret, "*-._", true, false);
	add_percent(o, secret, "-._~", true, false);
	add_percent(o, secret, "-._~", false, false);
	add_percent(o, secret, "-._~/", false, false);
	add_percent(o, secret, "-_.!~*'();/?:@&=+$,#", false, false);
	add_percent(o, secret, "", false, true);
	for (size_t i = 0; i < array_count(styles); i++) {
		if ((styles[i].ascii || styles[i].lines) && !utf8)
			continue;
		add_json(o, secret, &styles[i], false);
		add_json(o, secret, &styles[i], true);
	}
}

void oracle_init(struct oracle *o, const struct needle_secret *secrets, size_t count)
{
	*o = (struct oracle){.secrets = secrets, .secret_count = count};
	for (uint32_t i = 0; i < count; i++)
		spell(o, i);
}

void oracle_done(struct oracle *o)
{
	for (size_t i = 0; i < o->count; i++) {
		free(o->spellings[i].text);
		free(o->spellings[i].either);
	}
	free(o->spellings);
}

static bool stands_at(const struct spelling *s, const uint8_t *text, size_t left)
{
	if (s->size > left)
		return false;
	for (size_t i = 0; i < s->size; i++)
		if (text[i] != s->text[i] && !(s->either[i] && (text[i] | 0x20) == s->text[i]))
			return false;
	return true;
}

bool oracle_occurs(const struct oracle *o, const uint8_t *text, size_t size)
{
	for (size_t at = 0; at < size; at++)
		for (size_t i = 0; i < o->count; i++)
			if (stands_at(&o->spellings[i], text + at, size - at))
				return true;
	return false;
}

static bool hex_run(const uint8_t *p, size_t n, unsigned *ret)
{
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		char one[2] = {(char)p[i], 0};
		char *rest;

		*ret = *ret << 4 | (unsigned)strtoul(one, &rest, 16);
		if (*rest != 0 || rest == one)
			return false;
	}
	return true;
}

static size_t unit_at(const uint8_t *p, size_t left)
{
	unsigned high, low;

	if (p[0] == '\\') {
		size_t digits = left > 6 ? 4 : left > 2 ? left - 2 : 0;

		if (left < 2)
			return 1;
		if (p[1] != 'u' || !hex_run(p + 2, digits, &high))
			return 2;
		if (left < 6)
			return left;
		if (high < 0xd800 || high > 0xdbff || left < 12 || p[6] != '\\' || p[7] != 'u' ||
			!hex_run(p + 8, 4, &low) || low < 0xdc00 || low > 0xdfff)
			return 6;
		return 12;
	}
	for (size_t n = 4; n > 1; n--)
		if (p[0] >= 0xc2 && (p[0] < 0xe0          ? n == 2
					    : p[0] < 0xf0 ? n == 3
							  : p[0] <= 0xf4 && n == 4)) {
			for (size_t i = 1; i < n; i++) {
				if (i == left)
					return left;
				if ((p[i] & 0xc0) != 0x80)
					return 1;
			}
			return n;
		}
	return 1;
}

struct hit {
	size_t start, end;
	uint32_t secret;
};

static int by_start(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->secret < y->secret ? -1 : x->secret > y->secret;
}

static struct hit *find_hits(const struct oracle *o, const uint8_t *text, size_t size, size_t *ret)
{
	struct hit *hits = NULL;
	size_t count = 0;

	for (size_t at = 0; at < size; at++) {
		for (size_t i = 0; i < o->count; i++) {
			if (!stands_at(&o->spellings[i], text + at, size - at))
				continue;
			hits = reallocarray(hits, count + 1, sizeof(*hits));
			hits[count++] =
				(struct hit){at, at + o->spellings[i].size, o->spellings[i].secret};
		}
	}
	if (count > 0)
		qsort(hits, count, sizeof(*hits), by_start);
	*ret = count;
	return hits;
}

/* border[i]: a unit begins at i. */
static bool *find_borders(const uint8_t *text, size_t size)
{
	bool *border = calloc(size + 1, sizeof(*border));

	for (size_t at = 0; at < size; at += unit_at(text + at, size - at))
		border[at] = true;
	border[size] = true;
	return border;
}

int oracle_redact(
	const struct oracle *o, const uint8_t *text, size_t size, struct buf *out, uint64_t *counts)
{
	size_t count, done = 0;
	int replacements = 0;
	struct hit *hits;
	bool *border;

	if (size == 0)
		return 0;
	hits = find_hits(o, text, size, &count);
	border = find_borders(text, size);
	for (size_t i = 0; i < count;) {
		bool seen[NEEDLE_SECRETS_MAX] = {false};
		size_t start = hits[i].start, end = hits[i].end, first = i;

		while (!border[start])
			start--;
		for (;; i++) {
			size_t next;

			while (!border[end])
				end++;
			if (i == count)
				break;
			next = hits[i].start;
			while (!border[next])
				next--;
			if (next > end)
				break;
			seen[hits[i].secret] = true;
			end = hits[i].end > end ? hits[i].end : end;
		}
		(void)buf_add(out, text + done, start - done);
		(void)buf_addf(out, "[redacted:%s]", o->secrets[hits[first].secret].name);
		for (size_t s = 0; s < o->secret_count; s++)
			counts[s] += seen[s];
		done = end;
		replacements++;
	}
	(void)buf_add(out, text + done, size - done);
	free(hits);
	free(border);
	return replacements;
}

uint32_t random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

uint32_t random_below(uint64_t *state, uint32_t bound)
{
	return random_next(state) % bound;
}

void random_text(const struct oracle *o, uint64_t *state, const char *alphabet, struct buf *out)
{
	uint32_t pieces = 1 + random_below(state, 6);

	for (uint32_t i = 0; i < pieces; i++) {
		const struct spelling *s = &o->spellings[random_below(state, (uint32_t)o->count)];
		size_t from = 0, to = s->size;

		for (uint32_t n = random_below(state, 6); n > 0; n--)
			(void)buf_add_char(
				out, alphabet[random_below(state, (uint32_t)strlen(alphabet))]);
		if (random_below(state, 3) == 0)
			from = random_below(state, (uint32_t)s->size);
		if (random_below(state, 3) == 0)
			to = from + random_below(state, (uint32_t)(s->size - from) + 1);
		for (; from < to; from++)
			(void)buf_add_char(
				out, (char)(s->either[from] && random_below(state, 2) == 0
						     ? s->text[from] & ~0x20
						     : s->text[from]));
	}
}
