/* SPDX-License-Identifier: Apache-2.0 */
/* What waits to be written to the box's standard input. */

#include "protocol/outbox.h"

#include <errno.h>
#include <sys/epoll.h>

#include "ground/loop/loop.h"
#include "ground/terms/msg.h"

static void shut(struct outbox *o)
{
	loop_watch_free(o->watch);
	o->watch = NULL;
	port_done(&o->to);
	buf_done(&o->queue);
	o->gone = true;
}

static void settle(struct outbox *o)
{
	if (o->watch == NULL)
		return;
	if (o->queue.len == 0 && o->ending)
		shut(o);
	else
		loop_watch_set(o->watch, o->queue.len > 0 ? EPOLLOUT : 0);
}

static void handle_writable(void *context, uint32_t events)
{
	struct outbox *o = context;
	size_t done = 0;

	(void)events; /* an error is found by writing */
	while (done < o->queue.len) {
		ssize_t n = port_write(&o->to, o->queue.data + done, o->queue.len - done);

		if (n == -EAGAIN || n == 0)
			break;
		if (n < 0) {
			shut(o);
			return;
		}
		done += (size_t)n;
	}
	o->written += done;
	buf_drop(&o->queue, done);
	settle(o);
}

void outbox_init(struct outbox *o, int fd)
{
	*o = (struct outbox){.gone = fd < 0};
	port_own(&o->to, fd);
	buf_init(&o->queue, OUTBOX_BYTES + MSG_PAYLOAD_MAX + 1);
}

void outbox_done(struct outbox *o)
{
	shut(o);
}

void outbox_start(struct outbox *o, struct loop *loop)
{
	if (o->gone)
		return;
	o->watch = loop_watch_new(loop, o->to.fd, 0, handle_writable, o);
	settle(o);
}

int outbox_put(struct outbox *o, const char *bytes, size_t size)
{
	if (o->gone || o->ending)
		return 0;
	if (o->queue.len >= OUTBOX_BYTES)
		return -ENOBUFS;
	(void)buf_add(&o->queue, bytes, size); /* room for one message more is in its maximum */
	settle(o);
	return 0;
}

void outbox_end(struct outbox *o)
{
	o->ending = true;
	settle(o);
}
