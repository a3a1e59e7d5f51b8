/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LINES_H
#define STORE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"
#include "ground/base/clock.h"
#include "ground/base/str.h"
#include "ground/terms/id.h"

/* Reading a file of lines, and the frame of an event line. The frame is of fixed form and written by
 * the steward alone, so it is taken apart without a JSON parser: whoever needs only numbers,
 * sources and hashes parses nothing that an agent wrote. */

#define LINE_BYTES_MAX (2 * 1024 * 1024 + 256)

struct line_reader {
	int fd; /* borrowed */
	struct buf buf;
	size_t at;       /* in buf: the next line */
	uint64_t offset; /* in the file: the next line */
	uint64_t read;   /* bytes read from the file */
	uint64_t torn;   /* at the end: bytes behind the last newline */
	uint64_t limit;  /* where the file is taken to end, 0 for its own end */
};

void line_reader_init(struct line_reader *r, int fd);
void line_reader_done(struct line_reader *r);
/* 1 and a line without its newline (borrowed until the next call), 0 at the end, -EMSGSIZE for a line
 * over LINE_BYTES_MAX, -errno. */
int line_reader_next(struct line_reader *r, struct str *ret);

#define EVENT_HASH_DIGITS 16

struct event_line {
	uint64_t seq;
	char ts[WALL_TEXT_SIZE];
	struct str src, type, data; /* borrowed from the line */
	char h[EVENT_HASH_DIGITS + 1];
	struct str hashed; /* the bytes that the chain covers */
};
int event_line_parse(
	struct str line, struct event_line *ret);       /* -EINVAL when it has not that form */
bool event_line_is_trusted(const struct event_line *l); /* hemra's own words, not an agent's */

/* The first 64 lower-case hex digits that follow `"key":"` in an object that hemra wrote. */
bool data_digest(struct str data, const char *key, uint8_t ret[32]);
bool data_id(struct str data, const char *key, struct id *ret);
/* The digits that follow `"key":`. */
bool data_number(struct str data, const char *key, uint64_t *ret);

/* The chain. */
void chain_start(const struct id *attempt, const uint8_t manifest[32], uint8_t ret[32]);
void chain_step(uint8_t hash[32], const void *bytes, size_t size);
bool chain_fits(const uint8_t hash[32], const char *h); /* h is the line's hex digits */

#endif
