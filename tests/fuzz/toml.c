/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as TOML; what is accepted is walked, what is refused has its sentence. */

#include "fuzz.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ground/wire/toml.h"

static void walk(const struct toml *t, unsigned depth)
{
	assert(depth <= TOML_DEPTH_MAX + 1);
	if (t->string != NULL)
		assert(t->string[t->string_bytes] == '\0');
	assert(t->count == 0 || t->type == TOML_ARRAY || t->type == TOML_TABLE);
	for (size_t i = 0; i < t->count; i++) {
		assert((t->type == TOML_TABLE) == (t->children[i]->key != NULL));
		if (t->type == TOML_TABLE)
			assert(toml_get(t, t->children[i]->key) == t->children[i]);
		walk(t->children[i], depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const known[] = {"a", "name", NULL};
	struct err err = {0};
	struct toml *t = NULL;
	int r = toml_parse((const char *)data, size, "f", &t, &err);

	if (r == 0) {
		walk(t, 0);
		(void)toml_check_keys(
			t, "f", "w", known, /* later= */ NULL, &err); /* either answer is right */
		toml_free(t);
		return 0;
	}
	if (r != -EINVAL && r != -E2BIG)
		(void)fprintf(stderr, "%s\n", err.text);
	assert((r == -EINVAL || r == -E2BIG) && t == NULL && strncmp(err.text, "f:", 2) == 0);
	for (const char *p = err.text; *p != '\0'; p++)
		assert((unsigned char)*p >= 0x20);
	return 0;
}
