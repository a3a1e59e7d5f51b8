/* SPDX-License-Identifier: Apache-2.0 */
/* Hunts through bytes and through what they mean.
 *
 * How it works: views form a tree; each decodes its parent's text, piece by piece, and has a hunt
 * of its own. Most texts hold no escapes, so a view is made only when its parent's text has one: until
 * then both are the same, and the new view begins where its parent's hunt stands. For the same
 * reason a view that decodes the same way from the grandparent, if there is one by then, is copied
 * to become its child: text without escapes decodes to itself. When all hunts stand at the same
 * place again the views are given back. So what is found never depends on how the bytes were cut,
 * and bytes without escapes cost nothing but the look for one. */

#include "needle/scan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"

#define CHUNK_BYTES 1024u
#define KNOTS_KEPT  256u

static const struct {
	enum view_name parent;
	enum decoding decoding;
	/* by decoding; VIEW_BYTES: none */
	enum view_name children[DECODE_NOTHING];
} views[VIEW_COUNT] = {
	[VIEW_BYTES] = {VIEW_BYTES, DECODE_NOTHING, {VIEW_E, VIEW_P}},
	[VIEW_E] = {VIEW_BYTES, DECODE_ESCAPES, {VIEW_EE, VIEW_EP}},
	[VIEW_P] = {VIEW_BYTES, DECODE_PERCENT, {VIEW_PE, VIEW_PP}},
	[VIEW_EE] = {VIEW_E, DECODE_ESCAPES, {VIEW_EEE, VIEW_EEP}},
	[VIEW_EP] = {VIEW_E, DECODE_PERCENT, {VIEW_BYTES, VIEW_BYTES}},
	[VIEW_PE] = {VIEW_P, DECODE_ESCAPES, {VIEW_BYTES, VIEW_BYTES}},
	[VIEW_PP] = {VIEW_P, DECODE_PERCENT, {VIEW_BYTES, VIEW_BYTES}},
	[VIEW_EEE] = {VIEW_EE, DECODE_ESCAPES, {VIEW_BYTES, VIEW_BYTES}},
	[VIEW_EEP] = {VIEW_EE, DECODE_PERCENT, {VIEW_BYTES, VIEW_BYTES}},
};

struct feeding {
	struct scan *scan;
	hunt_on_match on_match;
	void *context;
};

struct view_sink {
	const struct feeding *feeding;
	const struct view *view;
};

static const struct view *view_of(const struct scan *s, enum view_name name)
{
	return name == VIEW_BYTES ? &s->bytes : s->decoded[name];
}

static void view_init(struct view *v, enum view_name name, const struct needle *n)
{
	v->name = name;
	hunt_init(&v->hunt, n, /* forgets= */ false);
	v->lines = (struct lines){0};
	offsets_init(&v->offsets);
	v->pending_bytes = 0;
}

static void view_done(struct view *v)
{
	hunt_done(&v->hunt);
	lines_done(&v->lines);
	offsets_done(&v->offsets);
	explicit_bzero(v->pending, sizeof(v->pending));
}

void scan_init(struct scan *s, const struct needle *n, bool forgets)
{
	view_init(&s->bytes, VIEW_BYTES, n);
	s->bytes.hunt.forgets = forgets;
	memset(s->decoded, 0, sizeof(s->decoded));
	s->decoded_count = 0;
}

static void forget_views(struct scan *s)
{
	for (enum view_name v = VIEW_E; v < VIEW_COUNT && s->decoded_count > 0; v++) {
		if (s->decoded[v] == NULL)
			continue;
		view_done(s->decoded[v]);
		free(s->decoded[v]);
		s->decoded[v] = NULL;
		s->decoded_count--;
	}
}

void scan_done(struct scan *s)
{
	forget_views(s);
	view_done(&s->bytes);
}

static struct view *add_view(struct scan *s, enum view_name name)
{
	struct view *v = malloc(sizeof(*v));

	if (v == NULL)
		return NULL;
	assert(s->decoded[name] == NULL);
	view_init(v, name, s->bytes.hunt.n);
	s->decoded[name] = v;
	s->decoded_count++;
	return v;
}

static int copy_view(struct scan *s, enum view_name name, const struct view *from)
{
	struct view *v = add_view(s, name);
	int r = v != NULL ? hunt_copy(&v->hunt, &from->hunt) : -ENOMEM;

	if (r == 0)
		r = lines_copy(&v->lines, &from->lines);
	return r;
}

static int copy_decoding(struct scan *s, enum view_name name, const struct view *from)
{
	int r = copy_view(s, name, from);

	if (r < 0)
		return r;
	memcpy(s->decoded[name]->pending, from->pending, from->pending_bytes);
	s->decoded[name]->pending_bytes = from->pending_bytes;
	return offsets_copy(&s->decoded[name]->offsets, &from->offsets);
}

/* Views that decode what from decodes, for to, whose text was the same so far. */
static int copy_below(struct scan *s, enum view_name to, enum view_name from)
{
	int r = 0;

	for (enum decoding d = DECODE_ESCAPES; d < DECODE_NOTHING && r == 0; d++) {
		enum view_name child = views[to].children[d], alike = views[from].children[d];

		if (child == VIEW_BYTES || alike == VIEW_BYTES || alike == to ||
			s->decoded[alike] == NULL)
			continue;
		r = copy_decoding(s, child, s->decoded[alike]);
		if (r == 0)
			r = copy_below(s, child, alike);
	}
	return r;
}

/* The parent's text is about to get its first escape. */
static int begin_view(struct scan *s, enum view_name name)
{
	int r = copy_view(s, name, view_of(s, views[name].parent));

	return r == 0 ? copy_below(s, name, views[name].parent) : r;
}

/* Offsets of a view become offsets of the bytes. */
static void map_match(const struct scan *s, const struct view *v, struct match *m)
{
	while (v->name != VIEW_BYTES) {
		m->start = offsets_start(&v->offsets, m->start);
		m->end = offsets_end(&v->offsets, m->end);
		v = view_of(s, views[v->name].parent);
	}
}

static int report(void *context, const struct match *m)
{
	const struct view_sink *sink = context;
	struct match mapped = *m;

	map_match(sink->feeding->scan, sink->view, &mapped);
	return sink->feeding->on_match(sink->feeding->context, &mapped);
}

/* No match that is still to come, in this view or below, begins before this offset of it. */
static uint64_t view_settled(const struct scan *s, const struct view *v)
{
	uint64_t settled = hunt_settled(&v->hunt), other = lines_settled(&v->lines, v->hunt.at);

	settled = other < settled ? other : settled;
	for (enum decoding d = DECODE_ESCAPES; d < DECODE_NOTHING && s->decoded_count > 0; d++) {
		enum view_name child = views[v->name].children[d];
		const struct view *c = s->decoded[child];

		if (c == NULL)
			continue;
		other = offsets_start(&c->offsets, view_settled(s, c));
		settled = other < settled ? other : settled;
	}
	return settled;
}

/* What has been decoded but not yet looked at. */
struct chunk {
	const struct feeding *feeding;
	struct view *view;
	size_t used;
	uint8_t bytes[CHUNK_BYTES];
};

static int decode(
	const struct feeding *f, struct view *v, uint64_t at, const uint8_t *bytes, size_t size);

/* More of a view's text. */
static int look(const struct feeding *f, struct view *v, const uint8_t *bytes, size_t size)
{
	const struct lines_piece piece = {&v->hunt, bytes, size};
	struct view_sink sink = {f, v};
	uint64_t at = v->hunt.at;
	int r = 0;

	for (enum decoding d = DECODE_ESCAPES; d < DECODE_NOTHING && r == 0; d++) {
		enum view_name child = views[v->name].children[d];

		if (child != VIEW_BYTES && f->scan->decoded[child] == NULL &&
			decode_matters(d, bytes, size))
			r = begin_view(f->scan, child);
	}
	if (r == 0)
		r = lines_feed(&v->lines, &piece, report, &sink);
	if (r == 0)
		r = hunt_feed(&v->hunt, bytes, size, report, &sink);
	for (enum decoding d = DECODE_ESCAPES;
		d < DECODE_NOTHING && r == 0 && f->scan->decoded_count > 0; d++) {
		enum view_name child = views[v->name].children[d];

		if (child != VIEW_BYTES && f->scan->decoded[child] != NULL)
			r = decode(f, f->scan->decoded[child], at, bytes, size);
	}
	return r;
}

static int look_at_chunk(struct chunk *c)
{
	int r = c->used > 0 ? look(c->feeding, c->view, c->bytes, c->used) : 0;

	c->used = 0;
	if (c->view->offsets.count > KNOTS_KEPT)
		offsets_forget(&c->view->offsets, view_settled(c->feeding->scan, c->view));
	return r;
}

/* One escape, of the parent's text at offset from; *ret_taken as decode_unit() has it. */
static int add_unit(
	struct chunk *c, uint64_t from, const uint8_t *bytes, size_t size, unsigned *ret_taken)
{
	unsigned given;
	struct knot k;
	int r = CHUNK_BYTES - c->used < DECODE_GIVEN_MAX ? look_at_chunk(c) : 0;

	*ret_taken =
		decode_unit(views[c->view->name].decoding, bytes, size, c->bytes + c->used, &given);
	if (*ret_taken == 0)
		return r;
	k = (struct knot){c->view->hunt.at + c->used, from, given, *ret_taken};
	c->used += given;
	return *ret_taken == given || r != 0 ? r : offsets_add(&c->view->offsets, &k);
}

static int add_plain(struct chunk *c, const uint8_t *bytes, size_t size)
{
	int r = 0;

	while (size > 0 && r == 0) {
		size_t n = CHUNK_BYTES - c->used;

		n = n < size ? n : size;
		memcpy(c->bytes + c->used, bytes, n);
		c->used += n;
		bytes += n;
		size -= n;
		if (c->used == CHUNK_BYTES)
			r = look_at_chunk(c);
	}
	return r;
}

/* The escape that the piece before left open, with as many of these bytes as it takes. at is the
 * offset of bytes[0] in the parent's text. */
static int finish_pending(
	struct chunk *c, uint64_t at, const uint8_t *bytes, size_t size, size_t *ret_used)
{
	struct view *v = c->view;
	uint8_t mark = decode_mark(views[v->name].decoding);
	int r = 0;

	*ret_used = 0;
	while (v->pending_bytes > 0 && r == 0) {
		uint64_t from = at + *ret_used - v->pending_bytes;
		unsigned taken = 1;

		if (v->pending[0] == mark)
			r = add_unit(c, from, v->pending, v->pending_bytes, &taken);
		else
			r = add_plain(c, v->pending, 1);
		if (taken == 0 && *ret_used == size)
			break;
		if (taken == 0) {
			v->pending[v->pending_bytes++] = bytes[(*ret_used)++];
			continue;
		}
		v->pending_bytes -= taken;
		memmove(v->pending, v->pending + taken, v->pending_bytes);
	}
	return r;
}

static int decode_into(struct chunk *c, uint64_t at, const uint8_t *bytes, size_t size)
{
	uint8_t mark = decode_mark(views[c->view->name].decoding);
	size_t i = 0;
	int r = c->view->pending_bytes > 0 ? finish_pending(c, at, bytes, size, &i) : 0;

	while (i < size && r == 0) {
		const uint8_t *marked = memchr(bytes + i, mark, size - i);
		size_t plain = marked != NULL ? (size_t)(marked - bytes) - i : size - i;
		unsigned taken = 0;

		r = add_plain(c, bytes + i, plain);
		i += plain;
		if (i < size && r == 0)
			r = add_unit(c, at + i, bytes + i, size - i, &taken);
		if (i < size && r == 0 && taken == 0) {
			assert(size - i < DECODE_TAKEN_MAX);
			c->view->pending_bytes = (unsigned)(size - i);
			memcpy(c->view->pending, bytes + i, size - i);
			break;
		}
		i += taken;
	}
	return r == 0 ? look_at_chunk(c) : r;
}

/* Bytes of the parent's text, at this offset of it. */
static int decode(
	const struct feeding *f, struct view *v, uint64_t at, const uint8_t *bytes, size_t size)
{
	struct chunk c;
	int r;

	if (v->pending_bytes == 0 &&
		memchr(bytes, decode_mark(views[v->name].decoding), size) == NULL)
		return look(f, v, bytes, size);
	c.feeding = f;
	c.view = v;
	c.used = 0;
	r = decode_into(&c, at, bytes, size);
	explicit_bzero(c.bytes,
		size + DECODE_TAKEN_MAX < CHUNK_BYTES ? size + DECODE_TAKEN_MAX : CHUNK_BYTES);
	return r;
}

/* Does it go on from here as the bytes themselves do, what has begun included? */
static bool is_even(const struct scan *s, const struct view *v)
{
	struct match begun = {hunt_settled(&v->hunt), v->hunt.at, 0};

	map_match(s, v, &begun);
	return begun.start == hunt_settled(&s->bytes.hunt) && v->pending_bytes == 0 &&
	       v->hunt.trail_count == 0 && v->lines.joined == NULL &&
	       v->hunt.state == s->bytes.hunt.state && v->lines.run == s->bytes.lines.run;
}

static bool all_even(const struct scan *s)
{
	if (!is_even(s, &s->bytes))
		return false;
	for (enum view_name v = VIEW_E; v < VIEW_COUNT; v++)
		if (s->decoded[v] != NULL && !is_even(s, s->decoded[v]))
			return false;
	return true;
}

int scan_feed(
	struct scan *s, const uint8_t *bytes, size_t size, hunt_on_match on_match, void *context)
{
	const struct feeding f = {s, on_match, context};
	int r;

	if (s->bytes.hunt.n->secret_count == 0 || size == 0) {
		s->bytes.hunt.at += size;
		return 0;
	}
	r = look(&f, &s->bytes, bytes, size);
	if (r == 0 && s->decoded_count > 0 && !s->bytes.hunt.forgets && all_even(s))
		forget_views(s);
	return r;
}

uint64_t scan_settled(const struct scan *s)
{
	return view_settled(s, &s->bytes);
}

uint64_t scan_decided(const struct scan *s)
{
	uint64_t decided = s->bytes.hunt.at;

	for (enum view_name name = VIEW_E; name < VIEW_COUNT && s->decoded_count > 0; name++) {
		const struct view *v = s->decoded[name];
		struct match m;

		if (v == NULL || v->pending_bytes == 0)
			continue;
		m = (struct match){v->hunt.at, v->hunt.at, 0};
		map_match(s, v, &m);
		decided = m.start < decided ? m.start : decided;
	}
	return decided;
}

bool scan_telling(const struct scan *s, struct match *ret)
{
	*ret = (struct match){UINT64_MAX, s->bytes.hunt.at, 0};
	for (enum view_name name = VIEW_BYTES; name < VIEW_COUNT; name++) {
		const struct view *v = view_of(s, name);
		struct match m;

		for (int lines = 0; v != NULL && lines < 2; lines++) {
			if (lines ? !lines_telling(&v->lines, &m) : !hunt_telling(&v->hunt, &m))
				continue;
			map_match(s, v, &m);
			if (m.start < ret->start)
				*ret = (struct match){m.start, s->bytes.hunt.at, m.secret};
		}
	}
	return ret->start != UINT64_MAX;
}
