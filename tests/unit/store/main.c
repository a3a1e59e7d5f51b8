/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of store. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_log();
	failed += test_log_faults();
	failed += test_crash();
	failed += test_blob();
	failed += test_key();
	failed += test_index();
	failed += test_verify_events();
	failed += test_verify_seals();
	failed += test_verify_files();
	failed += test_keep();
	failed += test_export();
	failed += test_locked();
	failed += test_hostile();
	failed += test_schema();
	failed += test_unsealed_list();
	return failed;
}
