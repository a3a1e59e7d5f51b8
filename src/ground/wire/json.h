/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_WIRE_JSON_H
#define GROUND_WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/buf.h"
#include "ground/base/str.h"

/* JSON (RFC 8259) as spans of the original bytes: nothing is converted until it is asked for, so
 * what is forwarded or logged is what was read. Strict: one value, no duplicate key at any depth
 * (compared after decoding escapes), UTF-8 only, no lone surrogate escape, no byte below 0x20 in a
 * string, any number that the grammar allows (its digits are kept), no NUL, no BOM. Memory is
 * bounded by nodes_max; no recursion. */

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* A value. Members of an object come as pairs: the key's node (a JSON_STRING), then the value's. */
struct json_node {
	uint8_t type;   /* enum json_type */
	bool escaped;   /* a string that holds a backslash */
	uint32_t at;    /* first byte in the text; of a string: the opening quote */
	uint32_t size;  /* bytes, quotes and brackets included */
	uint32_t next;  /* index of the first node behind this value and all it holds */
	uint32_t count; /* elements of an array, members of an object */
};

struct json_doc {
	const char *text; /* borrowed from the parse call */
	size_t size;
	struct json_node *nodes; /* owned, reused by the next parse */
	uint32_t count, capacity;
	uint32_t nodes_max;
	unsigned depth_max;
};

struct json_fault {
	size_t offset;    /* of the first byte that is wrong */
	const char *what; /* static sentence */
};

void json_doc_init(struct json_doc *d, uint32_t nodes_max, unsigned depth_max);
void json_doc_done(struct json_doc *d);

/* Parses text (at most 1 GiB). The root is node 0. -EINVAL for what is not strict JSON,
 * -E2BIG over depth_max or nodes_max, -ENOMEM; then *ret_fault says where. ret_fault may be NULL. */
int json_parse(struct json_doc *d, const char *text, size_t size, struct json_fault *ret_fault);

#define JSON_NONE UINT32_MAX

/* The value's node, or JSON_NONE. */
uint32_t json_get(const struct json_doc *d, uint32_t object, const char *key);
/* Walking: for (n = json_first(d, parent); n != JSON_NONE; n = json_next(d, parent, n)).
 * Over an object, n is the key's node and json_value_of(d, n) its value. */
uint32_t json_first(const struct json_doc *d, uint32_t parent);
uint32_t json_next(const struct json_doc *d, uint32_t parent, uint32_t node);
uint32_t json_value_of(const struct json_doc *d, uint32_t key);

struct str json_raw(const struct json_doc *d, uint32_t node); /* the value's bytes */
/* A string, and equal after decoding. */
bool json_is(const struct json_doc *d, uint32_t node, const char *text);
/* Appends the decoded UTF-8; -EINVAL for what is no string, else the buffer's status. */
int json_string(const struct json_doc *d, uint32_t node, struct buf *out);
/* Decoded text, owned by the caller; NULL when node is JSON_NONE, no string, or holds a NUL. */
char *json_text(const struct json_doc *d, uint32_t node);
/* -EINVAL for what is not written as an integer, -ERANGE. */
int json_int64(const struct json_doc *d, uint32_t node, int64_t *ret);
/* -EINVAL for what is no number, -ERANGE when it is not finite, -ENOMEM. */
int json_double(const struct json_doc *d, uint32_t node, double *ret);
bool json_is_true(const struct json_doc *d, uint32_t node);

/* Writing: commas and escapes are placed by the writer, keys are the caller's to order. Errors stick
 * in the buffer. What the writer makes holds no byte below 0x20; strings that are not UTF-8 get U+FFFD. */
struct json_writer {
	struct buf *out; /* borrowed */
	bool comma;
};

void json_writer_init(struct json_writer *w, struct buf *out);
void json_object_open(struct json_writer *w);
void json_object_close(struct json_writer *w);
void json_array_open(struct json_writer *w);
void json_array_close(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_put_string(struct json_writer *w, const char *text); /* NULL writes null */
void json_put_bytes(struct json_writer *w, const char *bytes, size_t size);
void json_put_int(struct json_writer *w, int64_t value);
void json_put_uint(struct json_writer *w, uint64_t value);
/* The shortest form that reads back; null when not finite. */
void json_put_double(struct json_writer *w, double value);
void json_put_bool(struct json_writer *w, bool value);
void json_put_null(struct json_writer *w);
/* One value's bytes, as they are: blanks between tokens included, also those below 0x20. */
void json_put_raw(struct json_writer *w, const char *json, size_t size);
/* "key": value in one call. */
void json_pair_string(struct json_writer *w, const char *key, const char *text);
void json_pair_int(struct json_writer *w, const char *key, int64_t value);
void json_pair_uint(struct json_writer *w, const char *key, uint64_t value);
void json_pair_bool(struct json_writer *w, const char *key, bool value);
void json_pair_double(struct json_writer *w, const char *key, double value);

/* {"text":…} when bytes are UTF-8, else {"b64":…}: how raw streams enter a record. */
void json_put_wrapped(struct buf *out, const void *bytes, size_t size);

#endif
