/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of secret. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_reference();
	failed += test_set();
	failed += test_process();
	return failed;
}
