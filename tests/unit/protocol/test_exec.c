/* SPDX-License-Identifier: Apache-2.0 */
/* exec: bytes between the operator's descriptors and the box, whatever those are, and no waiting. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/lockdown.h"
#include "rig.h"
#include "tests.h"

#define LARGE_BYTES 3000000

static struct rig rig;
static char large[LARGE_BYTES];

/* The operator's side: what the test holds, and what the session borrows. */
static int op_in, op_out, op_err;       /* ours */
static int lent_in, lent_out, lent_err; /* the session's, blocking as a shell's are */

static int setup(void **state)
{
	int in[2], out[2], err[2];

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)((i * 2654435761u) >> 13);
	rig_init(&rig, SESSION_EXEC);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	lent_in = in[0];
	op_in = in[1];
	op_out = out[0];
	lent_out = out[1];
	op_err = err[0];
	lent_err = err[1];
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	rig_done(*state);
	own_close(&op_in);
	own_close(&op_out);
	own_close(&op_err);
	own_close(&lent_in);
	own_close(&lent_out);
	own_close(&lent_err);
	return 0;
}

static void assert_not_nonblocking(int fd)
{
	if (fd >= 0)
		assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
}

static void launch(struct rig *r)
{
	r->streams.from_in = lent_in;
	r->streams.to_out = lent_out;
	r->streams.to_err = lent_err;
	rig_open(r);
	session_launch(r->session, "", 0);
	assert_not_nonblocking(lent_in);
	assert_not_nonblocking(lent_out);
	assert_not_nonblocking(lent_err);
}

/* Everything that comes from fd until size bytes are there, or the end; the loop turns meanwhile. */
static size_t collect(struct rig *r, int fd, char *out, size_t size)
{
	struct mono start = mono_now();
	size_t have = 0;

	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	while (have < size && mono_ms_between(start, mono_now()) < RIG_WAIT_MS) {
		ssize_t n = read(fd, out + have, size - have);

		if (n == 0)
			break;
		if (n > 0)
			have += (size_t)n;
		rig_turn(r, /* timeout_ms= */ 0);
	}
	return have;
}

static void assert_sha256(const uint8_t digest[32], const char *bytes, size_t size)
{
	unsigned char expected[32];

	(void)crypto_hash_sha256(expected, (const unsigned char *)bytes, size);
	assert_memory_equal(digest, expected, 32);
}

static void test_bytes_and_ends(void **state)
{
	struct rig *r = *state;
	char got[64];

	launch(r);
	assert_int_equal(write(op_in, "in\0put", 6), 6);
	rig_until(r, (rig_until_read(r), r->said.len == 6));
	assert_memory_equal(r->said.data, "in\0put", 6);
	own_close(&op_in); /* the end of the operator's input is the end of the box's */
	rig_until(r, (rig_turn(r, 0), read(r->box_in, got, 1) == 0));
	rig_feed(r, r->box_out, "out\xff", 4);
	rig_feed(r, r->box_err, "error", 5);
	assert_int_equal(collect(r, op_out, got, 4), 4);
	assert_memory_equal(got, "out\xff", 4);
	assert_int_equal(collect(r, op_err, got, 5), 5);
	assert_memory_equal(got, "error", 5);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
	assert_true(
		r->done.stdin_bytes == 6 && r->done.stdout_bytes == 4 && r->done.stderr_bytes == 5);
	assert_sha256(r->done.stdin_sha256, "in\0put", 6);
	assert_sha256(r->done.stdout_sha256, "out\xff", 4);
	assert_sha256(r->done.stderr_sha256, "error", 5);
	assert_int_equal(r->event_count, 0);
}

static void test_empty_streams_have_digests(void **state)
{
	struct rig *r = *state;

	launch(r);
	rig_finish(r, WAIT_EXIT(7));
	assert_int_equal(r->done.outcome, OUTCOME_AGENT_ERROR);
	assert_string_equal(r->done.reason, "exit status 7");
	assert_sha256(r->done.stdin_sha256, "", 0);
	assert_sha256(r->done.stdout_sha256, "", 0);
	assert_sha256(r->done.stderr_sha256, "", 0);
}

/* The box writes until nobody takes more: bounded, and the loop goes on. */
static size_t fill(struct rig *r)
{
	size_t written = 0;
	int idle = 0;

	while (idle < 20 && written < sizeof(large)) {
		/* a small piece first: then no whole buffer fits into what the operator's pipe has left */
		ssize_t n = write(
			r->box_out, large + written, written == 0 ? 1000 : sizeof(large) - written);

		rig_turn(r, /* timeout_ms= */ 1);
		idle = n > 0 ? 0 : idle + 1;
		written += n > 0 ? (size_t)n : 0;
	}
	return written;
}

static void check_slow_reader(struct rig *r, size_t bytes_max)
{
	autofree char *got = malloc(sizeof(large));
	size_t written = fill(r), have;

	assert_true(written > 0 && written <= bytes_max);
	have = collect(r, op_out, got, written);
	assert_int_equal(have, written);
	assert_memory_equal(got, large, written);
	rig_feed(r, r->box_out, "end", 3);
	assert_int_equal(collect(r, op_out, got, 3), 3);
	assert_memory_equal(got, "end", 3);
}

static void test_slow_reader_of_a_pipe(void **state)
{
	struct rig *r = *state;

	launch(r);
	/* box pipe, buffer, stage, operator's pipe */
	check_slow_reader(r, 4 * 65536);
	assert_not_nonblocking(lent_out);
}

/* The same as a warden does it: locked down before the session begins. */
static void test_slow_reader_when_locked_down(void **state)
{
	struct rig *r = *state;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		char *got = malloc(sizeof(large));
		size_t written;

		(void)alarm(RIG_WAIT_MS / 1000); /* a write that waits would wait for ever */
		if (lockdown_warden(NULL) < 0)
			_exit(2);
		launch(r);
		written = fill(r);
		if (written == 0 || written > 4 * 65536)
			_exit(3);
		if (collect(r, op_out, got, written) != written || memcmp(got, large, written) != 0)
			_exit(4);
		_exit(write(op_in, "x", 1) == 1 && (rig_turn(r, 0), rig_turn(r, 0),
							   read(r->box_in, got, 1)) == 1
				? 0
				: 5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rig_open(r);
}

static void test_slow_reader_of_a_socket(void **state)
{
	struct rig *r = *state;
	int pair[2], small = 8192;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	own_close(&op_out);
	own_close(&lent_out);
	op_out = pair[0];
	lent_out = pair[1];
	(void)setsockopt(lent_out, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	launch(r);
	check_slow_reader(r, 3 * 65536);
	assert_not_nonblocking(lent_out);
}

static void test_slow_reader_of_a_terminal(void **state)
{
	struct rig *r = *state;
	struct termios raw;

	own_close(&op_out);
	own_close(&lent_out);
	op_out = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(op_out >= 0);
	assert_int_equal(grantpt(op_out), 0);
	assert_int_equal(unlockpt(op_out), 0);
	lent_out = open(ptsname(op_out), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(lent_out >= 0);
	assert_int_equal(tcgetattr(lent_out, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(lent_out, TCSANOW, &raw), 0);
	launch(r);
	check_slow_reader(r, 4 * 65536);
	assert_not_nonblocking(lent_out);
}

/* Somebody else writes into the operator's pipe too, and has just filled it. */
static void test_pipe_filled_by_another(void **state)
{
	struct rig *r = *state;
	static char junk[65536], got[65536];
	char path[64];
	int other;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", lent_out);
	other = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* an open file of its own */
	assert_true(other >= 0);
	while (write(other, junk, sizeof(junk)) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	launch(r);
	rig_feed(r, r->box_out, "late", 4);
	for (int i = 0; i < 10; i++)
		rig_turn(r, /* timeout_ms= */ 0);
	assert_int_equal(collect(r, op_out, got, sizeof(got)), sizeof(got));
	assert_int_equal(collect(r, op_out, got, 4), 4);
	assert_memory_equal(got, "late", 4);
	own_close(&other);
}

/* Somebody else takes the byte that poll() has announced. */
static void test_input_taken_by_another(void **state)
{
	struct rig *r = *state;
	char byte;

	launch(r);
	assert_int_equal(write(op_in, "x", 1), 1);
	assert_int_equal(read(lent_in, &byte, 1), 1);
	for (int i = 0; i < 5; i++)
		rig_turn(r, /* timeout_ms= */ 0);
	assert_int_equal(write(op_in, "y", 1), 1);
	rig_until(r, (rig_until_read(r), r->said.len == 1));
	assert_memory_equal(r->said.data, "y", 1);
}

static void test_operator_stops_reading(void **state)
{
	struct rig *r = *state;

	launch(r);
	own_close(&op_out);
	rig_feed(r, r->box_out, "x", 1);
	rig_until(r, write(r->box_out, "y", 1) < 0 && errno == EPIPE);
	/* the other streams go on */
	rig_feed(r, r->box_err, "e", 1);
	rig_finish(r, WAIT_SIGNAL(SIGPIPE));
	assert_int_equal(r->done.outcome, OUTCOME_CRASHED);
	assert_string_equal(r->done.reason, "killed by SIGPIPE");
	assert_true(r->done.stderr_bytes == 1);
}

static void test_command_stops_reading(void **state)
{
	struct rig *r = *state;
	char junk[256] = {0};

	launch(r);
	own_close(&r->box_in);
	(void)fcntl(op_in, F_SETFL, O_NONBLOCK);
	assert_int_equal(write(op_in, junk, sizeof(junk)), sizeof(junk));
	for (int i = 0; i < 5; i++)
		rig_turn(r, /* timeout_ms= */ 0);
	rig_feed(r, r->box_out, "x", 1);
	assert_int_equal(collect(r, op_out, junk, 1), 1);
	assert_int_equal(r->dones, 0);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
	assert_true(r->done.stdin_bytes == 0);
}

static int temporary_file(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static void test_regular_files(void **state)
{
	struct rig *r = *state;
	autofree char *got = malloc(sizeof(large));

	own_close(&lent_in);
	own_close(&lent_out);
	own_close(&op_out);
	lent_in = temporary_file();
	assert_int_equal(write(lent_in, large, sizeof(large)), sizeof(large));
	assert_int_equal(lseek(lent_in, 0, SEEK_SET), 0);
	lent_out = temporary_file();
	launch(r);
	rig_until(r, (rig_until_read(r), r->said.len == sizeof(large)));
	assert_memory_equal(r->said.data, large, sizeof(large));
	rig_until(r, (rig_turn(r, 0), read(r->box_in, got, 1) == 0));
	rig_feed(r, r->box_out, large, sizeof(large));
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(pread(lent_out, got, sizeof(large), 0), sizeof(large));
	assert_memory_equal(got, large, sizeof(large));
	assert_sha256(r->done.stdin_sha256, large, sizeof(large));
	assert_sha256(r->done.stdout_sha256, large, sizeof(large));
}

static void test_devices(void **state)
{
	struct rig *r = *state;
	char byte;

	own_close(&lent_in);
	own_close(&lent_out);
	lent_in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	lent_out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	launch(r);
	rig_until(r, (rig_turn(r, 0), read(r->box_in, &byte, 1) == 0));
	rig_feed(r, r->box_out, large, sizeof(large));
	rig_finish(r, WAIT_EXIT(0));
	assert_true(r->done.stdout_bytes == sizeof(large));
	assert_sha256(r->done.stdout_sha256, large, sizeof(large));
}

static void test_full_device(void **state)
{
	struct rig *r = *state;

	own_close(&lent_out);
	lent_out = open("/dev/full", O_WRONLY | O_CLOEXEC);
	launch(r);
	rig_feed(r, r->box_out, "x", 1);
	rig_until(r, write(r->box_out, "y", 1) < 0 && errno == EPIPE);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_INFRA_ENVIRONMENT);
	assert_string_equal(
		r->done.reason, "its output could not be written: No space left on device");
}

static void test_nowhere(void **state)
{
	struct rig *r = *state;
	char byte;

	own_close(&lent_in);
	own_close(&lent_out);
	own_close(&lent_err);
	launch(r);
	rig_until(r, (rig_turn(r, 0), read(r->box_in, &byte, 1) == 0));
	rig_feed(r, r->box_out, large, sizeof(large));
	rig_finish(r, WAIT_EXIT(0));
	assert_true(r->done.stdout_bytes == sizeof(large));
}

/* A pager: the command is long gone, its output is not. */
static void test_output_outlives_the_box(void **state)
{
	struct rig *r = *state;
	autofree char *got = malloc(sizeof(large));
	struct mono start;
	size_t written, have;

	launch(r);
	written = fill(r);
	own_close(&r->box_out);
	own_close(&r->box_err);
	session_exited(r->session, WAIT_EXIT(0));
	session_stopped(r->session);
	start = mono_now();
	while (mono_ms_between(start, mono_now()) < 2200) /* longer than the bound of other kinds */
		rig_turn(r, 100);
	assert_int_equal(r->dones, 0);
	have = collect(r, op_out, got, written);
	assert_int_equal(have, written);
	assert_memory_equal(got, large, written);
	rig_until(r, r->dones == 1);
	assert_sha256(r->done.stdout_sha256, large, written);
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
}

static void test_cancel_ends_that_wait(void **state)
{
	struct rig *r = *state;

	launch(r);
	(void)fill(r);
	session_exited(r->session, WAIT_SIGNAL(SIGKILL));
	session_stopped(r->session);
	session_cancel(r->session, CANCEL_OPERATOR);
	rig_until(r, r->dones == 1);
	assert_int_equal(r->done.outcome, OUTCOME_CANCELLED);
}

/* The record is given the content, up to its limit; the operator is given all of it. */
static void test_recorded_output(void **state)
{
	struct rig *r = *state;
	autofree char *got = malloc(sizeof(large));

	r->limits.events_bytes = 1000;
	(void)memset(large + 990, 'x', 10); /* the limit does not fall within a character */
	launch(r);
	for (size_t at = 0; at < 65536; at += 4096) {
		rig_feed(r, r->box_out, large + at, 4096);
		assert_int_equal(collect(r, op_out, got + at, 4096), 4096);
	}
	rig_feed(r, r->box_err, "err", 3);
	rig_finish(r, WAIT_EXIT(0));
	assert_memory_equal(got, large, 65536);
	assert_int_equal(r->stdout_seen.len, 1000);
	assert_memory_equal(r->stdout_seen.data, large, 1000);
	assert_string_equal(buf_text(&r->stderr_seen), "err");
	assert_string_equal(rig_find(r, EVENT_LOSS)->data,
		"{\"what\":\"bytes of standard output\",\"count\":64536}");
	assert_int_equal(r->brokes, 0);
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
}

/* A real command at the other end of the pipes. */
static void test_cat(void **state)
{
	struct rig *r = *state;
	autofree char *got = malloc(sizeof(large));
	size_t sent = 0, have = 0;
	pid_t pid;
	int status;

	launch(r);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)fcntl(r->box_in, F_SETFL, 0);
		(void)fcntl(r->box_out, F_SETFL, 0);
		if (dup2(r->box_in, 0) < 0 || dup2(r->box_out, 1) < 0)
			_exit(126);
		(void)execl("/bin/cat", "cat", (char *)NULL);
		_exit(127);
	}
	own_close(&r->box_in);
	own_close(&r->box_out);
	(void)fcntl(op_in, F_SETFL, O_NONBLOCK);
	(void)fcntl(op_out, F_SETFL, O_NONBLOCK);
	while (have < sizeof(large)) {
		ssize_t n =
			sent < sizeof(large) ? write(op_in, large + sent, sizeof(large) - sent) : 0;

		sent += n > 0 ? (size_t)n : 0;
		if (sent == sizeof(large))
			own_close(&op_in);
		rig_turn(r, /* timeout_ms= */ 1);
		n = read(op_out, got + have, sizeof(large) - have);
		have += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_memory_equal(got, large, sizeof(large));
	rig_finish(r, status);
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
	assert_sha256(r->done.stdin_sha256, large, sizeof(large));
	assert_sha256(r->done.stdout_sha256, large, sizeof(large));
}

int test_exec(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_bytes_and_ends),
		T(test_empty_streams_have_digests),
		T(test_slow_reader_of_a_pipe),
		T(test_slow_reader_when_locked_down),
		T(test_slow_reader_of_a_socket),
		T(test_slow_reader_of_a_terminal),
		T(test_pipe_filled_by_another),
		T(test_input_taken_by_another),
		T(test_operator_stops_reading),
		T(test_command_stops_reading),
		T(test_regular_files),
		T(test_devices),
		T(test_full_device),
		T(test_nowhere),
		T(test_output_outlives_the_box),
		T(test_cancel_ends_that_wait),
		T(test_recorded_output),
		T(test_cat),
	};

	return cmocka_run_group_tests_name("exec", tests, NULL, NULL);
}
