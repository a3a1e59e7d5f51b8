/* SPDX-License-Identifier: Apache-2.0 */
/* A session between real pipes. */

#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "tests.h"

static void on_event(void *context, enum event_type type, const char *data, size_t size)
{
	struct rig *r = context;
	struct rig_event *e;

	assert_true(size > 0 && size <= MSG_PAYLOAD_MAX);
	for (size_t i = 0; !r->count_only && i < size; i++)
		if ((unsigned char)data[i] < 0x20)
			fail_msg("an event with byte 0x%02x", (unsigned char)data[i]);
	r->event_bytes += size;
	r->event_count++;
	if (r->count_only)
		return;
	assert_true(r->event_count <= RIG_EVENTS_MAX);
	e = &r->events[r->event_count - 1];
	*e = (struct rig_event){type, own_strndup(data, size), size};
}

static void on_stream(void *context, enum event_type type, const void *bytes, size_t size)
{
	struct rig *r = context;

	assert_true(type == EVENT_HARNESS_STDOUT || type == EVENT_HARNESS_STDERR);
	assert_true(size > 0 && size <= 65536);
	if (size > r->piece_max)
		r->piece_max = size;
	assert_int_equal(buf_add(type == EVENT_HARNESS_STDOUT ? &r->stdout_seen : &r->stderr_seen,
				 bytes, size),
		0);
}

static void on_ready(void *context)
{
	((struct rig *)context)->ready++;
}

static void on_artifact(void *context, const char *path, size_t size)
{
	struct rig *r = context;

	(void)buf_add(&r->artifacts, path, size);
	(void)buf_add_char(&r->artifacts, '\n');
}

static void on_result(void *context, enum outcome outcome)
{
	struct rig *r = context;

	r->results++;
	r->result = outcome;
}

static void on_broke(void *context, enum outcome outcome, uint64_t offset, const char *sentence)
{
	struct rig *r = context;

	r->brokes++;
	r->broke = outcome;
	r->broke_offset = offset;
	assert_true(strlen(sentence) < sizeof(r->sentence));
	(void)strcpy(r->sentence, sentence);
}

/* The session may be freed from within done. */
static void on_done(void *context, const struct msg_done *done)
{
	struct rig *r = context;

	r->dones++;
	r->done = *done;
	assert_non_null(memchr(done->reason, '\0', sizeof(done->reason)));
	session_free(r->session);
	r->session = NULL;
}

void rig_init(struct rig *r, enum session_kind kind)
{
	int in[2], out[2], err[2];

	*r = (struct rig){.loop = loop_new()};
	r->limits = (struct msg_session){.kind = kind,
		.line_bytes = 1048576,
		.events_bytes = 67108864,
		.stderr_bytes = 65536,
		.handshake_ms = 30000,
		.cancel_grace_ms = 10000};
	buf_init(&r->stdout_seen, 256 * 1024 * 1024);
	buf_init(&r->stderr_seen, 256 * 1024 * 1024);
	buf_init(&r->artifacts, 1024 * 1024);
	buf_init(&r->said, 64 * 1024 * 1024);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	r->box_in = in[0];
	r->box_out = out[1];
	r->box_err = err[1];
	(void)fcntl(r->box_in, F_SETFL, O_NONBLOCK);
	(void)fcntl(r->box_out, F_SETFL, O_NONBLOCK);
	(void)fcntl(r->box_err, F_SETFL, O_NONBLOCK);
	r->streams = (struct session_streams){in[1], out[0], err[0], -1, -1, -1};
}

void rig_open(struct rig *r)
{
	static const struct session_hooks hooks = {
		on_event, on_stream, on_ready, on_artifact, on_result, on_broke, on_done};

	r->session = session_new(r->loop, &r->limits, &r->streams, &hooks, r);
}

void rig_forget(struct rig *r)
{
	for (size_t i = 0; !r->count_only && i < r->event_count; i++)
		free(r->events[i].data);
	r->event_count = 0;
	r->event_bytes = 0;
}

void rig_done(struct rig *r)
{
	const int fds[] = {r->streams.input, r->streams.output, r->streams.error};

	session_free(r->session);
	for (size_t i = 0; i < array_count(fds); i++) {
		errno = 0;
		if (fcntl(fds[i], F_GETFD) >= 0 || errno != EBADF)
			fail_msg("a stream of the session is still open");
	}
	loop_free(r->loop);
	own_close(&r->box_in);
	own_close(&r->box_out);
	own_close(&r->box_err);
	rig_forget(r);
	buf_done(&r->stdout_seen);
	buf_done(&r->stderr_seen);
	buf_done(&r->artifacts);
	buf_done(&r->said);
}

void rig_turn(struct rig *r, int timeout_ms)
{
	loop_turn(r->loop, timeout_ms);
}

int rig_feed_some(struct rig *r, int fd, const char *bytes, size_t size)
{
	struct mono start = mono_now();

	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EPIPE)
			return -EPIPE;
		if (n < 0)
			assert_int_equal(errno, EAGAIN);
		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		}
		rig_turn(r, /* timeout_ms= */ 0);
		if (mono_ms_between(start, mono_now()) > RIG_WAIT_MS)
			fail_msg("nobody reads the pipe");
	}
	return 0;
}

void rig_feed(struct rig *r, int fd, const char *bytes, size_t size)
{
	assert_int_equal(rig_feed_some(r, fd, bytes, size), 0);
}

void rig_say(struct rig *r, const char *line)
{
	rig_feed(r, r->box_out, line, strlen(line));
	rig_feed(r, r->box_out, "\n", 1);
	rig_until_read(r);
}

void rig_until_read(struct rig *r)
{
	int left = 0;

	do {
		rig_turn(r, /* timeout_ms= */ 0);
		if (r->session == NULL || ioctl(r->box_out, FIONREAD, &left) < 0)
			break;
	} while (left > 0);
	for (int i = 0; i < 3; i++)
		rig_turn(r, /* timeout_ms= */ 0);
	if (r->box_in < 0)
		return;
	for (;;) {
		char *room = buf_room(&r->said, 65536);
		ssize_t n;

		assert_non_null(room);
		n = read(r->box_in, room, 65536);
		if (n <= 0)
			break;
		buf_grow(&r->said, (size_t)n);
		rig_turn(r, /* timeout_ms= */ 0);
	}
}

void rig_handshake(struct rig *r)
{
	static const char start[] = "{\"type\":\"run.start\",\"run_id\":\"r1\"}";

	session_launch(r->session, start, sizeof(start) - 1);
	rig_say(r, "{\"type\":\"ready\",\"protocol\":\"hemra/1\"}");
	assert_int_equal(r->ready, 1);
	assert_int_equal(r->brokes, 0);
	rig_forget(r);
	buf_reset(&r->said);
}

void rig_finish(struct rig *r, int wait_status)
{
	own_close(&r->box_out);
	own_close(&r->box_err);
	own_close(&r->box_in);
	session_exited(r->session, wait_status);
	session_stopped(r->session);
	rig_until(r, r->dones == 1);
	rig_turn(r, /* timeout_ms= */ 0);
	assert_int_equal(r->dones, 1);
}

const struct rig_event *rig_last(const struct rig *r)
{
	assert_true(r->event_count > 0);
	return &r->events[r->event_count - 1];
}

size_t rig_count(const struct rig *r, enum event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < r->event_count; i++)
		n += r->events[i].type == type;
	return n;
}

const struct rig_event *rig_find(const struct rig *r, enum event_type type)
{
	for (size_t i = 0; i < r->event_count; i++)
		if (r->events[i].type == type)
			return &r->events[i];
	fail_msg("no event %s", event_type_name(type));
	return NULL;
}

void rig_assert_broke(struct rig *r, enum outcome outcome, uint64_t offset, const char *sentence)
{
	assert_int_equal(r->brokes, 1);
	assert_string_equal(r->sentence, sentence);
	assert_string_equal(outcome_name(r->broke), outcome_name(outcome));
	assert_int_equal(r->broke_offset, offset);
}
