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

/* A byte that goes on with no form of these secrets and no escape, so that a stream that ends in it
 * holds nothing back: what is held at the very end is given up in another way. */
static uint8_t stranger(const struct needle_secret *secrets)
{
	static const char known[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "+/-_%\\ \t\r\n:\"'";

	for (unsigned c = 1; c < 256; c++) {
		bool used = memchr(known, (int)c, sizeof(known)) != NULL;

		for (size_t i = 0; i < SECRETS; i++)
			used |= memchr(secrets[i].value, (int)c, secrets[i].value_bytes) != NULL;
		if (!used)
			return (uint8_t)c;
	}
	assert(!"two secrets of 63 bytes leave a byte over");
	return 0;
}

/* The same bytes in pieces of cut bytes, with and without flushes in between. */
static void compare_stream(const struct needle *n, const struct buf *text, size_t cut,
	const struct buf *wanted, const uint64_t *wanted_counts)
{
	const char *bytes = text->data;
	size_t size = text->len;
	struct needle_stream *s = needle_stream_new(n), *flushed = needle_stream_new(n);
	struct needle_seam *seam = needle_seam_new(n);
	autodone(buf_done) struct buf out, drips;
	uint64_t counts[SECRETS] = {0};

	buf_init(&out, 1 << 24);
	buf_init(&drips, 1 << 24);
	for (size_t at = 0; at < size; at += cut) {
		size_t piece = size - at < cut ? size - at : cut;

		assert(needle_stream_write(s, bytes + at, piece, &out, counts) >= 0);
		assert(needle_stream_held(s) <= NEEDLE_HOLD_MAX);
		assert(needle_stream_write(flushed, bytes + at, piece, &drips, NULL) >= 0);
		assert(needle_stream_flush(flushed, &drips, NULL) >= 0);
		assert(needle_stream_held(flushed) == 0);
		(void)needle_seam_feed(seam, bytes + at, piece);
	}
	assert(needle_stream_flush(s, &out, counts) >= 0);
	assert(out.len == wanted->len);
	assert(out.len == 0 || memcmp(out.data, wanted->data, out.len) == 0);
	assert(memcmp(counts, wanted_counts, sizeof(counts)) == 0);
	needle_stream_free(s);
	needle_stream_free(flushed);
	needle_seam_free(seam);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct needle_secret secrets[SECRETS] = {{"A", NULL, 0}, {"B", NULL, 0}};
	autodone(buf_done) struct buf text, out, json;
	uint64_t counts[SECRETS] = {0};
	struct needle *n = NULL;
	size_t at = SECRETS + 1;
	int r;

	buf_init(&text, 1 << 24);
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
	(void)buf_add(&text, data + at, size - at);
	(void)buf_add_char(&text, (char)stranger(secrets));
	assert(buf_status(&text) == 0);
	r = needle_redact(n, text.data, text.len, &out, counts);
	assert(r >= 0);
	assert(needle_occurs(n, text.data, text.len) == (r > 0));
	compare_stream(n, &text, (size_t)data[SECRETS] + 1, &out, counts);
	assert(needle_redact_json(n, data + at, size - at, &json, NULL) >= 0);
	if (is_json(data + at, size - at))
		assert(is_json((const uint8_t *)buf_text(&json), json.len));
	needle_free(n);
	return 0;
}
