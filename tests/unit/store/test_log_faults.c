/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that fills up: nothing written is lost, and the log goes on where it stopped. */

#include "tests.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "store/log.h"

static const uint8_t manifest[32] = {7};
static int fail_at, writes; /* the n-th write is cut in half, the next ones fail until let */
static bool full;

static ssize_t failing_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	if (full) {
		errno = ENOSPC;
		return -1;
	}
	if (++writes == fail_at) {
		full = true;
		return size > 1 ? pwrite(fd, bytes, size / 2, at) : 0;
	}
	return pwrite(fd, bytes, size, at);
}

static int failing_fdatasync(int fd)
{
	(void)fd;
	errno = EIO;
	return -1;
}

static struct event_log *make(struct store *s, const struct id *attempt)
{
	char data[128], hex[] = "0700000000000000000000000000000000000000000000000000000000000000";
	struct event_log *l;
	int n = snprintf(data, sizeof(data), "{\"manifest\":\"%s\"}", hex);

	assert_int_equal(event_log_create(s, attempt, manifest, &l, NULL), 0);
	assert_int_equal(event_log_append(l, EVENT_ATTEMPT_PLANNED, data, (size_t)n, NULL), 0);
	return l;
}

static void test_full_and_free_again(void **state)
{
	(void)state;
	for (fail_at = 1; fail_at <= 6; fail_at++) {
		struct id attempt = new_id();
		struct event_log *l = make(rig_store, &attempt), *again;
		struct event_head head, adopted;
		struct err err = {0};
		int failed = 0;

		writes = 0;
		full = false;
		log_io.pwrite = failing_pwrite;
		for (int i = 0; i < 40; i++) {
			assert_int_equal(event_log_append(l, EVENT_HARNESS_STDERR,
						 "{\"text\":\"abcdef\"}", 17, NULL),
				0);
			if (i % 5 == 4 && event_log_flush(l, &err) < 0) {
				assert_int_equal(err.code, ENOSPC);
				failed++;
				if (failed == 2)
					full = false; /* somebody made room */
			}
		}
		assert_int_equal(event_log_flush(l, NULL), 0);
		log_io.pwrite = pwrite;
		assert_int_equal(failed, 2);
		event_log_head(l, &head);
		assert_int_equal(head.count, 41);
		event_log_close(l);
		assert_int_equal(event_log_claim(rig_store, &attempt, &again, &err), 0);
		event_log_head(again, &adopted);
		assert_memory_equal(&head, &adopted, sizeof(head));
		event_log_close(again);
	}
}

static void test_full_for_ever(void **state)
{
	struct id attempt = new_id();
	struct event_log *l = make(rig_store, &attempt), *again;
	struct event_head head, adopted;

	(void)state;
	assert_int_equal(event_log_flush(l, NULL), 0);
	event_log_head(l, &head);
	fail_at = 1;
	writes = 0;
	full = false;
	log_io.pwrite = failing_pwrite;
	assert_int_equal(
		event_log_append(l, EVENT_HARNESS_STDERR, "{\"text\":\"abcd\"}", 15, NULL), 0);
	assert_int_equal(event_log_flush(l, NULL), -ENOSPC);
	event_log_close(l);
	log_io.pwrite = pwrite;
	assert_int_equal(event_log_claim(rig_store, &attempt, &again, NULL), 0);
	assert_true(event_log_torn(again) > 0);
	event_log_head(again, &adopted);
	assert_int_equal(adopted.count, head.count + 1); /* the loss is stated */
	event_log_close(again);
}

static void test_sync_fails(void **state)
{
	struct id attempt = new_id();
	struct event_log *l = make(rig_store, &attempt);
	struct err err = {0};

	(void)state;
	log_io.fdatasync = failing_fdatasync;
	assert_int_equal(event_log_sync(l, &err), -EIO);
	log_io.fdatasync = fdatasync;
	assert_non_null(strstr(err.text, "sync events of attempt"));
	assert_int_equal(event_log_sync(l, &err), 0);
	event_log_close(l);
}

static void test_pending_is_bounded(void **state)
{
	struct id attempt = new_id();
	struct event_log *l = make(rig_store, &attempt);
	char *data = own_alloc(1 << 20);
	int r = 0, n = 0;

	(void)state;
	(void)memset(data, ' ', 1 << 20);
	data[0] = '{';
	data[(1 << 20) - 1] = '}';
	while (r == 0 && n < 100) {
		r = event_log_append(l, EVENT_HARNESS_STDERR, data, 1 << 20, NULL);
		n++;
	}
	assert_int_equal(r, -ENOBUFS);
	assert_true(n > 16 && n < 20);
	assert_int_equal(event_log_flush(l, NULL), 0);
	assert_int_equal(event_log_append(l, EVENT_HARNESS_STDERR, data, 1 << 20, NULL), 0);
	free(data);
	event_log_close(l);
}

/* On a real small file system, in a mount namespace of the child's. */
static int fill_small_disk(void)
{
	autofree char *mount_point = own_printf("%s/small", place()), *filler = NULL;
	struct id attempt = new_id();
	struct event_head head, adopted;
	struct event_log *l;
	struct store *s;
	int r = 0;
	FILE *f;

	if (mkdir(mount_point, 0700) < 0 || unshare(CLONE_NEWNS) < 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", mount_point, "tmpfs", 0, "size=256k") < 0)
		return 77;
	if (store_open(mount_point, STORE_CREATE, &s, NULL) < 0)
		return 2;
	filler = own_printf("%s/filler", mount_point);
	f = fopen(filler, "we");
	if (f == NULL || fwrite(own_alloc(65536), 1, 65536, f) != 65536 || fclose(f) != 0)
		return 3;
	l = make(s, &attempt);
	for (int i = 0; i < 100000 && r == 0; i++) {
		if (event_log_append(
			    l, EVENT_HARNESS_STDERR, "{\"text\":\"abcdefghijkl\"}", 23, NULL) < 0)
			return 4;
		if (i % 100 == 0)
			r = event_log_flush(l, NULL);
	}
	if (r != -ENOSPC || event_log_pending(l) == 0)
		return 5;
	/* a seal cannot be written either, and leaves no half line */
	event_log_head(l, &head);
	if (remove(filler) != 0 || event_log_sync(l, NULL) < 0)
		return 6;
	event_log_close(l);
	if (event_log_claim(s, &attempt, &l, NULL) < 0)
		return 7;
	event_log_head(l, &adopted);
	event_log_close(l);
	store_close(s);
	return memcmp(&head, &adopted, sizeof(head)) == 0 && head.count > 500 ? 0 : 8;
}

static void test_small_disk(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip(); /* needs a mount; the cases above have the same fault as any user */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fill_small_disk());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* no mount namespace here */
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int test_log_faults(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_full_and_free_again),
		CASE(test_full_for_ever),
		CASE(test_sync_fails),
		CASE(test_pending_is_bounded),
		CASE(test_small_disk),
	};

	return cmocka_run_group_tests_name("log faults", tests, NULL, NULL);
}
