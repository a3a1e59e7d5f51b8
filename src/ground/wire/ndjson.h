/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_WIRE_NDJSON_H
#define GROUND_WIRE_NDJSON_H

#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"

/* A stream cut into lines, each with a maximum. Bytes go in as they come, lines come out whole. A
 * line that lies within one piece is passed where it lies; only the unfinished end of a piece is
 * copied, so the memory is bounded by the maximum. */
struct ndjson {
	size_t line_bytes_max; /* of a line with its newline: exactly that is accepted */
	uint64_t offset;    /* bytes of the stream that are dealt with; after a failure see below */
	struct buf pending; /* owned: the beginning of a line whose newline has not come */
};

/* A line without its newline; a carriage return before it is kept. It may be empty. offset is where
 * it starts in the stream. line is valid during the call. 0 to go on, negative to stop. */
typedef int ndjson_line_fn(void *context, const char *line, size_t size, uint64_t offset);

void ndjson_init(struct ndjson *n, size_t line_bytes_max); /* at least 1 */
void ndjson_done(struct ndjson *n);                        /* leaves it ready for a new stream */

/* Cuts size bytes. -EMSGSIZE as soon as the bytes of a line show it to be too long: n->offset is
 * where that line starts, and the lines before it were given. What line_fn returned when it was
 * negative: n->offset is behind that line. -ENOMEM. After a failure the stream is over: done. */
int ndjson_feed(
	struct ndjson *n, const char *bytes, size_t size, ndjson_line_fn *line_fn, void *context);

size_t ndjson_pending(const struct ndjson *n); /* bytes of the unfinished line, 0 between lines */

#endif
