/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SANDBOX_RIG_H
#define TESTS_UNIT_SANDBOX_RIG_H

#include <stdbool.h>

#include "ground/loop/loop.h"
#include "sandbox/sandbox.h"

/* Runs one box to its end and keeps what was reported. */
struct rig {
	enum sandbox_kind kind;
	struct box_spec spec;
	const char *argv[8]; /* set by rig_shell() or by the test */
	const char *input;   /* for standard input, at most what a pipe holds */
	bool keeps_claims;   /* broken claims are let through: the box goes on */
	bool never_goes;
	void (*on_running)(struct rig *r); /* may be NULL */
	void (*on_armed)(struct rig *r);   /* called before the word to go; may be NULL */
	void *context;

	struct loop *loop;
	struct box *box;
	struct claim_result claims[CLAIM_COUNT];
	size_t claim_count;
	unsigned broken_count; /* expected claims that did not come out */
	char broken[512];      /* their names */
	bool armed, running, exited, dead, failed, exec_failed;
	unsigned report_count;
	int status;
	unsigned survivor_count;
	bool out_of_memory, out_of_pids;
	struct err error; /* of start, FAILED or EXEC_FAILED */
	char output[65536], errors[16384];
};

void rig_init(struct rig *r, enum sandbox_kind kind);
void rig_shell(struct rig *r, const char *script);                       /* /bin/sh -c script */
int rig_run(struct rig *r);                                              /* 0, or what start said */
const struct claim_result *rig_claim(const struct rig *r, enum claim c); /* NULL: not reported */

/* A directory beneath /tmp with a file "old" of this content, owned by the caller (or by uid). */
char *place_make(void);        /* owned by the caller */
void place_remove(char *path); /* frees it */
void place_write(const char *directory, const char *name, const char *text);
char *place_path(const char *directory, const char *name); /* kept for the life of the process */

pid_t child_of(pid_t parent); /* any child of it that is there, 0 for none */

/* Becomes an ordinary user without any group. */
void become_user(void);

#endif
