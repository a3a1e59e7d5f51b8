/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_BUF_H
#define GROUND_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing byte buffer that is born with its maximum. Anything that a peer can size lives in one.
 *
 * Failure sticks: after the first failed addition (over the maximum: -EMSGSIZE, no memory: -ENOMEM)
 * nothing more is added, so a writer may add many pieces and ask buf_status() once. data is
 * NUL-terminated whenever len > 0 or after buf_text(). */
struct buf {
	char *data; /* owned, may be NULL while len is 0 */
	size_t len;
	size_t capacity;
	size_t max; /* bytes, without the terminator */
	int status; /* 0 or the first -errno */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b); /* accepts a zeroed buf; leaves it reusable with the same max */

int buf_add(struct buf *b, const void *bytes, size_t size);
int buf_add_text(struct buf *b, const char *text);
int buf_add_char(struct buf *b, char c);
int buf_addf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
int buf_vaddf(struct buf *b, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Makes room for size more bytes and returns where they go; call buf_grow() for what was written. */
char *buf_room(struct buf *b, size_t size); /* NULL on failure */
void buf_grow(struct buf *b, size_t size);

int buf_status(const struct buf *b);
const char *buf_text(struct buf *b);       /* "" when empty; borrowed until the next change */
char *buf_take(struct buf *b);             /* the text, owned by the caller; b is empty after */
void buf_drop(struct buf *b, size_t size); /* removes size bytes from the front */
void buf_truncate(struct buf *b, size_t len);
void buf_reset(struct buf *b); /* empty, status 0, memory kept */

#endif
