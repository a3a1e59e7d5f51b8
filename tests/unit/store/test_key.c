/* SPDX-License-Identifier: Apache-2.0 */
/* The signing key. */

#include "tests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

static void test_files(void **state)
{
	autofree char *directory = own_printf("%s/state/hemra/keys", place());
	autofree char *key = own_printf("%s/seal.key", directory);
	autofree char *public_key = own_printf("%s/seal.pub", directory);
	autodone(buf_done) struct buf text = {.max = 1 << 17};
	struct seal_key *k;
	struct err err = {0};
	struct stat st;

	(void)state;
	assert_string_equal(seal_key_directory(), directory);
	assert_int_equal(stat(directory, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(key, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 65);
	slurp(public_key, &text);
	assert_int_equal(text.len, 65);
	assert_int_equal(chmod(key, 0640), 0);
	assert_int_equal(seal_key_open(&k, &err), -EPERM);
	assert_non_null(strstr(err.text, "must be yours and closed to others"));
	assert_int_equal(chmod(key, 0600), 0);
	spill(key, "nonsense\n", 9);
	assert_int_equal(seal_key_open(&k, &err), -EINVAL);
	assert_non_null(strstr(err.text, "does not hold a key"));
}

static void test_directory_name(void **state)
{
	autofree char *state_home = own_strdup(getenv("XDG_STATE_HOME"));
	autofree char *home = own_strdup(getenv("HOME") != NULL ? getenv("HOME") : "/");

	(void)state;
	assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
	assert_int_equal(setenv("HOME", "/home/somebody", 1), 0);
	assert_string_equal(seal_key_directory(), "/home/somebody/.local/state/hemra/keys");
	assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
	assert_string_equal(seal_key_directory(), "/home/somebody/.local/state/hemra/keys");
	assert_int_equal(unsetenv("HOME"), 0);
	assert_true(str_ends(seal_key_directory(), "/.local/state/hemra/keys"));
	assert_int_equal(seal_key_directory()[0], '/');
	assert_int_equal(setenv("XDG_STATE_HOME", state_home, 1), 0);
	assert_int_equal(setenv("HOME", home, 1), 0);
}

/* Many processes make the first key at once: one key comes of it. */
static void test_made_once(void **state)
{
	autofree char *elsewhere = own_printf("%s/elsewhere", place());
	autofree char *public_key = own_printf("%s/hemra/keys/seal.pub", elsewhere);
	autofree char *mine = own_strdup(getenv("XDG_STATE_HOME"));
	autodone(buf_done) struct buf text = {.max = 1 << 17};
	int go[2], status, seen[2];
	char line[66], first[66] = "";

	(void)state;
	assert_int_equal(setenv("XDG_STATE_HOME", elsewhere, 1), 0);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(seen), 0);
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			struct seal_key *k;
			char byte;

			(void)close(go[1]);
			(void)!read(go[0], &byte, 1); /* all start when the pipe closes */
			if (seal_key_open(&k, NULL) < 0)
				_exit(1);
			slurp(public_key, &text);
			_exit(write(seen[1], text.data, 65) == 65 ? 0 : 1);
		}
	}
	(void)close(go[0]);
	(void)close(go[1]);
	for (int i = 0; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		assert_int_equal(read(seen[0], line, 65), 65);
		line[65] = '\0';
		if (i == 0)
			(void)strcpy(first, line);
		assert_string_equal(line, first);
	}
	(void)close(seen[0]);
	(void)close(seen[1]);
	assert_int_equal(setenv("XDG_STATE_HOME", mine, 1), 0);
}

static void test_forget(void **state)
{
	autofree char *note =
		own_printf("%s/state/hemra/keys/notes/%s", place(), store_id(rig_store));

	(void)state;
	assert_int_equal(access(note, F_OK), 0);
	assert_int_equal(store_forget(rig_store, NULL), 0);
	assert_int_equal(access(note, F_OK), -1);
	assert_int_equal(store_forget(rig_store, NULL), 0);
	must_find("");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int test_key(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_files),
		CASE(test_directory_name),
		CASE(test_made_once),
		cmocka_unit_test_setup_teardown(test_forget, rig_make, place_remove),
	};

	return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
