/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with descriptors between hemra's own processes. */

#include "ground/kernel/sock.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define BUFFER_BYTES (4 * 1024 * 1024)

int sock_pair(int ret_fds[2])
{
	int pair[2], size = BUFFER_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		/* root may pass the system's maximum; anybody else is clipped to it */
		if (setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
			(void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	ret_fds[0] = pair[0];
	ret_fds[1] = pair[1];
	return 0;
}

int sock_send(int fd, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
	const struct sock_fds *fds)
{
	size_t fd_count = fds != NULL ? fds->count : 0;
	/* sendmsg() only reads them */
	struct iovec parts[2] = {
		{(void *)(uintptr_t)head, head_bytes}, {(void *)(uintptr_t)body, body_bytes}};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(SOCK_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = body_bytes > 0 ? 2 : 1};

	if (fd_count > SOCK_FDS_MAX)
		return -EINVAL;
	if (fd_count > 0) {
		(void)memset(&control, 0, sizeof(control));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		(void)memcpy(CMSG_DATA(&control.header), fds->fd, fd_count * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
	}
	for (;;) {
		if (sendmsg(fd, &message, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR)
			return errno == ECONNRESET ? -EPIPE : -errno;
	}
}

/* Collects the descriptors of a received message; those that are too many are closed. */
static int take_descriptors(struct msghdr *message, struct sock_fds *ret)
{
	int status = (message->msg_flags & MSG_CTRUNC) != 0 ? -EPROTO : 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int received;

			(void)memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (ret->count < SOCK_FDS_MAX) {
				ret->fd[ret->count++] = received;
			} else {
				(void)close(received);
				status = -EPROTO;
			}
		}
	}
	return status;
}

ssize_t sock_recv(int fd, void *head, size_t head_bytes, void *body, size_t body_room,
	struct sock_fds *ret_fds)
{
	struct iovec parts[2] = {{head, head_bytes}, {body, body_room}};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE((SOCK_FDS_MAX + 8) * sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = parts,
		.msg_iovlen = body_room > 0 ? 2 : 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n;
	int r;

	ret_fds->count = 0;
	do {
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		/* A peer that closed with packets of ours unread leaves an error, told once and before the
		 * packets that it sent: what it had to say comes next, or the end. */
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return -errno;
	r = take_descriptors(&message, ret_fds);
	if (r == 0 && (message.msg_flags & MSG_TRUNC) != 0)
		r = -EPROTO;
	if (r < 0) {
		while (ret_fds->count > 0)
			(void)close(ret_fds->fd[--ret_fds->count]);
		return r;
	}
	return n;
}

int sock_wait(int fd, short events, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = events};
	int n;

	do {
		n = poll(&p, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}
