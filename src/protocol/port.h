/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOCOL_PORT_H
#define PROTOCOL_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One end of a stream, read or written without ever waiting.
 *
 * A pipe end of our own is simply non-blocking. A descriptor of the operator's is not ours to
 * change: O_NONBLOCK belongs to the open file and would reach into the shell that shares it. Such a
 * port finds out what the descriptor is and uses the call that does not wait for that kind. */
enum port_form {
	PORT_NOWHERE,  /* no descriptor: nothing to read, everything written is dropped */
	PORT_OWN,      /* ours, non-blocking */
	PORT_PIPE,     /* spliced through a pipe of our own: splice has a flag for not waiting */
	PORT_SOCKET,   /* MSG_DONTWAIT */
	PORT_TERMINAL, /* asked with poll() and written in small pieces */
	PORT_FILE,     /* files and devices: asked with poll(), which for files says yes */
};

struct port {
	enum port_form form;
	int fd;        /* PORT_OWN: owned; otherwise borrowed; -1 when closed or nowhere */
	int stage[2];  /* PORT_PIPE: our own pipe between the buffer and theirs */
	size_t staged; /* bytes in it */
};

void port_own(struct port *p, int fd);    /* takes fd and makes it non-blocking; -1 is nowhere */
void port_borrow(struct port *p, int fd); /* -1 is nowhere */
void port_done(struct port *p);           /* closes what it owns; accepts a port that is done */

/* Bytes read, 0 at the end, -EAGAIN when there is nothing now, -errno. */
ssize_t port_read(struct port *p, void *bytes, size_t size);
/* Bytes taken, which may still be in the stage; -EAGAIN when none can be taken now; -errno. */
ssize_t port_write(struct port *p, const void *bytes, size_t size);
/* Pushes what is staged: 0 when nothing is left, -EAGAIN, -errno. */
int port_flush(struct port *p);

#endif
