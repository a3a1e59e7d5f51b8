/* SPDX-License-Identifier: Apache-2.0 */
/* A running box: two sockets, a pidfd and a control group, turned into reports.
 *
 * The link tells how the start goes: INIT_ARMED with the probe's results; then, after the word
 * to go, either INIT_EXEC_FAILED or the end of the stream, for exec closes it: the command runs.
 * The control socket tells how it ends. The pidfd says when pid 1 is gone, and with it, in
 * namespaces of its own, everything: the kernel ends pid 1 last. What the sockets still hold is
 * read before DEAD. */

#include "sandbox/box.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/clock.h"
#include "ground/base/own.h"
#include "ground/kernel/pidfd.h"
#include "ground/kernel/sock.h"
#include "ground/terms/init.h"

#define FREE_MS   5000
#define CGROUP_MS 200

struct box *box_new(
	struct loop *loop, const struct box_spec *spec, box_report_fn *fn, void *context)
{
	struct box *b = own_alloc(sizeof(*b));

	b->loop = loop;
	b->fn = fn;
	b->context = context;
	b->pidfd = b->control = b->link = -1;
	b->cgroup = CGROUP_NONE;
	b->limits = spec->limits;
	b->without = spec->without;
	if (spec->argv != NULL && spec->argv[0] != NULL)
		b->command = own_strdup(spec->argv[0]);
	buf_init(&b->start, INIT_START_MAX);
	return b;
}

int box_make_ends(int *ret_control, int *ret_link, struct box_ends *ret, struct err *err)
{
	int control[2] = {-1, -1}, link[2] = {-1, -1}, steward = -1;
	int r = sock_pair(control);

	if (r == 0)
		r = sock_pair(link);
	if (r == 0)
		r = pidfd_of(getpid(), &steward);
	*ret_control = control[0];
	*ret_link = link[0];
	*ret = (struct box_ends){.control = control[1], .link = link[1], .steward = steward};
	if (r < 0) {
		box_close_ends(ret);
		return err_set(err, -r, "make the box's sockets");
	}
	return 0;
}

void box_close_ends(struct box_ends *e)
{
	own_close(&e->control);
	own_close(&e->link);
	own_close(&e->steward);
}

/* False when the receiver freed the box. */
static bool report(struct box *b, struct box_report *r)
{
	bool gone = false;

	assert(b->gone == NULL);
	b->gone = &gone;
	b->fn(b->context, r);
	if (!gone)
		b->gone = NULL;
	return !gone;
}

static bool report_failed(struct box *b, const struct err *e)
{
	struct box_report r = {.type = BOX_REPORT_FAILED, .error = *e};

	if (b->has_failed || b->is_gone_to)
		return true; /* one sentence is enough; what the box says later is its end */
	b->has_failed = true;
	return report(b, &r);
}

/* What only the host sees: the limits read back from the group that pid 1 really is in. */
static void check_limits(struct box *b, struct claim_result *results, size_t *count)
{
	if ((b->claims >> CLAIM_LIMIT_MEMORY & 1) != 0) {
		int r = cgroup_check_memory(&b->cgroup, b->pid, b->limits.memory_bytes);

		results[(*count)++] = (struct claim_result){.claim = CLAIM_LIMIT_MEMORY,
			.verdict = r < 0 ? CLAIM_BROKEN : CLAIM_HELD,
			.detail = -r};
	}
	for (size_t i = 0; i < *count && b->limits.pids > 0 && b->cgroup.can_pids; i++)
		if (results[i].claim == CLAIM_LIMIT_PIDS) {
			int r = cgroup_check_pids(&b->cgroup, b->pid, b->limits.pids);

			if (r < 0) { /* the floor alone is not what was asked for */
				results[i].verdict = CLAIM_BROKEN;
				results[i].part = 1;
				results[i].detail = -r;
			}
		}
}

static bool take_armed(struct box *b, const struct claim_result *sent, size_t count)
{
	struct box_report r = {.type = BOX_REPORT_ARMED};
	struct claim_result results[CLAIM_COUNT + 1];

	(void)memcpy(results, sent, count * sizeof(results[0]));
	b->is_built = true;
	check_limits(b, results, &count);
	for (size_t i = 0; i < count; i++) {
		struct box_report claim = {.type = BOX_REPORT_CLAIM, .claim = results[i]};

		if (!report(b, &claim))
			return false;
	}
	return report(b, &r);
}

/* The operator's PATH finds what the box's does not: the mounts that would change that. */
static void add_hint(const struct box *b, struct err *e)
{
	const char *path = getenv("PATH");
	char file[4096];

	if (e->code != ENOENT || b->command == NULL || strchr(b->command, '/') != NULL ||
		path == NULL)
		return;
	while (*path != '\0') {
		size_t n = strcspn(path, ":");
		size_t used = strlen(e->text);

		(void)snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, b->command);
		if (path[0] == '/' && access(file, X_OK) == 0) {
			(void)snprintf(e->text + used, sizeof(e->text) - used,
				"; this machine has %.150s: "
				"show its directory to the box with --mount %.*s:ro",
				file, (int)n, path);
			return;
		}
		path += n + (path[n] == ':');
	}
}

static bool take_link_end(struct box *b)
{
	struct box_report r = {.type = BOX_REPORT_RUNNING};

	loop_watch_free(take_ptr(&b->watch_link));
	own_close(&b->link);
	if (!b->is_gone_to || b->has_failed)
		return true; /* it ended before the word; pid 1 tells how */
	return report(b, &r);
}

/* One packet of the link. 1: there may be more, 0: none now or the end, -1: the box is freed. */
static int take_link(struct box *b)
{
	struct init_packet head;
	union {
		struct claim_result results[CLAIM_COUNT];
		struct err error;
	} body;
	struct box_report r = {.type = BOX_REPORT_EXEC_FAILED};
	struct sock_fds fds;
	ssize_t n;

	if (b->link < 0)
		return 0;
	n = sock_recv(b->link, &head, sizeof(head), &body, sizeof(body), &fds);
	if (n == -EAGAIN || n == -EINTR)
		return 0;
	for (size_t i = 0; i < fds.count; i++) /* nobody sends any */
		(void)close(fds.fd[i]);
	if (n < (ssize_t)sizeof(head))
		return take_link_end(b) ? 0 : -1;
	n -= (ssize_t)sizeof(head);
	if (head.type == INIT_ARMED && !b->is_built && head.value <= CLAIM_COUNT &&
		n == (ssize_t)(head.value * sizeof(struct claim_result)))
		return take_armed(b, body.results, head.value) ? 1 : -1;
	if (n != sizeof(body.error))
		return 1;
	body.error.text[sizeof(body.error.text) - 1] = '\0';
	if (head.type == INIT_FAILED)
		return report_failed(b, &body.error) ? 1 : -1;
	if (head.type != INIT_EXEC_FAILED || b->has_failed)
		return 1;
	b->has_failed = true;
	add_hint(b, &body.error);
	r.error = body.error;
	return report(b, &r) ? 1 : -1;
}

static int take_control(struct box *b)
{
	struct init_packet head;
	union {
		struct init_exit exit;
		struct err error;
	} body;
	struct box_report r = {.type = BOX_REPORT_EXITED};
	struct sock_fds fds;
	ssize_t n;

	if (b->control < 0)
		return 0;
	n = sock_recv(b->control, &head, sizeof(head), &body, sizeof(body), &fds);
	if (n == -EAGAIN || n == -EINTR)
		return 0;
	for (size_t i = 0; i < fds.count; i++)
		(void)close(fds.fd[i]);
	if (n < (ssize_t)sizeof(head)) {
		loop_watch_free(take_ptr(&b->watch_control));
		own_close(&b->control);
		return 0;
	}
	n -= (ssize_t)sizeof(head);
	if (head.type == INIT_FAILED && n == sizeof(body.error)) {
		body.error.text[sizeof(body.error.text) - 1] = '\0';
		return report_failed(b, &body.error) ? 1 : -1;
	}
	if (head.type != INIT_EXITED || n != sizeof(body.exit) || b->has_exited)
		return 1;
	b->has_exited = true;
	b->survivor_count = body.exit.survivor_count;
	r.wait_status = (int)head.value;
	r.survivor_count = b->survivor_count;
	while (b->link >= 0) { /* how it started comes before how it ended */
		int more = take_link(b);

		if (more < 0)
			return -1;
		if (more == 0)
			break;
	}
	return !b->is_gone_to || b->has_failed || report(b, &r) ? 1 : -1;
}

static void send_start(struct box *b)
{
	struct init_packet head = {.type = INIT_CHUNK};

	while (b->start.len > 0) {
		size_t n = b->start.len < INIT_CHUNK_BYTES ? b->start.len : INIT_CHUNK_BYTES;
		int r = sock_send(b->control, &head, sizeof(head), b->start.data, n, NULL);

		if (r == -EAGAIN)
			return; /* the watch calls again */
		if (r < 0)
			break; /* the box is dying; its pidfd tells */
		buf_drop(&b->start, n);
	}
	if (b->start.data != NULL)
		explicit_bzero(b->start.data, b->start.capacity); /* it held secrets */
	buf_done(&b->start);
	if (b->watch_control != NULL)
		loop_watch_set(b->watch_control, EPOLLIN);
}

static void handle_control(void *context, uint32_t events)
{
	struct box *b = context;
	int more;

	if ((events & EPOLLOUT) != 0 && b->start.len > 0)
		send_start(b);
	if ((events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	do
		more = take_control(b);
	while (more > 0);
}

static void handle_link(void *context, uint32_t events)
{
	struct box *b = context;
	int more;

	(void)events;
	do
		more = take_link(b);
	while (more > 0);
}

/* v1 kills one process and goes on; cgroup2 kills the group. Here both are the box's end. */
static void handle_oom(void *context, uint32_t events)
{
	struct box *b = context;
	uint64_t count;

	(void)events;
	while (read(b->cgroup.oom_fd, &count, sizeof(count)) > 0)
		;
	if (cgroup_oom_kills(&b->cgroup) > 0) {
		b->out_of_memory = true;
		box_kill(b);
	}
}

/* pid 1 is reaped: closes everything, removes the group. */
static void bury(struct box *b, struct box_report *r)
{
	b->is_dead = true;
	r->survivor_count = b->survivor_count;
	r->out_of_memory = b->out_of_memory || cgroup_oom_kills(&b->cgroup) > 0;
	r->out_of_pids = cgroup_pids_hits(&b->cgroup) > 0;
	loop_watch_free(take_ptr(&b->watch_pid));
	loop_watch_free(take_ptr(&b->watch_control));
	loop_watch_free(take_ptr(&b->watch_link));
	loop_watch_free(take_ptr(&b->watch_oom));
	own_close(&b->pidfd);
	own_close(&b->control);
	own_close(&b->link);
	cgroup_close(&b->cgroup, CGROUP_MS);
}

static bool report_early_end(struct box *b, int status)
{
	struct err e;

	if (b->is_gone_to || b->has_failed || b->is_killed)
		return true;
	if (WIFSIGNALED(status))
		(void)err_say(&e, ECHILD,
			"pid 1 of the box was ended by signal %d before the command was started",
			WTERMSIG(status));
	else
		(void)err_say(&e, ECHILD,
			"pid 1 of the box ended with status %d before the command was started",
			WEXITSTATUS(status));
	return report_failed(b, &e);
}

static void handle_end(void *context, uint32_t events)
{
	struct box *b = context;
	struct box_report r = {.type = BOX_REPORT_DEAD};
	int status = 0, more;

	(void)events;
	if (pidfd_reap(b->pidfd, /* block= */ false, &status) == 0)
		return;
	do
		more = take_link(b);
	while (more > 0);
	while (more == 0 && (more = take_control(b)) > 0)
		more = 0;
	if (more < 0 || !report_early_end(b, status))
		return;
	bury(b, &r);
	(void)report(b, &r);
}

void box_begin(struct box *b)
{
	b->watch_pid = loop_watch_new(b->loop, b->pidfd, EPOLLIN, handle_end, b);
	b->watch_control =
		loop_watch_new(b->loop, b->control, EPOLLIN | EPOLLOUT, handle_control, b);
	b->watch_link = loop_watch_new(b->loop, b->link, EPOLLIN, handle_link, b);
	if (b->cgroup.oom_fd >= 0)
		b->watch_oom = loop_watch_new(b->loop, b->cgroup.oom_fd, EPOLLIN, handle_oom, b);
	send_start(b);
}

void box_go(struct box *b)
{
	struct init_packet head = {.type = INIT_GO};

	assert(b->is_built);
	b->is_gone_to = true;
	if (b->link >= 0) /* the box may be dying; its pidfd tells */
		(void)sock_send(b->link, &head, sizeof(head), NULL, 0, NULL);
}

void box_signal(struct box *b, int signo)
{
	struct init_packet head = {.type = INIT_SIGNAL, .value = (uint32_t)signo};

	if (b->control >= 0)
		(void)sock_send(b->control, &head, sizeof(head), NULL, 0, NULL);
}

void box_kill(struct box *b)
{
	if (b->is_dead)
		return;
	b->is_killed = true;
	(void)cgroup_kill(&b->cgroup); /* where there is one; pid 1's death is enough */
	if (b->is_local && b->control >= 0) {
		loop_watch_free(take_ptr(&b->watch_control));
		own_close(&b->control); /* pid 1 kills what is beneath it; nobody else finds it */
		return;
	}
	(void)pidfd_kill(b->pidfd, SIGKILL);
}

pid_t box_pid(const struct box *b)
{
	return b->pid;
}

void box_free(struct box *b)
{
	struct box_report unused;
	int status;

	if (b == NULL)
		return;
	if (b->gone != NULL)
		*b->gone = true;
	if (!b->is_dead && b->pidfd >= 0) {
		box_kill(b);
		if (pidfd_wait(b->pidfd, FREE_MS) < 0)
			(void)pidfd_kill(b->pidfd,
				SIGKILL); /* local, and its pid 1 does not come to an end */
		(void)pidfd_reap(b->pidfd, /* block= */ false, &status);
	}
	bury(b, &unused);
	if (b->start.data != NULL)
		explicit_bzero(b->start.data, b->start.capacity);
	buf_done(&b->start);
	free(b->command);
	free(b);
}
