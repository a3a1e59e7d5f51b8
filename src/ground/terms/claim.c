/* SPDX-License-Identifier: Apache-2.0 */
/* Names of claims. */

#include "ground/terms/claim.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const struct {
	const char *name, *about;
} claims[] = {
#define X(id, text, why) [CLAIM_##id] = {text, why},
	CLAIM_TABLE(X)
#undef X
};
static_assert(sizeof(claims) / sizeof(claims[0]) == CLAIM_COUNT, "a claim has no name");

const char *claim_name(enum claim c)
{
	assert(c < CLAIM_COUNT);
	return claims[c].name;
}

const char *claim_about(enum claim c)
{
	assert(c < CLAIM_COUNT);
	return claims[c].about;
}

int claim_parse(const char *name, enum claim *ret)
{
	for (int i = 0; i < CLAIM_COUNT; i++)
		if (strcmp(name, claims[i].name) == 0) {
			*ret = (enum claim)i;
			return 0;
		}
	return -EINVAL;
}
