/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_KERNEL_LOCKDOWN_STAGE_H
#define TESTS_UNIT_KERNEL_LOCKDOWN_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/types.h>

/* A stage is a directory with a few files, and descriptors and a victim process that are there
 * before anything is locked. Every attempt runs in two children of its own: one that is not locked
 * down, where it must succeed, and one that is, where it must give its errno. */
struct stage {
	char directory[64];
	uid_t user;    /* who tries */
	int inside;    /* directory/in, O_PATH */
	int outside;   /* directory, O_PATH */
	int writable;  /* directory/in/open, O_RDWR */
	int pipe[2];   /* holds "byte" */
	int pair[2];   /* SOCK_SEQPACKET */
	int socket;    /* an unconnected SOCK_STREAM of AF_UNIX */
	int namespace; /* this network namespace */
	pid_t victim;  /* a process of the same user, asleep */
	pid_t parent;  /* the test program */
};

extern struct stage stage; /* the one that is set up; children inherit it */

enum attempt_flag {
	ATTEMPT_IN_USERNS = 1 << 0, /* both children first enter a user and mount namespace */
	ATTEMPT_MAY_LACK = 1 << 1,  /* the kernel or the user may be without it: no control */
	ATTEMPT_OPTIONAL = 1 << 2,  /* not tried as an ordinary user, who may not do it anyway */
};

struct attempt {
	const char *name;
	int (*act)(void); /* 0 or -errno */
	int locked;       /* errno that it must give when locked down, 0: it must work */
	unsigned flags;
};

/* Locks the calling child down: 0 or -errno. */
typedef int (*stage_lock)(void);

/* Setup and teardown of a cmocka test; without root the first stage is the user's own as well. */
int stage_as_root(void **state);
int stage_as_user(void **state);
int stage_clear(void **state);

void stage_run(const struct attempt *attempts, size_t count, stage_lock lock);

int test_warden(void);
int test_reader(void);

#endif
