/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying and deriving in a child that can only read beneath the store. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/landlock.h"
#include "ground/kernel/lockdown.h"

static void skip_without_landlock(void)
{
	if (landlock_abi() < 1)
		skip(); /* without Landlock a reader can read elsewhere, and the control below would fail */
}

/* What show, verify and rebuild do before the first byte that an agent wrote. */
static int lock_down(void)
{
	const int directory = store_fd(rig_store);
	struct err err = {0};
	int r = lockdown_reader(&directory, 1, LOCKDOWN_NO_CAPABILITY, &err);

	if (r < 0)
		print_error("%s\n", err.text);
	return r;
}

static void count_damning(void *context, const struct store_finding *f)
{
	if (f->damning)
		(*(int *)context)++;
}

/* In a child: what verify says, or 99 when the child is not locked. */
static int verify_locked(void)
{
	int status, damning = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (store_witness_load(rig_store, NULL) < 0 || lock_down() < 0)
			_exit(98);
		if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 ||
			openat(store_fd(rig_store), "seals.jsonl", O_RDWR | O_CLOEXEC) >= 0)
			_exit(99);
		if (store_verify(rig_store, /* only= */ NULL, count_damning, &damning, NULL) !=
			damning)
			_exit(97);
		_exit(damning);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_verify(void **state)
{
	autofree char *name = own_printf("events/%s.jsonl", rig_attempts[1].text),
		      *path = inside(name);
	autodone(lines_done) struct lines l;

	(void)state;
	skip_without_landlock();
	assert_int_equal(verify_locked(), 0);
	lines_read(path, &l);
	replace_once(l.line[4], "one", "eno");
	lines_write(path, &l);
	assert_int_equal(verify_locked(), 1);
}

static void test_rebuild(void **state)
{
	int pipes[2], status;
	pid_t pid;

	(void)state;
	skip_without_landlock();
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct index_sink sink;

		(void)close(pipes[0]);
		index_pipe_sink(&pipes[1], &sink);
		if (lock_down() < 0 || store_derive(rig_store, /* only= */ NULL, &sink, NULL) != 0)
			_exit(1);
		_exit(index_pipe_end(pipes[1], NULL) < 0 ? 1 : 0);
	}
	(void)close(pipes[1]);
	assert_int_equal(index_rebuild_from(rig_store, pipes[0], NULL), 0);
	(void)close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	must_find("");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_make, place_remove)

int test_locked(void)
{
	const struct CMUnitTest tests[] = {CASE(test_verify), CASE(test_rebuild)};

	return cmocka_run_group_tests_name("locked", tests, NULL, NULL);
}
