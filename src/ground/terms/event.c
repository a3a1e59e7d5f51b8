/* SPDX-License-Identifier: Apache-2.0 */
/* Names of events. */

#include "ground/terms/event.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define SOURCE_RUNNER   "runner"
#define SOURCE_HARNESS  "harness"
#define SOURCE_STDERR   "stderr"
#define SOURCE_VERIFIER "verifier"
#define SOURCE_OPERATOR "operator"

static const struct {
	const char *name, *source, *data, *about;
} types[] = {
#define X(id, src, type, fields, why) [EVENT_##id] = {type, SOURCE_##src, fields, why},
	EVENT_TABLE(X)
#undef X
};
static_assert(sizeof(types) / sizeof(types[0]) == EVENT_TYPE_COUNT, "an event has no name");

const char *event_type_name(enum event_type type)
{
	assert(type < EVENT_TYPE_COUNT);
	return types[type].name;
}

const char *event_type_source(enum event_type type)
{
	assert(type < EVENT_TYPE_COUNT);
	return types[type].source;
}

const char *event_type_data(enum event_type type)
{
	assert(type < EVENT_TYPE_COUNT);
	return types[type].data;
}

const char *event_type_about(enum event_type type)
{
	assert(type < EVENT_TYPE_COUNT);
	return types[type].about;
}

int event_type_parse(const char *name, enum event_type *ret)
{
	for (int i = 0; i < EVENT_TYPE_COUNT; i++)
		if (strcmp(name, types[i].name) == 0) {
			*ret = (enum event_type)i;
			return 0;
		}
	return -EINVAL;
}
