/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SECRET_REFERENCE_H
#define SECRET_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "ground/base/err.h"

#define REFERENCE_VALUE_MAX (16 * 1024) /* bytes */

enum reference_source {
	REFERENCE_ENV,
	REFERENCE_FILE,
	REFERENCE_CREDENTIAL,
};

struct reference {
	enum reference_source source;
	const char *name; /* borrowed from the text: variable, path or credential */
};

int reference_parse(const char *text, struct reference *ret, struct err *err);

/* Where a value comes from, opened: a descriptor (the caller's); for env: the variable itself. */
struct source {
	int fd;          /* -1 for env: */
	const char *env; /* borrowed from the environment; NULL otherwise */
	char *path;      /* owned; of fd, for sentences */
	size_t bytes; /* as far as it is known now; more than 0, at most REFERENCE_VALUE_MAX + 1 */
};

/* The sentence for a file whose value has no byte or too many; a negative errno. */
int reference_refuse_size(const char *path, size_t bytes, struct err *err);

int source_open(const struct reference *r, struct source *ret, struct err *err);
void source_close(struct source *s);

#endif
