/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of cli. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_begin();
	failed += test_options();
	failed += test_help();
	failed += test_exit();
	failed += test_out();
	failed += test_events();
	failed += test_where();
	failed += test_locked();
	return failed;
}
