/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ESCAPE_ESCAPE_H
#define TESTS_ESCAPE_ESCAPE_H

#include <sys/stat.h>

#include "sandbox/sandbox.h"

enum {
	FOR_ROOT = 1,
	FOR_USER = 2,
	FOR_BOTH = 3,
};

/* One attempt. */
struct row {
	const char *name;
	const char *script;  /* /bin/sh, in the workspace */
	const char *refused; /* what it prints in a box that holds */
	const char *works;   /* and in its twin */
	unsigned without;    /* enum box_without of the twin */
	unsigned weaker;     /* enum weaker of the twin */
	enum claim claim;    /* CLAIM_COUNT: no claim is about it */
	unsigned twin;       /* for whom the twin is run */
	const char *no_twin; /* why not for the others */
	uint64_t limit_pids;
};

extern const struct row rows[]; /* ends with a row without a name */

/* The "host" of the rows: HOME and SSH_AUTH_SOCK point to home. */
struct stage {
	char *workspace, *store, *deep_store, *home;
};

#endif
