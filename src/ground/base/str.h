/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_STR_H
#define GROUND_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A borrowed span of bytes. It is not terminated. */
struct str {
	const char *p; /* borrowed, may be NULL when n is 0 */
	size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

struct str str_of(const char *text); /* NULL gives the empty span */
bool str_is(struct str s, const char *text);
bool str_same(struct str a, struct str b);
bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

/* Whole spans only; -EINVAL for anything else than digits, -ERANGE over the maximum. */
int str_parse_u64(const char *text, uint64_t max, uint64_t *ret_value);

/* "4G", "512M", "64k", "1024": powers of 1024. -EINVAL, -ERANGE. 0 is accepted. */
int str_parse_bytes(const char *text, uint64_t *ret_bytes);

/* "15m", "30s", "250ms", "2h", "90" (seconds). -EINVAL, -ERANGE (over ten years). */
int str_parse_duration(const char *text, int64_t *ret_ms);

/* Lower-case hex; out has room for 2 * size + 1. */
void str_hex(const void *bytes, size_t size, char *out);
int str_unhex(const char *text, size_t size, void *out); /* exactly 2 * size digits, lower case */

/* The whole span is well-formed UTF-8: no overlong form, no surrogate, nothing over U+10FFFF. */
bool str_is_utf8(const char *bytes, size_t size);
/* How many bytes from the start are well-formed UTF-8: size when all are, else the offset of the
 * first sequence that is not. */
size_t str_utf8_prefix(const char *bytes, size_t size);
/* How many bytes at the end of the span are the beginning of a UTF-8 sequence cut short: 0 to 3. */
size_t str_utf8_cut(const char *bytes, size_t size);

/* The candidate nearest to word (edit distance at most a third of its length, and one), or NULL.
 * Candidates end with NULL. Used for did-you-mean. */
const char *str_nearest(const char *word, const char *const *candidates);

/* Writes text for a person's eyes: control characters, bytes that are not UTF-8 and the Unicode
 * bidirectional and zero-width controls are made visible as \xNN or \u{NNNN}; newlines and tabs
 * stay when keep_lines. Used wherever words of an agent reach a terminal. */
struct buf;
void str_add_visible(struct buf *out, const char *bytes, size_t size, bool keep_lines);

#endif
