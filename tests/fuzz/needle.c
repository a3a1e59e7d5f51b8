/* SPDX-License-Identifier: Apache-2.0 */
/* needle over any bytes: the first two are secrets' sizes, then the secrets, a cut, then text.
 *
 * Whatever comes: a stream gives what one call gives, nothing is found twice, what was valid JSON
 * stays it. */

#include "fuzz.h"

#include <assert.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"
#include "needle/needle.h"

#define SECRETS 2

static bool is_json(const uint8_t *bytes, size_t size)
{
	struct json_doc d;
	int r;

	json_doc_init(&d, 4096, 64);
	r = json_parse(&d, (const char *)bytes, size, NULL);
	json_doc_done(&d);
	return r == 0;
}

/* The same bytes in pieces of cut bytes. */
static void compare_stream(const struct needle *n, const uint8_t *text, size_t size, size_t cut,
	const struct buf *wanted, const uint64_t *wanted_counts)
{
	struct needle_stream *s = needle_stream_new(n);
	struct needle_seam *seam = needle_seam_new(n);
	autodone(buf_done) struct buf out;
	uint64_t counts[SECRETS] = {0};

	buf_init(&out, 1 << 24);
	for (size_t at = 0; at < size; at += cut) {
		size_t piece = size - at < cut ? size - at : cut;

		assert(needle_stream_write(s, text + at, piece, &out, counts) >= 0);
		assert(needle_stream_held(s) < needle_longest(n) + 12);
		(void)needle_seam_feed(seam, text + at, piece);
	}
	assert(needle_stream_flush(s, &out, counts) >= 0);
	assert(out.len == wanted->len);
	assert(out.len == 0 || memcmp(out.data, wanted->data, out.len) == 0);
	assert(memcmp(counts, wanted_counts, sizeof(counts)) == 0);
	needle_stream_free(s);
	needle_seam_free(seam);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct needle_secret secrets[SECRETS] = {{"A", NULL, 0}, {"B", NULL, 0}};
	autodone(buf_done) struct buf out, json;
	uint64_t counts[SECRETS] = {0};
	struct needle *n = NULL;
	size_t at = SECRETS + 1;
	int r;

	buf_init(&out, 1 << 24);
	buf_init(&json, 1 << 24);
	if (size < at)
		return 0;
	for (size_t i = 0; i < SECRETS; i++) {
		secrets[i].value = data + at;
		secrets[i].value_bytes = data[i] % 64;
		if (secrets[i].value_bytes > size - at || needle_new(&secrets[i], 1, &n, NULL) < 0)
			return 0;
		needle_free(n);
		at += secrets[i].value_bytes;
	}
	assert(needle_new(secrets, SECRETS, &n, NULL) == 0);
	r = needle_redact(n, data + at, size - at, &out, counts);
	assert(r >= 0);
	assert(needle_occurs(n, data + at, size - at) == (r > 0));
	compare_stream(n, data + at, size - at, (size_t)data[SECRETS] + 1, &out, counts);
	assert(needle_redact_json(n, data + at, size - at, &json, NULL) >= 0);
	if (is_json(data + at, size - at))
		assert(is_json((const uint8_t *)buf_text(&json), json.len));
	needle_free(n);
	return 0;
}
