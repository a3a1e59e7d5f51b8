/* SPDX-License-Identifier: Apache-2.0 */
/* Redacting a JSON value so that it stays one. Nothing is parsed: strings and bare words are told
 * apart, no more, and only once something was found. */

#include <string.h>

#include "ground/base/own.h"
#include "needle/redact.h"

/* A string with its quotes, or a number or literal; start == end behind the last one. */
struct token {
	size_t start, end;
	bool string, key;
};

static bool is_bare(uint8_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
	       c == '+' || c == '.';
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct token next_token(const uint8_t *p, size_t size, size_t at)
{
	struct token t = {.string = false};
	size_t behind;

	while (at < size && p[at] != '"' && !is_bare(p[at]))
		at++;
	t.start = at;
	if (at < size && p[at] == '"') {
		t.string = true;
		for (at++; at < size && p[at] != '"'; at++)
			if (p[at] == '\\')
				at++;
		at = at < size ? at + 1 : size;
		for (behind = at; behind < size && is_blank(p[behind]);)
			behind++;
		t.key = behind < size && p[behind] == ':';
	} else {
		while (at < size && is_bare(p[at]))
			at++;
	}
	t.end = at;
	return t;
}

/* Makes every region one that can be replaced where it stands; false when that cannot be. */
static bool fit_regions(struct redact *r, const uint8_t *p, size_t size)
{
	struct token t = next_token(p, size, 0);
	size_t last_key = SIZE_MAX, keys = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct region *g = &r->regions[i];

		while (t.end <= g->start && t.start < t.end)
			t = next_token(p, size, t.end);
		if (t.string) {
			if (g->start <= t.start || g->end >= t.end)
				return false;
			if (t.key && t.start != last_key) {
				last_key = t.start;
				keys++;
			}
		} else {
			if (g->start < t.start || g->end > t.end)
				return false;
			g->start = t.start;
			g->end = t.end;
			g->quoted = true;
		}
	}
	/* a second key, or one that reads like a replacement already, could become a duplicate */
	return keys == 0 || (keys == 1 && memmem(p, size, "[redacted:", 10) == NULL);
}

static int replace_all(struct redact *r, struct buf *out, uint64_t *counts)
{
	static const uint64_t none[SEEN_WORDS];
	uint64_t seen[SEEN_WORDS] = {0};

	for (size_t i = 0; i < r->count; i++)
		for (size_t w = 0; w < SEEN_WORDS; w++)
			seen[w] |= r->regions[i].seen[w];
	redact_count(r, seen, none, counts);
	(void)buf_addf(out, "{\"redacted\":\"%s\"}", r->n->names[r->regions[0].first.secret]);
	return buf_status(out) < 0 ? buf_status(out) : 1;
}

int needle_redact_json(
	const struct needle *n, const void *json, size_t size, struct buf *out, uint64_t *counts)
{
	struct stretch s = {.bytes = json, .size = size, .settled = size, .final = true};
	autodone(scan_done) struct scan scan;
	autodone(redact_done) struct redact red;
	int r;

	scan_init(&scan, n, /* forgets= */ true);
	redact_init(&red, n);
	r = scan_feed(&scan, json, size, redact_add, &red);
	if (r < 0)
		return r;
	if (red.count > 0 && !fit_regions(&red, json, size))
		return replace_all(&red, out, counts);
	return redact_write(&red, &s, out, counts);
}
