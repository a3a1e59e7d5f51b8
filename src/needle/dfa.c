/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the automaton.
 *
 * How it works: words go into a trie whose edges carry symbols, and a symbol may stand for two
 * bytes (a hex letter in either case). One text can therefore stand at several nodes of the same
 * depth, and a state is what Aho and Corasick's node is, made plural: the nodes that the longest
 * fitting suffix reaches (all at one depth), and the state of everything shorter (its fail state).
 * Its row is the fail state's row with the steps of its own nodes put over it. States are made in
 * order of depth, so the fail state's row is always complete. The number of states is at most
 * nodes(case matters) times nodes(either case) and in practice a little more than the trie's. */

#include "needle/dfa.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "needle/form.h"
#include "needle/vec.h"

struct trie_node {
	uint32_t edge, out; /* first of its list, 0 none: the lists begin with an unused item */
	uint32_t depth;
	uint32_t telling; /* name of a word that is given away here, and one more; 0 none */
};

struct trie_edge {
	uint32_t next, target;
	uint16_t symbol;
};

struct trie_out {
	uint32_t next, name;
};

struct maker_state {
	uint32_t fail;
	uint32_t members, member_count; /* into dfa_maker.members, ascending */
	uint32_t bucket_next;           /* state + 1, 0 none */
	uint32_t accepts;               /* itself or a shorter suffix ends a word */
	uint32_t depth;
};

struct pair {
	uint32_t byte, target;
};

struct dfa_maker {
	struct vec nodes, edges, outs;
	struct vec states, members, rows, buckets, pairs;
	uint16_t class_of[256];
	uint32_t classes;
};

struct dfa_maker *dfa_maker_new(void)
{
	struct dfa_maker *m = vault_alloc(sizeof(*m));

	if (m == NULL)
		return NULL;
	if (vec_add(&m->nodes, sizeof(struct trie_node)) == NULL ||
		vec_add(&m->edges, sizeof(struct trie_edge)) == NULL ||
		vec_add(&m->outs, sizeof(struct trie_out)) == NULL) {
		dfa_maker_free(m);
		return NULL;
	}
	return m;
}

void dfa_maker_free(struct dfa_maker *m)
{
	if (m == NULL)
		return;
	vec_done(&m->nodes);
	vec_done(&m->edges);
	vec_done(&m->outs);
	vec_done(&m->states);
	vec_done(&m->members);
	vec_done(&m->rows);
	vec_done(&m->buckets);
	vec_done(&m->pairs);
	vault_free(m, sizeof(*m));
}

/* The node behind an edge of node; made when it is not there yet. 0 without memory. */
static uint32_t trie_step(struct dfa_maker *m, uint32_t node, uint16_t symbol)
{
	uint32_t edge = vec_at(&m->nodes, struct trie_node, node)->edge;
	uint32_t target = vec_count(&m->nodes, struct trie_node);
	struct trie_edge *added;
	struct trie_node *made;

	for (; edge != 0; edge = vec_at(&m->edges, struct trie_edge, edge)->next)
		if (vec_at(&m->edges, struct trie_edge, edge)->symbol == symbol)
			return vec_at(&m->edges, struct trie_edge, edge)->target;
	made = vec_add(&m->nodes, sizeof(*made));
	if (made == NULL)
		return 0;
	made->depth = vec_at(&m->nodes, struct trie_node, node)->depth + 1;
	edge = vec_count(&m->edges, struct trie_edge);
	added = vec_add(&m->edges, sizeof(*added));
	if (added == NULL)
		return 0;
	*added =
		(struct trie_edge){vec_at(&m->nodes, struct trie_node, node)->edge, target, symbol};
	vec_at(&m->nodes, struct trie_node, node)->edge = edge;
	return target;
}

/* One more symbol of a word; 0 without memory. */
static uint32_t add_symbol(
	struct dfa_maker *m, uint32_t node, uint16_t symbol, const struct dfa_word *w)
{
	struct trie_node *stepped;

	node = trie_step(m, node, symbol);
	stepped = vec_at(&m->nodes, struct trie_node, node);
	if (node != 0 && stepped->depth >= w->telling && stepped->telling == 0)
		stepped->telling = w->name + 1;
	return node;
}

int dfa_maker_add(struct dfa_maker *m, const struct dfa_word *w)
{
	uint32_t node = 0, out;
	struct trie_out *added;

	assert(w->count > 0 && w->count <= DFA_WORD_MAX);
	for (unsigned i = 0; i < w->count; i++) {
		node = add_symbol(m, node, w->symbols[i], w);
		if (node == 0)
			return -ENOMEM;
	}
	out = vec_count(&m->outs, struct trie_out);
	added = vec_add(&m->outs, sizeof(*added));
	if (added == NULL)
		return -ENOMEM;
	*added = (struct trie_out){vec_at(&m->nodes, struct trie_node, node)->out, w->name};
	vec_at(&m->nodes, struct trie_node, node)->out = out;
	return 0;
}

/* Every byte that some word uses is a class of its own, all others are class 0. */
static void number_classes(struct dfa_maker *m)
{
	uint32_t edges = vec_count(&m->edges, struct trie_edge);

	memset(m->class_of, 0, sizeof(m->class_of));
	m->classes = 1;
	for (uint32_t e = 1; e < edges; e++) {
		uint16_t symbol = vec_at(&m->edges, struct trie_edge, e)->symbol;
		uint8_t byte = (uint8_t)symbol;

		if (m->class_of[byte] == 0)
			m->class_of[byte] = (uint16_t)m->classes++;
		byte = form_other(symbol);
		if (byte != 0 && m->class_of[byte] == 0)
			m->class_of[byte] = (uint16_t)m->classes++;
	}
}

static uint32_t *row_of(struct dfa_maker *m, uint32_t state)
{
	return vec_at(&m->rows, uint32_t, (size_t)state * m->classes);
}

static uint32_t bucket_of(
	const struct dfa_maker *m, uint32_t fail, const struct pair *pairs, uint32_t count)
{
	uint64_t hash = fail * UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ pairs[i].target) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> 32) & (vec_count(&m->buckets, uint32_t) - 1);
}

static bool state_is(struct dfa_maker *m, uint32_t state, uint32_t fail, const struct pair *pairs,
	uint32_t count)
{
	const struct maker_state *s = vec_at(&m->states, struct maker_state, state);

	if (s->fail != fail || s->member_count != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (*vec_at(&m->members, uint32_t, s->members + i) != pairs[i].target)
			return false;
	return true;
}

static int add_state(struct dfa_maker *m, uint32_t fail, const struct pair *pairs, uint32_t count,
	uint32_t *ret_state)
{
	uint32_t id = vec_count(&m->states, struct maker_state);
	struct maker_state *s = vec_add(&m->states, sizeof(*s));
	uint32_t accepts = id > 0 ? vec_at(&m->states, struct maker_state, fail)->accepts : 0;

	if (s == NULL || vec_add(&m->rows, m->classes * sizeof(uint32_t)) == NULL)
		return -ENOMEM;
	if (m->rows.used > DFA_BYTES_MAX)
		return -E2BIG;
	s->fail = fail;
	s->members = vec_count(&m->members, uint32_t);
	s->member_count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *member = vec_add(&m->members, sizeof(*member));
		const struct trie_node *node = vec_at(&m->nodes, struct trie_node, pairs[i].target);

		if (member == NULL)
			return -ENOMEM;
		*member = pairs[i].target;
		s->depth = node->depth;
		accepts |= node->out != 0;
	}
	s->accepts = accepts;
	*ret_state = id;
	return 0;
}

/* The state of these nodes (pairs of one byte, targets ascending) over that fail state. */
static int find_state(struct dfa_maker *m, uint32_t fail, const struct pair *pairs, uint32_t count,
	uint32_t *ret_state)
{
	uint32_t bucket = bucket_of(m, fail, pairs, count);
	uint32_t *head = vec_at(&m->buckets, uint32_t, bucket);
	uint32_t s = *head, id;
	int r;

	for (; s != 0; s = vec_at(&m->states, struct maker_state, s - 1)->bucket_next) {
		if (state_is(m, s - 1, fail, pairs, count)) {
			*ret_state = s - 1;
			return 0;
		}
	}
	r = add_state(m, fail, pairs, count, &id);
	if (r < 0)
		return r;
	vec_at(&m->states, struct maker_state, id)->bucket_next = *head;
	*head = id + 1;
	*ret_state = id;
	return 0;
}

/* Sorted on arrival: the lists are short, and qsort() would leave copies in the heap. */
static int add_pair(struct dfa_maker *m, uint32_t byte, uint32_t target)
{
	struct pair *last = vec_add(&m->pairs, sizeof(*last)), *first = m->pairs.items;

	if (last == NULL)
		return -ENOMEM;
	for (; last > first; last--) {
		if (last[-1].byte < byte || (last[-1].byte == byte && last[-1].target < target))
			break;
		*last = last[-1];
	}
	*last = (struct pair){byte, target};
	return 0;
}

/* All steps that the state's own nodes allow, by byte. */
static int collect_pairs(struct dfa_maker *m, uint32_t state)
{
	const struct maker_state s = *vec_at(&m->states, struct maker_state, state);

	m->pairs.used = 0;
	for (uint32_t i = 0; i < s.member_count; i++) {
		uint32_t node = *vec_at(&m->members, uint32_t, s.members + i);
		uint32_t e = vec_at(&m->nodes, struct trie_node, node)->edge;

		for (; e != 0; e = vec_at(&m->edges, struct trie_edge, e)->next) {
			const struct trie_edge edge = *vec_at(&m->edges, struct trie_edge, e);
			uint8_t other = form_other(edge.symbol);

			if (add_pair(m, (uint8_t)edge.symbol, edge.target) < 0)
				return -ENOMEM;
			if (other != 0 && add_pair(m, other, edge.target) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int expand_state(struct dfa_maker *m, uint32_t state)
{
	uint32_t fail = vec_at(&m->states, struct maker_state, state)->fail, count;
	const struct pair *pairs;
	int r = collect_pairs(m, state);

	if (r < 0)
		return r;
	if (state > 0)
		memcpy(row_of(m, state), row_of(m, fail), m->classes * sizeof(uint32_t));
	pairs = m->pairs.items;
	count = vec_count(&m->pairs, struct pair);
	for (uint32_t i = 0, n; i < count; i += n) {
		uint32_t column = m->class_of[pairs[i].byte], target;

		for (n = 1; i + n < count && pairs[i + n].byte == pairs[i].byte;)
			n++;
		r = find_state(m, state > 0 ? row_of(m, fail)[column] : 0, pairs + i, n, &target);
		if (r < 0)
			return r;
		row_of(m, state)[column] = target;
	}
	return 0;
}

static int make_states(struct dfa_maker *m)
{
	uint32_t buckets = 64, root;
	struct pair start = {0, 0};
	int r;

	while (buckets < vec_count(&m->nodes, struct trie_node))
		buckets *= 2;
	if (vec_add(&m->buckets, buckets * sizeof(uint32_t)) == NULL)
		return -ENOMEM;
	number_classes(m);
	r = add_state(m, 0, &start, 1, &root);
	for (uint32_t s = 0; r == 0 && s < vec_count(&m->states, struct maker_state); s++)
		r = expand_state(m, s);
	return r;
}

static void *take_room(size_t count, size_t size, size_t *ret_bytes)
{
	*ret_bytes = (count > 0 ? count : 1) * size;
	return vault_alloc(*ret_bytes);
}

/* Words that end in accepting state s itself, appended to outs from at on (or only counted). */
static uint32_t copy_outs(struct dfa_maker *m, uint32_t s, uint32_t *outs)
{
	const struct maker_state *state = vec_at(&m->states, struct maker_state, s);
	uint32_t count = 0;

	for (uint32_t i = 0; i < state->member_count; i++) {
		uint32_t node = *vec_at(&m->members, uint32_t, state->members + i);
		uint32_t o = vec_at(&m->nodes, struct trie_node, node)->out;

		for (; o != 0; o = vec_at(&m->outs, struct trie_out, o)->next, count++)
			if (outs != NULL)
				outs[count] = vec_at(&m->outs, struct trie_out, o)->name;
	}
	return count;
}

/* Final numbers: states that accept nothing first, otherwise in the order they were made. */
static uint32_t number_states(struct dfa_maker *m, uint32_t *numbers, uint32_t *ret_outs)
{
	uint32_t count = vec_count(&m->states, struct maker_state), number = 0, quiet;

	*ret_outs = 0;
	for (uint32_t s = 0; s < count; s++)
		if (!vec_at(&m->states, struct maker_state, s)->accepts)
			numbers[s] = number++;
	quiet = number;
	for (uint32_t s = 0; s < count; s++) {
		if (vec_at(&m->states, struct maker_state, s)->accepts) {
			numbers[s] = number++;
			*ret_outs += copy_outs(m, s, NULL);
		}
	}
	return quiet;
}

/* What the state's own nodes give away; a shorter suffix may give away what they do not. */
static struct dfa_telling telling_of(struct dfa_maker *m, const struct dfa *d,
	const struct maker_state *s, const uint32_t *numbers)
{
	for (uint32_t i = 0; i < s->member_count; i++) {
		uint32_t node = *vec_at(&m->members, uint32_t, s->members + i);
		uint32_t telling = vec_at(&m->nodes, struct trie_node, node)->telling;

		if (telling != 0)
			return (struct dfa_telling){telling - 1, s->depth};
	}
	return s->depth > 0 ? d->telling[numbers[s->fail]] : (struct dfa_telling){DFA_NONE, 0};
}

static void fill_state(struct dfa_maker *m, struct dfa *d, uint32_t s, const uint32_t *numbers)
{
	uint32_t *row = d->next + (size_t)numbers[s] * d->classes;
	const struct maker_state *state = vec_at(&m->states, struct maker_state, s);

	d->depth[numbers[s]] = (uint8_t)state->depth;
	d->telling[numbers[s]] = telling_of(m, d, state, numbers);
	for (uint32_t c = 0; c < d->classes; c++)
		row[c] = numbers[row_of(m, s)[c]] * d->classes;
}

static void fill_outs(struct dfa_maker *m, struct dfa *d, const uint32_t *numbers, uint32_t quiet)
{
	uint32_t count = vec_count(&m->states, struct maker_state), used = 0;

	for (uint32_t s = 0; s < count; s++) {
		const struct maker_state *state = vec_at(&m->states, struct maker_state, s);
		uint32_t fail = state->fail;

		if (!state->accepts)
			continue;
		d->out_first[numbers[s] - quiet] = used;
		used += copy_outs(m, s, d->outs + used);
		d->out_link[numbers[s] - quiet] =
			vec_at(&m->states, struct maker_state, fail)->accepts
				? numbers[fail] - quiet
				: DFA_NONE;
	}
	d->out_first[count - quiet] = used;
}

static bool is_complete(const struct dfa *d)
{
	return d->next != NULL && d->depth != NULL && d->telling != NULL && d->out_first != NULL &&
	       d->out_link != NULL && d->outs != NULL;
}

static int finish(struct dfa_maker *m, struct dfa *d)
{
	uint32_t count = vec_count(&m->states, struct maker_state), quiet, out_count;
	size_t numbers_bytes;
	uint32_t *numbers = take_room(count, sizeof(*numbers), &numbers_bytes);

	if (numbers == NULL)
		return -ENOMEM;
	quiet = number_states(m, numbers, &out_count);
	memcpy(d->class_of, m->class_of, sizeof(d->class_of));
	d->classes = m->classes;
	d->states = count;
	d->accept_from = quiet * m->classes;
	d->next = take_room((size_t)count * m->classes, sizeof(uint32_t), &d->next_bytes);
	d->depth = take_room(count, 1, &d->depth_bytes);
	d->telling = take_room(count, sizeof(*d->telling), &d->telling_bytes);
	d->out_first = take_room(count - quiet + 1, sizeof(uint32_t), &d->first_bytes);
	d->out_link = take_room(count - quiet, sizeof(uint32_t), &d->link_bytes);
	d->outs = take_room(out_count, sizeof(uint32_t), &d->outs_bytes);
	if (is_complete(d)) {
		for (uint32_t s = 0; s < count; s++)
			fill_state(m, d, s, numbers);
		fill_outs(m, d, numbers, quiet);
	}
	vault_free(numbers, numbers_bytes);
	return is_complete(d) ? 0 : -ENOMEM;
}

int dfa_make(struct dfa_maker *m, struct dfa *d, struct err *err)
{
	int r;

	*d = (struct dfa){0};
	r = make_states(m);
	if (r == 0)
		r = finish(m, d);
	if (r == 0)
		return 0;
	dfa_done(d);
	if (r == -E2BIG)
		return err_say(err, E2BIG, "the secrets need an automaton of more than %u MiB",
			DFA_BYTES_MAX >> 20);
	return err_set(err, -r, "build the automaton of the secrets");
}

void dfa_done(struct dfa *d)
{
	vault_free(d->next, d->next_bytes);
	vault_free(d->depth, d->depth_bytes);
	vault_free(d->telling, d->telling_bytes);
	vault_free(d->out_first, d->first_bytes);
	vault_free(d->out_link, d->link_bytes);
	vault_free(d->outs, d->outs_bytes);
	*d = (struct dfa){0};
}
