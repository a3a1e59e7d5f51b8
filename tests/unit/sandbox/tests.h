/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SANDBOX_TESTS_H
#define TESTS_UNIT_SANDBOX_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_death(void);
int test_inside(void);
int test_limits(void);
int test_mounts(void);
int test_protect(void);
int test_start(void);

/* Every group runs twice: as root, and in a process that became an ordinary user. */
bool is_user(void);

#endif
