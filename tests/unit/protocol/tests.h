/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of the protocol unit program; each returns how many of its tests failed. */
#ifndef TESTS_UNIT_PROTOCOL_TESTS_H
#define TESTS_UNIT_PROTOCOL_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_bounds(void);
int test_command(void);
int test_ends(void);
int test_exec(void);
int test_lines(void);
int test_program(void);
int test_start(void);

#endif
