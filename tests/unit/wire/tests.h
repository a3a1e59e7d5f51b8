/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of the wire unit program; each returns how many of its tests failed. */
#ifndef TESTS_UNIT_WIRE_TESTS_H
#define TESTS_UNIT_WIRE_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_json(void);
int test_json_write(void);
int test_ndjson(void);
int test_toml(void);

#endif
