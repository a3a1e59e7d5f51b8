/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON into a buffer. Failure sticks in the buffer, so nothing here asks for it. */

#include "ground/wire/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands for a byte within a string: 0 itself, 'u' the long form, else the letter of the short. */
static const char escapes[256] = {
	[0x00 ... 0x07] = 'u',
	['\b'] = 'b',
	['\t'] = 't',
	['\n'] = 'n',
	[0x0b] = 'u',
	['\f'] = 'f',
	['\r'] = 'r',
	[0x0e ... 0x1f] = 'u',
	['"'] = '"',
	['\\'] = '\\',
};

static void put_escaped(struct buf *out, const char *p, size_t size)
{
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned c = (unsigned char)p[i];

		if (escapes[c] == 0)
			continue;
		(void)buf_add(out, p + from, i - from);
		from = i + 1;
		if (escapes[c] == 'u')
			(void)buf_addf(out, "\\u%04x", c);
		else
			(void)buf_add(out, (char[2]){'\\', escapes[c]}, 2);
	}
	(void)buf_add(out, p + from, size - from);
}

static void put_quoted(struct buf *out, const char *bytes, size_t size)
{
	(void)buf_add_char(out, '"');
	for (;;) {
		size_t good = str_utf8_prefix(bytes, size);

		put_escaped(out, bytes, good);
		if (good == size)
			break;
		(void)buf_add(out, "\xef\xbf\xbd", 3); /* U+FFFD for a byte that is no UTF-8 */
		bytes += good + 1;
		size -= good + 1;
	}
	(void)buf_add_char(out, '"');
}

static void place(struct json_writer *w)
{
	if (w->comma)
		(void)buf_add_char(w->out, ',');
	w->comma = true;
}

static void put_bare(struct json_writer *w, const char *text, size_t size)
{
	place(w);
	(void)buf_add(w->out, text, size);
}

void json_writer_init(struct json_writer *w, struct buf *out)
{
	*w = (struct json_writer){.out = out};
}

void json_object_open(struct json_writer *w)
{
	put_bare(w, "{", 1);
	w->comma = false;
}

void json_object_close(struct json_writer *w)
{
	(void)buf_add_char(w->out, '}');
	w->comma = true;
}

void json_array_open(struct json_writer *w)
{
	put_bare(w, "[", 1);
	w->comma = false;
}

void json_array_close(struct json_writer *w)
{
	(void)buf_add_char(w->out, ']');
	w->comma = true;
}

void json_key(struct json_writer *w, const char *key)
{
	place(w);
	put_quoted(w->out, key, strlen(key));
	(void)buf_add_char(w->out, ':');
	w->comma = false;
}

void json_put_string(struct json_writer *w, const char *text)
{
	if (text == NULL)
		json_put_null(w);
	else
		json_put_bytes(w, text, strlen(text));
}

void json_put_bytes(struct json_writer *w, const char *bytes, size_t size)
{
	place(w);
	put_quoted(w->out, bytes, size);
}

void json_put_int(struct json_writer *w, int64_t value)
{
	char text[24];

	put_bare(w, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, value));
}

void json_put_uint(struct json_writer *w, uint64_t value)
{
	char text[24];

	put_bare(w, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, value));
}

void json_put_double(struct json_writer *w, double value)
{
	char text[32];
	int n = 0;

	if (!__builtin_isfinite(value)) {
		json_put_null(w);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	put_bare(w, text, (size_t)n);
}

void json_put_bool(struct json_writer *w, bool value)
{
	if (value)
		put_bare(w, "true", 4);
	else
		put_bare(w, "false", 5);
}

void json_put_null(struct json_writer *w)
{
	put_bare(w, "null", 4);
}

void json_put_raw(struct json_writer *w, const char *json, size_t size)
{
	put_bare(w, json, size);
}

void json_pair_string(struct json_writer *w, const char *key, const char *text)
{
	json_key(w, key);
	json_put_string(w, text);
}

void json_pair_int(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	json_put_int(w, value);
}

void json_pair_uint(struct json_writer *w, const char *key, uint64_t value)
{
	json_key(w, key);
	json_put_uint(w, value);
}

void json_pair_bool(struct json_writer *w, const char *key, bool value)
{
	json_key(w, key);
	json_put_bool(w, value);
}

void json_pair_double(struct json_writer *w, const char *key, double value)
{
	json_key(w, key);
	json_put_double(w, value);
}

static void put_base64(struct buf *out, const unsigned char *p, size_t size)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t three = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
				 (left > 2 ? p[i + 2] : 0);
		char four[4] = {alphabet[three >> 18], alphabet[three >> 12 & 63], '=', '='};

		if (left > 1)
			four[2] = alphabet[three >> 6 & 63];
		if (left > 2)
			four[3] = alphabet[three & 63];
		(void)buf_add(out, four, sizeof(four));
	}
}

void json_put_wrapped(struct buf *out, const void *bytes, size_t size)
{
	if (str_is_utf8(bytes, size)) {
		(void)buf_add_text(out, "{\"text\":");
		put_quoted(out, bytes, size);
	} else {
		(void)buf_add_text(out, "{\"b64\":\"");
		put_base64(out, bytes, size);
		(void)buf_add_char(out, '"');
	}
	(void)buf_add_char(out, '}');
}
