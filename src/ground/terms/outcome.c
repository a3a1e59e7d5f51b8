/* SPDX-License-Identifier: Apache-2.0 */
/* Names of states and outcomes. */

#include "ground/terms/outcome.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

static const char *const state_names[] = {
#define X(name, text, about) [STATE_##name] = text,
	STATE_TABLE(X)
#undef X
};
static_assert(sizeof(state_names) / sizeof(state_names[0]) == STATE_COUNT, "a state has no name");

static const struct {
	const char *name, *about;
} outcomes[] = {
#define X(name, text, why) [OUTCOME_##name] = {text, why},
	OUTCOME_TABLE(X)
#undef X
};
static_assert(sizeof(outcomes) / sizeof(outcomes[0]) == OUTCOME_COUNT, "an outcome has no name");

const char *state_name(enum state s)
{
	assert(s < STATE_COUNT);
	return state_names[s];
}

int state_parse(const char *text, enum state *ret)
{
	for (int i = 0; i < STATE_COUNT; i++)
		if (strcmp(text, state_names[i]) == 0) {
			*ret = (enum state)i;
			return 0;
		}
	return -EINVAL;
}

const char *outcome_name(enum outcome o)
{
	assert(o < OUTCOME_COUNT);
	return outcomes[o].name;
}

const char *outcome_about(enum outcome o)
{
	assert(o < OUTCOME_COUNT);
	return outcomes[o].about;
}

int outcome_parse(const char *text, enum outcome *ret)
{
	for (int i = 0; i < OUTCOME_COUNT; i++)
		if (strcmp(text, outcomes[i].name) == 0) {
			*ret = (enum outcome)i;
			return 0;
		}
	return -EINVAL;
}
