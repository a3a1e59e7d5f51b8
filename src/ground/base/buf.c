/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer with a maximum. */

#include "ground/base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t max)
{
	assert(max < SIZE_MAX); /* room for the terminator */
	*b = (struct buf){.max = max};
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.max = b->max};
}

char *buf_room(struct buf *b, size_t size)
{
	size_t need, capacity;
	char *grown;

	if (b->status < 0)
		return NULL;
	if (size > b->max || b->len > b->max - size) {
		b->status = -EMSGSIZE;
		return NULL;
	}
	need = b->len + size + 1;
	if (need > b->capacity) {
		capacity = b->capacity > 0 ? b->capacity : 64;
		while (capacity < need)
			capacity *= 2;
		if (capacity > b->max + 1)
			capacity = b->max + 1;
		grown = realloc(b->data, capacity);
		if (grown == NULL) {
			b->status = -ENOMEM;
			return NULL;
		}
		b->data = grown;
		b->capacity = capacity;
	}
	return b->data + b->len;
}

void buf_grow(struct buf *b, size_t size)
{
	assert(b->len + size < b->capacity);
	b->len += size;
	b->data[b->len] = '\0';
}

int buf_add(struct buf *b, const void *bytes, size_t size)
{
	char *room = buf_room(b, size);

	if (room == NULL)
		return b->status;
	if (size > 0)
		(void)memcpy(room, bytes, size);
	buf_grow(b, size);
	return 0;
}

int buf_add_text(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

int buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_vaddf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	char *room;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n < 0) {
		b->status = -EINVAL;
		return b->status;
	}
	room = buf_room(b, (size_t)n);
	if (room == NULL)
		return b->status;
	(void)vsnprintf(room, (size_t)n + 1, format, args); /* measured just above */
	buf_grow(b, (size_t)n);
	return 0;
}

int buf_addf(struct buf *b, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = buf_vaddf(b, format, args);
	va_end(args);
	return r;
}

int buf_status(const struct buf *b)
{
	return b->status;
}

const char *buf_text(struct buf *b)
{
	return b->len > 0 ? b->data : "";
}

char *buf_take(struct buf *b)
{
	char *text = b->data;

	if (text == NULL)
		text = calloc(1, 1);
	if (text == NULL)
		abort();
	*b = (struct buf){.max = b->max};
	return text;
}

void buf_drop(struct buf *b, size_t size)
{
	assert(size <= b->len);
	if (size == 0)
		return;
	(void)memmove(b->data, b->data + size, b->len - size);
	b->len -= size;
	b->data[b->len] = '\0';
}

void buf_truncate(struct buf *b, size_t len)
{
	assert(len <= b->len);
	if (b->len == 0)
		return;
	b->len = len;
	b->data[len] = '\0';
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->status = 0;
	if (b->data != NULL)
		b->data[0] = '\0';
}
