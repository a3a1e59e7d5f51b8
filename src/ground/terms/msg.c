/* SPDX-License-Identifier: Apache-2.0 */
/* Names of messages. */

#include "ground/terms/msg.h"

static const char *const names[] = {[MSG_NONE] = "none",
#define X(name, about) [MSG_##name] = #name,
	MSG_TABLE(X)
#undef X
};
static_assert(sizeof(names) / sizeof(names[0]) == MSG_TYPE_COUNT, "a message has no name");

const char *msg_type_name(enum msg_type type)
{
	return type < MSG_TYPE_COUNT ? names[type] : "unknown";
}

const char *cancel_reason_name(enum cancel_reason reason)
{
	static const char *const reasons[] = {[CANCEL_OPERATOR] = "operator",
		[CANCEL_DEADLINE] = "deadline",
		[CANCEL_LIMIT] = "limit"};

	static_assert(sizeof(reasons) / sizeof(reasons[0]) == CANCEL_REASON_COUNT, "names");
	assert(reason < CANCEL_REASON_COUNT);
	return reasons[reason];
}
