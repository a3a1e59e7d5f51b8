/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of the task unit program; each returns how many of its tests failed. */
#ifndef TESTS_UNIT_TASK_TESTS_H
#define TESTS_UNIT_TASK_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/task.h"

int test_file(void);
int test_tree(void);

/* A directory of the test's own that is the working directory, with a small right task in "t". */
int place_make(void **state);
int place_remove(void **state);
const char *place(void); /* its absolute path */

void put(const char *name, const char *text); /* relative to t; makes directories as needed */
void drop(const char *name);                  /* a file of t */

void must_load(struct task *ret);
/* task_load("t") must fail with exactly this; "@" in it stands for the absolute path of t. */
void must_refuse(int code, const char *sentence);
/* Is this exactly one of the notices? */
bool has_notice(const struct task *t, const char *text);

/* The TOML example of docs/files.md whose first line is this comment. Owned. */
char *example(const char *name);

#endif
