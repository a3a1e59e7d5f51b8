/* SPDX-License-Identifier: Apache-2.0 */
/* Moves a stream from one port to another, one buffer at a time. */

#include "protocol/pump.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "ground/base/own.h"
#include "ground/loop/loop.h"

/* When the kernel cannot say what a pipe still holds: a bound instead. */
#define LAST_BYTES_MAX (64u * 1024 * 1024)

static bool holds(const struct pump *p)
{
	return p->start < p->end || p->to.staged > 0;
}

static void release(struct pump *p)
{
	loop_watch_free(p->reading);
	loop_watch_free(p->writing);
	p->reading = p->writing = NULL;
	port_done(&p->from);
	port_done(&p->to);
	p->start = p->end = 0;
}

void pump_close(struct pump *p)
{
	if (p->over)
		return;
	release(p);
	p->over = true;
	p->ended = true;
	p->hooks.over(p->context);
}

static void fail(struct pump *p, int error)
{
	if (error != EPIPE && error != ECONNRESET)
		p->error = error;
	pump_close(p);
}

/* Watches what there is to wait for, or ends. */
static void settle(struct pump *p)
{
	if (p->over)
		return;
	if (p->ended && !holds(p)) {
		pump_close(p);
		return;
	}
	if (p->reading != NULL)
		loop_watch_set(p->reading, p->ended || holds(p) ? 0 : EPOLLIN);
	if (p->writing != NULL)
		loop_watch_set(p->writing, holds(p) ? EPOLLOUT : 0);
}

static void passed(struct pump *p, const char *bytes, size_t size)
{
	p->count += size;
	if (p->hashing)
		(void)crypto_hash_sha256_update(&p->hash, (const unsigned char *)bytes, size);
}

/* Writes until the port takes no more. */
static void push(struct pump *p)
{
	int r;

	while (p->start < p->end) {
		ssize_t n = port_write(&p->to, p->bytes + p->start, p->end - p->start);

		if (n == -EAGAIN || n == 0)
			return;
		if (n < 0) {
			fail(p, (int)-n);
			return;
		}
		if (p->counting == PUMP_COUNT_WRITTEN)
			passed(p, p->bytes + p->start, (size_t)n);
		p->start += (size_t)n;
	}
	r = port_flush(&p->to);
	if (r < 0 && r != -EAGAIN)
		fail(p, -r);
}

static void pull(struct pump *p)
{
	size_t size = p->last && p->left < p->size ? (size_t)p->left : p->size;
	ssize_t n = port_read(&p->from, p->bytes, size);

	if (n == -EAGAIN && !p->last)
		return;
	if (n <= 0) {
		p->error = n < 0 && n != -EAGAIN ? (int)-n : p->error;
		p->ended = true;
		return;
	}
	if (p->last) {
		p->left -= (uint64_t)n;
		p->ended = p->left == 0;
	}
	if (p->counting == PUMP_COUNT_READ)
		passed(p, p->bytes, (size_t)n);
	p->start = 0;
	p->end = (size_t)n;
	if (p->hooks.seen != NULL)
		p->hooks.seen(p->context, p->bytes, (size_t)n);
	if (!p->over)
		push(p);
}

static void handle_readable(void *context, uint32_t events)
{
	struct pump *p = context;

	(void)events; /* a hang-up is read like data */
	if (!p->ended && !holds(p))
		pull(p);
	settle(p);
}

static void handle_writable(void *context, uint32_t events)
{
	struct pump *p = context;

	(void)events; /* an error is found by writing */
	push(p);
	settle(p);
}

void pump_init(struct pump *p, struct loop *loop, const struct pump_hooks *hooks, void *context)
{
	p->loop = loop;
	p->hooks = *hooks;
	p->context = context;
	(void)crypto_hash_sha256_init(&p->hash);
}

void pump_done(struct pump *p)
{
	release(p);
	p->over = p->ended = true;
	free(p->bytes);
	p->bytes = NULL;
}

void pump_start(struct pump *p, size_t buffer_bytes)
{
	if (p->over)
		return;
	p->size = buffer_bytes;
	p->bytes = own_alloc(buffer_bytes);
	if (p->from.fd >= 0)
		p->reading = loop_watch_new(p->loop, p->from.fd, 0, handle_readable, p);
	else
		p->ended = true;
	if (p->to.fd >= 0)
		p->writing = loop_watch_new(p->loop, p->to.fd, 0, handle_writable, p);
	settle(p);
}

void pump_last(struct pump *p)
{
	int held = 0;

	if (p->over)
		return;
	p->last = true;
	if (p->from.fd >= 0 && ioctl(p->from.fd, FIONREAD, &held) < 0)
		p->left = LAST_BYTES_MAX;
	else
		p->left = (uint64_t)held;
	if (p->left == 0)
		p->ended = true;
	settle(p);
}
