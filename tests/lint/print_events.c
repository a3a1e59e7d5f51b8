/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/events.md from the table of events. */

#include <stdio.h>

#include "ground/terms/event.h"

int main(void)
{
	(void)puts(
		"<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
		"# Events\n"
		"\n"
		"Every line of an events file is one of these. The page is made from the table in\n"
		"`src/ground/terms/event.h` by `tests/lint/print_events.c`; change it there.\n"
		"\n"
		"A line is `{\"seq\":N,\"ts\":\"…Z\",\"src\":\"…\",\"type\":\"…\",\"data\":{…},\"h\":\"16 hex digits\"}` with\n"
		"a newline behind it, its members in this order. `src` says whose word it is.\n"
		"\n"
		"| type | src | data | what it says |\n"
		"|---|---|---|---|");
	for (int i = 0; i < EVENT_TYPE_COUNT; i++) {
		enum event_type type = (enum event_type)i;

		(void)printf("| `%s` | %s | %s | %s |\n", event_type_name(type),
			event_type_source(type), event_type_data(type), event_type_about(type));
	}
	return 0;
}
