/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of protocol. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_ends();
	failed += test_start();
	failed += test_program();
	failed += test_lines();
	failed += test_bounds();
	failed += test_command();
	failed += test_exec();
	return failed;
}
