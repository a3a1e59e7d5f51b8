/* SPDX-License-Identifier: Apache-2.0 */
/* A session between real pipes: the test is the harness, or what a forked harness is seen to do. */
#ifndef TESTS_UNIT_PROTOCOL_RIG_H
#define TESTS_UNIT_PROTOCOL_RIG_H

#include <stdbool.h>

#include "ground/base/buf.h"
#include "ground/loop/loop.h"
#include "protocol/protocol.h"

#define RIG_EVENTS_MAX 4096

/* A bounded wait for anything that must happen; only a failing test waits this long. */
#define RIG_WAIT_MS 20000

struct rig_event {
	enum event_type type;
	char *data; /* owned, terminated */
	size_t size;
};

struct rig {
	struct loop *loop;
	struct session *session;
	struct msg_session limits;
	struct session_streams streams;
	bool count_only; /* events are counted, not kept */

	int box_in, box_out, box_err; /* the box's ends */

	struct rig_event events[RIG_EVENTS_MAX];
	size_t event_count;
	uint64_t event_bytes;
	struct buf stdout_seen, stderr_seen; /* by the stream hook */
	size_t piece_max;
	struct buf artifacts; /* paths, one per line */
	struct buf said;      /* what the session wrote to the box's stdin */
	unsigned ready, results, brokes, dones;
	enum outcome result, broke;
	uint64_t broke_offset;
	char sentence[512];
	struct msg_done done;
};

/* A program with the real limits; change r->limits before rig_open. */
void rig_init(struct rig *r, enum session_kind kind);
void rig_open(struct rig *r);
void rig_done(struct rig *r); /* checks that nothing of the session is left */

/* Turns the loop until the condition holds; fails the test when it does not within RIG_WAIT_MS. */
#define rig_until(r, condition)                                                                    \
	do {                                                                                       \
		struct mono start_ = mono_now();                                                   \
		while (!(condition)) {                                                             \
			rig_turn(r, 20);                                                           \
			if (mono_ms_between(start_, mono_now()) > RIG_WAIT_MS)                     \
				fail_msg("waited too long for: %s", #condition);                   \
		}                                                                                  \
	} while (0)
void rig_turn(struct rig *r, int timeout_ms);

/* Writes all of it into one of the box's pipes, turning the loop while the pipe is full. */
void rig_feed(struct rig *r, int fd, const char *bytes, size_t size);
int rig_feed_some(
	struct rig *r, int fd, const char *bytes, size_t size); /* -EPIPE when it is closed */
void rig_say(struct rig *r, const char *line); /* with its newline, on standard output */
void rig_handshake(struct rig *r);             /* launch and ready; events so far are dropped */
void rig_forget(struct rig *r);
/* The box ends in order: pipes closed, exited, stopped, done. */
void rig_finish(struct rig *r, int wait_status);
void rig_until_read(struct rig *r); /* until the session has read all that standard output holds */

const struct rig_event *rig_last(const struct rig *r); /* the last event; fails without one */
size_t rig_count(const struct rig *r, enum event_type type);
const struct rig_event *rig_find(const struct rig *r, enum event_type type); /* the first */
void rig_assert_broke(struct rig *r, enum outcome outcome, uint64_t offset, const char *sentence);

#define WAIT_EXIT(status)   ((status) << 8)
#define WAIT_SIGNAL(signal) (signal)

#endif
