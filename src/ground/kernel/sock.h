/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_SOCK_H
#define GROUND_KERNEL_SOCK_H

#include <stddef.h>
#include <sys/types.h>

#define SOCK_FDS_MAX 8

/* SOCK_SEQPACKET pairs and packets with descriptors. All return -errno. */
int sock_pair(int ret_fds[2]); /* CLOEXEC, non-blocking, buffers raised as far as allowed */

/* Sends one packet of two parts and up to SOCK_FDS_MAX descriptors (which stay the caller's).
 * -EAGAIN when the peer's queue is full, -EPIPE when it is gone; never raises SIGPIPE. */
int sock_send(int fd, const void *head, size_t head_bytes, const void *body, size_t body_bytes,
	const int *fds, size_t fd_count);

/* Receives one packet. *ret_fd_count descriptors (CLOEXEC) land in fds and are the caller's; more
 * than SOCK_FDS_MAX are closed and give -EPROTO, as does a packet larger than the room.
 * Returns the packet's size, 0 at the end, -EAGAIN when there is none. */
ssize_t sock_recv(int fd, void *head, size_t head_bytes, void *body, size_t body_room,
	int fds[SOCK_FDS_MAX], size_t *ret_fd_count);

/* Waits until fd is readable or writable: events as poll(2). 0, -ETIMEDOUT, -errno. */
int sock_wait(int fd, short events, int timeout_ms);

#endif
