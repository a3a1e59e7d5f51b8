/* SPDX-License-Identifier: Apache-2.0 */
/* Taking lines of seals.jsonl apart. */

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"
#include "store/lines.h"
#include "store/seal.h"
#include "store/store.h"

static int get_hex(const struct json_doc *doc, const char *key, uint8_t *out, size_t size)
{
	autofree char *text = json_text(doc, json_get(doc, 0, key));

	return text != NULL ? str_unhex(text, size, out) : -ENOENT;
}

static int get_number(const struct json_doc *doc, const char *key, uint64_t *ret)
{
	uint32_t node = json_get(doc, 0, key);
	int64_t value;

	if (node == JSON_NONE)
		return -ENOENT;
	if (json_int64(doc, node, &value) < 0 || value < 0)
		return -EINVAL;
	*ret = (uint64_t)value;
	return 0;
}

static int get_id(const struct json_doc *doc, const char *key, struct id *ret)
{
	autofree char *text = json_text(doc, json_get(doc, 0, key));

	if (text == NULL)
		return -ENOENT;
	if (!id_is_valid(text))
		return -EINVAL;
	(void)memcpy(ret->text, text, sizeof(ret->text));
	return 0;
}

static int get_kind(const struct json_doc *doc, enum seal_kind *ret)
{
	for (int i = 0; i < SEAL_KIND_COUNT; i++)
		if (json_is(doc, json_get(doc, 0, "kind"), seal_kind_names[i])) {
			*ret = (enum seal_kind)i;
			return 0;
		}
	return -EINVAL;
}

/* What every line has. */
static int get_common(const struct json_doc *doc, struct seal_line *ret)
{
	autofree char *store = json_text(doc, json_get(doc, 0, "store"));
	autofree char *at = json_text(doc, json_get(doc, 0, "at"));
	uint8_t raw[16];

	if (get_kind(doc, &ret->kind) < 0 || get_number(doc, "n", &ret->n) < 0 || store == NULL ||
		str_unhex(store, sizeof(raw), raw) < 0 || at == NULL ||
		wall_parse(at, &ret->at) < 0)
		return -EINVAL;
	(void)memcpy(ret->store, store, STORE_ID_SIZE);
	if (get_number(doc, "count", &ret->count) < 0 ||
		get_number(doc, "bytes", &ret->bytes) < 0 ||
		get_hex(doc, "previous", ret->previous, 32) < 0 ||
		get_hex(doc, "key", ret->key, 32) < 0 ||
		get_hex(doc, "signature", ret->signature, 64) < 0)
		return -EINVAL;
	ret->local = json_is_true(doc, json_get(doc, 0, "local"));
	return 0;
}

/* 0 when an optional member is absent or well-formed. */
static int get_optional(const struct json_doc *doc, struct seal_line *ret)
{
	autofree char *why = json_text(doc, json_get(doc, 0, "why"));
	int manifest = get_hex(doc, "manifest", ret->manifest, 32);
	int run = get_id(doc, "run", &ret->run);
	int run_sha256 = get_hex(doc, "run_sha256", ret->run_sha256, 32);
	int lost_n = get_number(doc, "lost_n", &ret->lost_n);
	int lost = get_hex(doc, "lost", ret->lost, 32);

	if (manifest == -EINVAL || run == -EINVAL || run_sha256 == -EINVAL || run != run_sha256 ||
		lost == -EINVAL || lost_n == -EINVAL || lost != lost_n)
		return -EINVAL;
	ret->has_manifest = manifest == 0;
	ret->has_run = run == 0;
	if (why != NULL) {
		size_t n = strlen(why);

		if (n > SEAL_WHY_MAX)
			return -EINVAL;
		(void)memcpy(ret->why, why, n + 1);
	}
	return 0;
}

int seal_line_parse(struct json_doc *doc, struct str line, struct seal_line *ret)
{
	const char mark[] = ",\"signature\":\"";
	/* the signature is the last member: 128 digits, a quote and the brace */
	const size_t tail = sizeof(mark) - 1 + 128 + 2;

	*ret = (struct seal_line){0};
	if (line.n > SEAL_LINE_MAX || line.n < tail ||
		memcmp(line.p + line.n - tail, mark, sizeof(mark) - 1) != 0)
		return -EINVAL;
	if (json_parse(doc, line.p, line.n, /* ret_fault= */ NULL) < 0 ||
		doc->nodes[0].type != JSON_OBJECT)
		return -EINVAL;
	if (get_common(doc, ret) < 0 || get_optional(doc, ret) < 0)
		return -EINVAL;
	if (ret->kind != SEAL_GC && (get_id(doc, "attempt", &ret->attempt) < 0 ||
					    get_hex(doc, "head", ret->head, 32) < 0))
		return -EINVAL;
	ret->signed_bytes = line.n - tail;
	(void)crypto_hash_sha256(
		ret->digest, (const unsigned char *)line.p, line.n); /* cannot fail */
	return 0;
}

bool seal_line_is_signed(const struct seal_line *line, struct str text)
{
	return crypto_sign_verify_detached(line->signature, (const unsigned char *)text.p,
		       line->signed_bytes, line->key) == 0;
}

static void doc_done(struct json_doc *doc)
{
	json_doc_done(doc);
}

int seal_list_read(int dir, struct seal_list *ret, struct err *err)
{
	autodone(line_reader_done) struct line_reader reader;
	autodone(doc_done) struct json_doc doc;
	autodone(seal_list_done) struct seal_list list = {0};
	autoclose int fd = -1;
	struct str text;
	size_t room = 0;
	int r = fileat_open(dir, "seals.jsonl", O_RDONLY, &fd, err);

	line_reader_init(&reader, fd);
	json_doc_init(&doc, /* nodes_max= */ 128, /* depth_max= */ 2);
	if (r < 0 && r != -ENOENT)
		return r;
	while (fd >= 0 && (r = line_reader_next(&reader, &text)) != 0) {
		struct seal_line line;

		if (r < 0)
			return err_set(err, -r, "read 'seals.jsonl'");
		if (seal_line_parse(&doc, text, &line) < 0)
			continue;
		if (list.count == room) {
			struct seal_line *grown =
				reallocarray(list.lines, room = room * 2 + 16, sizeof(*grown));

			if (grown == NULL)
				return err_set(err, ENOMEM, "read 'seals.jsonl'");
			list.lines = grown;
		}
		list.lines[list.count++] = line;
	}
	*ret = list;
	list = (struct seal_list){0};
	return 0;
}

void seal_list_done(struct seal_list *l)
{
	free(l->lines);
	*l = (struct seal_list){0};
}

const struct seal_line *seal_list_find(
	const struct seal_list *l, enum seal_kind kind, const struct id *attempt)
{
	for (size_t i = l->count; i > 0; i--)
		if (l->lines[i - 1].kind == kind &&
			strcmp(l->lines[i - 1].attempt.text, attempt->text) == 0)
			return &l->lines[i - 1];
	return NULL;
}
