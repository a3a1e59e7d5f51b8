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
	bool engine_gone, ready;
};

static void be_steward(struct nursery *n, const struct attempt_start *start) __attribute__((noreturn));

static void be_steward(struct nursery *n, const struct attempt_start *start)
{
	sigset_t none;

	(void)close(n->engine_fd);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "hemra-steward");
	_exit(attempt_steward(start, attempt_warden));
}

static void handle_spawn(struct nursery *n, const int fds[SOCK_FDS_MAX], size_t fd_count)
{
	struct attempt_start start = { fds[0], fds[1], fd_count > 2 ? fds[2] : -1 };
	struct err err = { 0 };
	pid_t pid;

	/* a failure is the steward's to report: what it needs is looked at again there */
	if (!n->ready && sandbox_init(&err) < 0)
		log_debug("%s", err.text);
	n->ready = true;
	pid = fork();
	if (pid == 0)
		be_steward(n, &start);
	if (pid > 0)
		n->children++;
	/* a steward that could not be forked is seen by the engine as one that is gone */
	for (size_t i = 0; i < fd_count; i++)
		(void)close(fds[i]);
}

static void end_if_alone(struct nursery *n)
{
	if (n->engine_gone && n->children == 0)
		loop_quit(n->loop);
}

static void handle_engine(void *context, uint32_t events)
{
	struct nursery *n = context;
	int fds[SOCK_FDS_MAX];
	size_t fd_count;
	struct msg m;
	ssize_t size = sock_recv(n->engine_fd, &m, sizeof(m), NULL, 0, fds, &fd_count);

	(void)events;
	if (size == -EAGAIN)
		return;
	if (size == sizeof(m) && m.version == MSG_VERSION && m.type == MSG_SPAWN && fd_count >= 2) {
		handle_spawn(n, fds, fd_count);
		return;
	}
	for (size_t i = 0; i < fd_count; i++)
		(void)close(fds[i]);
	loop_watch_free(n->watch);
	n->watch = NULL;
	n->engine_gone = true;
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
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	static const int watched[] = { SIGCHLD, 0 };
	struct nursery n = { .engine_fd = engine_fd, .loop = loop_new() };
	struct err err = { 0 };

	(void)prctl(PR_SET_NAME, "hemra-nursery");
	/* a terminal's Ctrl-C reaches the whole group; the engine alone decides what it means */
	for (size_t i = 0; i < array_count(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	loop_signals(n.loop, watched, handle_child, &n);
	n.watch = loop_watch_new(n.loop, engine_fd, EPOLLIN, handle_engine, &n);
	n.ready = sandbox_init(&err) == 0;
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

int nursery_spawn(int steward_end, int plan_fd, int events_fd, struct err *err)
{
	struct msg m = { .version = MSG_VERSION, .type = MSG_SPAWN };
	const int fds[] = { steward_end, plan_fd, events_fd };
	int r;

	if (nursery_fd < 0)
		return err_say(err, EPIPE, "there is no nursery");
	r = sock_send(nursery_fd, &m, sizeof(m), NULL, 0, fds, events_fd >= 0 ? 3 : 2);
	if (r == -EAGAIN && sock_wait(nursery_fd, POLLOUT, SEND_WAIT_MS) == 0)
		r = sock_send(nursery_fd, &m, sizeof(m), NULL, 0, fds, events_fd >= 0 ? 3 : 2);
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
