/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_TERMS_INIT_H
#define GROUND_TERMS_INIT_H

#include <assert.h>
#include <stdint.h>

/* What a steward tells pid 1 of a box and what comes back. For sandbox/ and
 * programs/init alone; both sides are built together, so there is no version.
 *
 * pid 1 finds four descriptors: the control socket (SEQPACKET, to the steward), the steward's
 * pidfd, the link (SEQPACKET, for the process that becomes the command), and 0, 1, 2 for the
 * command. Its own argv and environment are empty: everything comes as packets on the control
 * socket, whose buffers are never swapped out. */
enum {
	INIT_FD_CONTROL = 3,
	INIT_FD_STEWARD = 4,
	INIT_FD_LINK = 5,
	INIT_FD_COUNT = 6,
};

enum init_packet_type {
	/* control, steward → box */
	INIT_ENTER, /* the id maps are written, the groups joined: build what every box has (native) */
	INIT_FDS,    /* descriptors, in the order that native.h says; more follow */
	INIT_BUILD,  /* the last of them: finish the root, execute pid 1 */
	INIT_CHUNK,  /* a piece of the start message follows the header */
	INIT_SIGNAL, /* value: signal for the command's process group */
	/* control, box → steward */
	INIT_FAILED, /* struct err follows: the box could not be built */
	INIT_EXITED, /* value: wait status of the command; struct init_exit follows */
	/* link, box → steward */
	INIT_ARMED,       /* value claim_results follow; waits for INIT_GO */
	INIT_EXEC_FAILED, /* struct err follows */
	/* link, steward → box */
	INIT_GO,
};

struct init_packet {
	uint32_t type;
	uint32_t value;
};

struct init_exit {
	uint32_t survivor_count; /* processes that the command left behind and pid 1 killed */
	uint32_t reserved;
};

#define INIT_CHUNK_BYTES 32768
#define INIT_START_MAX   (4u * 1024 * 1024) /* twice what execve() takes */

enum init_flag {
	INIT_NATIVE = 1 << 0, /* in namespaces of its own; else local: a subreaper on the host */
	INIT_NESTED = 1 << 1, /* the command gets a user namespace of its own (ordinary user) */
	INIT_LANDLOCK = 1 << 2,
	INIT_PROBE = 1 << 3,
	INIT_SECCOMP = 1 << 4,
};

/* Lists of strings in a start message. */
enum init_list {
	INIT_CWD,  /* one */
	INIT_ARGV, /* may be empty: the box is only tried */
	INIT_ENVP,
	INIT_WRITABLE,  /* where Landlock allows writing */
	INIT_WORKSPACE, /* directories and files the command must be able to write */
	INIT_HOME,      /* paths of the operator's home that must be absent */
	INIT_STORE,     /* covered paths, as the box would see them: absent or unreadable */
	INIT_SOCKETS,   /* paths of sockets that must be absent */
	INIT_LIST_COUNT,
};

/* The head of a start message. Behind it: filter_count instructions of 8 bytes, then the strings of
 * all lists in order, each with its NUL. */
struct init_start {
	uint32_t bytes;    /* of the whole message */
	uint32_t flags;    /* enum init_flag */
	uint32_t without;  /* enum box_without */
	uint32_t uid, gid; /* who the command is inside */
	uint32_t filter_count;
	uint64_t process_limit;   /* RLIMIT_NPROC to set; 0: left alone */
	uint64_t process_promise; /* what it may be at most */
	uint64_t claims;          /* 1 << enum claim: what is to be tried */
	uint32_t counts[INIT_LIST_COUNT];
};
static_assert(sizeof(struct init_start) % 8 == 0, "the filter behind it is aligned");

#endif
