/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket live/<attempt>.sock: `hemra cancel` from another terminal.
 *
 * One fixed-size message per connection; who may ask is decided by the kernel's word on the peer
 * (SO_PEERCRED): the steward's own user or root. The socket is never in a box: the store is absent
 * there. */

#include "attempt/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"

static void handle_control(void *context, uint32_t events)
{
	struct attempt *a = context;
	autoclose int peer = accept4(a->live_fd, NULL, NULL, SOCK_CLOEXEC);
	struct timeval wait = {.tv_sec = 1};
	struct ucred who;
	socklen_t size = sizeof(who);
	struct msg m;

	(void)events;
	if (peer < 0)
		return;
	(void)setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 ||
		(who.uid != geteuid() && who.uid != 0))
		return;
	if (recv(peer, &m, sizeof(m), 0) != sizeof(m) || m.version != MSG_VERSION ||
		m.type != MSG_CANCEL)
		return;
	note_decision(a, EVENT_CANCEL, "{\"by_uid\":%u,\"by_pid\":%d}", who.uid, (int)who.pid);
	a->cancelled = true;
	attempt_fail(a, OUTCOME_CANCELLED, "cancelled by the operator");
	supervise_stop(a, CANCEL_OPERATOR);
	(void)send(
		peer, &m, sizeof(m), MSG_NOSIGNAL); /* "heard"; a peer that left does not matter */
}

/* A store's path may be longer than a socket's may: the directory goes by descriptor. */
static int live_address(const struct attempt *a, int *ret_directory, struct sockaddr_un *ret)
{
	int directory = openat(store_fd(a->store), "live", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return -errno;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s.sock", directory,
		a->plan.attempt.text);
	*ret_directory = directory;
	return 0;
}

void control_open(struct attempt *a)
{
	autoclose int directory = -1;
	struct sockaddr_un address;

	if (a->store == NULL || live_address(a, &directory, &address) < 0)
		return;
	a->live_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (a->live_fd < 0 || bind(a->live_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(a->live_fd, 4) < 0) {
		log_debug("no control socket: errno %d", errno);
		own_close(&a->live_fd);
		return;
	}
	a->live_watch = loop_watch_new(a->loop, a->live_fd, EPOLLIN, handle_control, a);
}

void control_close(struct attempt *a)
{
	autoclose int directory = -1;
	struct sockaddr_un address;

	if (a->live_fd < 0)
		return;
	loop_watch_free(a->live_watch);
	own_close(&a->live_fd);
	if (live_address(a, &directory, &address) == 0)
		(void)unlink(
			address.sun_path); /* a socket left behind is swept at the next start */
}
