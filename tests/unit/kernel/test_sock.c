/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with descriptors between two ends of a socket pair. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ground/kernel/sock.h"

static void packets(void **state)
{
	char head[4], body[8];
	struct sock_fds fds;
	int pair[2];

	(void)state;
	assert_int_equal(sock_pair(pair), 0);
	assert_int_equal(sock_recv(pair[1], head, 4, body, 8, &fds), -EAGAIN);
	assert_int_equal(sock_wait(pair[1], POLLIN, 0), -ETIMEDOUT);
	assert_int_equal(sock_send(pair[0], "head", 4, "body", 4, NULL), 0);
	assert_int_equal(sock_wait(pair[1], POLLIN, 0), 0);
	assert_int_equal(sock_recv(pair[1], head, 4, body, 8, &fds), 8);
	assert_memory_equal(head, "head", 4);
	assert_memory_equal(body, "body", 4);
	assert_int_equal(fds.count, 0);
	assert_int_equal(sock_send(pair[0], "head", 4, "123456789", 9, NULL), 0);
	assert_int_equal(sock_recv(pair[1], head, 4, body, 8, &fds), -EPROTO);
	(void)close(pair[0]);
	assert_int_equal(sock_recv(pair[1], head, 4, body, 8, &fds), 0);
	assert_int_equal(sock_send(pair[1], "head", 4, NULL, 0, NULL), -EPIPE);
	(void)close(pair[1]);
}

static void descriptors(void **state)
{
	struct sock_fds sent = {.count = 2}, fds;
	int pair[2], lowest;
	char head[4];

	(void)state;
	assert_int_equal(sock_pair(pair), 0);
	sent.fd[0] = sent.fd[1] = pair[0];
	assert_int_equal(sock_send(pair[0], "head", 4, NULL, 0, &sent), 0);
	assert_int_equal(sock_recv(pair[1], head, 4, NULL, 0, &fds), 4);
	assert_int_equal(fds.count, 2);
	for (size_t i = 0; i < fds.count; i++) {
		assert_int_equal(fcntl(fds.fd[i], F_GETFD), FD_CLOEXEC);
		(void)close(fds.fd[i]);
	}
	sent.count = SOCK_FDS_MAX + 1;
	assert_int_equal(sock_send(pair[0], "head", 4, NULL, 0, &sent), -EINVAL);
	/* of a packet that is refused nothing stays open */
	sent.count = 2;
	lowest = fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
	(void)close(lowest);
	assert_int_equal(sock_send(pair[0], "head", 4, "more", 4, &sent), 0);
	assert_int_equal(sock_recv(pair[1], head, 4, NULL, 0, &fds), -EPROTO);
	assert_int_equal(fds.count, 0);
	assert_int_equal(fcntl(pair[0], F_DUPFD_CLOEXEC, 0), lowest);
	(void)close(lowest);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/* Who ends without having read everything is heard to the last word all the same. */
static void last_words(void **state)
{
	struct sock_fds fds;
	int pair[2];
	char head[4];

	(void)state;
	assert_int_equal(sock_pair(pair), 0);
	assert_int_equal(sock_send(pair[0], "lost", 4, NULL, 0, NULL), 0);
	assert_int_equal(sock_send(pair[1], "last", 4, NULL, 0, NULL), 0);
	(void)close(pair[1]);
	assert_int_equal(sock_recv(pair[0], head, 4, NULL, 0, &fds), 4);
	assert_memory_equal(head, "last", 4);
	assert_int_equal(sock_recv(pair[0], head, 4, NULL, 0, &fds), 0);
	(void)close(pair[0]);
}

int test_sock(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(last_words),
	};

	return cmocka_run_group_tests_name("sock", tests, NULL, NULL);
}
