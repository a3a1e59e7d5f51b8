/* SPDX-License-Identifier: Apache-2.0 */
/* The event log: bytes, chain, adopting, claiming. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

static const uint8_t manifest[32] = {1, 2, 3};
static struct id attempt;

static struct event_log *make(void)
{
	struct event_log *l;
	char hex[65], data[160];
	int n;

	attempt = new_id();
	str_hex(manifest, 32, hex);
	n = snprintf(data, sizeof(data), "{\"run\":\"%s\",\"attempt\":\"%s\",\"manifest\":\"%s\"}",
		attempt.text, attempt.text, hex);
	assert_int_equal(event_log_create(rig_store, &attempt, manifest, &l, NULL), 0);
	assert_int_equal(event_log_append(l, EVENT_ATTEMPT_PLANNED, data, (size_t)n, NULL), 0);
	return l;
}

static char *path_of(const struct id *id)
{
	autofree char *name = own_printf("events/%s.jsonl", id->text);

	return inside(name);
}

/* The format of docs/record.md, computed here by other means. */
static void test_bytes(void **state)
{
	struct event_log *l = make();
	autofree char *path = path_of(&attempt);
	autodone(buf_done) struct buf text = {.max = 1 << 20}, line = {.max = 1 << 20};
	uint8_t previous[32], h[32];
	char seed[58], hex[17], *second, ts[28];
	struct event_head head;
	size_t hashed;

	(void)state;
	assert_int_equal(
		event_log_append(l, EVENT_HARNESS_STDERR, "{\"text\":\"x\"}", 12, NULL), 0);
	assert_int_equal(event_log_pending(l) > 0, 1);
	assert_int_equal(event_log_sync(l, NULL), 0);
	assert_int_equal(event_log_pending(l), 0);
	slurp(path, &text);
	second = strchr(text.data, '\n') + 1;
	/* h(1) from h(0) */
	(void)memcpy(seed, attempt.text, 26);
	(void)memcpy(seed + 26, manifest, 32);
	crypto_hash_sha256(previous, (unsigned char *)seed, 58);
	hashed = (size_t)(strstr(text.data, ",\"h\":") - text.data);
	(void)buf_add(&line, previous, 32);
	(void)buf_add(&line, text.data, hashed);
	crypto_hash_sha256(h, (unsigned char *)line.data, line.len);
	str_hex(h, 8, hex);
	assert_memory_equal(text.data + hashed + 6, hex, 16);
	/* line 2, whole */
	wall_format(event_log_at(l), ts);
	buf_reset(&line);
	(void)buf_addf(&line,
		"{\"seq\":2,\"ts\":\"%s\",\"src\":\"stderr\",\"type\":\"harness.stderr\",\"data\":{\"text\":\"x\"}",
		ts);
	assert_memory_equal(second, line.data, line.len);
	(void)buf_reset(&line);
	(void)buf_add(&line, h, 32);
	(void)buf_add(&line, second, (size_t)(strstr(second, ",\"h\":") - second));
	crypto_hash_sha256(h, (unsigned char *)line.data, line.len);
	str_hex(h, 8, hex);
	assert_memory_equal(strstr(second, ",\"h\":") + 6, hex, 16);
	assert_string_equal(strstr(second, ",\"h\":") + 22, "\"}\n");
	event_log_head(l, &head);
	assert_memory_equal(head.hash, h, 32);
	assert_int_equal(head.count, 2);
	assert_int_equal(head.bytes, text.len);
	event_log_close(l);
}

static void test_refuses(void **state)
{
	static const struct {
		const char *data;
		size_t size;
	} bad[] = {{"", 0}, {"{", 1}, {"[]", 2}, {"{}\n", 3}, {"{\n}", 3}, {"{\"a\":\"\x1f\"}", 9},
		{"{\"aaaaaaaaaaaaaaaaaa\":\t1}", 25}, {"{\0}", 3},
		{"{\"12345\"\n:1,\"1234567890\":1}", 27}};
	struct event_log *l = make();
	struct event_head before, after;
	struct err err;
	char *large = own_alloc(EVENT_DATA_MAX + 16);

	(void)state;
	event_log_head(l, &before);
	for (size_t i = 0; i < array_count(bad); i++) {
		err = (struct err){0};
		assert_int_equal(
			event_log_append(l, EVENT_HARNESS_STDERR, bad[i].data, bad[i].size, &err),
			-EINVAL);
		assert_string_equal(
			err.text, "data of event harness.stderr is not one object on one line");
	}
	(void)memset(large, ' ', EVENT_DATA_MAX + 16);
	large[0] = '{';
	large[EVENT_DATA_MAX] = '}';
	assert_int_equal(event_log_append(l, EVENT_HARNESS_STDERR, large, EVENT_DATA_MAX + 1, &err),
		-EMSGSIZE);
	event_log_head(l, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	large[EVENT_DATA_MAX] = ' ';
	large[EVENT_DATA_MAX - 1] = '}';
	assert_int_equal(event_log_append(l, EVENT_HARNESS_STDERR, large, EVENT_DATA_MAX, &err), 0);
	/* bytes from 0x20 on are fine, 0x7f and above too */
	assert_int_equal(event_log_append(l, EVENT_HARNESS_STDERR,
				 "{\"\x7f\xff\x80 \xc3\xa9~zzzzzzz\":1}", 20, &err),
		0);
	assert_int_equal(event_log_flush(l, &err), 0);
	free(large);
	event_log_close(l);
}

static void test_adopt(void **state)
{
	struct event_log *l = make(), *again;
	struct event_head head, adopted;
	struct err err = {0};
	uint8_t wrong[32] = {9};
	int fd;

	(void)state;
	for (int i = 0; i < 2000; i++)
		assert_int_equal(
			event_log_append(l, EVENT_HARNESS_STDERR, "{\"text\":\"x\"}", 12, NULL), 0);
	assert_int_equal(event_log_flush(l, NULL), 0);
	event_log_head(l, &head);
	fd = fcntl(event_log_fd(l), F_DUPFD_CLOEXEC, 0);
	event_log_close(l);
	assert_int_equal(event_log_adopt(fd, &attempt, wrong, &again, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "line 1 of attempt"));
	assert_int_equal(event_log_adopt(fd, &attempt, manifest, &again, &err), 0);
	event_log_head(again, &adopted);
	assert_memory_equal(&head, &adopted, sizeof(head));
	assert_int_equal(event_log_torn(again), 0);
	/* the lock went along with the descriptor */
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, &err), -EWOULDBLOCK);
	assert_non_null(strstr(err.text, "still runs"));
	assert_int_equal(
		event_log_append(again, EVENT_HARNESS_STDERR, "{\"text\":\"y\"}", 12, NULL), 0);
	assert_int_equal(event_log_sync(again, NULL), 0);
	event_log_head(again, &head);
	event_log_close(again);
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, &err), 0);
	event_log_head(l, &adopted);
	assert_memory_equal(&head, &adopted, sizeof(head));
	event_log_close(l);
}

static void test_torn(void **state)
{
	struct event_log *l = make();
	autofree char *path = path_of(&attempt), *torn = NULL, *text_of_loss = NULL;
	autodone(buf_done) struct buf text = {.max = 1 << 20}, kept = {.max = 1 << 20};
	size_t whole;

	(void)state;
	assert_int_equal(
		event_log_append(l, EVENT_HARNESS_STDERR, "{\"text\":\"x\"}", 12, NULL), 0);
	event_log_close(l);
	slurp(path, &text);
	whole = text.len;
	assert_int_equal(buf_add_text(&text, "{\"seq\":3,\"ts\""), 0);
	spill(path, text.data, text.len);
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, NULL), 0);
	assert_int_equal(event_log_torn(l), 13);
	event_log_close(l);
	torn = own_printf("%s.%zu.torn", path, whole);
	slurp(torn, &kept);
	assert_string_equal(buf_text(&kept), "{\"seq\":3,\"ts\"");
	slurp(path, &text);
	text_of_loss = own_printf(
		"\"type\":\"loss\",\"data\":{\"what\":\"torn line\",\"count\":1,\"bytes\":13,\"offset\":%zu}",
		whole);
	assert_non_null(strstr(text.data + whole, text_of_loss));
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, NULL), 0);
	assert_int_equal(event_log_torn(l), 0);
	event_log_close(l);
	must_find("manifest.missing"); /* there never was one here */
	must_remark("events.torn_kept");
	must_remark("attempt.unfinished");
}

static void test_nothing_whole(void **state)
{
	struct err err = {0};
	struct event_log *l;
	char *path;

	(void)state;
	attempt = new_id();
	assert_int_equal(event_log_create(rig_store, &attempt, manifest, &l, NULL), 0);
	event_log_close(l);
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, &err), -ENODATA);
	path = path_of(&attempt);
	spill(path, "{\"seq\":1", 8);
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, &err), -ENODATA);
	free(path);
	/* an id is planned once */
	assert_int_equal(event_log_create(rig_store, &attempt, manifest, &l, &err), -EEXIST);
	attempt = new_id();
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, &err), -ENOENT);
}

static void test_memory(void **state)
{
	struct event_log *l, *m;
	struct event_head one, two;
	struct id id = new_id();

	(void)state;
	l = event_log_memory(&id, manifest);
	m = event_log_memory(&id, manifest);
	assert_int_equal(event_log_fd(l), -1);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(
			event_log_append(l, EVENT_HARNESS_STDERR, "{\"text\":\"x\"}", 12, NULL), 0);
	assert_int_equal(event_log_sync(l, NULL), 0);
	event_log_head(l, &one);
	event_log_head(m, &two);
	assert_int_equal(one.count, 1000);
	assert_int_equal(two.count, 0);
	assert_int_equal(event_log_pending(l), 0);
	event_log_close(l);
	event_log_close(m);
}

/* A claim succeeds exactly when the process that held the log is gone. */
static void test_claim_after_death(void **state)
{
	int ready[2], status;
	struct event_log *l;
	pid_t pid;
	char byte;

	(void)state;
	attempt = new_id();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct id mine = attempt;
		struct event_log *held = make();

		(void)mine;
		if (event_log_sync(held, NULL) < 0 || write(ready[1], attempt.text, 26) != 26)
			_exit(1);
		(void)pause();
		_exit(1);
	}
	for (int i = 0; i < 26; i++) {
		assert_int_equal(read(ready[0], &byte, 1), 1);
		attempt.text[i] = byte;
	}
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, NULL), -EWOULDBLOCK);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(event_log_claim(rig_store, &attempt, &l, NULL), 0);
	event_log_close(l);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

/* Printed, not asserted. */
static void test_rate(void **state)
{
	static const char *const places[] = {"/dev/shm", "/tmp"};
	char data[201];

	(void)state;
	(void)memset(data, 'x', sizeof(data));
	(void)memcpy(data, "{\"text\":\"", 9);
	for (size_t p = 0; p < array_count(places); p++) {
		for (size_t size = 104; size <= 200; size += 96) {
			autofree char *template =
				own_printf("%s/unit-store-rate-XXXXXX", places[p]);
			autofree char *path = NULL, *command = NULL;
			struct timespec from, to;
			const int count = 100000;
			struct event_log *l;
			struct event_head head;
			struct store *s;
			double seconds;

			if (mkdtemp(template) == NULL)
				continue;
			path = own_printf("%s/store", template);
			(void)memcpy(data + size - 2, "\"}", 2);
			assert_int_equal(store_open(path, STORE_CREATE, &s, NULL), 0);
			attempt = new_id();
			assert_int_equal(event_log_create(s, &attempt, manifest, &l, NULL), 0);
			(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
			for (int i = 0; i < count; i++) {
				assert_int_equal(event_log_append(l, EVENT_HARNESS_MESSAGE, data,
							 size, NULL),
					0);
				if (i % 64 == 63)
					assert_int_equal(event_log_flush(l, NULL), 0);
			}
			assert_int_equal(event_log_flush(l, NULL), 0);
			(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
			event_log_head(l, &head);
			seconds = (double)(to.tv_sec - from.tv_sec) +
				  (double)(to.tv_nsec - from.tv_nsec) / 1e9;
			print_message(
				"# %s: %.0f events/s of cpu time, data of %zu bytes, lines of %llu\n",
				places[p], count / seconds, size,
				(unsigned long long)(head.bytes / count));
			event_log_close(l);
			store_close(s);
			(void)memset(data + size - 2, 'x', 2);
			command = own_printf("rm -rf %s", template);
			assert_int_equal(system(command), 0);
		}
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int test_log(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_bytes),
		CASE(test_refuses),
		CASE(test_adopt),
		CASE(test_torn),
		CASE(test_nothing_whole),
		CASE(test_memory),
		CASE(test_claim_after_death),
		CASE(test_rate),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
