/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_NEEDLE_H
#define NEEDLE_NEEDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"
#include "ground/base/err.h"

/* Finds known secrets in bytes, whatever common clothing they wear, and replaces them.
 *
 * Forms: the value itself, a space also as a plus sign; base64, in either alphabet or both, at all
 * three alignments (the characters that the secret alone decides); hex, in either case or both,
 * also with one blank or one colon between bytes.
 *
 * Views: forms are looked for in the bytes as they are, and in what the bytes mean where any of
 * them are escaped, however many and whichever: by backslashes (\" \\ \/ \' \b \f \n \r \t
 * \uXXXX \xXX, as in JSON), up to three times one inside the other; by percent-encoding, up to
 * twice; by backslashes once or twice and percents inside them; by percents and backslashes inside
 * them.
 *
 * Lines: in every view, base64 and hex are also found where lines of 32 characters or more are
 * divided by up to 64 blanks, tabs and line ends (what base64(1) and xxd -p write, whatever became
 * of their line ends in JSON).
 *
 * Not found: lines of fewer than 32 characters, hex with other separators or several, octal and
 * HTML escapes, further levels or other orders of escapes, base64 of base64, compression, ciphers,
 * a value that its sender took apart, changed or left incomplete. Escapes are read from the first
 * byte on; where one begins right before a value and takes a byte of it (%ab for "abcdefgh" behind
 * a percent sign), the meaning is another one, and only the bytes as they are hold the value.
 *
 * One automaton scans all forms of all secrets in one pass per view; a view is only made where
 * there is something to decode, so bytes without backslash and percent sign are scanned once.
 *
 * A needle is immutable once built and may be shared by streams and across fork(). Values live in
 * memory that is locked and left out of core files where the machine allows it (locks are not
 * inherited by a child); the automaton holds them in parts, so it is treated alike. */
struct needle;

#define NEEDLE_SECRET_MIN  8           /* bytes; shorter values match by chance and are refused */
#define NEEDLE_SECRET_MAX  (16 * 1024) /* bytes */
#define NEEDLE_SECRETS_MAX 256
#define NEEDLE_HOLD_MAX    (256 * 1024) /* bytes that a stream holds back at most */

struct needle_secret {
	const char *name; /* borrowed, copied by needle_new; shown in [redacted:NAME] */
	const void *value;
	size_t value_bytes;
};

/* Builds a needle. -EINVAL with a sentence naming the secret (never its value) when one is too
 * short, too long, there are too many, or a name is not 1 to 128 printable ASCII characters without
 * quote and backslash; -E2BIG when together they need more than 128 MiB; -ENOMEM. count may be 0:
 * nothing ever matches. */
int needle_new(
	const struct needle_secret *secrets, size_t count, struct needle **ret, struct err *err);
void needle_free(struct needle *n); /* wipes; accepts NULL */
size_t needle_secret_count(const struct needle *n);
const char *needle_secret_name(const struct needle *n, size_t index);
/* The longest form in bytes, before anything is escaped. */
size_t needle_longest(const struct needle *n);

/* Appends bytes to out with every occurrence replaced by [redacted:NAME]; overlapping and touching
 * occurrences become one replacement, with the name of the one that begins first (among those,
 * that ends first). A replacement takes whole UTF-8 characters and whole escapes of every view that
 * it was found in, so what was valid inside a JSON string stays valid. counts
 * (needle_secret_count() of them, or NULL) grows by one for each secret in each replacement.
 * Returns how many replacements, or -errno of out. Fast path: nothing found, one copy. */
int needle_redact(
	const struct needle *n, const void *bytes, size_t size, struct buf *out, uint64_t *counts);

/* The same for bytes that are one JSON value, which they stay: a number that holds a secret becomes
 * the string "[redacted:NAME]". What cannot be replaced in place (an occurrence that crosses the
 * end of a string, two keys that could become the same) turns the whole value into
 * {"redacted":"NAME"}. Bytes that are no JSON are redacted as well, to no particular shape. */
int needle_redact_json(
	const struct needle *n, const void *json, size_t size, struct buf *out, uint64_t *counts);

/* True when any form of any secret occurs. */
bool needle_occurs(const struct needle *n, const void *bytes, size_t size);

/* The same over a stream that arrives in pieces, with the same output however it was cut: what may
 * be the beginning of a secret is held back until it is decided. The owner bounds the wait: after
 * at most 200 ms, and when the stream ends, it calls needle_stream_flush(), which gives up what is
 * held:
 * - when it ends in 8 bytes or more of a secret, in any form and view, [redacted:NAME] is written
 *   in their place and counted, and what follows is still compared: if it is the rest of the secret it
 *   is swallowed, otherwise it is written;
 * - otherwise as it is. A secret that is finished later is then *split*: counted, its rest
 *   replaced, its beginning not unwritten.
 * A stream that would hold more than NEEDLE_HOLD_MAX is flushed by itself. */
struct needle_stream;

struct needle_stream *needle_stream_new(const struct needle *n); /* n is borrowed */
void needle_stream_free(struct needle_stream *s);                /* wipes; accepts NULL */
int needle_stream_write(
	struct needle_stream *s, const void *bytes, size_t size, struct buf *out, uint64_t *counts);
size_t needle_stream_held(const struct needle_stream *s); /* bytes held back */
int needle_stream_flush(struct needle_stream *s, struct buf *out, uint64_t *counts);
/* How many secrets were split so far. The owner of a stream asks here; needle_seam_feed() cannot
 * see it, as a beginning that was replaced is not in the pieces it is fed. */
uint64_t needle_stream_splits(const struct needle_stream *s);

/* Watches pieces that were recorded one by one (one event each) and tells when a secret lay across
 * their borders. Feed every piece in order; returns how many secrets were completed in this piece
 * that began in an earlier one. */
struct needle_seam;

struct needle_seam *needle_seam_new(const struct needle *n);
void needle_seam_free(struct needle_seam *s);
unsigned needle_seam_feed(struct needle_seam *s, const void *bytes, size_t size);

#endif
