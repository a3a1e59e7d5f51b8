/* SPDX-License-Identifier: Apache-2.0 */
/* Plans from settings: defaults, and what must hold between keys. */

#include "tests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "ground/base/own.h"

static void the_defaults(void **state)
{
	struct settings s;
	struct plan plan;
	struct err err = {0};

	(void)state;
	settings_init(&s);
	if (plan_build(&s, "nop", place(), &plan, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(plan.harness.kind, HARNESS_NOP);
	assert_int_equal(plan.sandbox.kind, SANDBOX_NATIVE);
	assert_int_equal(plan.sandbox.workspace, WORKSPACE_COPY);
	assert_string_equal(plan.sandbox.workspace_target, "/workspace");
	assert_null(plan.sandbox.workspace_source);
	assert_false(plan.sandbox.git_config_writable);
	assert_int_equal(plan.sandbox.limits.memory_bytes, 0);
	assert_int_equal(plan.limits.deadline_ms, 15 * 60 * 1000);
	assert_int_equal(plan.limits.handshake_ms, 30 * 1000);
	assert_int_equal(plan.limits.cancel_grace_ms, 10 * 1000);
	assert_int_equal(plan.limits.term_grace_ms, 5 * 1000);
	assert_int_equal(plan.limits.line_bytes, 1 << 20);
	assert_int_equal(plan.limits.events_bytes, 64 << 20);
	assert_int_equal(plan.limits.stderr_bytes, 64 << 10);
	assert_int_equal(plan.limits.artifact_files, 1000);
	assert_int_equal(plan.limits.artifact_bytes, 64 << 20);
	assert_int_equal(plan.limits.artifacts_bytes, 256 << 20);
	assert_int_equal(plan.verifier.repeat, 1);
	assert_int_equal(plan.keep, KEEP_FAILED);
	assert_true(plan.redact);
	assert_true(plan.record);
	assert_false(plan.record_output);
	plan_done(&plan);
}

static void exec_has_its_own_defaults(void **state)
{
	struct settings s;
	struct plan plan;
	struct err err = {0};
	char before[65];

	(void)state;
	settings_init(&s);
	assert_int_equal(plan_build(&s, /* harness= */ NULL, place(), &plan, &err), 0);
	assert_int_equal(plan.harness.kind, HARNESS_EXEC);
	assert_string_equal(plan.harness.name, "exec");
	assert_int_equal(plan.limits.deadline_ms, 0);
	assert_int_equal(plan.sandbox.workspace, WORKSPACE_BIND);
	strv_add(&plan.harness.command, "true");
	assert_int_equal(harness_digest(&plan), 0);
	(void)memcpy(before, plan.harness.digest, sizeof(before));
	strv_add(&plan.harness.command, "-x");
	assert_int_equal(harness_digest(&plan), 0);
	assert_string_not_equal(before, plan.harness.digest);
	plan_done(&plan);
}

static void everything_that_was_said(void **state)
{
	autofree char *run = in_place("run.toml"), *harness = in_place("harnesses/h.toml");
	struct settings s;
	struct plan plan;
	struct err err = {0};

	(void)state;
	put_program("bin/agent");
	put("harnesses/h.toml", "kind = \"program\"\ncommand = [\"../bin/agent\"]\nenv = [\"K\"]\n"
				"[secrets]\nK = \"env:FROM_HARNESS\"\n");
	put("run.toml",
		"deadline = \"2h\"\nkeep = \"none\"\nredact = false\nenv = [\"EXTRA\"]\n"
		"[secrets]\nK = \"env:FROM_RUN\"\n[verifier]\nenv = [\"VERIFY\"]\nrepeat = 3\n"
		"[sandbox]\nmounts = [\"bin:/opt/bin\"]\nmemory = \"1G\"\ngit_config = \"rw\"\n"
		"weaker = [\"landlock\"]\n[require]\nisolation = [\"file_system\"]\n"
		"[limits]\nhandshake = \"3s\"\nevents = \"2M\"\n");
	assert_int_equal(setenv("EXTRA", "1", 1), 0);
	assert_int_equal(setenv("VERIFY", "1", 1), 0);
	assert_int_equal(settings_read_file("run.toml", &s, &err), 0);
	if (plan_build(&s, "h", place(), &plan, &err) < 0)
		fail_msg("%s", err.text);
	settings_done(&s);
	assert_string_equal(
		plan.harness.command[0], "/opt/bin/agent"); /* through the run's mount */
	assert_int_equal(strv_count(plan.harness.env), 2);
	assert_int_equal(plan.secret_count, 1);
	assert_string_equal(plan.secrets[0].reference, "env:FROM_RUN");
	assert_int_equal(plan.limits.deadline_ms, 2 * 3600 * 1000);
	assert_int_equal(plan.limits.handshake_ms, 3000);
	assert_int_equal(plan.limits.events_bytes, 2 << 20);
	assert_int_equal(plan.limits.term_grace_ms, 5000);
	assert_int_equal(plan.keep, KEEP_NONE);
	assert_false(plan.redact);
	assert_string_equal(plan.verifier.env_names[0], "VERIFY");
	assert_int_equal(plan.verifier.repeat, 3);
	assert_int_equal(plan.sandbox.limits.memory_bytes, 1 << 30);
	assert_true(plan.sandbox.git_config_writable);
	assert_int_equal(plan.sandbox.weaker, WEAKER_LANDLOCK);
	assert_int_equal(plan.sandbox.require, ISOLATION_FILE_SYSTEM);
	assert_int_equal(strv_count(plan.readonly), 2);
	assert_string_equal(plan.readonly[0], run);
	assert_string_equal(plan.readonly[1], harness);
	plan_done(&plan);
}

static void refuse(const struct settings *s, const char *harness, int code, const char *sentence)
{
	autofree char *expected = with_place(sentence);
	struct plan plan = {.index = 77};
	struct err err = {0};

	assert_int_equal(plan_build(s, harness, place(), &plan, &err), -code);
	assert_string_equal(err.text, expected);
	assert_int_equal(plan.index, 77); /* untouched */
}

static void what_does_not_go_together(void **state)
{
	struct settings s;

	(void)state;
	put("h.toml", "kind = \"program\"\ncommand = [\"a\"]\nmounts = [\"/usr:/m\"]\n");
	settings_init(&s);
	plan_mounts_add(&s.mounts, &s.mount_count, "/etc", "/m", /* writable= */ false);
	refuse(&s, "h.toml", EINVAL, "mounts: run and harness both mount something on '/m'");
	settings_done(&s);
	plan_mounts_add(&s.mounts, &s.mount_count, "/etc", "/workspace", /* writable= */ false);
	refuse(&s, "nop", EINVAL, "mounts: '/workspace' is where the workspace is");
	settings_done(&s);
	s.kind = SANDBOX_LOCAL;
	refuse(&s, "h.toml", EINVAL,
		"mounts: sandbox local has no mounts, so '/usr' cannot be seen as '/m'");
	settings_done(&s);
	strv_add(&s.env, "LD_AUDIT");
	refuse(&s, "nop", EINVAL,
		"env: LD_AUDIT changes the loader of every program in the box; set it inside the command");
	settings_done(&s);
	strv_add(&s.env, "SURELY_NOT_SET");
	refuse(&s, "nop", ENOENT,
		"env: SURELY_NOT_SET is not set in hemra's environment and not named in [secrets]");
	settings_done(&s);
	strv_add(&s.verifier_env_names, "SURELY_NOT_SET");
	refuse(&s, "nop", ENOENT, "verifier.env: SURELY_NOT_SET is not set in hemra's environment");
	settings_done(&s);
}

static void workspaces_that_are_too_much(void **state)
{
	static const char *const refused[] = {"/", "/root", "home", ".", "home/../home"};
	struct settings s;
	struct plan plan;
	struct err err = {0};
	autofree char *good = in_place("home/project");

	(void)state;
	settings_init(&s);
	for (size_t i = 0; i < array_count(refused); i++) {
		s.workspace_source =
			refused[i][0] == '/' ? own_strdup(refused[i]) : in_place(refused[i]);
		if (access(s.workspace_source, X_OK) == 0) {
			assert_int_equal(plan_build(&s, "nop", place(), &plan, &err), -EINVAL);
			assert_non_null(
				strstr(err.text, "': the root, a home and what holds homes are "
						 "refused; name a directory in it"));
		}
		settings_done(&s);
	}
	s.workspace_source = in_place("nowhere");
	refuse(&s, "nop", ENOENT, "workspace '@/nowhere': No such file or directory");
	settings_done(&s);
	assert_int_equal(mkdir(good, 0700), 0);
	s.workspace_source = in_place("home/../home/project");
	assert_int_equal(plan_build(&s, "nop", place(), &plan, &err), 0);
	assert_string_equal(plan.sandbox.workspace_source, good);
	plan_done(&plan);
	settings_done(&s);
}

static void a_path_that_is_not_text(void **state)
{
	struct settings s;

	(void)state;
	settings_init(&s);
	s.workspace_source = in_place("w\xff");
	assert_int_equal(mkdir(s.workspace_source, 0700), 0);
	refuse(&s, "nop", EILSEQ,
		"a path or name of this plan is not UTF-8 and could not be recorded");
	settings_done(&s);
}

int test_build(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_defaults, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			exec_has_its_own_defaults, place_make, place_remove),
		cmocka_unit_test_setup_teardown(everything_that_was_said, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			what_does_not_go_together, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			workspaces_that_are_too_much, place_make, place_remove),
		cmocka_unit_test_setup_teardown(a_path_that_is_not_text, place_make, place_remove),
	};

	return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
