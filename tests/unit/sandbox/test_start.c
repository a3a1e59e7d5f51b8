/* SPDX-License-Identifier: Apache-2.0 */
/* Starting: streams, statuses, arguments, commands that are not there. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "rig.h"

static const enum sandbox_kind kinds[] = {SANDBOX_NATIVE, SANDBOX_LOCAL};

static struct rig r; /* large */

static void run_ok(void)
{
	assert_int_equal(rig_run(&r), 0);
	if (r.failed || r.exec_failed)
		fail_msg("%s", r.error.text);
	if (r.broken_count > 0)
		fail_msg("broken: %s", r.broken);
	assert_true(r.armed && r.running && r.exited && r.dead);
}

static void true_and_false(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		r.argv[0] = "true";
		run_ok();
		assert_int_equal(r.status, 0);
		assert_int_equal(r.survivor_count, 0);
		rig_init(&r, kinds[i]);
		rig_shell(&r, "exit 37");
		run_ok();
		assert_int_equal(WEXITSTATUS(r.status), 37);
		rig_init(&r, kinds[i]);
		rig_shell(&r, "kill -SEGV $$");
		run_ok();
		assert_true(WIFSIGNALED(r.status));
		assert_int_equal(WTERMSIG(r.status), SIGSEGV);
		assert_false(WCOREDUMP(r.status));
	}
}

static void streams(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		r.input = "one\ntwo\n";
		rig_shell(
			&r, "cat; echo three >&2; echo four >/dev/stdout; echo five >/dev/stderr");
		run_ok();
		assert_string_equal(r.output, "one\ntwo\nfour\n");
		assert_string_equal(r.errors, "three\nfive\n");
	}
}

/* More than one piece of the start message, and more than a socket's buffer for an ordinary
 * user. */
static void large_environment(void **state)
{
	enum {
		COUNT = 12,
		SIZE = 100000
	};
	char *envp[COUNT + 2] = {NULL};

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		envp[i] = own_alloc(SIZE);
		(void)memset(envp[i], 'x', SIZE - 1);
		(void)snprintf(envp[i], 5, "V%02d", i);
		envp[i][3] = '=';
	}
	envp[COUNT] = own_strdup("PATH=/usr/bin:/bin");
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		r.spec.envp = envp;
		rig_shell(&r, "printenv | wc -c");
		run_ok();
		assert_true(atoi(r.output) > COUNT * (SIZE - 1));
	}
	for (int i = 0; i <= COUNT; i++)
		free(envp[i]);
}

static void missing_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		r.argv[0] = "hemra-no-such-command";
		assert_int_equal(rig_run(&r), 0);
		assert_true(r.exec_failed && r.dead && !r.armed && !r.running && !r.exited);
		assert_int_equal(r.error.code, ENOENT);
		assert_string_equal(r.error.text,
			"the command 'hemra-no-such-command' is not in the box's PATH (/usr/bin:/bin)");
		rig_init(&r, kinds[i]);
		r.argv[0] = "/etc/passwd";
		assert_int_equal(rig_run(&r), 0);
		assert_int_equal(r.error.code, EACCES);
		assert_string_equal(r.error.text,
			"the command '/etc/passwd' cannot be executed in the box: Permission denied");
	}
}

static void missing_interpreter(void **state)
{
	char *place = place_make();
	struct plan_mount mounts[] = {{place, (char *)(uintptr_t) "/workspace", true}};

	(void)state;
	place_write(place, "script", "#!/nonexistent/interpreter\n");
	assert_int_equal(chmod(place_path(place, "script"), 0755), 0);
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.mounts = mounts;
	r.spec.mount_count = 1;
	r.argv[0] = "/workspace/script";
	assert_int_equal(rig_run(&r), 0);
	assert_true(r.exec_failed);
	assert_non_null(strstr(r.error.text, "needs the interpreter '/nonexistent/interpreter'"));
	place_remove(place);
}

/* The operator's PATH has it, the box has not. */
static void hint_for_mount(void **state)
{
	char *place = place_make();
	autofree char *old = own_strdup(getenv("PATH") != NULL ? getenv("PATH") : "");
	autofree char *wanted =
		own_printf("show its directory to the box with --mount %s:ro", place);

	(void)state;
	place_write(place, "hemra-tool", "#!/bin/sh\n");
	assert_int_equal(chmod(place_path(place, "hemra-tool"), 0755), 0);
	assert_int_equal(setenv("PATH", place, 1), 0);
	rig_init(&r, SANDBOX_NATIVE);
	r.argv[0] = "hemra-tool";
	assert_int_equal(rig_run(&r), 0);
	assert_int_equal(setenv("PATH", old, 1), 0);
	assert_true(r.exec_failed);
	assert_non_null(strstr(r.error.text, wanted));
	place_remove(place);
}

static void bad_cwd(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		r.spec.cwd = "/nonexistent";
		r.argv[0] = "true";
		assert_int_equal(rig_run(&r), 0);
		assert_true(r.failed && !r.armed && r.dead);
		assert_string_equal(r.error.text,
			"enter the working directory '/nonexistent' in the box: No such file or directory");
	}
}

static void bad_mount(void **state)
{
	struct plan_mount mounts[] = {{(char *)(uintptr_t) "/nonexistent/source",
		(char *)(uintptr_t) "/workspace", true}};

	(void)state;
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.mounts = mounts;
	r.spec.mount_count = 1;
	r.argv[0] = "true";
	assert_int_equal(rig_run(&r), -ENOENT);
	assert_string_equal(r.error.text, "mount '/nonexistent/source': No such file or directory");
}

static void usable_and_capabilities(void **state)
{
	struct plan_limits limits = {0};
	struct sandbox_capabilities c;
	struct err err = {0};

	(void)state;
	if (sandbox_provider_find(SANDBOX_NATIVE)->usable(&err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(sandbox_provider_find(SANDBOX_LOCAL)->usable(&err), 0);
	sandbox_provider_find(SANDBOX_NATIVE)->capabilities(&limits, 0, &c);
	assert_int_equal(c.isolation, ISOLATION_NETWORK_BLOCK | ISOLATION_FILE_SYSTEM);
	assert_true(c.limits_pids);
	sandbox_provider_find(SANDBOX_LOCAL)->capabilities(&limits, 0, &c);
	assert_int_equal(c.isolation, 0);
}

static size_t count_fds(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void leaves_nothing(void **state)
{
	size_t before = 0;

	(void)state;
	for (int i = 0; i < 6; i++) {
		rig_init(&r, SANDBOX_NATIVE);
		r.argv[0] = "true";
		run_ok();
		if (i == 0)
			before = count_fds();
	}
	assert_int_equal(count_fds(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int test_start(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(true_and_false),
		cmocka_unit_test(streams),
		cmocka_unit_test(large_environment),
		cmocka_unit_test(missing_command),
		cmocka_unit_test(missing_interpreter),
		cmocka_unit_test(hint_for_mount),
		cmocka_unit_test(bad_cwd),
		cmocka_unit_test(bad_mount),
		cmocka_unit_test(usable_and_capabilities),
		cmocka_unit_test(leaves_nothing),
	};

	return cmocka_run_group_tests_name(
		is_user() ? "start, user" : "start, root", tests, NULL, NULL);
}
