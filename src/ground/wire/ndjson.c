/* SPDX-License-Identifier: Apache-2.0 */
/* Lines out of a stream. */

#include "ground/wire/ndjson.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void ndjson_init(struct ndjson *n, size_t line_bytes_max)
{
	assert(line_bytes_max > 0);
	*n = (struct ndjson){.line_bytes_max = line_bytes_max};
	/* a line whose newline is still to come has at least that one byte less */
	buf_init(&n->pending, line_bytes_max - 1);
}

void ndjson_done(struct ndjson *n)
{
	buf_done(&n->pending);
	n->offset = 0;
}

size_t ndjson_pending(const struct ndjson *n)
{
	return n->pending.len;
}

/* The line that pending began ends with size bytes, the last of them the newline. */
static int finish_pending(
	struct ndjson *n, const char *bytes, size_t size, ndjson_line_fn *line_fn, void *context)
{
	uint64_t start = n->offset;
	int r;

	if (size > n->line_bytes_max - n->pending.len)
		return -EMSGSIZE;
	r = buf_add(&n->pending, bytes, size - 1);
	if (r < 0)
		return r;
	n->offset += n->pending.len + 1;
	r = line_fn(context, buf_text(&n->pending), n->pending.len, start);
	buf_reset(&n->pending);
	return r;
}

int ndjson_feed(
	struct ndjson *n, const char *bytes, size_t size, ndjson_line_fn *line_fn, void *context)
{
	while (size > 0) {
		const char *newline = memchr(bytes, '\n', size);
		size_t line = newline != NULL ? (size_t)(newline - bytes) + 1 : size;
		uint64_t start = n->offset;
		int r;

		if (newline == NULL)
			return buf_add(&n->pending, bytes, size);
		if (n->pending.len > 0) {
			r = finish_pending(n, bytes, line, line_fn, context);
		} else if (line > n->line_bytes_max) {
			return -EMSGSIZE;
		} else {
			n->offset += line;
			r = line_fn(context, bytes, line - 1, start);
		}
		if (r < 0)
			return r;
		bytes += line;
		size -= line;
	}
	return 0;
}
