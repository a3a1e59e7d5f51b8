/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_NEEDLE_TESTS_H
#define TESTS_UNIT_NEEDLE_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_forms(void);
int test_redact(void);
int test_stream(void);
int test_payload(void);
int test_limits(void);
int test_views(void);

#endif
