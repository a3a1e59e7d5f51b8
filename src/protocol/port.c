/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a stream, read or written without ever waiting. */

#include "protocol/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/own.h"

/* poll() calls a terminal writable when there is any room; a larger piece could wait for more. */
#define TERMINAL_PIECE 1024

/* The stage holds at most one default pipe. */
#define STAGE_BYTES 65536

void port_own(struct port *p, int fd)
{
	*p = (struct port){.form = PORT_NOWHERE, .fd = fd, .stage = {-1, -1}};
	if (fd < 0)
		return;
	p->form = PORT_OWN;
	(void)fcntl(
		fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); /* cannot fail on a pipe or pty */
}

static enum port_form form_of(int fd)
{
	struct stat st;

	/* Not fstat(): in glibc 2.33 to 2.38 that is newfstatat, which a locked warden is denied
	 * because with a path it sees every file. */
	if (syscall(SYS_fstat, fd, &st) < 0)
		return PORT_TERMINAL; /* the most careful form */
	if (S_ISFIFO(st.st_mode))
		return PORT_PIPE;
	if (S_ISSOCK(st.st_mode))
		return PORT_SOCKET;
	return S_ISCHR(st.st_mode) && isatty(fd) ? PORT_TERMINAL : PORT_FILE;
}

void port_borrow(struct port *p, int fd)
{
	*p = (struct port){.form = PORT_NOWHERE, .fd = fd, .stage = {-1, -1}};
	if (fd < 0)
		return;
	p->form = form_of(fd);
	/* without a stage a pipe is asked first, and given pieces that fit one page */
	if (p->form == PORT_PIPE && pipe2(p->stage, O_CLOEXEC | O_NONBLOCK) < 0)
		p->form = PORT_TERMINAL;
}

void port_done(struct port *p)
{
	if (p->form == PORT_OWN)
		own_close(&p->fd);
	else if (p->form == PORT_PIPE) {
		own_close(&p->stage[0]);
		own_close(&p->stage[1]);
	}
	*p = (struct port){.form = PORT_NOWHERE, .fd = -1, .stage = {-1, -1}};
}

static int is_ready(int fd, short events)
{
	struct pollfd poll_fd = {.fd = fd, .events = events};

	return poll(&poll_fd, 1, 0) == 1 ? 0 : -EAGAIN;
}

static ssize_t or_errno(ssize_t n)
{
	if (n >= 0)
		return n;
	return errno == EINTR ? -EAGAIN : -errno;
}

ssize_t port_read(struct port *p, void *bytes, size_t size)
{
	ssize_t n;

	switch (p->form) {
	case PORT_NOWHERE:
		return 0;
	case PORT_OWN:
		n = or_errno(read(p->fd, bytes, size));
		/* the other side of a pty that was closed */
		return n == -EIO ? 0 : n;
	case PORT_PIPE:
		if (p->staged == 0) {
			n = or_errno(splice(p->fd, NULL, p->stage[1], NULL,
				size < STAGE_BYTES ? size : STAGE_BYTES, SPLICE_F_NONBLOCK));
			if (n <= 0)
				return n;
			p->staged = (size_t)n;
		}
		n = or_errno(read(p->stage[0], bytes, size));
		if (n > 0)
			p->staged -= (size_t)n;
		return n;
	case PORT_SOCKET:
		return or_errno(recv(p->fd, bytes, size, MSG_DONTWAIT));
	case PORT_TERMINAL:
	case PORT_FILE:
		return is_ready(p->fd, POLLIN) < 0 ? -EAGAIN : or_errno(read(p->fd, bytes, size));
	}
	return -EBADF;
}

int port_flush(struct port *p)
{
	while (p->staged > 0) {
		ssize_t n = or_errno(
			splice(p->stage[0], NULL, p->fd, NULL, p->staged, SPLICE_F_NONBLOCK));

		if (n <= 0)
			return n == 0 ? -EAGAIN : (int)n;
		p->staged -= (size_t)n;
	}
	return 0;
}

static ssize_t write_staged(struct port *p, const void *bytes, size_t size)
{
	ssize_t n = port_flush(p);

	if (n < 0)
		return n;
	n = or_errno(write(p->stage[1], bytes, size < STAGE_BYTES ? size : STAGE_BYTES));
	if (n < 0)
		return n;
	p->staged = (size_t)n;
	(void)port_flush(p); /* a failure is still there at the next call, which returns it */
	return n;
}

ssize_t port_write(struct port *p, const void *bytes, size_t size)
{
	switch (p->form) {
	case PORT_NOWHERE:
		return (ssize_t)size;
	case PORT_OWN:
		return or_errno(write(p->fd, bytes, size));
	case PORT_PIPE:
		return write_staged(p, bytes, size);
	case PORT_SOCKET:
		return or_errno(send(p->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL));
	case PORT_TERMINAL:
		size = size < TERMINAL_PIECE ? size : TERMINAL_PIECE;
		break;
	case PORT_FILE:
		break;
	}
	return is_ready(p->fd, POLLOUT) < 0 ? -EAGAIN : or_errno(write(p->fd, bytes, size));
}
