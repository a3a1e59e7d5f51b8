/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of the base unit program; each returns how many of its tests failed. */
#ifndef TESTS_UNIT_BASE_TESTS_H
#define TESTS_UNIT_BASE_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_buf(void);
int test_clock(void);
int test_err(void);
int test_files(void);
int test_own(void);
int test_str(void);

#endif
