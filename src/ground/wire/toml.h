/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_WIRE_TOML_H
#define GROUND_WIRE_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/err.h"

/* TOML 1.0 as a plain tree with positions. The parser is toml++ behind a C shim in a library of its
 * own (libhemra-toml.so, the one C++ file), loaded at the first call: an executable that links this
 * folder takes `kwargs: toml_kwargs` in its meson.build, so that the library is found. */

enum toml_type {
	TOML_STRING,
	TOML_INTEGER,
	TOML_FLOAT,
	TOML_BOOLEAN,
	TOML_DATE, /* any date or time, as text */
	TOML_ARRAY,
	TOML_TABLE,
};

struct toml {
	enum toml_type type;
	char *key;           /* owned; NULL for array elements and the root; holds no NUL */
	unsigned line;       /* of the value, from 1; 0 unknown */
	char *string;        /* owned; strings and dates; NUL-terminated */
	size_t string_bytes; /* differs from strlen when the string holds a NUL */
	int64_t integer;
	double number;
	bool boolean;
	struct toml **children; /* owned; elements or members in the file's order */
	size_t count;
};

#define TOML_BYTES_MAX (16 * 1024 * 1024)
#define TOML_DEPTH_MAX 64

/* file is used in sentences only: "FILE:LINE: …". -EINVAL with the sentence, -ENOENT when the shim
 * cannot be loaded, -E2BIG. */
int toml_parse(const char *text, size_t size, const char *file, struct toml **ret, struct err *err);
void toml_free(struct toml *t); /* accepts NULL */
/* NULL when table has no such key, is no table, or is NULL. */
const struct toml *toml_get(const struct toml *table, const char *key);
/* "a string", "an array" … for sentences. */
const char *toml_type_name(enum toml_type type);

/* Checks that every key of table is in known (NULL-terminated); the first that is not gives -EINVAL
 * "FILE:LINE: unknown key 'WHERE.KEY' (did you mean 'X'?)". later (may be NULL) holds keys that a
 * later version will know: "FILE:LINE: key 'WHERE.KEY' is not built yet". where may be "". */
int toml_check_keys(const struct toml *table, const char *file, const char *where,
	const char *const *known, const char *const *later, struct err *err);

#endif
