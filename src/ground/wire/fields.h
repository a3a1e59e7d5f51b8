/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_WIRE_FIELDS_H
#define GROUND_WIRE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "ground/base/err.h"
#include "ground/wire/toml.h"

/* Tables of a TOML file, read by rows: one row per key says what it may be and who takes it. Every
 * sentence is "FILE:LINE: TABLE.KEY: what is wrong". */

/* Where a value was found. Everything is borrowed for the call. */
struct reader {
	const char *file;     /* as the operator named it */
	const char *base;     /* absolute directory of the file; relative paths stand against it */
	const char *where;    /* the table's name; "" at the top */
	const char *key;      /* set by fields_read for the row's taker */
	const char *expected; /* likewise */
	void *target;         /* what the rows fill */
	bool takes_empty;     /* a string may be empty */
	/* NULL: a key without a row is refused. Else it is told here and passed over; nearest is the
	 * known key that may have been meant, or NULL. */
	void (*on_unknown)(const struct reader *r, const struct toml *value, const char *nearest);
};

#define FIELD_TYPE(t) (1u << TOML_##t)
#define FIELD_NUMBER  (FIELD_TYPE(INTEGER) | FIELD_TYPE(FLOAT))
#define FIELD_ANY     (2u * FIELD_TYPE(TABLE) - 1)

/* Ends with a row whose key is NULL. */
struct field {
	const char *key;
	unsigned types;       /* FIELD_TYPE()s */
	const char *expected; /* "a size such as \"4G\"" */
	int (*take)(const struct reader *r, const struct toml *value, struct err *err);
};

/* Gives every key of table to its row. Wrong types are -EINVAL, and so are keys without a row and
 * keys of a later version (later, may be NULL) where there is no on_unknown. */
int fields_read(const struct reader *r, const struct toml *table, const struct field *fields,
	const char *const *later, struct err *err);

/* Returns -code. */
int field_refuse(const struct reader *r, const struct toml *value, int code, struct err *err,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
/* These three return -EINVAL. */
int field_say(const struct reader *r, const struct toml *value, struct err *err, const char *format,
	...) __attribute__((format(printf, 4, 5)));
/* "expected …, found …" with the value: not for what may be a secret. */
int field_unexpected(const struct reader *r, const struct toml *value, struct err *err);
/* A word that is none of those known: "not built yet" when it is in later, else unexpected. */
int field_word(const struct reader *r, const struct toml *value, const char *const *later,
	struct err *err);

/* value is a string that holds no NUL and, unless the reader takes that, is not empty. For elements of arrays; rows are checked
 * by fields_read. */
int field_text(const struct reader *r, const struct toml *value, struct err *err);

#endif
