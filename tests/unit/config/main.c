/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of config. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_settings();
	failed += test_environment();
	failed += test_harness();
	failed += test_build();
	failed += test_codec();
	return failed;
}
