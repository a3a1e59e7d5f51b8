/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_KERNEL_TESTS_H
#define TESTS_UNIT_KERNEL_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int test_cgroup(void);
int test_files(void);
int test_landlock(void);
int test_mount(void);
int test_process(void);
int test_seccomp(void);
int test_sock(void);

/* Runs fn in a forked child and returns its value, 0 to 255. A child that is killed fails the
 * test. */
int in_child(int (*fn)(void *context), void *context);

/* A fresh directory beneath /tmp, removed by place_remove(). */
int place_make(char path[32]); /* returns an open descriptor */
void place_remove(const char *path, int fd);

#endif
