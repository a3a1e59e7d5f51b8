/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SECRET_TESTS_H
#define TESTS_UNIT_SECRET_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_reference(void);
int test_set(void);
int test_process(void);

#endif
