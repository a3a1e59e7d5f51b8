/* SPDX-License-Identifier: Apache-2.0 */
/* A process that dies while it appends, and processes that write at once. */

#include "tests.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/rand.h"
#include "ground/base/str.h"

#define ROUNDS 25

static const uint8_t manifest[32] = {5};

/* Appends without an end; says in shared memory how many events were flushed. */
static void append_forever(const struct id *attempt, volatile uint64_t *flushed)
{
	char data[700], hex[65];
	struct event_log *l;
	int n;

	str_hex(manifest, 32, hex);
	n = snprintf(
		data, sizeof(data), "{\"attempt\":\"%s\",\"manifest\":\"%s\"}", attempt->text, hex);
	if (event_log_create(rig_store, attempt, manifest, &l, NULL) < 0 ||
		event_log_append(l, EVENT_ATTEMPT_PLANNED, data, (size_t)n, NULL) < 0)
		_exit(1);
	for (uint64_t i = 1;; i++) {
		if (event_log_flush(l, NULL) < 0)
			_exit(1);
		*flushed = i;
		(void)memset(data, 'a', sizeof(data));
		n = (int)(20 + i % 600);
		(void)memcpy(data, "{\"text\":\"", 9);
		(void)memcpy(data + n - 2, "\"}", 2);
		if (event_log_append(l, EVENT_HARNESS_STDERR, data, (size_t)n, NULL) < 0)
			_exit(1);
	}
}

static void wait_until(volatile uint64_t *flushed, uint64_t least)
{
	for (int i = 0; i < 10000 && *flushed < least; i++) {
		struct timespec pause = {.tv_nsec = 1000000};

		(void)nanosleep(&pause, NULL); /* the loop asks again */
	}
	assert_true(*flushed >= least);
}

static void test_killed(void **state)
{
	volatile uint64_t *flushed =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(flushed != MAP_FAILED);
	for (int round = 0; round < ROUNDS; round++) {
		struct id attempt = new_id();
		struct event_head head;
		struct event_log *l;
		uint8_t random[2];
		int status;
		pid_t pid;

		rand_bytes(random, 2);
		*flushed = 0;
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			append_forever(&attempt, flushed);
		wait_until(flushed, 1 + (random[0] | (uint64_t)(random[1] & 15) << 8));
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(event_log_claim(rig_store, &attempt, &l, NULL), 0);
		event_log_head(l, &head);
		assert_true(head.count >= *flushed);
		assert_int_equal(event_log_append(l, EVENT_ATTEMPT_SETTLED, "{}", 2, NULL), 0);
		assert_int_equal(event_log_sync(l, NULL), 0);
		event_log_head(l, &head);
		assert_int_equal(
			store_seal(rig_store, rig_key, &attempt, &head, /* local= */ false, NULL),
			0);
		event_log_close(l);
	}
	assert_int_equal(munmap((void *)(uintptr_t)flushed, 4096), 0);
}

/* Verify before the orphan is claimed says where the record ends. */
static void test_killed_unclaimed(void **state)
{
	volatile uint64_t *flushed =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct id attempt = new_id();
	autofree char *name = own_printf("events/%s.jsonl", attempt.text), *path = inside(name);
	autodone(buf_done) struct buf text = {.max = 1 << 26};
	int status;
	pid_t pid;

	(void)state;
	assert_true(flushed != MAP_FAILED);
	*flushed = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		append_forever(&attempt, flushed);
	wait_until(flushed, 10);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	must_find("manifest.missing");
	must_remark("attempt.running");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	slurp(path, &text);
	if (text.data[text.len - 1] == '\n')
		assert_int_equal(buf_add_text(&text, "{\"seq"), 0);
	spill(path, text.data, text.len);
	must_find("manifest.missing");
	must_remark("attempt.unfinished");
	must_remark("events.torn");
	assert_int_equal(munmap((void *)(uintptr_t)flushed, 4096), 0);
}

static void run_many(unsigned count)
{
	autofree char *path = inside("");
	struct seal_key *key;
	struct index *x;
	struct id id;

	/* as another process would come to it: nothing is shared across fork but the ids' source */
	if (store_open(path, /* flags= */ 0, &rig_store, NULL) < 0 ||
		seal_key_open(&key, NULL) < 0 ||
		index_open(rig_store, /* write= */ true, &x, NULL) < 0)
		_exit(1);
	rig_key = key;
	for (unsigned i = 0; i < count; i++)
		rig_attempt(x, 3 + i, &id);
	index_close(x);
	_exit(0);
}

/* Two hemra processes on one store: every attempt, seal and row of both is there. */
static void test_two_processes(void **state)
{
	pid_t pids[2];
	int status;

	(void)state;
	for (int i = 0; i < 2; i++) {
		(void)new_id();
		/* ids of two processes differ by their random part: let the millisecond change */
		while (strncmp(new_id().text, new_id().text, 10) == 0)
			;
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			run_many(20);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	must_find("");
	{
		autofree char *path = inside("seals.jsonl");
		autodone(lines_done) struct lines l;

		lines_read(path, &l);
		assert_int_equal(l.count, 43);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int test_crash(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_killed),
		CASE(test_killed_unclaimed),
		cmocka_unit_test_setup_teardown(test_two_processes, rig_make, place_remove),
	};

	return cmocka_run_group_tests_name("crash", tests, NULL, NULL);
}
