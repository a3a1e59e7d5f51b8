/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of ground/base. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_buf();
	failed += test_clock();
	failed += test_err();
	failed += test_files();
	failed += test_own();
	failed += test_str();
	return failed;
}
