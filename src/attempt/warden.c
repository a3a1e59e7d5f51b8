/* SPDX-License-Identifier: Apache-2.0 */
/* The warden: the process that reads what the harness writes.
 *
 * It is forked before any secret is read, forgets the environment it was born with, closes every
 * descriptor but its socket and the operator's three (which stay only for an exec), locks itself
 * down, and only then is handed the box's streams. What it makes of them goes to the steward as messages. If it is
 * taken over by what it reads, it can send words to the steward and bytes to the harness; nothing
 * else is within its reach. */

#include "attempt/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/lockdown.h"
#include "ground/kernel/sock.h"
#include "ground/loop/loop.h"
#include "ground/terms/msg.h"
#include "protocol/protocol.h"

#define STEWARD_WAIT_MS 60000

struct warden {
	struct loop *loop;
	int steward_fd, null_fd;
	struct session *session;
	char *payload; /* room for one */
};

static void send_to_steward(struct warden *w, struct msg m, const void *body, size_t size)
{
	int r;

	m.version = MSG_VERSION;
	m.length = (uint32_t)size;
	for (;;) {
		r = sock_send(w->steward_fd, &m, sizeof(m), body, size, NULL);
		if (r != -EAGAIN)
			break;
		/* the steward never waits for the warden, so waiting for it here cannot lock up */
		if (sock_wait(w->steward_fd, POLLOUT, STEWARD_WAIT_MS) < 0)
			_exit(1);
	}
	if (r < 0)
		_exit(1); /* without a steward there is nothing left to do */
}

static void on_event(void *context, enum event_type type, const char *data, size_t size)
{
	send_to_steward(context, (struct msg){.type = MSG_EVENT, .value = {type}}, data, size);
}

static void on_stream(void *context, enum event_type type, const void *bytes, size_t size)
{
	send_to_steward(context, (struct msg){.type = MSG_STREAM, .value = {type}}, bytes, size);
}

static void on_ready(void *context)
{
	send_to_steward(context, (struct msg){.type = MSG_READY, .value = {1}}, NULL, 0);
}

static void on_artifact(void *context, const char *path, size_t size)
{
	send_to_steward(context, (struct msg){.type = MSG_ARTIFACT}, path, size);
}

static void on_result(void *context, enum outcome outcome)
{
	send_to_steward(context, (struct msg){.type = MSG_RESULT, .value = {outcome}}, NULL, 0);
}

static void on_broke(void *context, enum outcome outcome, uint64_t offset, const char *sentence)
{
	send_to_steward(context, (struct msg){.type = MSG_BROKE, .value = {outcome, offset}},
		sentence, strlen(sentence));
}

static void on_done(void *context, const struct msg_done *done)
{
	send_to_steward(context, (struct msg){.type = MSG_DONE}, done, sizeof(*done));
}

static void take_streams(struct warden *w, const struct msg *m, const int fds[3], bool keep_output)
{
	static const struct session_hooks hooks = {
		on_event, on_stream, on_ready, on_artifact, on_result, on_broke, on_done};
	static const struct session_hooks quiet = {
		on_event, /* stream= */ NULL, on_ready, on_artifact, on_result, on_broke, on_done};
	struct session_streams streams = {fds[0], fds[1], fds[2], -1, -1, -1};
	struct msg_session session;

	if (m->length != sizeof(session))
		_exit(1);
	(void)memcpy(&session, w->payload, sizeof(session));
	for (int fd = 0; fd <= 2 && session.kind != SESSION_EXEC; fd++)
		(void)dup2(w->null_fd, fd); /* the operator's are an exec's alone */
	if (session.kind == SESSION_EXEC) {
		streams.from_in = STDIN_FILENO;
		streams.to_out = STDOUT_FILENO;
		streams.to_err = STDERR_FILENO;
	}
	w->session = session_new(w->loop, &session, &streams,
		session.kind == SESSION_EXEC && !keep_output ? &quiet : &hooks, w);
}

static void handle_steward(void *context, uint32_t events)
{
	struct warden *w = context;
	struct sock_fds fds;
	struct msg m;
	ssize_t n = sock_recv(w->steward_fd, &m, sizeof(m), w->payload, MSG_PAYLOAD_MAX, &fds);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n < (ssize_t)sizeof(m))
		_exit(0); /* the steward is gone or done with us */
	if (m.type == MSG_FDS && w->session == NULL && fds.count == 3) {
		take_streams(w, &m, fds.fd, m.value[1] != 0);
		return;
	}
	if (w->session == NULL || fds.count != 0)
		_exit(1);
	switch ((int)m.type) {
	case MSG_LAUNCH:
		session_launch(w->session, w->payload, m.length);
		break;
	case MSG_CANCEL:
		session_cancel(w->session, (enum cancel_reason)m.value[0]);
		break;
	case MSG_EXITED:
		session_exited(w->session, (int)(uint32_t)m.value[0]);
		break;
	case MSG_STOPPED:
		session_stopped(w->session);
		break;
	default:
		_exit(1);
	}
}

/* The environment may name secrets: the bytes go, not only the pointers. */
static void forget_environment(void)
{
	for (char **e = environ; e != NULL && *e != NULL; e++)
		explicit_bzero(*e, strlen(*e));
	(void)clearenv();
}

/* Closes everything but the socket and standard input, output and error, which are the operator's
 * until it is known whether this is an exec. */
static int keep_only(int fd)
{
	if (fd > 3 && close_range(3, (unsigned)fd - 1, 0) < 0)
		return -errno;
	return close_range((unsigned)fd + 1, ~0U, 0) < 0 ? -errno : 0;
}

void attempt_warden(int steward_fd)
{
	struct warden w = {.steward_fd = steward_fd};
	struct err err = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "hemra-warden");
	(void)signal(SIGPIPE, SIG_IGN);
	if (keep_only(steward_fd) < 0)
		_exit(1);
	forget_environment();
	w.loop = loop_new();
	w.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	w.payload = own_alloc(MSG_PAYLOAD_MAX);
	if (lockdown_warden(&err) < 0)
		_exit(1);
	(void)loop_watch_new(w.loop, steward_fd, EPOLLIN, handle_steward, &w);
	send_to_steward(&w, (struct msg){.type = MSG_READY}, NULL, 0);
	for (;;)
		loop_turn(w.loop, /* timeout_ms= */ -1);
}
