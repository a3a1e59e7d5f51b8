/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_ATTEMPT_TESTS_H
#define UNIT_ATTEMPT_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One function per file: runs its group and returns how many tests failed. */
int test_diff(void);
int test_gitwatch(void);
int test_plants(void);
int test_reward(void);
int test_tree(void);
int test_warden(void);

#endif
