/* SPDX-License-Identifier: Apache-2.0 */
/* Strict JSON into spans.
 *
 * How it works. Every value becomes one node in an array, in the text's order; a container's node
 * comes before what it holds. While a container is open its `next` names the container around it,
 * so the open ones form a chain inside the array and no stack is needed; closing it puts in the
 * real `next`. UTF-8 is checked once, before: the parser then reads only the well-formed beginning,
 * and a failure at or behind its end is a failure of UTF-8.
 *
 * Duplicate keys are looked for when an object closes. Few keys are compared each with each; many
 * are sorted first, because a hash whose collisions a peer can choose would be quadratic. */

#include "ground/wire/json.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/wire/json_string.h"

#define TEXT_BYTES_MAX ((size_t)1 << 30)
#define FEW_KEYS       16

struct parser {
	struct json_doc *d;
	const char *p, *end; /* end of the well-formed UTF-8 */
	uint32_t open;       /* innermost open container, or JSON_NONE */
	unsigned depth;
	struct json_fault fault;
};

static int fail_at(struct parser *s, const char *at, const char *what)
{
	s->fault.offset = (size_t)(at - s->d->text);
	s->fault.what = what;
	return -EINVAL;
}

static int too_large(struct parser *s, const char *what)
{
	(void)fail_at(s, s->p, what);
	return -E2BIG;
}

static int nodes_grow(struct parser *s)
{
	struct json_doc *d = s->d;
	uint64_t capacity = d->capacity > 0 ? (uint64_t)d->capacity * 2 : 64;
	struct json_node *grown;

	if (d->count >= d->nodes_max)
		return too_large(s, "more values than allowed");
	if (capacity > d->nodes_max)
		capacity = d->nodes_max;
	grown = reallocarray(d->nodes, capacity, sizeof(*grown));
	if (grown == NULL) {
		(void)fail_at(s, s->p, "no memory");
		return -ENOMEM;
	}
	d->nodes = grown;
	d->capacity = (uint32_t)capacity;
	return 0;
}

static inline int node_add(struct parser *s, enum json_type type, struct json_node **ret)
{
	struct json_doc *d = s->d;
	int r;

	if (d->count >= d->capacity) {
		r = nodes_grow(s);
		if (r < 0)
			return r;
	}
	*ret = &d->nodes[d->count];
	**ret = (struct json_node){.type = (uint8_t)type, .at = (uint32_t)(s->p - d->text)};
	d->count++;
	return 0;
}

/* The value ends at s->p and holds nothing. */
static inline void node_end(struct parser *s, struct json_node *node)
{
	node->size = (uint32_t)(s->p - s->d->text) - node->at;
	node->next = s->d->count;
}

static inline void skip_blanks(struct parser *s)
{
	const char *p = s->p;

	while (p < s->end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	s->p = p;
}

static int parse_string(struct parser *s)
{
	struct json_node *node;
	const char *what;
	size_t escape;
	int r = node_add(s, JSON_STRING, &node);

	if (r < 0)
		return r;
	s->p++;
	for (;;) {
		s->p = json_plain_end(s->p, s->end);
		if (s->p == s->end)
			return fail_at(s, s->p, "the string does not end");
		if (*s->p == '"')
			break;
		if (*s->p != '\\')
			return fail_at(s, s->p, "a control character in a string");
		node->escaped = true;
		escape = json_escape_size(s->p, s->end, &what);
		if (escape == 0)
			return fail_at(s, s->p, what);
		s->p += escape;
	}
	s->p++;
	node_end(s, node);
	return 0;
}

/* At least one digit. */
static int skip_digits(struct parser *s)
{
	const char *from = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > from ? 0 : fail_at(s, s->p, "expected a digit");
}

static int parse_number(struct parser *s)
{
	struct json_node *node;
	const char *whole;
	int r = node_add(s, JSON_NUMBER, &node);

	if (r < 0)
		return r;
	if (*s->p == '-')
		s->p++;
	whole = s->p;
	r = skip_digits(s);
	if (r == 0 && *whole == '0' && s->p - whole > 1)
		return fail_at(s, whole, "a number does not start with 0 before other digits");
	if (r == 0 && s->p < s->end && *s->p == '.') {
		s->p++;
		r = skip_digits(s);
	}
	if (r == 0 && s->p < s->end && (*s->p | 0x20) == 'e') {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		r = skip_digits(s);
	}
	node_end(s, node);
	return r;
}

static int parse_word(struct parser *s, enum json_type type, struct str word)
{
	struct json_node *node;
	int r = node_add(s, type, &node);

	if (r < 0)
		return r;
	for (size_t i = 0; i < word.n; i++, s->p++)
		if (s->p == s->end || *s->p != word.p[i])
			return fail_at(s, s->p, "expected true, false or null");
	node_end(s, node);
	return 0;
}

static int open_container(struct parser *s, enum json_type type)
{
	struct json_node *node;
	int r;

	if (s->depth >= s->d->depth_max)
		return too_large(s, "nested deeper than allowed");
	r = node_add(s, type, &node);
	if (r < 0)
		return r;
	s->depth++;
	node->next = s->open;
	s->open = (uint32_t)(node - s->d->nodes);
	s->p++;
	return 0;
}

/* A scalar as a whole, or the opening bracket of a container. */
static int parse_value(struct parser *s)
{
	skip_blanks(s);
	if (s->p == s->end)
		return fail_at(s, s->p, "expected a value");
	switch (*s->p) {
	case '"':
		return parse_string(s);
	case '{':
		return open_container(s, JSON_OBJECT);
	case '[':
		return open_container(s, JSON_ARRAY);
	case 't':
		return parse_word(s, JSON_TRUE, STR("true"));
	case 'f':
		return parse_word(s, JSON_FALSE, STR("false"));
	case 'n':
		return parse_word(s, JSON_NULL, STR("null"));
	default:
		if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
			return parse_number(s);
		return fail_at(s, s->p, "expected a value");
	}
}

/* Orders two strings by their decoded bytes. */
static int string_order(const char *text, const struct json_node *a, const struct json_node *b)
{
	struct letters la, lb;
	int ca, cb;

	if (!a->escaped && !b->escaped) {
		uint32_t shorter = a->size < b->size ? a->size : b->size;
		int order = memcmp(text + a->at + 1, text + b->at + 1, shorter - 2);

		if (order != 0)
			return order;
		return a->size < b->size ? -1 : a->size > b->size;
	}
	la = letters_of(text, a);
	lb = letters_of(text, b);
	do {
		ca = letters_next(&la);
		cb = letters_next(&lb);
	} while (ca == cb && ca >= 0);
	return ca - cb;
}

static inline bool string_same(
	const char *text, const struct json_node *a, const struct json_node *b)
{
	if (!a->escaped && !b->escaped)
		return a->size == b->size && text[a->at + 1] == text[b->at + 1] &&
		       memcmp(text + a->at, text + b->at, a->size) == 0;
	return string_order(text, a, b) == 0;
}

struct sort_key {
	uint64_t head; /* the first eight decoded bytes: most comparisons end here */
	uint32_t node;
};

static int sort_key_order(const void *left, const void *right, void *context)
{
	const struct sort_key *a = left, *b = right;
	const struct json_doc *d = context;
	int order;

	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	order = string_order(d->text, &d->nodes[a->node], &d->nodes[b->node]);
	if (order != 0)
		return order;
	return a->node < b->node ? -1 : a->node > b->node;
}

static struct sort_key sort_key_of(const struct json_doc *d, uint32_t node)
{
	struct letters l = letters_of(d->text, &d->nodes[node]);
	struct sort_key key = {.node = node};

	for (int i = 0; i < 8; i++) {
		int c = letters_next(&l);

		if (c < 0) /* the rest stays zero; \u0000 looks the same, the full comparison decides */
			break;
		key.head |= (uint64_t)c << (56 - 8 * i);
	}
	return key;
}

/* The first key that repeats one before it, JSON_NONE when there is none. -ENOMEM. */
static int find_among_many(const struct json_doc *d, uint32_t object, uint32_t *ret)
{
	uint32_t n = 0, first = JSON_NONE;
	autofree struct sort_key *keys = reallocarray(NULL, d->nodes[object].count, sizeof(*keys));

	if (keys == NULL)
		return -ENOMEM;
	for (uint32_t k = json_first(d, object); k != JSON_NONE; k = json_next(d, object, k))
		keys[n++] = sort_key_of(d, k);
	qsort_r(keys, n, sizeof(*keys), sort_key_order, (void *)d);
	for (uint32_t i = 1; i < n; i++)
		if (keys[i].head == keys[i - 1].head && keys[i].node < first &&
			string_same(d->text, &d->nodes[keys[i - 1].node], &d->nodes[keys[i].node]))
			first = keys[i].node;
	*ret = first;
	return 0;
}

static uint32_t find_among_few(const struct json_doc *d, uint32_t object)
{
	const struct json_node *keys[FEW_KEYS];
	uint32_t n = 0;

	for (uint32_t k = object + 1; k < d->count; k = d->nodes[k + 1].next) {
		const struct json_node *key = &d->nodes[k];

		for (uint32_t i = 0; i < n; i++)
			if (string_same(d->text, keys[i], key))
				return k;
		keys[n++] = key;
	}
	return JSON_NONE;
}

static int check_duplicates(struct parser *s, uint32_t object)
{
	uint32_t again = JSON_NONE;
	int r = 0;

	if (s->d->nodes[object].count <= FEW_KEYS)
		again = find_among_few(s->d, object);
	else
		r = find_among_many(s->d, object, &again);
	if (r < 0) {
		(void)fail_at(s, s->p, "no memory");
		return r;
	}
	if (again != JSON_NONE)
		return fail_at(s, s->d->text + s->d->nodes[again].at,
			"a key that this object already has");
	return 0;
}

static int close_container(struct parser *s)
{
	uint32_t closed = s->open;
	struct json_node *node = &s->d->nodes[closed];

	s->p++;
	s->depth--;
	s->open = node->next;
	node_end(s, node);
	return node->type == JSON_OBJECT ? check_duplicates(s, closed) : 0;
}

static int parse_key(struct parser *s)
{
	int r;

	skip_blanks(s);
	if (s->p == s->end || *s->p != '"')
		return fail_at(s, s->p, "expected a key in quotes");
	r = parse_string(s);
	if (r < 0)
		return r;
	skip_blanks(s);
	if (s->p == s->end || *s->p != ':')
		return fail_at(s, s->p, "expected ':'");
	s->p++;
	return 0;
}

/* One more element or member of the innermost container, or its end. */
static int parse_step(struct parser *s)
{
	struct json_node *container = &s->d->nodes[s->open];
	bool is_object = container->type == JSON_OBJECT;
	int r;

	skip_blanks(s);
	if (s->p < s->end && *s->p == (is_object ? '}' : ']'))
		return close_container(s);
	if (container->count > 0) {
		if (s->p == s->end || *s->p != ',')
			return fail_at(
				s, s->p, is_object ? "expected ',' or '}'" : "expected ',' or ']'");
		s->p++;
	}
	container->count++;
	if (is_object) {
		r = parse_key(s);
		if (r < 0)
			return r;
	}
	return parse_value(s);
}

static int parse_text(struct parser *s, const char *text, size_t size)
{
	int r;

	if (size > TEXT_BYTES_MAX) {
		s->fault = (struct json_fault){TEXT_BYTES_MAX, "longer than 1 GiB"};
		return -E2BIG;
	}
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return fail_at(s, text, "a byte order mark");
	s->p = text;
	s->end = text + str_utf8_prefix(text, size);
	r = parse_value(s);
	while (r == 0 && s->open != JSON_NONE)
		r = parse_step(s);
	if (r == 0) {
		skip_blanks(s);
		if (s->p < s->end)
			r = fail_at(s, s->p, "something behind the value");
	}
	if (s->end < text + size && (r == 0 || text + s->fault.offset >= s->end))
		r = fail_at(s, s->end, "not UTF-8");
	return r;
}

int json_parse(struct json_doc *d, const char *text, size_t size, struct json_fault *ret_fault)
{
	struct parser s = {.d = d, .open = JSON_NONE};
	int r;

	assert(d->nodes_max > 0 && d->depth_max > 0);
	d->text = text;
	d->size = size;
	d->count = 0;
	r = parse_text(&s, text, size);
	if (r < 0) {
		d->count = 0;
		if (ret_fault != NULL)
			*ret_fault = s.fault;
	}
	return r;
}

void json_doc_init(struct json_doc *d, uint32_t nodes_max, unsigned depth_max)
{
	*d = (struct json_doc){.nodes_max = nodes_max, .depth_max = depth_max};
}

void json_doc_done(struct json_doc *d)
{
	free(d->nodes);
	*d = (struct json_doc){.nodes_max = d->nodes_max, .depth_max = d->depth_max};
}
