/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JSON; what is accepted is read, written again and read again. */

#include "fuzz.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/wire/json.h"

/* Writes node anew from its decoded parts. The parser's depth bounds the recursion. */
static void rewrite(const struct json_doc *d, uint32_t node, struct json_writer *w)
{
	const struct json_node *n = &d->nodes[node];
	struct str raw = json_raw(d, node);
	struct buf text;

	assert(raw.p >= d->text && raw.p + raw.n <= d->text + d->size && n->next > node);
	buf_init(&text, d->size);
	switch ((enum json_type)n->type) {
	case JSON_STRING:
		assert(json_string(d, node, &text) == 0 && str_is_utf8(buf_text(&text), text.len));
		json_put_bytes(w, buf_text(&text), text.len);
		break;
	case JSON_OBJECT:
		json_object_open(w);
		for (uint32_t k = json_first(d, node); k != JSON_NONE; k = json_next(d, node, k)) {
			char *key = json_text(d, k);

			assert(key == NULL ||
				json_get(d, node, key) == k + 1); /* no other key is equal */
			free(key);
			rewrite(d, k, w);
			w->comma = false;
			(void)buf_add_char(w->out, ':');
			rewrite(d, k + 1, w);
		}
		json_object_close(w);
		break;
	case JSON_ARRAY:
		json_array_open(w);
		for (uint32_t e = json_first(d, node); e != JSON_NONE; e = json_next(d, node, e))
			rewrite(d, e, w);
		json_array_close(w);
		break;
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
	case JSON_NUMBER:
		json_put_raw(w, raw.p, raw.n);
		break;
	}
	buf_done(&text);
}

static void read_number(const struct json_doc *d, uint32_t node)
{
	int64_t i, again;
	double f, back;
	struct buf text;
	struct json_writer w;
	struct json_doc e;

	buf_init(&text, 64);
	json_doc_init(&e, 1, 1);
	json_writer_init(&w, &text);
	if (json_int64(d, node, &i) == 0) {
		json_put_int(&w, i);
		assert(json_parse(&e, text.data, text.len, NULL) == 0 &&
			json_int64(&e, 0, &again) == 0 && again == i);
	} else if (json_double(d, node, &f) == 0) {
		json_put_double(&w, f);
		assert(json_parse(&e, text.data, text.len, NULL) == 0 &&
			json_double(&e, 0, &back) == 0 && back == f);
	}
	json_doc_done(&e);
	buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct json_fault fault = {SIZE_MAX, NULL};
	struct json_writer w;
	struct json_doc d, e;
	struct buf out;
	int r;

	json_doc_init(&d, 10000, 64);
	json_doc_init(&e, 10000, 64);
	buf_init(&out, 8 * size + 8);
	json_writer_init(&w, &out);
	r = json_parse(&d, text, size, &fault);
	if (r < 0) {
		assert((r == -EINVAL || r == -E2BIG) && fault.offset <= size && fault.what != NULL);
	} else {
		assert(str_is_utf8(text, size) && memchr(text, '\0', size) == NULL);
		for (uint32_t n = 0; n < d.count; n++)
			read_number(&d, n);
		rewrite(&d, 0, &w);
		assert(buf_status(&out) == 0 && json_parse(&e, out.data, out.len, NULL) == 0);
		assert(e.count == d.count);
	}
	json_put_wrapped(&out, text, size);
	buf_done(&out);
	json_doc_done(&d);
	json_doc_done(&e);
	return 0;
}
