/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of attempt/. */

#include "tests.h"

int main(void)
{
	return test_diff() + test_gitwatch() + test_plants() + test_reward() + test_tree() +
	       test_warden();
}
