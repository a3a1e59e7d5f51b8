/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_SOCK_H
#define GROUND_KERNEL_SOCK_H

#include <stddef.h>
#include <sys/types.h>

#define SOCK_FDS_MAX 8
struct sock_fds {
	int fd[SOCK_FDS_MAX];
	size_t count;
};

/* SOCK_SEQPACKET pairs and packets with descriptors. All return -errno. */
int sock_pair(int ret_fds[2]); /* CLOEXEC, non-blocking, buffers raised as far as allowed */

/* Sends one packet of two parts and the descriptors (which stay the caller's; NULL: none). -EAGAIN when the peer's queue is full, -EPIPE when it is gone; never raises SIGPIPE. */
int sock_send(int fd, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
	const struct sock_fds *fds);

/* Receives one packet. Its descriptors (CLOEXEC) land in ret_fds, whose count is 0 when there are
 * none, and are the caller's; more than SOCK_FDS_MAX are closed and give -EPROTO, as does a packet
 * larger than the room.
 * Returns the packet's size, 0 at the end, -EAGAIN when there is none. */
ssize_t sock_recv(int fd, void *head, size_t head_bytes, void *body, size_t body_room,
	struct sock_fds *ret_fds);

/* Waits until fd is readable or writable: events as poll(2). 0, -ETIMEDOUT, -errno. */
int sock_wait(int fd, short events, int timeout_ms);

#endif
