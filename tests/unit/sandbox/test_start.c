/* SPDX-License-Identifier: Apache-2.0 */
/* Starting: streams, statuses, arguments, commands that are not there. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "ground/kernel/idmap.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/process.h"
#include "ground/kernel/seccomp.h"
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

/* Says why no box can be made, in a child whose machine is worse; prints the sentence to a pipe. */
static char *why_not(int (*worsen)(void))
{
	static struct err err;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (worsen() < 0)
			_exit(1);
		(void)memset(&err, 0, sizeof(err));
		if (sandbox_provider_find(SANDBOX_NATIVE)->usable(&err) == 0)
			_exit(2);
		_exit(write(ends[1], &err, sizeof(err)) == sizeof(err) ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], &err, sizeof(err)), sizeof(err));
	(void)close(ends[0]);
	(void)close(ends[1]);
	return err.text;
}

static int enter_namespace(void)
{
	struct idmap uids = {0, geteuid(), 1}, gids = {0, getegid(), 1};

	return prctl(PR_SET_DUMPABLE, 1) < 0 || ns_leave(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
			       idmap_write(0, &uids, &gids, /* deny_setgroups= */ true) < 0
		       ? -1
		       : 0;
}

static int turn_namespaces_off(void)
{
	return enter_namespace() < 0
		       ? -1
		       : file_write_text(AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0");
}

static int refuse(const struct seccomp_rule *rule)
{
	static struct seccomp_program p;

	return seccomp_build(&p, rule, 1, 0) < 0 || process_no_new_privs() < 0
		       ? -1
		       : seccomp_install(&p);
}

static int refuse_namespaces(void)
{
	static const struct seccomp_rule rule = SECCOMP_DENY(clone3, EPERM);

	return refuse(&rule);
}

static int refuse_mounts(void)
{
	static const struct seccomp_rule rule = SECCOMP_DENY(fsopen, ENOSYS);

	return refuse(&rule);
}

/* A part of /proc hidden, as container engines do it. */
static int hide_proc(void)
{
	return enter_namespace() < 0 ||
			       mount("/dev/null", "/proc/kallsyms", NULL, MS_BIND, NULL) < 0
		       ? -1
		       : 0;
}

static void says_why_not(void **state)
{
	static const struct {
		int (*worsen)(void);
		const char *cause, *remedy;
	} cases[] = {
		{turn_namespaces_off, "user namespaces are turned off",
			"sysctl -w user.max_user_namespaces"},
		{refuse_namespaces,
			"make the namespaces of the box: Operation not permitted: a system call "
			"filter of the container",
			"--security-opt seccomp=unconfined"},
		{refuse_mounts, "a system call filter of the container",
			"--security-opt seccomp=unconfined"},
		{hide_proc, "a part of /proc is hidden", "--security-opt systempaths=unconfined"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(cases); i++) {
		const char *text = why_not(cases[i].worsen);

		if (strstr(text, cases[i].cause) == NULL || strstr(text, cases[i].remedy) == NULL)
			fail_msg("case %zu: %s", i, text);
	}
}

/* clone3 that is not there (an old kernel, a filter): clone does it. */
static int lose_clone3(void)
{
	static const struct seccomp_rule rule = SECCOMP_DENY(clone3, ENOSYS);
	struct err err;

	if (refuse(&rule) < 0 || sandbox_provider_find(SANDBOX_NATIVE)->usable(&err) < 0)
		return -1;
	return 0;
}

/* And boxes inside a user namespace of one id, as in a rootless container. */
static int nest(void)
{
	struct err err;

	if (enter_namespace() < 0 || sandbox_provider_find(SANDBOX_NATIVE)->usable(&err) < 0)
		return -1;
	return 0;
}

static void does_without(void **state)
{
	int (*const cases[])(void) = {lose_clone3, nest};

	(void)state;
	for (size_t i = 0; i < array_count(cases); i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(cases[i]() == 0 ? 0 : 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static pid_t begun, taken;

static void note_pid(struct rig *rig)
{
	taken = box_pid(rig->box);
}

/* A box begun before its spec was known is a box like any other. */
static void warm_is_taken(void **state)
{
	(void)state;
	sandbox_warm();
	sandbox_warm(); /* no second one */
	begun = child_of(getpid());
	assert_true(begun > 0);
	rig_init(&r, SANDBOX_NATIVE);
	rig_shell(&r, "cat; id -u; echo last >&2");
	r.input = "given\n";
	r.on_running = note_pid;
	run_ok();
	assert_int_equal(taken, begun);
	assert_string_equal(r.output, "given\n1000\n");
	assert_string_equal(r.errors, "last\n");
	assert_int_equal(child_of(getpid()), 0);
	r.on_running = NULL;
	run_ok(); /* the next one is made anew */
}

/* One that the spec does not allow is not taken, and ends; so does one that is dropped. */
static void warm_gives_way(void **state)
{
	(void)state;
	sandbox_warm();
	begun = child_of(getpid());
	rig_init(&r, SANDBOX_NATIVE);
	r.argv[0] = "true";
	r.spec.limits.pids = 50;
	r.on_running = note_pid;
	run_ok();
	assert_true(begun > 0);
	assert_int_not_equal(taken, begun);
	assert_int_equal(child_of(getpid()), 0);

	sandbox_warm();
	assert_true(child_of(getpid()) > 0);
	rig_init(&r, SANDBOX_LOCAL);
	r.argv[0] = "true";
	r.on_running = note_pid;
	run_ok();
	assert_int_equal(child_of(getpid()), 0);

	sandbox_warm();
	assert_true(child_of(getpid()) > 0);
	sandbox_warm_drop();
	assert_int_equal(child_of(getpid()), 0);
	sandbox_warm_drop();
}

/* What cannot be mounted is told as ever. */
static void warm_and_wrong(void **state)
{
	const struct plan_mount mount = {
		(char *)(uintptr_t) "/nonexistent/place", (char *)(uintptr_t) "/workspace", true};

	(void)state;
	sandbox_warm();
	rig_init(&r, SANDBOX_NATIVE);
	r.argv[0] = "true";
	r.spec.mounts = &mount;
	r.spec.mount_count = 1;
	assert_int_equal(rig_run(&r), -ENOENT);
	assert_non_null(strstr(r.error.text, "mount '/nonexistent/place'"));
	assert_int_equal(child_of(getpid()), 0);
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
		if (i % 2 != 0)
			sandbox_warm();
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
		cmocka_unit_test(says_why_not),
		cmocka_unit_test(does_without),
		cmocka_unit_test(warm_is_taken),
		cmocka_unit_test(warm_gives_way),
		cmocka_unit_test(warm_and_wrong),
		cmocka_unit_test(leaves_nothing),
	};

	return cmocka_run_group_tests_name(
		is_user() ? "start, user" : "start, root", tests, NULL, NULL);
}
