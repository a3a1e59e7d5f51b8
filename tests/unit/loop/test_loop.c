/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: watches, timers, signals, regular files, and what callbacks may do to all of them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/loop/loop.h"

/* Only a failing test waits this long. */
#define WAIT_MS 10000

static struct loop *loop;
static char trace[256]; /* one letter per callback */

static int setup(void **state)
{
	(void)state;
	loop = loop_new();
	trace[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	loop_free(loop);
	loop = NULL;
	return 0;
}

static void note(char letter)
{
	size_t n = strlen(trace);

	assert_true(n + 1 < sizeof(trace));
	trace[n] = letter;
	trace[n + 1] = '\0';
}

#define until(condition)                                                                           \
	do {                                                                                       \
		struct mono start_ = mono_now();                                                   \
		while (!(condition)) {                                                             \
			loop_turn(loop, 20);                                                       \
			if (mono_ms_between(start_, mono_now()) > WAIT_MS)                         \
				fail_msg("waited too long for: %s", #condition);                   \
		}                                                                                  \
	} while (0)

/* What a test callback knows and may do. */
struct probe {
	char letter;
	int fd;
	uint32_t events; /* as last reported */
	struct loop_watch *watch, *frees, *pauses;
	struct loop_timer *timer, *arms, *disarms, *frees_timer;
	bool drains; /* reads one byte */
};

static void act(struct probe *p)
{
	char byte;

	note(p->letter);
	if (p->drains)
		assert_int_equal(read(p->fd, &byte, 1), 1);
	if (p->pauses != NULL)
		loop_watch_set(p->pauses, 0);
	loop_watch_free(p->frees);
	p->frees = NULL;
	if (p->arms != NULL)
		loop_timer_arm(p->arms, 0);
	if (p->disarms != NULL)
		loop_timer_disarm(p->disarms);
	loop_timer_free(p->frees_timer);
	p->frees_timer = NULL;
}

static void on_watch(void *context, uint32_t events)
{
	struct probe *p = context;

	p->events = events;
	act(p);
}

static void on_timer(void *context)
{
	act(context);
}

static void make_pipe(int fds[2])
{
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
}

static void close_pipe(int fds[2])
{
	own_close(&fds[0]);
	own_close(&fds[1]);
}

static void test_level_triggered(void **state)
{
	struct probe p = {.letter = 'r'};
	int fds[2];

	(void)state;
	make_pipe(fds);
	p.fd = fds[0];
	p.watch = loop_watch_new(loop, fds[0], EPOLLIN, on_watch, &p);
	loop_turn(loop, 0);
	assert_string_equal(trace, "");
	assert_int_equal(write(fds[1], "ab", 2), 2);
	loop_turn(loop, 0);
	loop_turn(loop, 0); /* nothing was read: reported again */
	assert_string_equal(trace, "rr");
	assert_int_equal(p.events, EPOLLIN);
	p.drains = true;
	loop_turn(loop, 0);
	loop_turn(loop, 0);
	loop_turn(loop, 0);
	assert_string_equal(trace, "rrrr");
	loop_watch_free(p.watch);
	close_pipe(fds);
}

static void test_change_and_pause(void **state)
{
	struct probe p = {.letter = 'w'};
	int fds[2];

	(void)state;
	make_pipe(fds);
	p.watch = loop_watch_new(loop, fds[1], 0, on_watch, &p);
	loop_turn(loop, 0);
	assert_string_equal(trace, "");
	loop_watch_set(p.watch, EPOLLOUT);
	loop_turn(loop, 0);
	assert_string_equal(trace, "w");
	assert_int_equal(p.events, EPOLLOUT);
	loop_watch_set(p.watch, 0);
	own_close(&fds[0]);
	loop_turn(loop, 0); /* paused: not even the error is reported */
	assert_string_equal(trace, "w");
	loop_watch_set(p.watch, EPOLLOUT);
	loop_turn(loop, 0);
	assert_string_equal(trace, "ww");
	assert_true(p.events & EPOLLERR);
	loop_watch_free(p.watch);
	close_pipe(fds);
}

static void test_hang_up(void **state)
{
	struct probe p = {.letter = 'h'};
	int fds[2];

	(void)state;
	make_pipe(fds);
	p.watch = loop_watch_new(loop, fds[0], EPOLLIN, on_watch, &p);
	own_close(&fds[1]);
	loop_turn(loop, 0);
	assert_string_equal(trace, "h");
	assert_true(p.events & EPOLLHUP);
	loop_watch_free(p.watch);
	loop_watch_free(NULL);
	close_pipe(fds);
}

/* A watch that another callback of the same round freed or paused is not called any more. */
static void test_free_and_pause_another(void **state)
{
	for (int pause = 0; pause <= 1; pause++) {
		struct probe a = {.letter = 'x'}, b = {.letter = 'x'};
		int one[2], two[2];

		loop_free(loop);
		(void)setup(state);
		make_pipe(one);
		make_pipe(two);
		a.watch = loop_watch_new(loop, one[1], EPOLLOUT, on_watch, &a);
		b.watch = loop_watch_new(loop, two[1], EPOLLOUT, on_watch, &b);
		/* both are ready; whichever is first ends the other */
		a.frees = pause ? NULL : b.watch;
		b.frees = pause ? NULL : a.watch;
		a.pauses = pause ? b.watch : NULL;
		b.pauses = pause ? a.watch : NULL;
		loop_turn(loop, 0);
		assert_string_equal(trace, "x");
		if (pause == 0) {
			a.frees = b.frees = NULL;
			loop_turn(loop, 0);
			assert_string_equal(trace, "xx");
		}
		loop_free(loop);
		close_pipe(one);
		close_pipe(two);
		(void)setup(state);
	}
}

static void test_free_itself(void **state)
{
	struct probe p = {.letter = 's'};
	int fds[2];

	(void)state;
	make_pipe(fds);
	p.watch = loop_watch_new(loop, fds[1], EPOLLOUT, on_watch, &p);
	p.frees = p.watch;
	loop_turn(loop, 0);
	loop_turn(loop, 0);
	assert_string_equal(trace, "s");
	/* the descriptor may be watched anew */
	p.watch = loop_watch_new(loop, fds[1], EPOLLOUT, on_watch, &p);
	loop_turn(loop, 0);
	assert_string_equal(trace, "ss");
	loop_watch_free(p.watch);
	close_pipe(fds);
}

static void test_regular_file(void **state)
{
	struct probe p = {.letter = 'f'};
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct mono start;

	(void)state;
	assert_true(fd >= 0);
	p.watch = loop_watch_new(loop, fd, EPOLLIN | EPOLLOUT, on_watch, &p);
	start = mono_now();
	loop_turn(loop, WAIT_MS); /* ready at once, whatever the time allowed */
	loop_turn(loop, WAIT_MS);
	assert_string_equal(trace, "ff");
	assert_int_equal(p.events, EPOLLIN | EPOLLOUT);
	assert_true(mono_ms_between(start, mono_now()) < WAIT_MS);
	loop_watch_set(p.watch, EPOLLIN);
	loop_turn(loop, 0);
	assert_int_equal(p.events, EPOLLIN);
	loop_watch_set(p.watch, 0);
	loop_turn(loop, 0);
	assert_string_equal(trace, "fff");
	loop_watch_set(p.watch, EPOLLOUT);
	loop_turn(loop, 0);
	assert_int_equal(p.events, EPOLLOUT);
	p.frees = p.watch;
	loop_turn(loop, 0);
	loop_turn(loop, 0);
	assert_string_equal(trace, "fffff");
	own_close(&fd);
}

/* Several of them, one of which frees the others. */
static void test_regular_files_free_each_other(void **state)
{
	struct probe p[3] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'c'}};
	int fds[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		fds[i] = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		assert_true(fds[i] >= 0);
		p[i].watch = loop_watch_new(loop, fds[i], EPOLLIN, on_watch, &p[i]);
	}
	for (int i = 0; i < 3; i++)
		p[i].frees = p[(i + 1) % 3].watch;
	loop_turn(loop, 0);
	for (int i = 0; i < 3; i++)
		p[i].frees = NULL;
	trace[0] = '\0';
	loop_turn(loop, 0);
	assert_in_range(strlen(trace), 1, 2); /* whoever is left is still served */
	loop_turn(loop, 0);
	for (int i = 0; i < 3; i++)
		own_close(&fds[i]);
}

static void test_timers_in_order(void **state)
{
	struct probe p[4] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'c'}, {.letter = 'd'}};

	(void)state;
	for (int i = 0; i < 4; i++)
		p[i].timer = loop_timer_new(loop, on_timer, &p[i]);
	loop_timer_arm(p[0].timer, 30);
	loop_timer_arm(p[1].timer, 10);
	loop_timer_arm(p[2].timer, 20);
	loop_timer_arm(p[3].timer, -5); /* at once */
	assert_true(loop_timer_is_armed(p[0].timer));
	until(strlen(trace) == 4);
	assert_string_equal(trace, "dbca");
	assert_false(loop_timer_is_armed(p[0].timer)); /* one shot */
	loop_turn(loop, 0);
	assert_string_equal(trace, "dbca");
}

static void test_timer_is_not_early(void **state)
{
	struct probe p = {.letter = 't'};
	struct mono start = mono_now();

	(void)state;
	p.timer = loop_timer_new(loop, on_timer, &p);
	loop_timer_arm(p.timer, 25);
	until(trace[0] != '\0');
	assert_true(mono_ms_between(start, mono_now()) >= 25);
}

static void test_rearm_and_disarm(void **state)
{
	struct probe a = {.letter = 'a'}, b = {.letter = 'b'};

	(void)state;
	a.timer = loop_timer_new(loop, on_timer, &a);
	b.timer = loop_timer_new(loop, on_timer, &b);
	loop_timer_arm(a.timer, 5);
	loop_timer_arm(a.timer, 40); /* moves it, does not add one */
	loop_timer_arm(b.timer, 20);
	until(strlen(trace) == 2);
	assert_string_equal(trace, "ba");
	loop_timer_arm(a.timer, 5);
	loop_timer_disarm(a.timer);
	assert_false(loop_timer_is_armed(a.timer));
	loop_timer_disarm(a.timer);
	loop_timer_arm(b.timer, 10);
	until(strlen(trace) == 3);
	assert_string_equal(trace, "bab");
}

/* A timer that arms itself for "now" is called once a round: descriptors get their turn. */
static void test_arm_itself(void **state)
{
	struct probe p = {.letter = 'n'};

	(void)state;
	p.timer = loop_timer_new(loop, on_timer, &p);
	p.arms = p.timer;
	loop_timer_arm(p.timer, 0);
	for (int i = 0; i < 3; i++)
		loop_turn(loop, 100);
	assert_string_equal(trace, "nnn");
}

static void test_timers_end_each_other(void **state)
{
	struct probe a = {.letter = 'a'}, b = {.letter = 'b'}, c = {.letter = 'c'};

	(void)state;
	a.timer = loop_timer_new(loop, on_timer, &a);
	b.timer = loop_timer_new(loop, on_timer, &b);
	c.timer = loop_timer_new(loop, on_timer, &c);
	loop_timer_arm(a.timer, 0);
	loop_timer_arm(b.timer, 0);
	loop_timer_arm(c.timer, 0);
	a.disarms = b.timer; /* due in the same round */
	a.frees_timer = c.timer;
	until(trace[0] != '\0');
	loop_turn(loop, 0);
	assert_string_equal(trace, "a");
	a.disarms = NULL;
	a.frees_timer = a.timer; /* itself */
	loop_timer_arm(a.timer, 0);
	until(strlen(trace) == 2);
	loop_turn(loop, 0);
	assert_string_equal(trace, "aa");
	loop_timer_free(NULL);
}

/* A watch ends a timer of the same round. */
static void test_watch_frees_timer(void **state)
{
	struct probe w = {.letter = 'w'}, t = {.letter = 't'};
	int fds[2];

	(void)state;
	make_pipe(fds);
	t.timer = loop_timer_new(loop, on_timer, &t);
	loop_timer_arm(t.timer, 0);
	w.frees_timer = t.timer;
	w.watch = loop_watch_new(loop, fds[1], EPOLLOUT, on_watch, &w);
	loop_turn(loop, 0);
	loop_watch_free(w.watch);
	loop_turn(loop, 0);
	assert_string_equal(trace, "w");
	close_pipe(fds);
}

static void test_timeout(void **state)
{
	struct mono start = mono_now();

	(void)state;
	loop_turn(loop, 30);
	assert_true(mono_ms_between(start, mono_now()) >= 29);
}

static void on_signal(void *context, int signo)
{
	assert_ptr_equal(context, loop);
	note(signo == SIGUSR1 ? '1' : signo == SIGCHLD ? 'c' : '?');
}

/* Blocking outlives the loop: in a child, so that the other tests are as before. */
static void signals_in_child(void)
{
	static const int signals[] = {SIGUSR1, SIGCHLD, 0};
	pid_t pid;
	sigset_t set;

	loop_signals(loop, signals, on_signal, loop);
	if (sigprocmask(SIG_SETMASK, NULL, &set) < 0 || !sigismember(&set, SIGUSR1))
		_exit(2);
	(void)raise(SIGUSR1);
	loop_turn(loop, 1000);
	if (strcmp(trace, "1") != 0)
		_exit(3);
	pid = fork();
	if (pid == 0)
		_exit(0);
	for (int i = 0; i < 1000 && strcmp(trace, "1c") != 0; i++)
		loop_turn(loop, 20);
	if (strcmp(trace, "1c") != 0 || waitpid(pid, NULL, 0) != pid)
		_exit(4);
	loop_turn(loop, 0);
	_exit(strcmp(trace, "1c") == 0 ? 0 : 5);
}

static void test_signals(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		signals_in_child();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void on_round(void *context)
{
	(void)context;
	note('.');
}

static void test_end_of_round(void **state)
{
	struct probe a = {.letter = 'a'}, b = {.letter = 'b'};
	int one[2], two[2];

	(void)state;
	make_pipe(one);
	make_pipe(two);
	loop_on_round(loop, on_round, NULL);
	loop_turn(loop, 0); /* nothing ran, nothing to write out */
	assert_string_equal(trace, "");
	a.watch = loop_watch_new(loop, one[1], EPOLLOUT, on_watch, &a);
	b.watch = loop_watch_new(loop, two[1], EPOLLOUT, on_watch, &b);
	loop_turn(loop, 0);
	assert_int_equal(strlen(trace), 3);
	assert_int_equal(trace[2], '.');
	loop_watch_free(a.watch);
	loop_watch_free(b.watch);
	close_pipe(one);
	close_pipe(two);
}

static void on_quit(void *context)
{
	note('q');
	loop_quit(context);
}

static void test_run_until_quit(void **state)
{
	struct loop_timer *t = loop_timer_new(loop, on_quit, loop);

	(void)state;
	loop_timer_arm(t, 5);
	loop_run(loop);
	assert_string_equal(trace, "q");
	loop_timer_arm(t, 5);
	loop_run(loop); /* again */
	assert_string_equal(trace, "qq");
}

/* What is left is the loop's to free. */
static void test_free_with_all_kinds_left(void **state)
{
	struct probe p = {.letter = 'x'};
	int fds[2];

	make_pipe(fds);
	(void)loop_watch_new(loop, fds[0], EPOLLIN, on_watch, &p);
	(void)loop_watch_new(loop, fds[1], 0, on_watch, &p);
	loop_timer_arm(loop_timer_new(loop, on_timer, &p), 1000);
	(void)loop_timer_new(loop, on_timer, &p);
	loop_free(loop);
	loop_free(NULL);
	close_pipe(fds);
	(void)setup(state);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_level_triggered),
		T(test_change_and_pause),
		T(test_hang_up),
		T(test_free_and_pause_another),
		T(test_free_itself),
		T(test_regular_file),
		T(test_regular_files_free_each_other),
		T(test_timers_in_order),
		T(test_timer_is_not_early),
		T(test_rearm_and_disarm),
		T(test_arm_itself),
		T(test_timers_end_each_other),
		T(test_watch_frees_timer),
		T(test_timeout),
		T(test_signals),
		T(test_end_of_round),
		T(test_run_until_quit),
		T(test_free_with_all_kinds_left),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
