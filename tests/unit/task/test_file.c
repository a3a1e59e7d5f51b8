/* SPDX-License-Identifier: Apache-2.0 */
/* task.toml: what is taken, passed over, refused. */

#include "tests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"

static void the_defaults(void **state)
{
	autofree char *directory = own_printf("%s/t", place());
	autofree char *tests = own_printf("%s/t/tests", place());
	autofree char *solution = own_printf("%s/t/solution", place());
	autofree char *environment = own_printf("%s/t/environment", place());
	struct task t;

	(void)state;
	must_load(&t);
	assert_string_equal(t.directory, directory);
	assert_string_equal(t.name, "t");
	assert_string_equal(t.instruction, "Fix the parser.\n");
	assert_string_equal(t.workdir, "/workspace");
	assert_string_equal(t.environment, environment);
	assert_string_equal(t.tests, tests);
	assert_string_equal(t.solution, solution);
	assert_int_equal(t.agent_timeout_ms, 0);
	assert_int_equal(t.verifier_timeout_ms, 600000);
	assert_int_equal(t.limits.memory_bytes, 0);
	assert_true(t.wants_network);
	assert_int_equal(t.warning_count, 0);
	assert_int_equal(strv_count(t.differences), 1);
	assert_string_equal(t.differences[0], "environment.network_mode = public");
	task_done(&t);
}

static void a_full_file(void **state)
{
	struct task t;

	(void)state;
	put("task.toml",
		"schema_version = \"1.4\"\nsource = \"x\"\nmulti_step_reward_strategy = \"final\"\n"
		"artifacts = []\n"
		"[task]\nname = \"org/fix-parser\"\nversion = \"7\"\ndescription = \"d\"\n"
		"authors = [{ name = \"A\" }]\nkeywords = [\"c\"]\n"
		"[metadata]\nanything = { goes = 1 }\n"
		"[agent]\ntimeout_sec = 90.5\nnetwork_mode = \"no-network\"\n"
		"[verifier]\ntimeout_sec = 30\nenvironment_mode = \"shared\"\nenv = { A = \"1\" }\ncollect = []\n"
		"[environment]\nbuild_timeout_sec = 600.0\nos = \"linux\"\ncpus = 2\nmemory_mb = 2048\n"
		"storage_mb = 10240\ngpus = 0\ngpu_types = []\nworkdir = \"/app/\"\nmcp_servers = []\n"
		"network_mode = \"no-network\"\nenv = { B = \"2\", C = \"\" }\n"
		"[solution]\nenv = { D = \"3\" }\n");
	must_load(&t);
	assert_string_equal(t.name, "org/fix-parser");
	assert_int_equal(t.agent_timeout_ms, 90500);
	assert_int_equal(t.verifier_timeout_ms, 30000);
	assert_int_equal(t.limits.cpu_millis, 2000);
	assert_int_equal(t.limits.memory_bytes, 2LL << 30);
	assert_int_equal(t.limits.disk_bytes, 10LL << 30);
	assert_string_equal(t.workdir, "/app");
	assert_false(t.wants_network);
	assert_null(t.differences);
	assert_int_equal(t.warning_count, 0);
	assert_int_equal(t.verifier_env_count, 1);
	assert_int_equal(t.env_count, 2);
	assert_string_equal(t.env[1].name, "C");
	assert_string_equal(t.env[1].value, "");
	assert_int_equal(t.solution_env_count, 1);
	assert_string_equal(t.solution_env[0].value, "3");
	task_done(&t);
}

static void older_keys(void **state)
{
	struct task t;

	(void)state;
	put("task.toml", "version = \"1.0\"\n[environment]\nmemory = \"2G\"\nstorage = \"10G\"\n"
			 "allow_internet = false\n");
	must_load(&t);
	assert_int_equal(t.limits.memory_bytes, 2LL << 30);
	assert_int_equal(t.limits.disk_bytes, 10LL << 30);
	assert_false(t.wants_network);
	assert_null(t.differences);
	assert_int_equal(t.warning_count, 0);
	task_done(&t);
	put("task.toml", "[environment]\nmemory_mb = 1\nmemory = \"2G\"\nallow_internet = true\n");
	must_load(&t);
	assert_int_equal(t.limits.memory_bytes, 1 << 20);
	assert_true(t.wants_network);
	assert_string_equal(t.differences[0], "environment.allow_internet = true");
	task_done(&t);
}

static void what_the_operator_overrides(void **state)
{
	struct task t;

	(void)state;
	put("task.toml",
		"[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"a.org\", \"*.b.org\"]\n"
		"[agent]\nnetwork_mode = \"public\"\nallowed_hosts = []\n"
		"[verifier]\nallowed_hosts = [\"c.org\"]\n");
	must_load(&t);
	assert_true(t.wants_network);
	assert_int_equal(strv_count(t.differences), 4);
	assert_string_equal(t.differences[0], "environment.network_mode = allowlist");
	assert_string_equal(t.differences[1], "environment.allowed_hosts = a.org, *.b.org");
	assert_string_equal(t.differences[2], "agent.network_mode = public");
	assert_string_equal(t.differences[3], "verifier.allowed_hosts = c.org");
	task_done(&t);
}

static void unknown_keys_become_notices(void **state)
{
	static const char *const notices[] = {
		"t/task.toml:1: artifact: unknown key, passed over (did you mean 'artifacts'?)",
		"t/task.toml:2: artifacts: not collected: artifacts are the files that a harness declares",
		"t/task.toml:4: agent.timeout_secs: unknown key, passed over (did you mean 'timeout_sec'?)",
		"t/task.toml:6: environment.quite_other: unknown key, passed over",
	};
	struct task t;

	(void)state;
	put("task.toml", "artifact = 1\nartifacts = [\"/x\"]\n[agent]\ntimeout_secs = 1\n"
			 "[environment]\nquite_other = {}\nnetwork_mode = \"no-network\"\n");
	must_load(&t);
	assert_int_equal(t.warning_count, array_count(notices));
	for (size_t i = 0; i < array_count(notices); i++)
		assert_string_equal(t.warnings[i].text, notices[i]);
	task_done(&t);
}

static void notices_have_a_bound(void **state)
{
	char text[32 * 1000] = "";
	struct task t;

	(void)state;
	for (int i = 0; i < 1000; i++)
		(void)snprintf(
			text + strlen(text), sizeof(text) - strlen(text), "unknown_%d = 1\n", i);
	put("task.toml", text);
	must_load(&t);
	assert_int_equal(t.warning_count, 200);
	task_done(&t);
}

#define USERS  "users of a task are not built yet: a box has one user"
#define IMAGES "images are not built yet: tasks run on the host root"

static void refused_by_name(void **state)
{
	static const struct {
		const char *text, *sentence;
		int code;
	} rows[] = {
		{"[environment]\ndocker_image = \"debian\"\n",
			"2: environment.docker_image: " IMAGES, ENOTSUP},
		{"[environment]\ngpus = 1\n", "2: environment.gpus: GPUs cannot be given to a box",
			ENOTSUP},
		{"[environment]\ngpu_types = [\"H100\"]\n",
			"2: environment.gpu_types: GPUs cannot be given to a box", ENOTSUP},
		{"[environment.tpu]\ntype = \"v5\"\n",
			"1: environment.tpu: TPUs cannot be given to a box", ENOTSUP},
		{"[environment]\nos = \"windows\"\n",
			"2: environment.os: windows tasks cannot be run on Linux", ENOTSUP},
		{"[[steps]]\nname = \"one\"\n",
			"1: steps: tasks of several steps are not built yet", ENOTSUP},
		{"[environment.healthcheck]\ncommand = \"true\"\n",
			"1: environment.healthcheck: health checks are not built yet", ENOTSUP},
		{"[[environment.mcp_servers]]\nname = \"x\"\n",
			"1: environment.mcp_servers: MCP servers are not built yet", ENOTSUP},
		{"[environment]\nskills_dir = \"/s\"\n",
			"2: environment.skills_dir: skills are not built yet", ENOTSUP},
		{"[verifier]\nenvironment_mode = \"separate\"\n",
			"2: verifier.environment_mode: a separate verifier environment is not built yet",
			ENOTSUP},
		{"[verifier.environment]\ncpus = 1\n",
			"1: verifier.environment: a separate verifier environment is not built yet",
			ENOTSUP},
		{"[[verifier.collect]]\ncommand = \"true\"\n",
			"1: verifier.collect: collect hooks are not built yet", ENOTSUP},
		{"[agent]\nuser = \"root\"\n", "2: agent.user: " USERS, ENOTSUP},
		{"[verifier]\nuser = 0\n", "2: verifier.user: " USERS, ENOTSUP},
		{"[environment]\nworkdir = \"/usr/src\"\n",
			"2: environment.workdir: /usr/src cannot be the working directory on the host root",
			ENOTSUP},
		{"[environment]\nworkdir = \"/\"\n",
			"2: environment.workdir: / cannot be the working directory on the host root",
			ENOTSUP},
		{"[environment.env]\nPATH = \"/x\"\n",
			"2: environment.env.PATH: PATH is set by hemra in every box", ENOTSUP},
		{"[verifier.env]\nLD_PRELOAD = \"/x\"\n",
			"2: verifier.env.LD_PRELOAD: LD_PRELOAD changes the loader of every program in the box; "
			"set it inside the command",
			ENOTSUP},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		autofree char *sentence = own_printf("t/task.toml:%s", rows[i].sentence);

		put("task.toml", rows[i].text);
		must_refuse(rows[i].code, sentence);
	}
}

static void wrong_values(void **state)
{
	static const struct {
		const char *text, *sentence;
	} rows[] = {
		{"schema_version = \"2.0\"\n",
			"1: schema_version: expected \"1.4\" or an older one, found \"2.0\""},
		{"schema_version = 1.4\n",
			"1: schema_version: expected \"1.4\" or an older one, found a float"},
		{"agent = 3\n", "1: agent: expected a table, found an integer"},
		{"multi_step_reward_strategy = \"max\"\n",
			"1: multi_step_reward_strategy: expected \"mean\" or \"final\", found \"max\""},
		{"[agent]\ntimeout_sec = \"90\"\n",
			"2: agent.timeout_sec: expected a number of seconds above 0, found a string"},
		{"[agent]\ntimeout_sec = 0\n",
			"2: agent.timeout_sec: expected a number of seconds above 0, found 0"},
		{"[verifier]\ntimeout_sec = inf\n",
			"2: verifier.timeout_sec: expected a number of seconds above 0, found inf"},
		{"[verifier]\ntimeout_sec = nan\n",
			"2: verifier.timeout_sec: expected a number of seconds above 0, found nan"},
		{"[task]\nname = \"no-slash\"\n",
			"2: task.name: expected \"org/name\" of letters, digits, '.', '_', '-', found \"no-slash\""},
		{"[task]\nname = \"a/..\"\n",
			"2: task.name: expected \"org/name\" of letters, digits, '.', '_', '-', found \"a/..\""},
		{"[task]\nname = \"a/b..c\"\n",
			"2: task.name: expected \"org/name\" of letters, digits, '.', '_', '-', found \"a/b..c\""},
		{"[task]\nname = \"a/b/c\"\n",
			"2: task.name: expected \"org/name\" of letters, digits, '.', '_', '-', found \"a/b/c\""},
		{"[environment]\ncpus = -1\n",
			"2: environment.cpus: expected a number above 0 and at most 4096, found -1"},
		{"[environment]\nmemory_mb = 0.0\n",
			"2: environment.memory_mb: expected a number of MiB above 0, found 0"},
		{"[environment]\nmemory = \"many\"\n",
			"2: environment.memory: expected a size such as \"2G\", found \"many\""},
		{"[environment]\nnetwork_mode = \"host\"\n",
			"2: environment.network_mode: expected \"public\", \"no-network\" or \"allowlist\", found "
			"\"host\""},
		{"[environment]\nallowed_hosts = [1]\n",
			"2: environment.allowed_hosts: expected an array of host names, found 1"},
		{"[environment]\nos = \"beos\"\n",
			"2: environment.os: expected \"linux\" or \"windows\", found \"beos\""},
		{"[environment]\nworkdir = \"app\"\n",
			"2: environment.workdir: expected an absolute path without '.' and '..', found \"app\""},
		{"[environment]\nworkdir = \"/app/../usr\"\n",
			"2: environment.workdir: expected an absolute path without '.' and '..', found "
			"\"/app/../usr\""},
		{"[environment]\nenv = []\n",
			"2: environment.env: expected a table of strings, found an array"},
		{"[environment.env]\nA = 1\n",
			"2: environment.env.A: expected a string, found an integer"},
		{"[environment.env]\n\"A B\" = \"1\"\n",
			"2: environment.env.A B: no name for an environment variable"},
		{"[verifier]\nenvironment_mode = \"alone\"\n",
			"2: verifier.environment_mode: expected \"shared\" or \"separate\", found \"alone\""},
		{"source = \"a\\u0000\"\n", "1: source: the string holds a NUL character"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		autofree char *sentence = own_printf("t/task.toml:%s", rows[i].sentence);

		put("task.toml", rows[i].text);
		must_refuse(EINVAL, sentence);
	}
}

static void variables_of_hemras_environment(void **state)
{
	static const struct {
		const char *text, *value;
	} rows[] = {
		{"${SET_HERE}", "there"},
		{"${SET_HERE:-other}", "there"},
		{"${EMPTY_HERE:-other}", ""},
		{"${UNSET_HERE:-other}", "other"},
		{"${UNSET_HERE:-}", ""},
		{"${UNSET_HERE:-a:-b}", "a:-b"},
		{"pre-${SET_HERE}", "pre-${SET_HERE}"}, /* whole values only */
		{"${SET_HERE}-post", "${SET_HERE}-post"},
		{"${SET_HERE}${SET_HERE}", "${SET_HERE}${SET_HERE}"},
		{"$SET_HERE", "$SET_HERE"},
		{"${}", "${}"},
		{"${-}", "${-}"},
	};

	(void)state;
	assert_int_equal(setenv("SET_HERE", "there", 1), 0);
	assert_int_equal(setenv("EMPTY_HERE", "", 1), 0);
	assert_int_equal(unsetenv("UNSET_HERE"), 0);
	for (size_t i = 0; i < array_count(rows); i++) {
		autofree char *text =
			own_printf("[environment.env]\nV = \"%s\"\n[verifier.env]\nV = \"%s\"\n"
				   "[solution.env]\nV = \"%s\"\n",
				rows[i].text, rows[i].text, rows[i].text);
		struct task t;

		put("task.toml", text);
		must_load(&t);
		assert_string_equal(t.env[0].value, rows[i].value);
		assert_string_equal(t.verifier_env[0].value, rows[i].value);
		assert_string_equal(t.solution_env[0].value, rows[i].value);
		task_done(&t);
	}
	put("task.toml", "[solution.env]\nV = \"${UNSET_HERE}\"\n");
	must_refuse(ENOENT,
		"t/task.toml:2: solution.env.V: UNSET_HERE is not set in hemra's environment and "
		"no default is given");
	assert_int_equal(setenv("SET_HERE", "\xff", 1), 0);
	put("task.toml", "[solution.env]\nV = \"${SET_HERE}\"\n");
	must_refuse(EILSEQ,
		"t/task.toml:2: solution.env.V: the value from hemra's environment is not UTF-8");
}

static void files_that_are_wrong(void **state)
{
	struct err err = {0};
	struct task t;

	(void)state;
	put("task.toml", "[agent\n");
	assert_int_equal(task_load("t", &t, &err), -EINVAL);
	assert_ptr_equal(strstr(err.text, "t/task.toml:1: "), err.text);
	drop("task.toml");
	must_refuse(ENOENT, "open 't/task.toml': No such file or directory");
	assert_int_equal(task_load("nowhere", &t, &err), -ENOENT);
	assert_string_equal(err.text, "task 'nowhere': No such file or directory");
}

static void the_example_of_the_docs(void **state)
{
	autofree char *text = example("task.toml");
	struct task t;

	(void)state;
	put("task.toml", text);
	must_load(&t);
	assert_string_equal(t.name, "demo/fix-parser");
	assert_int_equal(t.warning_count, 0);
	assert_null(t.differences);
	task_done(&t);
}

int test_file(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_defaults, place_make, place_remove),
		cmocka_unit_test_setup_teardown(a_full_file, place_make, place_remove),
		cmocka_unit_test_setup_teardown(older_keys, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			what_the_operator_overrides, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			unknown_keys_become_notices, place_make, place_remove),
		cmocka_unit_test_setup_teardown(notices_have_a_bound, place_make, place_remove),
		cmocka_unit_test_setup_teardown(refused_by_name, place_make, place_remove),
		cmocka_unit_test_setup_teardown(wrong_values, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			variables_of_hemras_environment, place_make, place_remove),
		cmocka_unit_test_setup_teardown(files_that_are_wrong, place_make, place_remove),
		cmocka_unit_test_setup_teardown(the_example_of_the_docs, place_make, place_remove),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
