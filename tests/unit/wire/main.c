/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of ground/wire. */

#include "tests.h"

int main(void)
{
	int failed = 0;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed += test_json();
	failed += test_json_write();
	failed += test_ndjson();
	failed += test_toml();
	return failed;
}
