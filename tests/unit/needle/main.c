/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of needle. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_forms();
	failed += test_redact();
	failed += test_stream();
	failed += test_payload();
	failed += test_limits();
	failed += test_views();
	return failed;
}
