/* SPDX-License-Identifier: Apache-2.0 */
/* Line framing against its definition: whatever the pieces, the same lines at the same offsets.
 * The first byte is the size of a piece, the second the maximum. */

#include "fuzz.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/wire/ndjson.h"

struct text {
	const char *bytes;
	size_t size, at, max;
};

static int on_line(void *context, const char *line, size_t size, uint64_t offset)
{
	struct text *t = context;
	const char *newline = memchr(t->bytes + t->at, '\n', t->size - t->at);

	assert(offset == t->at && newline != NULL && size == (size_t)(newline - t->bytes) - t->at);
	assert(size < t->max && (size == 0 || memcmp(line, t->bytes + t->at, size) == 0));
	t->at += size + 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = size > 0 ? (size_t)data[0] + 1 : 1, max = size > 1 ? (size_t)data[1] + 1 : 1;
	struct text t = {.bytes = (const char *)data, .size = size, .max = max};
	const char *newline;
	struct ndjson n;
	size_t left, at = 0;
	int r = 0;

	ndjson_init(&n, max);
	for (; at < size && r == 0; at += piece)
		r = ndjson_feed(
			&n, t.bytes + at, size - at < piece ? size - at : piece, on_line, &t);
	assert(n.offset == t.at && n.pending.capacity <= max);
	newline = t.at < size ? memchr(t.bytes + t.at, '\n', size - t.at) : NULL;
	left = newline != NULL ? (size_t)(newline - t.bytes) + 1 - t.at : size - t.at;
	if (r < 0)
		assert(r == -EMSGSIZE && (newline != NULL ? left > max : left >= max));
	else
		assert(newline == NULL && left == ndjson_pending(&n) && left < max);
	ndjson_done(&n);
	return 0;
}
