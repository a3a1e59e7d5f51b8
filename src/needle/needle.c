/* SPDX-License-Identifier: Apache-2.0 */
/* Building a needle, and looking through bytes that are all there. */

#include "needle/needle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "needle/redact.h"

#define NAME_BYTES_MAX 128

/* With many secrets, shorter anchors keep the automaton small; no spelling is shorter than 8. */
#define ANCHOR_FEW  DFA_WORD_MAX
#define ANCHOR_MANY 8u
#define SECRETS_FEW 32u

/* A name stands inside JSON strings and brackets. */
static bool is_fit_name(const char *name)
{
	size_t size = strnlen(name, NAME_BYTES_MAX + 1);

	if (size == 0 || size > NAME_BYTES_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		if (name[i] < 0x20 || name[i] > 0x7e || name[i] == '"' || name[i] == '\\')
			return false;
	return true;
}

static int check_secrets(const struct needle_secret *secrets, size_t count, struct err *err)
{
	if (count > NEEDLE_SECRETS_MAX)
		return err_say(err, EINVAL, "%zu secrets are too many: at most %u", count,
			(unsigned)NEEDLE_SECRETS_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct needle_secret *s = &secrets[i];

		if (!is_fit_name(s->name))
			return err_say(err, EINVAL,
				"the name of secret %zu is not 1 to %d printable ASCII characters "
				"without quote and backslash",
				i + 1, NAME_BYTES_MAX);
		if (s->value_bytes < NEEDLE_SECRET_MIN)
			return err_say(err, EINVAL,
				"secret '%s' is shorter than %u bytes: it would be found by chance",
				s->name, (unsigned)NEEDLE_SECRET_MIN);
		if (s->value_bytes > NEEDLE_SECRET_MAX)
			return err_say(err, EINVAL, "secret '%s' is longer than %u bytes", s->name,
				(unsigned)NEEDLE_SECRET_MAX);
	}
	return 0;
}

static int keep_secrets(struct needle *n, const struct needle_secret *secrets, size_t count)
{
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += secrets[i].value_bytes;
	n->names = own_alloc((count + 1) * sizeof(*n->names));
	n->starts = own_alloc((count + 1) * sizeof(*n->starts));
	n->values = vault_alloc(total);
	if (n->values == NULL)
		return -ENOMEM;
	n->values_bytes = total;
	n->secret_count = count;
	for (size_t i = 0; i < count; i++) {
		n->names[i] = own_strdup(secrets[i].name);
		memcpy(n->values + n->starts[i], secrets[i].value, secrets[i].value_bytes);
		n->starts[i + 1] = n->starts[i] + (uint32_t)secrets[i].value_bytes;
	}
	return 0;
}

static int add_form(struct needle *n, struct dfa_maker *m, uint32_t secret, enum form_kind kind)
{
	const uint8_t *value = n->values + n->starts[secret];
	size_t size = n->starts[secret + 1] - n->starts[secret];
	unsigned anchor_max = n->secret_count > SECRETS_FEW ? ANCHOR_MANY : ANCHOR_FEW, count = 0;
	uint16_t unit[FORM_UNIT_MAX], anchor[DFA_WORD_MAX];
	uint32_t index = vec_count(&n->forms, struct form), at = 0;
	struct form *f = vec_add(&n->forms, sizeof(*f));
	struct dfa_word word;
	int r;

	if (f == NULL)
		return -ENOMEM;
	*f = (struct form){.secret = secret, .kind = kind};
	f->size = (uint32_t)form_size(kind, size);
	while (count < anchor_max && count < f->size) {
		unsigned symbols = form_spell(kind, value, size, &at, unit), used = 0;

		while (used < symbols && count < anchor_max)
			anchor[count++] = unit[used++];
		if (used == symbols)
			f->behind = (struct form_place){at, 0};
		else
			f->behind.sub = used;
	}
	f->anchor = count;
	if (f->size > n->longest)
		n->longest = f->size;
	word = (struct dfa_word){anchor, count, form_telling_symbols(kind), index};
	r = dfa_maker_add(m, &word);
	explicit_bzero(unit, sizeof(unit));
	explicit_bzero(anchor, sizeof(anchor));
	return r;
}

/* All forms of one secret that differ from each other. */
static int add_forms(struct needle *n, struct dfa_maker *m, uint32_t secret)
{
	const uint8_t *value = n->values + n->starts[secret];
	size_t size = n->starts[secret + 1] - n->starts[secret];
	uint32_t first = vec_count(&n->forms, struct form);
	int r = 0;

	for (enum form_kind kind = FORM_RAW; kind < FORM_KIND_COUNT && r == 0; kind++) {
		bool known = false;

		for (uint32_t i = first; i < vec_count(&n->forms, struct form) && !known; i++)
			known = form_same(kind, needle_form(n, i)->kind, value, size);
		if (!known)
			r = add_form(n, m, secret, kind);
	}
	return r;
}

static int build(struct needle *n, struct err *err)
{
	struct dfa_maker *m = dfa_maker_new();
	int r = m != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n->secret_count && r == 0; i++)
		r = add_forms(n, m, i);
	if (r < 0)
		err_set(err, -r, "spell the secrets");
	else
		r = dfa_make(m, &n->dfa, err);
	dfa_maker_free(m);
	return r;
}

int needle_new(
	const struct needle_secret *secrets, size_t count, struct needle **ret, struct err *err)
{
	struct needle *n;
	int r = check_secrets(secrets, count, err);

	if (r < 0)
		return r;
	n = own_alloc(sizeof(*n));
	if (count > 0) {
		r = keep_secrets(n, secrets, count);
		r = r < 0 ? err_set(err, -r, "keep the secrets") : build(n, err);
	}
	if (r < 0) {
		needle_free(n);
		return r;
	}
	*ret = n;
	return 0;
}

void needle_free(struct needle *n)
{
	if (n == NULL)
		return;
	for (size_t i = 0; i < n->secret_count; i++)
		free(n->names[i]);
	free(n->names);
	free(n->starts);
	vault_free(n->values, n->values_bytes);
	vec_done(&n->forms);
	dfa_done(&n->dfa);
	free(n);
}

size_t needle_secret_count(const struct needle *n)
{
	return n->secret_count;
}

const char *needle_secret_name(const struct needle *n, size_t index)
{
	return index < n->secret_count ? n->names[index] : NULL;
}

size_t needle_longest(const struct needle *n)
{
	return n->longest;
}

int needle_redact(
	const struct needle *n, const void *bytes, size_t size, struct buf *out, uint64_t *counts)
{
	struct stretch s = {.bytes = bytes, .size = size, .settled = size, .final = true};
	autodone(scan_done) struct scan scan;
	autodone(redact_done) struct redact red;
	int r;

	scan_init(&scan, n, /* forgets= */ true);
	redact_init(&red, n);
	r = scan_feed(&scan, bytes, size, redact_add, &red);
	return r < 0 ? r : redact_write(&red, &s, out, counts);
}

static int stop_at_first(void *context, const struct match *m)
{
	(void)context;
	(void)m;
	return 1;
}

bool needle_occurs(const struct needle *n, const void *bytes, size_t size)
{
	autodone(scan_done) struct scan scan;

	scan_init(&scan, n, /* forgets= */ true);
	return scan_feed(&scan, bytes, size, stop_at_first, NULL) > 0;
}
