/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_LOOP_LOOP_H
#define GROUND_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ground/base/clock.h"

/* One epoll loop per process: descriptors, timers, signals, child exits. Single-threaded; callbacks
 * run from loop_run() or loop_turn(), never nested. A callback may free any watch or timer, its own
 * included. Small allocations abort. */
struct loop;
struct loop_watch;
struct loop_timer;

/* events: EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR as epoll gave them. */
typedef void loop_watch_fn(void *context, uint32_t events);
typedef void loop_timer_fn(void *context);
typedef void loop_signal_fn(void *context, int signo);

struct loop *loop_new(void);
void loop_free(struct loop *l); /* accepts NULL; frees all watches and timers that are left */

/* Watches a descriptor, level-triggered. The descriptor stays the caller's and must outlive the watch.
 * A regular file, which epoll refuses, is reported readable and writable at every turn. */
struct loop_watch *loop_watch_new(
	struct loop *l, int fd, uint32_t events, loop_watch_fn *fn, void *context);
void loop_watch_set(struct loop_watch *w, uint32_t events); /* 0 pauses it, hang-ups included */
void loop_watch_free(struct loop_watch *w);                 /* accepts NULL */

/* One-shot; arm again to repeat. Deadlines hold while the machine sleeps (CLOCK_BOOTTIME). */
struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn *fn, void *context);
void loop_timer_arm(struct loop_timer *t, int64_t in_ms);
void loop_timer_disarm(struct loop_timer *t);
bool loop_timer_is_armed(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t); /* accepts NULL */

/* Blocks the signals and delivers them from the loop. Signals end with 0. Call once per loop. */
void loop_signals(struct loop *l, const int *signals, loop_signal_fn *fn, void *context);

/* Runs until loop_quit(). */
void loop_run(struct loop *l);
/* One round: waits at most timeout_ms (-1: until something happens), runs what is due. */
void loop_turn(struct loop *l, int timeout_ms);
void loop_quit(struct loop *l);

/* Called once at the end of every round that ran a callback: to write out what was gathered. */
void loop_on_round(struct loop *l, loop_timer_fn *fn, void *context);

#endif
