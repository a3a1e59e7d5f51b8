/* SPDX-License-Identifier: Apache-2.0 */
/* The nursery: a small process, forked before anything else is read, that stewards come from.
 *
 * Cloning costs time with memory, and a fork inherits what its parent holds: so stewards are never
 * forked by the engine, which parses files and holds the database and the sealing key. The nursery
 * knows nothing; it takes descriptors and forks. It ends when the engine's socket ends and its
 * stewards, which see the same on theirs, have ended. */

#include "run/engine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt/attempt.h"
#include "ground/base/log.h"
#include "ground/base/own.h"
#include "ground/kernel/sock.h"

#define SEND_WAIT_MS 5000

static int nursery_fd = -1;
static pid_t nursery_pid = -1;

struct nursery {
	struct loop *loop;
	int engine_fd;
	struct loop_watch *watch;
	unsigned children;
	int spare_fd; /* of a steward that waits for its attempt, -1: there is none */
	bool engine_gone;
};

/* A steward that is ready before it is asked for: it and its warden come up while the engine still
 * plans, or while other attempts run. */
static void fork_spare(struct nursery *n)
{
	sigset_t none;
	int pair[2];
	pid_t pid;

	if (n->spare_fd >= 0 || sock_pair(pair) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		(void)close(n->engine_fd);
		(void)close(pair[0]);
		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		(void)prctl(PR_SET_NAME, "hemra-spare");
		_exit(attempt_steward(pair[1], attempt_warden));
	}
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return;
	}
	n->children++;
	n->spare_fd = pair[0];
}

/* value[0] says how many more are to come. A steward that cannot be had is seen by the engine as one
 * that is gone. */
static void handle_spawn(struct nursery *n, const struct msg *m, const struct sock_fds *fds)
{
	int r = -EPIPE;

	for (int tries = 0; tries < 2 && r < 0; tries++) {
		fork_spare(n);
		if (n->spare_fd < 0)
			break;
		r = sock_send(n->spare_fd, m, sizeof(*m), NULL, 0, fds);
		own_close(&n->spare_fd); /* it is a steward now, or it died while it waited */
	}
	for (size_t i = 0; i < fds->count; i++)
		(void)close(fds->fd[i]);
	if (m->value[0] > 0)
		fork_spare(n);
}

static void end_if_alone(struct nursery *n)
{
	if (n->engine_gone && n->children == 0)
		loop_quit(n->loop);
}

static void handle_engine(void *context, uint32_t events)
{
	struct nursery *n = context;
	struct sock_fds fds;
	struct msg m;
	ssize_t size = sock_recv(n->engine_fd, &m, sizeof(m), NULL, 0, &fds);

	(void)events;
	if (size == -EAGAIN)
		return;
	if (size == sizeof(m) && m.version == MSG_VERSION && m.type == MSG_SPAWN &&
		fds.count >= 2) {
		handle_spawn(n, &m, &fds);
		return;
	}
	for (size_t i = 0; i < fds.count; i++)
		(void)close(fds.fd[i]);
	loop_watch_free(n->watch);
	n->watch = NULL;
	n->engine_gone = true;
	own_close(&n->spare_fd);
	end_if_alone(n);
}

static void handle_child(void *context, int signo)
{
	struct nursery *n = context;

	(void)signo;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		n->children--;
	end_if_alone(n);
}

static void be_nursery(int engine_fd) __attribute__((noreturn));

static void be_nursery(int engine_fd)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	static const int watched[] = {SIGCHLD, 0};
	struct nursery n = {.engine_fd = engine_fd, .spare_fd = -1, .loop = loop_new()};
	struct err err = {0};

	(void)prctl(PR_SET_NAME, "hemra-nursery");
	/* a terminal's Ctrl-C reaches the whole group; the engine alone decides what it means */
	for (size_t i = 0; i < array_count(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	loop_signals(n.loop, watched, handle_child, &n);
	n.watch = loop_watch_new(n.loop, engine_fd, EPOLLIN, handle_engine, &n);
	/* a failure is each steward's to report: what it needs is looked at again there */
	if (sandbox_init(&err) < 0)
		log_debug("%s", err.text);
	fork_spare(&n);
	loop_run(n.loop);
	_exit(0);
}

int run_nursery(struct err *err)
{
	int pair[2], r = sock_pair(pair);

	if (r < 0)
		return err_set(err, -r, "make the nursery's socket");
	nursery_pid = fork();
	if (nursery_pid < 0) {
		r = errno;
		(void)close(pair[0]);
		(void)close(pair[1]);
		return err_set(err, r, "fork the nursery");
	}
	if (nursery_pid == 0) {
		(void)close(pair[0]);
		be_nursery(pair[1]);
	}
	(void)close(pair[1]);
	nursery_fd = pair[0];
	return 0;
}

int nursery_spawn(int steward_end, int plan_fd, int events_fd, size_t to_come, struct err *err)
{
	struct msg m = {.version = MSG_VERSION, .type = MSG_SPAWN, .value = {to_come}};
	const struct sock_fds fds = {{steward_end, plan_fd, events_fd}, events_fd >= 0 ? 3 : 2};
	int r;

	if (nursery_fd < 0)
		return err_say(err, EPIPE, "there is no nursery");
	r = sock_send(nursery_fd, &m, sizeof(m), NULL, 0, &fds);
	if (r == -EAGAIN && sock_wait(nursery_fd, POLLOUT, SEND_WAIT_MS) == 0)
		r = sock_send(nursery_fd, &m, sizeof(m), NULL, 0, &fds);
	return r < 0 ? err_set(err, -r, "ask the nursery for a steward") : 0;
}

void nursery_end(void)
{
	own_close(&nursery_fd);
	if (nursery_pid > 0)
		while (waitpid(nursery_pid, NULL, 0) < 0 && errno == EINTR)
			;
	nursery_pid = -1;
}
