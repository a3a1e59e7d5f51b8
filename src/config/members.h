/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFIG_MEMBERS_H
#define CONFIG_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "ground/terms/plan.h"

/* A plan as a table: one row per member of its JSON, in the order in which canonical JSON has them.
 * Writing and reading (codec.c) walk the same rows, so what is written can be read. */

enum shape {
	SHAPE_TEXT,   /* char *, may be NULL */
	SHAPE_ARRAY,  /* char[] within the struct: ids and digests; at most size - 1 characters */
	SHAPE_WORDS,  /* char **, NULL-terminated, may be NULL */
	SHAPE_MOUNTS, /* struct plan_mount *, with a count */
	SHAPE_VARIABLES, /* struct plan_variable *, with a count; names only where values are kept out */
	SHAPE_SECRETS, /* struct plan_secret *, with a count */
	SHAPE_BOOL,
	SHAPE_INT64,
	SHAPE_UINT64,
	SHAPE_UNSIGNED,
	SHAPE_ENUM,     /* any enum of plan.h, through naming */
	SHAPE_FLAGS,    /* unsigned, through flags */
	SHAPE_CONSTANT, /* text that is always the same: versions, and what has one value so far */
	SHAPE_GROUP,    /* an object of its own */
};

/* Who may see a member. */
enum member_scope {
	SCOPE_MANIFEST, /* everybody */
	SCOPE_PLAN, /* not in the manifest: private paths, and what tells equal attempts apart */
};

struct naming {
	const char *(*name)(unsigned value); /* value is below count */
	unsigned count;
};

/* Ends with a row whose key is NULL. Offsets are from the beginning of struct plan. */
struct member {
	const char *key;
	enum shape shape;
	enum member_scope scope;
	size_t at;
	size_t count_at; /* MOUNTS, VARIABLES, SECRETS: of the count; ARRAY: bytes of the array */
	const void *
		detail; /* ENUM: struct naming; FLAGS: struct flag_name[]; CONSTANT: text; GROUP: struct member[] */
};

extern const struct member plan_members[];

#endif
