/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and converting what json_parse() left as spans. */

#include "ground/wire/json.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/wire/json_string.h"

static const struct json_node *node_at(const struct json_doc *d, uint32_t node)
{
	return node < d->count ? &d->nodes[node] : NULL;
}

static const struct json_node *node_of_type(
	const struct json_doc *d, uint32_t node, enum json_type type)
{
	const struct json_node *n = node_at(d, node);

	return n != NULL && n->type == type ? n : NULL;
}

uint32_t json_first(const struct json_doc *d, uint32_t parent)
{
	const struct json_node *n = node_at(d, parent);

	return n != NULL && n->count > 0 ? parent + 1 : JSON_NONE;
}

uint32_t json_next(const struct json_doc *d, uint32_t parent, uint32_t node)
{
	const struct json_node *around = &d->nodes[parent];
	uint32_t last = around->type == JSON_OBJECT ? node + 1 : node;
	uint32_t next = d->nodes[last].next;

	return next < around->next ? next : JSON_NONE;
}

uint32_t json_value_of(const struct json_doc *d, uint32_t key)
{
	assert(key + 1 < d->count);
	return key + 1;
}

/* A string node against known bytes. */
static bool string_is(const struct json_doc *d, const struct json_node *n, struct str text)
{
	struct letters l;

	if (!n->escaped)
		return n->size - 2 == text.n && memcmp(d->text + n->at + 1, text.p, text.n) == 0;
	l = letters_of(d->text, n);
	for (size_t i = 0; i < text.n; i++)
		if (letters_next(&l) != (unsigned char)text.p[i])
			return false;
	return letters_next(&l) < 0;
}

uint32_t json_get(const struct json_doc *d, uint32_t object, const char *key)
{
	struct str wanted = str_of(key);

	if (node_of_type(d, object, JSON_OBJECT) == NULL)
		return JSON_NONE;
	for (uint32_t k = json_first(d, object); k != JSON_NONE; k = json_next(d, object, k))
		if (string_is(d, &d->nodes[k], wanted))
			return k + 1;
	return JSON_NONE;
}

struct str json_raw(const struct json_doc *d, uint32_t node)
{
	const struct json_node *n = node_at(d, node);

	return n != NULL ? (struct str){d->text + n->at, n->size} : (struct str){0};
}

bool json_is(const struct json_doc *d, uint32_t node, const char *text)
{
	const struct json_node *n = node_of_type(d, node, JSON_STRING);

	return n != NULL && string_is(d, n, str_of(text));
}

int json_string(const struct json_doc *d, uint32_t node, struct buf *out)
{
	const struct json_node *n = node_of_type(d, node, JSON_STRING);
	const char *p, *end;

	if (n == NULL)
		return -EINVAL;
	p = d->text + n->at + 1;
	end = p + n->size - 2;
	while (p < end) {
		const char *plain = n->escaped ? json_plain_end(p, end) : end;
		char utf8[4];

		(void)buf_add(out, p, (size_t)(plain - p)); /* failure sticks */
		p = plain;
		if (p < end)
			(void)buf_add(out, utf8, json_escape_decode(&p, end, utf8));
	}
	return buf_status(out);
}

char *json_text(const struct json_doc *d, uint32_t node)
{
	const struct json_node *n = node_of_type(d, node, JSON_STRING);
	autodone(buf_done) struct buf text = {0};

	buf_init(&text, n != NULL ? n->size : 0);
	if (n == NULL || json_string(d, node, &text) < 0)
		return NULL;
	if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
		return NULL;
	return buf_take(&text);
}

int json_int64(const struct json_doc *d, uint32_t node, int64_t *ret)
{
	const struct json_node *n = node_of_type(d, node, JSON_NUMBER);
	const char *p, *end;
	bool negative;
	int64_t value = 0;

	if (n == NULL)
		return -EINVAL;
	p = d->text + n->at;
	end = p + n->size;
	negative = *p == '-';
	for (const char *q = p + negative; q < end; q++)
		if (*q < '0' || *q > '9')
			return -EINVAL;
	/* counted downward, because the negative side is the larger one */
	for (p += negative; p < end; p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_sub_overflow(value, *p - '0', &value))
			return -ERANGE;
	if (!negative && value == INT64_MIN)
		return -ERANGE;
	*ret = negative ? value : -value;
	return 0;
}

int json_double(const struct json_doc *d, uint32_t node, double *ret)
{
	const struct json_node *n = node_of_type(d, node, JSON_NUMBER);
	autofree char *digits = NULL;
	double value;

	if (n == NULL)
		return -EINVAL;
	digits = strndup(d->text + n->at, n->size);
	if (digits == NULL)
		return -ENOMEM;
	value = strtod(digits, NULL); /* hemra never leaves the C locale, so the point is a point */
	if (!__builtin_isfinite(value))
		return -ERANGE;
	*ret = value;
	return 0;
}

bool json_is_true(const struct json_doc *d, uint32_t node)
{
	return node_of_type(d, node, JSON_TRUE) != NULL;
}
