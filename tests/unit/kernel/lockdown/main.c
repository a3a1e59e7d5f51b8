/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of ground/kernel/lockdown. */

#include "stage.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_warden();
	failed += test_reader();
	return failed;
}
