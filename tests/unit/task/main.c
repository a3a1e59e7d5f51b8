/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of task. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_file();
	failed += test_tree();
	return failed;
}
