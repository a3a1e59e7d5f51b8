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
	*s = (struct spelling){.text = own_alloc(room), .other = own_alloc(room), .secret = secret};
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

		s->other[s->size] = d >= 10 ? (uint8_t) "ABCDEF"[d - 10] : 0;
		put(s, (uint8_t) "0123456789abcdef"[d]);
	}
}

static size_t encode64(const uint8_t *in, size_t size, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0;

	for (size_t bit = 0; bit + 6 <= size * 8; bit += 6) {
		unsigned v = 0;

		for (size_t i = bit; i < bit + 6; i++)
			v = v << 1 | (in[i / 8] >> (7 - i % 8) & 1);
		out[n++] = digits[v];
	}
	return n;
}

/* The characters that stay the same whatever stands before and behind. */
static void add_base64(struct oracle *o, uint32_t secret, unsigned shift)
{
	const struct needle_secret *v = &o->secrets[secret];
	size_t total = v->value_bytes + shift + 3, n;
	uint8_t *zeros = calloc(1, total), *ones = malloc(total);
	char *a = malloc(2 * total), *b = malloc(2 * total);
	struct spelling *s = begin(o, 2 * total, secret, "base64");

	s->form = s->lines = true;
	memset(ones, 0xff, total);
	memcpy(zeros + shift, v->value, v->value_bytes);
	memcpy(ones + shift, v->value, v->value_bytes);
	n = encode64(zeros, total, a);
	(void)encode64(ones, total, b);
	for (size_t i = 0; i < n; i++) {
		if (a[i] != b[i])
			continue;
		s->other[s->size] = a[i] == '+' ? '-' : a[i] == '/' ? '_' : 0;
		put(s, (uint8_t)a[i]);
	}
	free(zeros);
	free(ones);
	free(a);
	free(b);
}

static void add_hex(struct oracle *o, uint32_t secret, char separator)
{
	const struct needle_secret *v = &o->secrets[secret];
	struct spelling *s = begin(o, 3 * v->value_bytes, secret, "hex");

	s->form = true;
	s->lines = separator == 0;
	for (size_t i = 0; i < v->value_bytes; i++) {
		if (i > 0 && separator != 0)
			put(s, (uint8_t)separator);
		put_hex(s, ((const uint8_t *)v->value)[i], 2);
	}
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

	s->form = true;
	for (size_t i = 0; i < v->value_bytes; i++) {
		s->other[i] = value[i] == ' ' ? '+' : 0;
		put(s, value[i]);
	}
	for (unsigned shift = 0; shift < 3; shift++)
		add_base64(o, secret, shift);
	add_hex(o, secret, 0);
	add_hex(o, secret, ' ');
	add_hex(o, secret, ':');
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
		free(o->spellings[i].other);
	}
	free(o->spellings);
}

static bool stands_at(const struct spelling *s, const uint8_t *text, size_t left)
{
	if (s->size > left)
		return false;
	for (size_t i = 0; i < s->size; i++)
		if (text[i] != s->text[i] && (s->other[i] == 0 || text[i] != s->other[i]))
			return false;
	return true;
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

/* A text and, for each of its bytes, where in the text that was searched it comes from. */
struct decoded {
	uint8_t *bytes;
	size_t *start, *end;
	size_t size;
};

static struct decoded decoded_new(size_t room)
{
	return (struct decoded){malloc(room + 1), calloc(room + 1, sizeof(size_t)),
		calloc(room + 1, sizeof(size_t)), 0};
}

static void decoded_free(struct decoded *d)
{
	free(d->bytes);
	free(d->start);
	free(d->end);
}

static void decoded_add(struct decoded *d, uint8_t byte, size_t start, size_t end)
{
	d->bytes[d->size] = byte;
	d->start[d->size] = start;
	d->end[d->size++] = end;
}

static size_t encode(uint32_t code, uint8_t out[4])
{
	if (code < 0x80) {
		out[0] = (uint8_t)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (uint8_t)(0xc0 | code >> 6);
		out[1] = (uint8_t)(0x80 | (code & 63));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (uint8_t)(0xe0 | code >> 12);
		out[1] = (uint8_t)(0x80 | (code >> 6 & 63));
		out[2] = (uint8_t)(0x80 | (code & 63));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | code >> 18);
	out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
	out[2] = (uint8_t)(0x80 | (code >> 6 & 63));
	out[3] = (uint8_t)(0x80 | (code & 63));
	return 4;
}

static size_t read_escape(const uint8_t *p, size_t left, uint8_t out[4], size_t *ret_out)
{
	static const char from[] = "\"\\/'bfnrt", to[] = "\"\\/'\b\f\n\r\t";
	unsigned code, low;
	const char *found;

	*ret_out = 1;
	if (left >= 6 && p[1] == 'u' && hex_run(p + 2, 4, &code)) {
		bool paired = code >= 0xd800 && code <= 0xdbff && left >= 12 && p[6] == '\\' &&
			      p[7] == 'u' && hex_run(p + 8, 4, &low) && low >= 0xdc00 &&
			      low <= 0xdfff;

		if (paired)
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		*ret_out = encode(code, out);
		return paired ? 12 : 6;
	}
	if (left >= 4 && p[1] == 'x' && hex_run(p + 2, 2, &code)) {
		out[0] = (uint8_t)code;
		return 4;
	}
	found = left >= 2 && p[1] != 0 ? strchr(from, p[1]) : NULL;
	out[0] = found != NULL ? (uint8_t)to[found - from] : p[0];
	return found != NULL ? 2 : 1;
}

/* An escape that the end of the text cuts has no meaning. */
static bool is_cut(const uint8_t *p, size_t left, char how)
{
	unsigned code, low;

	if (left == 1)
		return true;
	if (how == 'P')
		return left == 2 && hex_run(p + 1, 1, &code);
	if (p[1] == 'x')
		return left < 4 && hex_run(p + 2, left - 2, &code);
	if (p[1] != 'u' || !hex_run(p + 2, left < 6 ? left - 2 : 4, &code))
		return false;
	if (left < 6)
		return true;
	return code >= 0xd800 && code <= 0xdbff && left < 12 && (left < 7 || p[6] == '\\') &&
	       (left < 8 || p[7] == 'u') && (left < 9 || hex_run(p + 8, left - 8, &low));
}

/* Decodes 'E'scapes or 'P'ercent. */
static struct decoded decode_text(const struct decoded *d, char how)
{
	struct decoded out = decoded_new(d->size);

	for (size_t i = 0; i < d->size;) {
		uint8_t bytes[4] = {d->bytes[i]};
		size_t taken = 1, given = 1;
		unsigned code;

		if (d->bytes[i] == (how == 'E' ? '\\' : '%') &&
			is_cut(d->bytes + i, d->size - i, how))
			break;
		if (how == 'E' && d->bytes[i] == '\\')
			taken = read_escape(d->bytes + i, d->size - i, bytes, &given);
		if (how == 'P' && d->bytes[i] == '%' && d->size - i >= 3 &&
			hex_run(d->bytes + i + 1, 2, &code)) {
			bytes[0] = (uint8_t)code;
			taken = 3;
		}
		for (size_t k = 0; k < given; k++)
			decoded_add(&out, bytes[k], d->start[i], d->end[i + taken - 1]);
		i += taken;
	}
	return out;
}

static bool is_run(uint8_t c)
{
	return c != 0 &&
	       strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_", c) !=
		       NULL;
}

/* Without the gaps behind lines of 32 or more. */
static struct decoded join_lines(const struct decoded *d)
{
	struct decoded out = decoded_new(d->size);
	size_t line = 0;

	for (size_t i = 0; i < d->size;) {
		size_t gap = 0;

		while (i + gap < d->size && d->bytes[i + gap] != 0 &&
			strchr(" \t\r\n", d->bytes[i + gap]) != NULL)
			gap++;
		if (gap > 0 && gap <= 64 && line >= 32 && i + gap < d->size &&
			is_run(d->bytes[i + gap])) {
			line = 0;
			i += gap;
			continue;
		}
		line = is_run(d->bytes[i]) ? line + 1 : 0;
		decoded_add(&out, d->bytes[i], d->start[i], d->end[i]);
		i++;
	}
	return out;
}

struct hit {
	size_t start, end;
	uint32_t secret;
};

struct hits {
	struct hit *items;
	size_t count;
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

static void find_in(const struct oracle *o, const struct decoded *d, bool lines, struct hits *hits)
{
	for (size_t at = 0; at < d->size; at++) {
		for (size_t i = 0; i < o->count; i++) {
			const struct spelling *s = &o->spellings[i];

			if (!(lines ? s->lines : s->form) ||
				!stands_at(s, d->bytes + at, d->size - at))
				continue;
			hits->items =
				reallocarray(hits->items, hits->count + 1, sizeof(*hits->items));
			hits->items[hits->count++] =
				(struct hit){d->start[at], d->end[at + s->size - 1], s->secret};
		}
	}
}

static void find_below(
	const struct oracle *o, const struct decoded *d, const char *path, struct hits *hits)
{
	static const char *const paths[] = {"E", "P", "EE", "EP", "PE", "PP", "EEE", "EEP"};
	size_t depth = strlen(path);
	struct decoded joined = join_lines(d);

	find_in(o, d, false, hits);
	find_in(o, &joined, true, hits);
	decoded_free(&joined);
	for (size_t i = 0; i < array_count(paths); i++) {
		struct decoded below;

		if (strlen(paths[i]) != depth + 1 || strncmp(paths[i], path, depth) != 0)
			continue;
		below = decode_text(d, paths[i][depth]);
		find_below(o, &below, paths[i], hits);
		decoded_free(&below);
	}
}

static struct hit *find_hits(const struct oracle *o, const uint8_t *text, size_t size, size_t *ret)
{
	struct decoded d = decoded_new(size);
	struct hits hits = {NULL, 0};

	for (size_t i = 0; i < size; i++)
		decoded_add(&d, text[i], i, i + 1);
	find_below(o, &d, "", &hits);
	decoded_free(&d);
	if (hits.count > 0)
		qsort(hits.items, hits.count, sizeof(*hits.items), by_start);
	*ret = hits.count;
	return hits.items;
}

bool oracle_occurs(const struct oracle *o, const uint8_t *text, size_t size)
{
	size_t count;

	free(find_hits(o, text, size, &count));
	return count > 0;
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

static void disguise_byte(uint64_t *state, uint8_t c, bool percent, struct buf *out)
{
	static const char from[] = "\"\\/'\b\f\n\r\t", to[] = "\"\\/'bfnrt";
	const char *brief = c != 0 ? strchr(from, c) : NULL;

	/* a writer that escapes anything escapes a backslash */
	switch (c == '\\' ? 2 * random_below(state, 2) : random_below(state, 6)) {
	case 0:
		(void)buf_addf(out, c < 0x80 ? "\\u%04x" : "\\x%02x", c);
		break;
	case 1:
		(void)buf_addf(out, percent ? "%%%02X" : "%c", c);
		break;
	case 2:
		if (brief != NULL)
			(void)buf_add_char(out, '\\');
		(void)buf_add_char(out, brief != NULL ? to[brief - from] : (char)c);
		break;
	default:
		(void)buf_add_char(out, (char)c);
	}
}

void random_disguise(uint64_t *state, const uint8_t *text, size_t size, struct buf *out)
{
	autodone(buf_done) struct buf once;

	buf_init(&once, 1 << 16);
	for (size_t i = 0; i < size; i++)
		disguise_byte(state, text[i], /* percent= */ true, &once);
	if (random_below(state, 3) > 0) {
		(void)buf_add(out, once.data, once.len);
		return;
	}
	for (size_t i = 0; i < once.len; i++)
		disguise_byte(state, (uint8_t)once.data[i], /* percent= */ false, out);
}

/* Broken into lines that are just long enough, or just not. */
static void add_lines(uint64_t *state, const struct spelling *s, struct buf *out)
{
	static const char *const breaks[] = {"\n", "\r\n", " ", "\n\t ", "\\n", "\\r\\n", "%0a"};
	const char *gap = breaks[random_below(state, array_count(breaks))];
	uint32_t column = random_below(state, 40), width = 31 + random_below(state, 4);

	for (uint32_t i = 0; i < column; i++)
		(void)buf_add_char(out, 'A');
	for (size_t i = 0; i < s->size; i++, column++) {
		if (column >= width) {
			(void)buf_add_text(out, gap);
			column = 0;
		}
		(void)buf_add_char(out, (char)s->text[i]);
	}
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
		if (random_below(state, 4) == 0) {
			random_disguise(state, s->text, s->size, out);
			continue;
		}
		if (s->lines && random_below(state, 2) == 0) {
			add_lines(state, s, out);
			continue;
		}
		if (random_below(state, 3) == 0)
			from = random_below(state, (uint32_t)s->size);
		if (random_below(state, 3) == 0)
			to = from + random_below(state, (uint32_t)(s->size - from) + 1);
		for (; from < to; from++)
			(void)buf_add_char(
				out, (char)(s->other[from] != 0 && random_below(state, 2) == 0
						     ? s->other[from]
						     : s->text[from]));
	}
}
