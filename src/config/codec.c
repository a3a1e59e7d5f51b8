/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as canonical JSON: the manifest, the engine's message to a steward, and back.
 *
 * Rows of members.c stand in sorted order, the writer puts no space, so the bytes are canonical.
 * Values of variables are never in the manifest: the literal ones are covered by the task's digest,
 * the others came from hemra's environment and may be anything. */

#include "config/config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "config/members.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/wire/json.h"

#define NODES_MAX 1000000
#define DEPTH_MAX 8

static_assert(
	sizeof(enum harness_kind) == sizeof(unsigned) && sizeof(enum keep) == sizeof(unsigned),
	"enums are read and written as unsigned");

/* ---- writing ---------------------------------------------------------------------------------- */

enum encode_flag {
	ENCODE_PRIVATE = 1 << 0, /* members of SCOPE_PLAN too */
	ENCODE_VALUES = 1 << 1,  /* values of variables too */
};

struct encoder {
	struct json_writer w;
	const char *plan; /* the struct's bytes */
	unsigned flags;
	bool not_text; /* a string is not UTF-8 */
};

static void put_text(struct encoder *e, const char *text)
{
	if (text != NULL && !str_is_utf8(text, strlen(text)))
		e->not_text = true;
	json_put_string(&e->w, text);
}

static void pair_text(struct encoder *e, const char *key, const char *text)
{
	json_key(&e->w, key);
	put_text(e, text);
}

static void put_words(struct encoder *e, char *const *words)
{
	if (words == NULL) {
		json_put_null(&e->w);
		return;
	}
	json_array_open(&e->w);
	for (; *words != NULL; words++)
		put_text(e, *words);
	json_array_close(&e->w);
}

static void put_mounts(struct encoder *e, const struct plan_mount *mounts, size_t count)
{
	json_array_open(&e->w);
	for (size_t i = 0; i < count; i++) {
		json_object_open(&e->w);
		pair_text(e, "source", mounts[i].source);
		pair_text(e, "target", mounts[i].target);
		json_pair_bool(&e->w, "writable", mounts[i].writable);
		json_object_close(&e->w);
	}
	json_array_close(&e->w);
}

static void put_variables(struct encoder *e, const struct plan_variable *v, size_t count)
{
	json_array_open(&e->w);
	for (size_t i = 0; i < count; i++) {
		if ((e->flags & ENCODE_VALUES) == 0) {
			put_text(e, v[i].name);
			continue;
		}
		json_object_open(&e->w);
		pair_text(e, "name", v[i].name);
		pair_text(e, "value", v[i].value);
		json_object_close(&e->w);
	}
	json_array_close(&e->w);
}

static void put_secrets(struct encoder *e, const struct plan_secret *secrets, size_t count)
{
	json_array_open(&e->w);
	for (size_t i = 0; i < count; i++) {
		json_object_open(&e->w);
		pair_text(e, "name", secrets[i].name);
		pair_text(e, "reference", secrets[i].reference);
		json_object_close(&e->w);
	}
	json_array_close(&e->w);
}

static void put_flags(struct encoder *e, const struct flag_name *names, unsigned flags)
{
	json_array_open(&e->w);
	for (; names->name != NULL; names++)
		if ((flags & names->flag) != 0)
			put_text(e, names->name);
	json_array_close(&e->w);
}

static void put_group(struct encoder *e, const struct member *rows);

static void put_member(struct encoder *e, const struct member *m)
{
	const void *at = e->plan + m->at;
	const size_t *count =
		(const void *)(e->plan + m->count_at); /* of lists; unused by others */

	json_key(&e->w, m->key);
	switch (m->shape) {
	case SHAPE_TEXT:
		put_text(e, *(char *const *)at);
		break;
	case SHAPE_ARRAY:
		put_text(e, at);
		break;
	case SHAPE_WORDS:
		put_words(e, *(char **const *)at);
		break;
	case SHAPE_MOUNTS:
		put_mounts(e, *(struct plan_mount *const *)at, *count);
		break;
	case SHAPE_VARIABLES:
		put_variables(e, *(struct plan_variable *const *)at, *count);
		break;
	case SHAPE_SECRETS:
		put_secrets(e, *(struct plan_secret *const *)at, *count);
		break;
	case SHAPE_BOOL:
		json_put_bool(&e->w, *(const bool *)at);
		break;
	case SHAPE_INT64:
		json_put_int(&e->w, *(const int64_t *)at);
		break;
	case SHAPE_UINT64:
		json_put_uint(&e->w, *(const uint64_t *)at);
		break;
	case SHAPE_UNSIGNED:
		json_put_uint(&e->w, *(const unsigned *)at);
		break;
	case SHAPE_ENUM:
		put_text(e, ((const struct naming *)m->detail)->name(*(const unsigned *)at));
		break;
	case SHAPE_FLAGS:
		put_flags(e, m->detail, *(const unsigned *)at);
		break;
	case SHAPE_CONSTANT:
		put_text(e, m->detail);
		break;
	case SHAPE_GROUP:
		put_group(e, m->detail);
		break;
	}
}

static void put_group(struct encoder *e, const struct member *rows)
{
	json_object_open(&e->w);
	for (const struct member *m = rows; m->key != NULL; m++) {
		/* what is not sorted is not canonical */
		assert(m == rows || strcmp(m[-1].key, m->key) < 0);
		if (m->scope == SCOPE_MANIFEST || (e->flags & ENCODE_PRIVATE) != 0)
			put_member(e, m);
	}
	json_object_close(&e->w);
}

static int encode(const struct plan *plan, unsigned flags, struct buf *out)
{
	struct encoder e = {.plan = (const char *)plan, .flags = flags};

	json_writer_init(&e.w, out);
	put_group(&e, plan_members);
	if (buf_status(out) < 0)
		return buf_status(out);
	return e.not_text ? -EILSEQ : 0;
}

int manifest_encode(const struct plan *plan, struct buf *out, unsigned char ret_digest[32])
{
	size_t start = out->len;
	int r = encode(plan, 0, out);

	static_assert(crypto_hash_sha256_BYTES == 32, "SHA-256");
	if (r < 0)
		return r;
	(void)crypto_hash_sha256(ret_digest, (const unsigned char *)out->data + start,
		out->len - start); /* cannot fail */
	return 0;
}

int plan_encode(const struct plan *plan, struct buf *out)
{
	return encode(plan, ENCODE_PRIVATE | ENCODE_VALUES, out);
}

int plan_show(const struct plan *plan, struct buf *out)
{
	return encode(plan, ENCODE_PRIVATE, out);
}

/* ---- reading ---------------------------------------------------------------------------------- */

struct decoder {
	struct json_doc doc;
	char *plan; /* the struct's bytes */
};

static bool is_object_of(const struct json_doc *d, uint32_t node, uint32_t members)
{
	return node != JSON_NONE && d->nodes[node].type == JSON_OBJECT &&
	       d->nodes[node].count == members;
}

static int get_text(const struct json_doc *d, uint32_t node, bool may_be_null, char **ret)
{
	if (may_be_null && node != JSON_NONE && d->nodes[node].type == JSON_NULL) {
		*ret = NULL;
		return 0;
	}
	*ret = json_text(d, node);
	return *ret != NULL ? 0 : -EINVAL;
}

static int get_words(const struct json_doc *d, uint32_t node, char ***ret)
{
	if (d->nodes[node].type == JSON_NULL)
		return 0;
	if (d->nodes[node].type != JSON_ARRAY)
		return -EINVAL;
	*ret = own_alloc(sizeof(**ret)); /* an empty vector is not none */
	for (uint32_t n = json_first(d, node); n != JSON_NONE; n = json_next(d, node, n)) {
		autofree char *word = json_text(d, n);

		if (word == NULL)
			return -EINVAL;
		strv_add(ret, word);
	}
	return 0;
}

/* Elements of an array of objects, or names; each is added to the plan before it is filled, so that
 * plan_done() frees what a failure leaves. */
static void *grow(void *array, size_t *count, size_t size)
{
	char *grown = reallocarray(array, *count + 1, size);

	if (grown == NULL)
		abort();
	(void)memset(grown + *count * size, 0, size);
	(*count)++;
	return grown;
}

static int get_mounts(
	const struct json_doc *d, uint32_t node, struct plan_mount **mounts, size_t *count)
{
	if (d->nodes[node].type != JSON_ARRAY)
		return -EINVAL;
	for (uint32_t n = json_first(d, node); n != JSON_NONE; n = json_next(d, node, n)) {
		uint32_t writable = is_object_of(d, n, 3) ? json_get(d, n, "writable") : JSON_NONE;
		struct plan_mount *m;

		if (writable == JSON_NONE || (d->nodes[writable].type != JSON_TRUE &&
						     d->nodes[writable].type != JSON_FALSE))
			return -EINVAL;
		*mounts = grow(*mounts, count, sizeof(**mounts));
		m = *mounts + *count - 1;
		m->writable = json_is_true(d, writable);
		if (get_text(d, json_get(d, n, "source"), /* may_be_null= */ false, &m->source) <
				0 ||
			get_text(d, json_get(d, n, "target"), /* may_be_null= */ false,
				&m->target) < 0)
			return -EINVAL;
	}
	return 0;
}

/* Variables and secrets are both pairs of strings, whose second has this key. */
static int get_pairs(const struct json_doc *d, uint32_t node, const char *second,
	struct plan_variable **pairs, size_t *count)
{
	if (d->nodes[node].type != JSON_ARRAY)
		return -EINVAL;
	for (uint32_t n = json_first(d, node); n != JSON_NONE; n = json_next(d, node, n)) {
		struct plan_variable *v;

		if (!is_object_of(d, n, 2))
			return -EINVAL;
		*pairs = grow(*pairs, count, sizeof(**pairs));
		v = *pairs + *count - 1;
		if (get_text(d, json_get(d, n, "name"), /* may_be_null= */ false, &v->name) < 0 ||
			get_text(d, json_get(d, n, second), /* may_be_null= */ false, &v->value) <
				0)
			return -EINVAL;
	}
	return 0;
}

static int get_secrets(
	const struct json_doc *d, uint32_t node, struct plan_secret **secrets, size_t *count)
{
	struct plan_variable *pairs = NULL;
	int r = get_pairs(d, node, "reference", &pairs, count);

	*secrets = reallocarray(NULL, *count + 1, sizeof(**secrets));
	if (*secrets == NULL)
		abort();
	assert(pairs != NULL || *count == 0);
	for (size_t i = 0; i < *count; i++)
		(*secrets)[i] = (struct plan_secret){pairs[i].name, pairs[i].value};
	free(pairs);
	return r;
}

static int get_uint(const struct json_doc *d, uint32_t node, uint64_t max, uint64_t *ret)
{
	int64_t value;
	int r = json_int64(d, node, &value);

	if (r < 0)
		return r;
	if (value < 0 || (uint64_t)value > max)
		return -ERANGE;
	*ret = (uint64_t)value;
	return 0;
}

static int get_enum(
	const struct json_doc *d, uint32_t node, const struct naming *naming, unsigned *ret)
{
	for (unsigned value = 0; value < naming->count; value++)
		if (json_is(d, node, naming->name(value))) {
			*ret = value;
			return 0;
		}
	return -EINVAL;
}

static int get_flags(
	const struct json_doc *d, uint32_t node, const struct flag_name *names, unsigned *ret)
{
	if (d->nodes[node].type != JSON_ARRAY)
		return -EINVAL;
	for (uint32_t n = json_first(d, node); n != JSON_NONE; n = json_next(d, node, n)) {
		autofree char *word = json_text(d, n);
		unsigned flag = 0;

		if (word == NULL || flag_parse(names, word, &flag) < 0)
			return -EINVAL;
		*ret |= flag;
	}
	return 0;
}

static int get_array(const struct json_doc *d, uint32_t node, char *ret, size_t size)
{
	autofree char *text = json_text(d, node);

	if (text == NULL || strlen(text) >= size)
		return -EINVAL;
	(void)memcpy(ret, text, strlen(text) + 1);
	return 0;
}

static int get_number(const struct json_doc *d, uint32_t node, const struct member *m, void *at)
{
	uint64_t value = 0;
	int r;

	if (m->shape == SHAPE_INT64)
		return json_int64(d, node, at);
	r = get_uint(d, node, m->shape == SHAPE_UINT64 ? INT64_MAX : UINT32_MAX, &value);
	if (r < 0)
		return r;
	if (m->shape == SHAPE_UINT64)
		*(uint64_t *)at = value;
	else
		*(unsigned *)at = (unsigned)value;
	return 0;
}

static int get_bool(const struct json_doc *d, uint32_t node, bool *ret)
{
	if (d->nodes[node].type != JSON_TRUE && d->nodes[node].type != JSON_FALSE)
		return -EINVAL;
	*ret = json_is_true(d, node);
	return 0;
}

static int get_group(struct decoder *d, uint32_t object, const struct member *rows,
	const char *where, struct err *err);

static int get_member(struct decoder *d, uint32_t node, const struct member *m)
{
	void *at = d->plan + m->at;
	size_t *count = (size_t *)(void *)(d->plan + m->count_at); /* of lists; unused by others */

	switch (m->shape) {
	case SHAPE_TEXT:
		return get_text(&d->doc, node, /* may_be_null= */ true, at);
	case SHAPE_ARRAY:
		return get_array(&d->doc, node, at, m->count_at);
	case SHAPE_WORDS:
		return get_words(&d->doc, node, at);
	case SHAPE_MOUNTS:
		return get_mounts(&d->doc, node, at, count);
	case SHAPE_VARIABLES:
		return get_pairs(&d->doc, node, "value", at, count);
	case SHAPE_SECRETS:
		return get_secrets(&d->doc, node, at, count);
	case SHAPE_BOOL:
		return get_bool(&d->doc, node, at);
	case SHAPE_INT64:
	case SHAPE_UINT64:
	case SHAPE_UNSIGNED:
		return get_number(&d->doc, node, m, at);
	case SHAPE_ENUM:
		return get_enum(&d->doc, node, m->detail, at);
	case SHAPE_FLAGS:
		return get_flags(&d->doc, node, m->detail, at);
	case SHAPE_CONSTANT:
		return json_is(&d->doc, node, m->detail) ? 0 : -EINVAL;
	case SHAPE_GROUP:
		break; /* get_group() sees to these */
	}
	return -EINVAL;
}

static int get_group(struct decoder *d, uint32_t object, const struct member *rows,
	const char *where, struct err *err)
{
	uint32_t count = 0;

	if (d->doc.nodes[object].type != JSON_OBJECT)
		return err_say(err, EINVAL, "plan: '%s' is no object", where);
	for (const struct member *m = rows; m->key != NULL; m++, count++) {
		uint32_t node = json_get(&d->doc, object, m->key);
		int r;

		if (node == JSON_NONE)
			return err_say(err, EINVAL, "plan: '%s%s' is missing", where, m->key);
		if (m->shape == SHAPE_GROUP) {
			autofree char *below = own_printf("%s%s.", where, m->key);

			r = get_group(d, node, m->detail, below, err);
			if (r < 0)
				return r;
			continue;
		}
		if (get_member(d, node, m) < 0)
			return err_say(
				err, EINVAL, "plan: '%s%s' has a wrong value", where, m->key);
	}
	if (d->doc.nodes[object].count != count)
		return err_say(err, EINVAL, "plan: '%s' holds unknown members", where);
	return 0;
}

int plan_decode(const char *json, size_t size, struct plan *ret, struct err *err)
{
	struct plan plan = {0};
	struct decoder d = {.plan = (char *)&plan};
	struct json_fault fault = {0};
	int r;

	json_doc_init(&d.doc, NODES_MAX, DEPTH_MAX);
	r = json_parse(&d.doc, json, size, &fault);
	if (r < 0)
		(void)err_say(err, -r, "plan: byte %zu: %s", fault.offset, fault.what);
	else
		r = get_group(&d, 0, plan_members, "", err);
	json_doc_done(&d.doc);
	if (r < 0) {
		plan_done(&plan);
		return r;
	}
	*ret = plan;
	return 0;
}
