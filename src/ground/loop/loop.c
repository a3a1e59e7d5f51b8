/* SPDX-License-Identifier: Apache-2.0 */
/* The epoll loop.
 *
 * How it works: watches live on a list and carry a generation-free pointer into epoll. A freed watch or timer is
 * unlinked at once but its memory is kept until the round ends, because epoll may already have
 * handed out its pointer; `dead` marks it. Timers are a sorted list: a process has a handful.
 * The list's head sets epoll's timeout, so no timerfd is needed; epoll_wait counts in
 * CLOCK_MONOTONIC, so a timeout is never trusted for longer than a minute: after a sleep of the
 * machine the deadline, which is in CLOCK_BOOTTIME, is looked at again. */

#include "ground/loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "ground/base/own.h"

#define EVENTS_PER_TURN 64
#define SLEEP_MAX_MS    60000

struct loop_watch {
	struct loop *loop;
	struct loop_watch *next, *previous;
	int fd;
	uint32_t events;
	bool regular; /* epoll refuses it; always ready */
	bool in_epoll, dead;
	loop_watch_fn *fn;
	void *context;
};

struct loop_timer {
	struct loop *loop;
	struct loop_timer *next; /* in order of due, or of the graveyard */
	struct mono due;
	bool armed, dead;
	loop_timer_fn *fn;
	void *context;
	struct loop_timer *all_next, *all_previous;
};

struct loop {
	int epoll_fd, signal_fd;
	bool quit, running;
	struct loop_watch *watches, *dead_watches;
	struct loop_timer *armed, *timers, *dead_timers;
	unsigned regular_count;
	struct loop_watch *signal_watch;
	loop_signal_fn *signal_fn;
	void *signal_context;
	loop_timer_fn *round_fn;
	void *round_context;
};

struct loop *loop_new(void)
{
	struct loop *l = own_alloc(sizeof(*l));

	l->signal_fd = -1;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		abort();
	return l;
}

static void bury(struct loop *l)
{
	while (l->dead_watches != NULL) {
		struct loop_watch *w = l->dead_watches;

		l->dead_watches = w->next;
		free(w);
	}
	while (l->dead_timers != NULL) {
		struct loop_timer *t = l->dead_timers;

		l->dead_timers = t->next;
		free(t);
	}
}

void loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	assert(!l->running);
	while (l->watches != NULL)
		loop_watch_free(l->watches);
	while (l->timers != NULL)
		loop_timer_free(l->timers);
	bury(l);
	own_close(&l->signal_fd);
	own_close(&l->epoll_fd);
	free(l);
}

struct loop_watch *loop_watch_new(
	struct loop *l, int fd, uint32_t events, loop_watch_fn *fn, void *context)
{
	struct loop_watch *w = own_alloc(sizeof(*w));

	assert(fd >= 0);
	*w = (struct loop_watch){.loop = l, .fd = fd, .fn = fn, .context = context};
	w->next = l->watches;
	if (w->next != NULL)
		w->next->previous = w;
	l->watches = w;
	loop_watch_set(w, events);
	return w;
}

void loop_watch_set(struct loop_watch *w, uint32_t events)
{
	struct loop *l = w->loop;
	struct epoll_event event = {.events = events, .data.ptr = w};
	int op;

	if (w->dead || events == w->events)
		return;
	if (w->regular) {
		l->regular_count += (events != 0) - (w->events != 0);
		w->events = events;
		return;
	}
	if (events == 0) /* a paused descriptor must not even report hang-ups */
		op = EPOLL_CTL_DEL;
	else
		op = w->in_epoll ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	if (epoll_ctl(l->epoll_fd, op, w->fd, &event) < 0) {
		if (errno != EPERM || w->in_epoll)
			abort(); /* a descriptor closed under its watch: our bug */
		w->regular = true;
		l->regular_count++;
	} else {
		w->in_epoll = events != 0;
	}
	w->events = events;
}

void loop_watch_free(struct loop_watch *w)
{
	struct loop *l;

	if (w == NULL || w->dead)
		return;
	l = w->loop;
	loop_watch_set(w, 0);
	w->dead = true;
	if (w->next != NULL)
		w->next->previous = w->previous;
	if (w->previous != NULL)
		w->previous->next = w->next;
	else
		l->watches = w->next;
	w->next = l->dead_watches;
	l->dead_watches = w;
}

struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn *fn, void *context)
{
	struct loop_timer *t = own_alloc(sizeof(*t));

	*t = (struct loop_timer){.loop = l, .fn = fn, .context = context};
	t->all_next = l->timers;
	if (t->all_next != NULL)
		t->all_next->all_previous = t;
	l->timers = t;
	return t;
}

void loop_timer_arm(struct loop_timer *t, int64_t in_ms)
{
	struct loop_timer **at;

	loop_timer_disarm(t);
	t->due = mono_add_ms(mono_now(), in_ms > 0 ? in_ms : 0);
	for (at = &t->loop->armed; *at != NULL && (*at)->due.ns <= t->due.ns; at = &(*at)->next)
		;
	t->next = *at;
	*at = t;
	t->armed = true;
}

void loop_timer_disarm(struct loop_timer *t)
{
	struct loop_timer **at;

	if (!t->armed)
		return;
	for (at = &t->loop->armed; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	t->next = NULL;
	t->armed = false;
}

bool loop_timer_is_armed(const struct loop_timer *t)
{
	return t->armed;
}

void loop_timer_free(struct loop_timer *t)
{
	struct loop *l;

	if (t == NULL || t->dead)
		return;
	l = t->loop;
	loop_timer_disarm(t);
	t->dead = true;
	if (t->all_next != NULL)
		t->all_next->all_previous = t->all_previous;
	if (t->all_previous != NULL)
		t->all_previous->all_next = t->all_next;
	else
		l->timers = t->all_next;
	t->next = l->dead_timers;
	l->dead_timers = t;
}

static void handle_signal(void *context, uint32_t events)
{
	struct loop *l = context;
	struct signalfd_siginfo info;

	(void)events;
	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info))
		l->signal_fn(l->signal_context, (int)info.ssi_signo);
}

void loop_signals(struct loop *l, const int *signals, loop_signal_fn *fn, void *context)
{
	sigset_t set;

	assert(l->signal_fd < 0);
	(void)sigemptyset(&set);
	for (; *signals != 0; signals++)
		(void)sigaddset(&set, *signals);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signal_fd < 0)
		abort();
	l->signal_fn = fn;
	l->signal_context = context;
	l->signal_watch = loop_watch_new(l, l->signal_fd, EPOLLIN, handle_signal, l);
}

void loop_on_round(struct loop *l, loop_timer_fn *fn, void *context)
{
	l->round_fn = fn;
	l->round_context = context;
}

/* Milliseconds until the first timer is due, at most what the caller allows. */
static int sleep_ms(const struct loop *l, int timeout_ms)
{
	int64_t ms;

	if (l->regular_count > 0)
		return 0;
	if (timeout_ms < 0 || timeout_ms > SLEEP_MAX_MS)
		timeout_ms = SLEEP_MAX_MS;
	if (l->armed == NULL)
		return timeout_ms;
	/* rounded up: a round that wakes a fraction early would spin */
	ms = (l->armed->due.ns - mono_now().ns + 999999) / 1000000;
	if (ms < 0)
		ms = 0;
	return ms < timeout_ms ? (int)ms : timeout_ms;
}

static unsigned run_timers(struct loop *l)
{
	struct mono now = mono_now();
	unsigned ran = 0;

	/* a timer armed by a callback for "now" waits for the next round */
	while (l->armed != NULL && l->armed->due.ns <= now.ns) {
		struct loop_timer *t = l->armed;

		loop_timer_disarm(t);
		t->fn(t->context);
		ran++;
	}
	return ran;
}

static unsigned run_regular(struct loop *l)
{
	unsigned ran = 0;

	for (struct loop_watch *w = l->watches, *next; w != NULL && l->regular_count > 0;
		w = next) {
		next = w->next;
		if (!w->regular || w->events == 0)
			continue;
		w->fn(w->context, w->events & (EPOLLIN | EPOLLOUT));
		ran++;
		if (w->dead || (next != NULL && next->dead))
			break; /* the list changed under us; the next round goes on */
	}
	return ran;
}

void loop_turn(struct loop *l, int timeout_ms)
{
	struct epoll_event events[EVENTS_PER_TURN];
	unsigned ran = 0;
	int n;

	assert(!l->running);
	n = epoll_wait(l->epoll_fd, events, EVENTS_PER_TURN, sleep_ms(l, timeout_ms));
	if (n < 0 && errno != EINTR)
		abort();
	l->running = true;
	for (int i = 0; i < n; i++) {
		struct loop_watch *w = events[i].data.ptr;

		if (w->dead || w->events == 0)
			continue;
		w->fn(w->context, events[i].events);
		ran++;
	}
	ran += run_regular(l);
	ran += run_timers(l);
	if (ran > 0 && l->round_fn != NULL)
		l->round_fn(l->round_context);
	l->running = false;
	bury(l);
}

void loop_run(struct loop *l)
{
	l->quit = false;
	while (!l->quit)
		loop_turn(l, -1);
}

void loop_quit(struct loop *l)
{
	l->quit = true;
}
