/* SPDX-License-Identifier: Apache-2.0 */
/* Unified differences of two texts.
 *
 * How it works: both texts are cut into lines, equal ends are set aside, and what is left goes
 * through the greedy algorithm of Myers, "An O(ND) Difference Algorithm and Its Variations"
 * (Algorithmica 1, 1986). Its trace is kept, so memory grows with the square of the distance; a
 * distance over DISTANCE_MAX is shown as one replaced block instead. */

#include "attempt/diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"

#define DISTANCE_MAX 1000
#define CONTEXT      3

struct line {
	struct str text; /* with its newline */
	uint64_t hash;
};

struct lines {
	struct line *line; /* owned */
	size_t count;
	bool *kept; /* owned: stands on both sides */
};

static struct lines cut(struct str text)
{
	size_t room = 256;
	struct lines l = {.line = own_alloc(room * sizeof(*l.line))};

	for (size_t at = 0; at < text.n;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		size_t size = end != NULL ? (size_t)(end - text.p) - at + 1 : text.n - at;
		uint64_t hash = UINT64_C(14695981039346656037);

		if (l.count == room) {
			room *= 2;
			l.line = reallocarray(l.line, room, sizeof(*l.line));
			if (l.line == NULL)
				abort();
		}
		for (size_t i = 0; i < size; i++)
			hash = (hash ^ (unsigned char)text.p[at + i]) * UINT64_C(1099511628211);
		l.line[l.count++] = (struct line){{text.p + at, size}, hash};
		at += size;
	}
	l.kept = own_alloc(l.count + 1);
	return l;
}

static bool same(const struct line *a, const struct line *b)
{
	return a->hash == b->hash && str_same(a->text, b->text);
}

/* Marks the kept lines between a[from…a_end) and b[from…b_end). */
static void match(struct lines *a, struct lines *b, size_t from, size_t a_end, size_t b_end)
{
	long n = (long)(a_end - from), m = (long)(b_end - from), d, k, x, y;
	long max = n + m < DISTANCE_MAX ? n + m : DISTANCE_MAX;
	autofree long *v = own_alloc((size_t)(2 * max + 3) * sizeof(*v));
	autofree long **trace = own_alloc((size_t)(max + 1) * sizeof(*trace));
	long *middle = v + max + 1;
	bool found = false;

	for (d = 0; d <= max && !found; d++) {
		for (k = -d; k <= d && !found; k += 2) {
			x = k == -d || (k != d && middle[k - 1] < middle[k + 1])
				    ? middle[k + 1]
				    : middle[k - 1] + 1;
			y = x - k;
			while (x < n && y < m &&
				same(&a->line[(long)from + x], &b->line[(long)from + y])) {
				x++;
				y++;
			}
			middle[k] = x;
			found = x >= n && y >= m;
		}
		trace[d] = own_alloc((size_t)(2 * d + 1) * sizeof(**trace));
		(void)memcpy(trace[d], middle - d, (size_t)(2 * d + 1) * sizeof(**trace));
	}
	if (found) {
		x = n;
		y = m;
		for (d--; d > 0; d--) {
			const long *before = trace[d - 1] + (d - 1);
			long at = x - y, to = at - 1, px, py;

			if (at == -d || (at != d && before[at - 1] < before[at + 1]))
				to = at + 1;
			px = before[to];
			py = px - to;
			while (x > px && y > py) {
				a->kept[(long)from + --x] = true;
				b->kept[(long)from + --y] = true;
			}
			x = px;
			y = py;
		}
		while (x > 0 && y > 0) {
			a->kept[(long)from + --x] = true;
			b->kept[(long)from + --y] = true;
		}
	}
	for (d = 0; d <= max; d++)
		free(trace[d]);
}

static void put_line(struct buf *out, char mark, const struct line *line)
{
	(void)buf_add_char(out, mark); /* the buffer remembers failure */
	(void)buf_add(out, line->text.p, line->text.n);
	if (line->text.n == 0 || line->text.p[line->text.n - 1] != '\n')
		(void)buf_add_text(out, "\n\\ No newline at end of file\n");
}

/* One hunk that begins CONTEXT lines before the change at a[i], b[j]; moves both behind it. */
static void put_hunk(
	struct buf *out, const struct lines *a, const struct lines *b, size_t *i, size_t *j)
{
	size_t back = *i < CONTEXT ? *i : CONTEXT, a_from = *i - back, b_from = *j - back;
	size_t x = *i, y = *j, quiet = 0, a_to, b_to;
	struct buf body;

	buf_init(&body, out->max);
	for (size_t n = 0; n < back; n++)
		put_line(&body, ' ', &a->line[a_from + n]);
	a_to = x;
	b_to = y;
	while ((x < a->count || y < b->count) && quiet <= 2 * CONTEXT) {
		if (x < a->count && !a->kept[x]) {
			for (size_t n = a_to; n < x; n++)
				put_line(&body, ' ', &a->line[n]);
			put_line(&body, '-', &a->line[x++]);
			quiet = 0;
		} else if (y < b->count && !b->kept[y]) {
			for (size_t n = a_to; n < x; n++)
				put_line(&body, ' ', &a->line[n]);
			put_line(&body, '+', &b->line[y++]);
			quiet = 0;
		} else {
			x++;
			y++;
			quiet++;
			continue;
		}
		a_to = x;
		b_to = y;
	}
	for (size_t n = 0; n < CONTEXT && a_to < a->count && a->kept[a_to]; n++, a_to++, b_to++)
		put_line(&body, ' ', &a->line[a_to]);
	(void)buf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", a_to > a_from ? a_from + 1 : a_from,
		a_to - a_from, b_to > b_from ? b_from + 1 : b_from, b_to - b_from);
	(void)buf_add(out, buf_text(&body), body.len);
	buf_done(&body);
	*i = a_to;
	*j = b_to;
}

void diff_unified(struct str before, struct str after, struct buf *out)
{
	struct lines a = cut(before), b = cut(after);
	size_t from = 0, a_end = a.count, b_end = b.count;

	while (from < a_end && from < b_end && same(&a.line[from], &b.line[from])) {
		a.kept[from] = b.kept[from] = true;
		from++;
	}
	while (a_end > from && b_end > from && same(&a.line[a_end - 1], &b.line[b_end - 1]))
		a.kept[--a_end] = b.kept[--b_end] = true;
	match(&a, &b, from, a_end, b_end);
	for (size_t i = 0, j = 0; i < a.count || j < b.count;) {
		if ((i < a.count && !a.kept[i]) || (j < b.count && !b.kept[j])) {
			put_hunk(out, &a, &b, &i, &j);
		} else {
			i++;
			j++;
		}
	}
	free(a.line);
	free(a.kept);
	free(b.line);
	free(b.kept);
}
