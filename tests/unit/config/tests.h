/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of the config unit program; each returns how many of its tests failed. */
#ifndef TESTS_UNIT_CONFIG_TESTS_H
#define TESTS_UNIT_CONFIG_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_build(void);
int test_codec(void);
int test_environment(void);
int test_harness(void);
int test_settings(void);

/* A directory of the test's own that is the working directory, with HOME and XDG_CONFIG_HOME in it
 * and no HEMRA_ or HEARTH_ variable set. For cmocka's setup and teardown. */
int place_make(void **state);
int place_remove(void **state);
const char *place(void); /* its absolute path */

void put(const char *name, const char *text); /* makes directories as needed */
void put_program(const char *name);
char *in_place(const char *name); /* absolute path, owned by the caller */

/* text with every "@" replaced by place(): sentences that hold absolute paths. Owned. */
char *with_place(const char *text);

/* The TOML example of docs/files.md whose first line is this comment. Owned. */
char *example(const char *name);

#endif
