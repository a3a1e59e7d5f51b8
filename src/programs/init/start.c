/* SPDX-License-Identifier: Apache-2.0 */
/* Receiving the start message: pieces on the control socket, put together in one mapping. */

#include "programs/init/start.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "ground/base/own.h"

static ssize_t receive_chunk(int control, char *out, size_t room)
{
	/* other children of the steward may hold copies of its end: only its pidfd is sure */
	struct pollfd polls[] = {
		{.fd = control, .events = POLLIN}, {.fd = INIT_FD_STEWARD, .events = POLLIN}};
	struct init_packet head;
	struct iovec parts[2] = {{&head, sizeof(head)}, {out, room}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n;

	for (;;) {
		n = recvmsg(control, &m, 0);
		if (n >= 0)
			break;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		if (poll(polls, array_count(polls), -1) > 0 && polls[1].revents != 0)
			return -EPIPE;
	}
	if (n == 0)
		return -EPIPE;
	if ((size_t)n <= sizeof(head) || head.type != INIT_CHUNK || (m.msg_flags & MSG_TRUNC) != 0)
		return -EPROTO;
	return n - (ssize_t)sizeof(head);
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t count_strings(const struct init_start *head)
{
	size_t n = 0;

	for (int i = 0; i < INIT_LIST_COUNT; i++)
		n += head->counts[i];
	return n;
}

/* Points the lists at their strings. pointers has room for every string and every end. */
static int index_lists(struct start *s, char *text, char *end, char **pointers)
{
	for (int i = 0; i < INIT_LIST_COUNT; i++) {
		s->lists[i] = pointers;
		for (uint32_t k = 0; k < s->head.counts[i]; k++) {
			char *stop = memchr(text, '\0', (size_t)(end - text));

			if (stop == NULL)
				return -EPROTO;
			*pointers++ = text;
			text = stop + 1;
		}
		*pointers++ = NULL;
	}
	return text == end && s->head.counts[INIT_CWD] == 1 ? 0 : -EPROTO;
}

int start_receive(int control, struct start *ret)
{
	static char first[INIT_CHUNK_BYTES];
	struct start s = {0};
	ssize_t n = receive_chunk(control, first, sizeof(first));
	size_t got, strings, pointer_bytes;
	char *message;

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(s.head))
		return -EPROTO;
	(void)memcpy(&s.head, first, sizeof(s.head));
	strings = count_strings(&s.head);
	if (s.head.bytes > INIT_START_MAX || strings > s.head.bytes || (size_t)n > s.head.bytes)
		return -EPROTO;
	pointer_bytes = (strings + INIT_LIST_COUNT) * sizeof(char *);
	s.memory_bytes = pointer_bytes + s.head.bytes;
	s.memory = map(s.memory_bytes);
	if (s.memory == NULL)
		return -ENOMEM;
	message = (char *)s.memory + pointer_bytes;
	(void)memcpy(message, first, (size_t)n);
	explicit_bzero(first, (size_t)n);
	for (got = (size_t)n; got < s.head.bytes; got += (size_t)n) {
		n = receive_chunk(control, message + got, s.head.bytes - got);
		if (n < 0)
			return (int)n;
	}
	if (sizeof(s.head) + (size_t)s.head.filter_count * 8 > s.head.bytes)
		return -EPROTO;
	s.filter = (const void *)(message + sizeof(s.head));
	n = index_lists(&s, message + sizeof(s.head) + (size_t)s.head.filter_count * 8,
		message + s.head.bytes, s.memory);
	if (n < 0)
		return (int)n;
	*ret = s;
	return 0;
}

void start_wipe(struct start *s)
{
	if (s->memory == NULL)
		return;
	explicit_bzero(s->memory, s->memory_bytes);
	(void)munmap(s->memory, s->memory_bytes);
	s->memory = NULL;
}
