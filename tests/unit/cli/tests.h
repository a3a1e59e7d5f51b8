/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CLI_TESTS_H
#define TESTS_UNIT_CLI_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_begin(void);
int test_options(void);
int test_help(void);
int test_exit(void);
int test_out(void);
int test_events(void);
int test_where(void);
int test_locked(void);

#endif
