/* SPDX-License-Identifier: Apache-2.0 */
/* Harness files: names, keys, programs, digests. */

#include "tests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "ground/base/own.h"

static int read_harness(const char *name, struct plan *plan, char ***files, struct err *err)
{
	*plan = (struct plan){0};
	*files = NULL;
	return harness_read(name, place(), plan, files, err);
}

static void must_read(const char *name, struct plan *plan)
{
	struct err err = {0};
	char **files;

	if (read_harness(name, plan, &files, &err) < 0)
		fail_msg("%s", err.text);
	strv_free(files);
}

static void a_full_file(void **state)
{
	autofree char *path = in_place("harnesses/claude.toml"), *agents = in_place("agents");
	struct err err = {0};
	struct plan plan;
	char **files;

	(void)state;
	put("agents/x", "");
	put("harnesses/claude.toml",
		"name = \"claude-code\"\nkind = \"command\"\n"
		"command = [\"claude\", \"-p\", \"{instruction}\", \"\"]\n"
		"env = [\"LANG\", \"KEY\"]\nmounts = [\"../agents:/opt/agents:ro\"]\n"
		"instruction = \"argument\"\nmodel = \"opus\"\n"
		"[secrets]\nKEY = \"env:SOME_KEY\"\n");
	assert_int_equal(setenv("LANG", "C", 1), 0);
	if (read_harness("claude", &plan, &files, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(plan.harness.name, "claude-code");
	assert_int_equal(plan.harness.kind, HARNESS_COMMAND);
	assert_int_equal(strv_count(plan.harness.command), 4);
	assert_string_equal(plan.harness.command[2], "{instruction}");
	assert_int_equal(strv_count(plan.harness.env), 2);
	assert_int_equal(plan.harness.mount_count, 1);
	assert_string_equal(plan.harness.mounts[0].source, agents);
	assert_string_equal(plan.harness.mounts[0].target, "/opt/agents");
	assert_int_equal(plan.harness.instruction, INSTRUCTION_ARGUMENT);
	assert_string_equal(plan.harness.model, "opus");
	assert_int_equal(plan.secret_count, 1);
	assert_string_equal(plan.secrets[0].reference, "env:SOME_KEY");
	assert_int_equal(strlen(plan.harness.digest), 64);
	assert_int_equal(strv_count(files), 1);
	assert_string_equal(files[0], path);
	strv_free(files);
	plan_done(&plan);
}

static void names_and_where_they_are_found(void **state)
{
	static const char text[] = "kind = \"program\"\ncommand = [\"a\"]\n";
	autofree char *missing =
		with_place("no harness 'three': neither '@/harnesses/three.toml' nor "
			   "'@/home/.config/hemra/harnesses/three.toml' is there");
	struct err err = {0};
	struct plan plan;
	char **files;

	(void)state;
	put("harnesses/one.toml", text);
	put("home/.config/hemra/harnesses/one.toml", "kind = \"broken\"\n");
	put("home/.config/hemra/harnesses/two.toml", text);
	put("harnesses/oracle.toml", "name = \"mine\"\nkind = \"program\"\ncommand = [\"a\"]\n");
	must_read("one", &plan); /* beside the run file first */
	assert_string_equal(plan.harness.name, "one");
	plan_done(&plan);
	must_read("two", &plan);
	assert_string_equal(plan.harness.name, "two");
	plan_done(&plan);
	must_read("oracle", &plan); /* the built-in wins over a file of its name … */
	assert_int_equal(plan.harness.kind, HARNESS_ORACLE);
	assert_null(plan.harness.command);
	assert_int_equal(strlen(plan.harness.digest), 64);
	plan_done(&plan);
	must_read("harnesses/oracle.toml", &plan); /* … which must be given as a path */
	assert_int_equal(plan.harness.kind, HARNESS_PROGRAM);
	plan_done(&plan);
	must_read("nop", &plan);
	assert_int_equal(plan.harness.kind, HARNESS_NOP);
	plan_done(&plan);
	assert_int_equal(read_harness("three", &plan, &files, &err), -ENOENT);
	assert_string_equal(err.text, missing);
	plan_done(&plan);
}

#define COMMAND "kind = \"command\"\ncommand = [\"a\", \"{instruction}\"]\n"
#define PROGRAM "kind = \"program\"\ncommand = [\"a\"]\n"

static void bad_files(void **state)
{
	static const struct {
		const char *text, *sentence;
	} rows[] = {
		{"", "1: key 'kind' is missing"},
		{"kind = \"program\"\n", "1: key 'command' is missing"},
		{"kind = \"acp\"\ncommand = [\"a\"]\n", "1: kind: \"acp\" is not built yet"},
		{"kind = \"driver\"\ncommand = [\"a\"]\n", "1: kind: \"driver\" is not built yet"},
		{"kind = \"oracle\"\ncommand = [\"a\"]\n",
			"1: kind: expected \"program\" or \"command\", found \"oracle\""},
		{"kind = \"comand\"\ncommand = [\"a\"]\n",
			"1: kind: expected \"program\" or \"command\", found \"comand\""},
		{"kind = \"program\"\ncommand = \"a\"\n",
			"2: command: expected an array of strings, the program first, found a string"},
		{"kind = \"program\"\ncommand = []\n",
			"2: command: the list is empty; its first element is the program"},
		{"kind = \"program\"\ncommand = [\"\"]\n",
			"2: command: expected an array of strings, the program first, found \"\""},
		{"kind = \"program\"\ncommand = [\"a\", 1]\n",
			"2: command: expected an array of strings, the program first, found an integer"},
		{PROGRAM "[gateway]\napi = \"anthropic\"\n", "3: key 'gateway' is not built yet"},
		{PROGRAM "[[mcp]]\nname = \"x\"\n", "3: key 'mcp' is not built yet"},
		{PROGRAM "via = \"harbor\"\n", "3: key 'via' is not built yet"},
		{PROGRAM "transcript = \"x\"\n", "3: key 'transcript' is not built yet"},
		{PROGRAM "mdoel = \"x\"\n", "3: unknown key 'mdoel' (did you mean 'model'?)"},
		{PROGRAM "name = \"oracle\"\n",
			"3: name: \"oracle\" is the name of a built-in agent"},
		{PROGRAM "name = \"../x\"\n",
			"3: name: \"../x\" is no name for a harness: 1 to 64 letters, digits, '.', '_', '-'"},
		{PROGRAM "instruction = \"stdin\"\n",
			"3: instruction: a program is told in run.start; only commands have this key"},
		{"kind = \"program\"\ncommand = [\"a\", \"{instruction}\"]\n",
			"2: command: a program is told in run.start; only commands have {instruction} and "
			"{instruction_file}"},
		{"kind = \"command\"\ncommand = [\"a\"]\n",
			"2: command: nothing holds {instruction}; or say instruction = \"stdin\" or \"file\""},
		{COMMAND "instruction = \"stdin\"\n",
			"2: command: {instruction} stands here, but instruction is not \"argument\""},
		{"kind = \"command\"\ncommand = [\"a\"]\ninstruction = \"file\"\n",
			"2: command: nothing holds {instruction_file}, and instruction is \"file\""},
		{"kind = \"command\"\ncommand = [\"a\", \"{instruction}\", \"{instruction_file}\"]\n",
			"2: command: {instruction_file} stands here, but instruction is not \"file\""},
		{"kind = \"command\"\ncommand = [\"{instruction}\"]\n",
			"2: command: the program's own name holds a placeholder"},
		{COMMAND "instruction = \"pipe\"\n",
			"3: instruction: expected \"argument\", \"stdin\" or \"file\", found \"pipe\""},
		{PROGRAM "env = [\"NOT_SET_ANYWHERE\"]\n",
			"3: env: NOT_SET_ANYWHERE is not set in hemra's environment and not named in [secrets]"},
		{PROGRAM "env = [\"LD_PRELOAD\"]\n",
			"3: env: LD_PRELOAD changes the loader of every program in the box; set it inside the "
			"command"},
		{PROGRAM "[secrets]\nA = \"literally-a-secret\"\n",
			"4: secrets.A: expected env:NAME, file:PATH or credential:NAME; a secret itself is never "
			"written here"},
		{"kind = \"program\"\ncommand = [\"./gone\"]\n",
			"2: command: '@/gone': No such file or directory"},
		{"kind = \"program\"\ncommand = [\"./plain\"]\n",
			"2: command: '@/plain' is not an executable file"},
		{"kind = \"program\"\ncommand = [\"./agent\"]\n",
			"2: command: './agent' is '@/agent', which no mount brings into the box; add mounts = "
			"[\"./agent\"]"},
	};

	(void)state;
	put("plain", "");
	put_program("agent");
	for (size_t i = 0; i < array_count(rows); i++) {
		autofree char *why = with_place(rows[i].sentence);
		autofree char *sentence = own_printf("%s/h.toml:%s", place(), why);
		struct err err = {0};
		struct plan plan;
		char **files;

		put("h.toml", rows[i].text);
		if (read_harness("h.toml", &plan, &files, &err) == 0)
			fail_msg("accepted: %s", rows[i].text);
		assert_string_equal(err.text, sentence);
		assert_int_equal(err.code, EINVAL);
		assert_null(files);
		plan_done(&plan);
	}
}

static void a_name_after_the_file(void **state)
{
	autofree char *sentence =
		with_place("@/a b.toml:1: name: \"a b\", after the file, is no name for a "
			   "harness: 1 to 64 letters, digits, '.', '_', '-'; add the key 'name'");
	struct err err = {0};
	struct plan plan;
	char **files;

	(void)state;
	put("a b.toml", PROGRAM);
	assert_int_equal(read_harness("a b.toml", &plan, &files, &err), -EINVAL);
	assert_string_equal(err.text, sentence);
	plan_done(&plan);
}

static void where_a_program_is_in_the_box(void **state)
{
	static const struct {
		const char *lines, *program;
	} rows[] = {
		{"command = [\"claude\"]\n", "claude"},
		{"command = [\"/opt/x/agent\"]\n", "/opt/x/agent"},
		{"command = [\"{workspace}/agent\"]\n", "{workspace}/agent"},
		{"command = [\"bin/agent\"]\nmounts = [\"bin\"]\n", "@/bin/agent"},
		{"command = [\"bin/agent\"]\nmounts = [\".:/opt/me\"]\n", "/opt/me/bin/agent"},
		{"command = [\"./bin/agent\"]\nmounts = [\"bin/agent:/opt/one\"]\n", "/opt/one"},
		{"command = [\"bin/link\"]\nmounts = [\"bin:/b\"]\n", "/b/link"},
		{"command = [\"bin/link\"]\nmounts = [\"bin/link\"]\n", "@/bin/link"},
		{"command = [\"../../bin/sh\"]\n", "/usr/bin/sh"},
	};

	(void)state;
	put_program("bin/agent");
	assert_int_equal(symlink("agent", "bin/link"), 0);
	for (size_t i = 0; i < array_count(rows); i++) {
		autofree char *program = with_place(rows[i].program);
		autofree char *text = own_printf("kind = \"program\"\n%s", rows[i].lines);
		struct plan plan;

		if (strcmp(rows[i].program, "/usr/bin/sh") == 0 && access("/usr/bin/sh", X_OK) < 0)
			continue; /* a machine whose /bin is not merged into /usr */
		put("h.toml", text);
		must_read("h.toml", &plan);
		assert_string_equal(plan.harness.command[0], program);
		plan_done(&plan);
	}
}

static void a_local_program_stays_where_it_is(void **state)
{
	autofree char *agent = in_place("agent");
	struct plan plan = {.sandbox.kind = SANDBOX_LOCAL};
	struct err err = {0};
	char **files = NULL;

	(void)state;
	put_program("agent");
	put("h.toml", "kind = \"program\"\ncommand = [\"./agent\"]\n");
	assert_int_equal(harness_read("h.toml", place(), &plan, &files, &err), 0);
	assert_string_equal(plan.harness.command[0], agent);
	strv_free(files);
	plan_done(&plan);
}

static void digest(const char *file, const char *text, char ret[65])
{
	struct plan plan;

	put(file, text);
	must_read(file, &plan);
	(void)memcpy(ret, plan.harness.digest, 65);
	plan_done(&plan);
}

static void digests_are_stable_and_sensitive(void **state)
{
	static const char base[] =
		"name = \"h\"\nkind = \"command\"\ncommand = [\"bin/agent\", \"{instruction}\"]\n"
		"env = [\"LANG\"]\nmodel = \"m\"\nmounts = [\"bin\"]\n[secrets]\nK = \"env:K\"\n";
	static const char *const same[] = {
		/* order, spelling and references do not matter */
		"command = [\"bin/agent\",\n\"{instruction}\"]\nkind = 'command'\nname = \"h\"\nenv = [\"LANG\"]\n"
		"instruction = \"argument\"\nmounts = [\"bin:ro\"]\nmodel = \"m\"\n[secrets]\nK = \"file:/k\"\n",
	};
	static const char *const other[] = {
		"name = \"i\"\nkind = \"command\"\ncommand = [\"bin/agent\", \"{instruction}\"]\n"
		"env = [\"LANG\"]\nmodel = \"m\"\nmounts = [\"bin\"]\n[secrets]\nK = \"env:K\"\n",
		"name = \"h\"\nkind = \"command\"\ncommand = [\"bin/agent\", \"-v\", \"{instruction}\"]\n"
		"env = [\"LANG\"]\nmodel = \"m\"\nmounts = [\"bin\"]\n[secrets]\nK = \"env:K\"\n",
		"name = \"h\"\nkind = \"command\"\ncommand = [\"bin/agent\", \"{instruction}\"]\n"
		"env = []\nmodel = \"m\"\nmounts = [\"bin\"]\n[secrets]\nK = \"env:K\"\n",
		"name = \"h\"\nkind = \"command\"\ncommand = [\"bin/agent\", \"{instruction}\"]\n"
		"env = [\"LANG\"]\nmodel = \"n\"\nmounts = [\"bin\"]\n[secrets]\nK = \"env:K\"\n",
		"name = \"h\"\nkind = \"command\"\ncommand = [\"bin/agent\", \"{instruction}\"]\n"
		"env = [\"LANG\"]\nmodel = \"m\"\nmounts = [\"bin:rw\"]\n[secrets]\nK = \"env:K\"\n",
		"name = \"h\"\nkind = \"command\"\ncommand = [\"bin/agent\", \"{instruction}\"]\n"
		"env = [\"LANG\"]\nmodel = \"m\"\nmounts = [\"bin:/x\"]\n[secrets]\nK = \"env:K\"\n",
		"name = \"h\"\nkind = \"command\"\ncommand = [\"bin/agent\", \"{instruction}\"]\n"
		"env = [\"LANG\"]\nmodel = \"m\"\nmounts = [\"bin\"]\n[secrets]\nL = \"env:K\"\n",
	};
	char first[65], second[65];

	(void)state;
	assert_int_equal(setenv("LANG", "C", 1), 0);
	put_program("a/bin/agent");
	put_program("b/bin/agent");
	digest("a/h.toml", base, first);
	digest("b/elsewhere.toml", base, second);
	assert_string_equal(first, second); /* not where the file lies */
	for (size_t i = 0; i < array_count(same); i++) {
		digest("a/h.toml", same[i], second);
		assert_string_equal(first, second);
	}
	for (size_t i = 0; i < array_count(other); i++) {
		digest("a/h.toml", other[i], second);
		assert_string_not_equal(first, second);
	}
	/* fixed once and for all: attempts of different days are compared by it */
	digest("a/h.toml", "name = \"h\"\nkind = \"program\"\ncommand = [\"agent\"]\n", first);
	assert_string_equal(
		first, "b1805770454808272357fcee5eb0f36cfe9366cb503e8c17c69a635d9a80d6e0");
}

static void what_the_run_says_of_a_secret_holds(void **state)
{
	struct plan plan = {0};
	struct err err = {0};
	char **files = NULL;

	(void)state;
	put("h.toml", PROGRAM "env = [\"K\"]\n[secrets]\nK = \"env:HARNESS\"\nL = \"env:L\"\n");
	plan.secrets = own_alloc(sizeof(*plan.secrets));
	plan.secrets[0] = (struct plan_secret){own_strdup("K"), own_strdup("env:RUN")};
	plan.secret_count = 1;
	assert_int_equal(harness_read("h.toml", place(), &plan, &files, &err), 0);
	assert_int_equal(plan.secret_count, 2);
	assert_string_equal(plan.secrets[0].reference, "env:RUN");
	assert_string_equal(plan.secrets[1].reference, "env:L");
	strv_free(files);
	plan_done(&plan);
}

static void the_example_of_the_docs(void **state)
{
	autofree char *text = example("harnesses/claude-code.toml");
	struct plan plan;

	(void)state;
	assert_int_equal(setenv("LANG", "C", 1), 0);
	put("h.toml", text);
	must_read("h.toml", &plan);
	assert_string_equal(plan.harness.name, "claude-code");
	plan_done(&plan);
}

int test_harness(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_full_file, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			names_and_where_they_are_found, place_make, place_remove),
		cmocka_unit_test_setup_teardown(bad_files, place_make, place_remove),
		cmocka_unit_test_setup_teardown(a_name_after_the_file, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			where_a_program_is_in_the_box, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			a_local_program_stays_where_it_is, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			digests_are_stable_and_sensitive, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			what_the_run_says_of_a_secret_holds, place_make, place_remove),
		cmocka_unit_test_setup_teardown(the_example_of_the_docs, place_make, place_remove),
	};

	return cmocka_run_group_tests_name("harness", tests, NULL, NULL);
}
