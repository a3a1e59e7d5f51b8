/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options, and reading a command line by it. */

#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "tests.h"

/* The words of a command line, the program's name included, ending with NULL. */
static int parse(struct options *o, struct err *err, const char *const *words)
{
	static char *argv[32];
	int argc = 0;

	for (; words[argc] != NULL; argc++)
		argv[argc] = (char *)words[argc];
	argv[argc] = NULL;
	*err = (struct err){0};
	return options_parse(o, argc, argv, err);
}
#define PARSE(o, err, ...) parse(o, err, (const char *const[]){"hemra", __VA_ARGS__, NULL})

static void expect_refused(int code, const char *sentence, const char *const *words)
{
	struct options o;
	struct err err;

	assert_int_equal(parse(&o, &err, words), -code);
	assert_string_equal(err.text, sentence);
	options_done(&o);
}
#define REFUSED(code, sentence, ...)                                                               \
	expect_refused(code, sentence, (const char *const[]){"hemra", __VA_ARGS__, NULL})

static void test_no_verb_has_an_option_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++)
		for (size_t j = i + 1; j < option_count; j++) {
			const struct option_row *a = &option_rows[i], *b = &option_rows[j];

			if ((a->verbs & b->verbs) == 0)
				continue;
			if (strcmp(a->name, b->name) == 0)
				fail_msg("--%s twice", a->name);
			if (a->letter != 0 && a->letter == b->letter)
				fail_msg("-%c twice: --%s, --%s", a->letter, a->name, b->name);
		}
}

static void test_every_row_has_help_and_a_verb(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option_row *row = &option_rows[i];

		assert_true(strlen(row->help) > 5);
		assert_int_not_equal(row->verbs & ((1u << VERB_COUNT) - 1), 0);
		assert_true(row->argument == NULL || *row->argument != '\0');
		assert_int_not_equal(row->name[0], '-');
		assert_int_not_equal(row->help[strlen(row->help) - 1], '.');
	}
	for (int i = 0; i < VERB_COUNT; i++) {
		assert_non_null(verb_rows[i].name);
		assert_true(strlen(verb_rows[i].about) > 5 && strlen(verb_rows[i].text) > 5);
		assert_int_equal(strncmp(verb_rows[i].example, "hemra ", 6), 0);
		assert_non_null(strstr(verb_rows[i].example, verb_rows[i].name));
	}
}

static void test_unknown_words_get_a_suggestion(void **state)
{
	(void)state;
	REFUSED(EINVAL, "unknown verb 'rn' (did you mean 'run'?)", "rn");
	REFUSED(EINVAL, "unknown verb 'frobnicate'", "frobnicate");
	REFUSED(EINVAL, "unknown verb 'harness chek' (did you mean 'harness check'?)", "harness",
		"chek");
	REFUSED(EINVAL, "unknown option '--atempts' of 'run' (did you mean '--attempts'?)", "run",
		"--atempts", "3");
	REFUSED(EINVAL, "unknown option '--zzzzzz' of 'run'", "run", "--zzzzzz");
	REFUSED(EINVAL, "unknown option '-z' of 'run'", "run", "-z");
	REFUSED(EINVAL, "'runs' has no option '--attempts' ('run' has)", "runs", "--attempts", "3");
	REFUSED(EINVAL, "unknown option '--frob': options follow a verb", "--frob");
	REFUSED(EINVAL, "--weaker: unknown name 'prob' (did you mean 'probe'?)", "run", "--weaker",
		"prob");
}

static void test_what_is_not_built_says_so(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	for (int i = 0; verbs_later[i] != NULL; i++) {
		autofree char *sentence = own_printf("'hemra %s' is not built yet", verbs_later[i]);

		REFUSED(ENOTSUP, sentence, verbs_later[i], "--json");
	}
	for (size_t i = 0; i < option_count; i++)
		for (int verb = 0; verb < VERB_COUNT; verb++) {
			autofree char *flag = own_printf("--%s", option_rows[i].name);
			autofree char *sentence = own_printf("'%s' is not built yet", flag);
			bool two = verb == VERB_CHECK;

			if (option_rows[i].set != NULL ||
				(option_rows[i].verbs & (1u << verb)) == 0)
				continue;
			if (two)
				REFUSED(ENOTSUP, sentence, "harness", "check", flag);
			else
				REFUSED(ENOTSUP, sentence, verb_rows[verb].name, flag);
		}
	REFUSED(ENOTSUP, "--sandbox 'docker' is not built yet", "run", "--sandbox", "docker");
	REFUSED(ENOTSUP, "--workspace-mode 'overlay' is not built yet", "exec",
		"--workspace-mode=overlay", "ls");
	REFUSED(ENOTSUP, "--network 'open' is not built yet: a box has no network", "run",
		"--network", "open");
	/* the same with what is built */
	assert_int_equal(PARSE(&o, &err, "run", "--sandbox", "local", "--network", "none", "f"), 0);
	assert_int_equal(o.settings.kind, SANDBOX_LOCAL);
	options_done(&o);
}

static void test_options_of_exec_end_at_the_command(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(
		PARSE(&o, &err, "exec", "--memory", "1M", "ls", "--memory", "--json", "--", "-x"),
		0);
	assert_int_equal(o.operand_count, 5);
	assert_string_equal(o.operands[0], "ls");
	assert_string_equal(o.operands[3], "--");
	assert_string_equal(o.operands[4], "-x");
	assert_null(o.operands[5]);
	assert_false(o.json);
	assert_true(o.settings.limit_said_memory);
	assert_int_equal(o.settings.limits.memory_bytes, 1024 * 1024);
	options_done(&o);

	assert_int_equal(PARSE(&o, &err, "exec", "--", "-n", "--help"), 0);
	assert_int_equal(o.operand_count, 2);
	assert_string_equal(o.operands[0], "-n");
	assert_false(o.help);
	options_done(&o);

	REFUSED(EINVAL, "'hemra exec' needs more: hemra exec [--] CMD [ARG...]", "exec", "--");
}

static void test_options_may_follow_operands_elsewhere(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&o, &err, "run", "a.toml", "-n3", "b.toml", "-j", "2", "--cpus=1.5",
				 "--", "-c"),
		0);
	assert_int_equal(o.operand_count, 3);
	assert_string_equal(o.operands[0], "a.toml");
	assert_string_equal(o.operands[1], "b.toml");
	assert_string_equal(o.operands[2], "-c");
	assert_int_equal(o.settings.attempts, 3);
	assert_int_equal(o.settings.concurrency, 2);
	assert_int_equal(o.settings.limits.cpu_millis, 1500);
	options_done(&o);
}

static void test_values_are_checked(void **state)
{
	(void)state;
	REFUSED(EINVAL, "'--memory' needs a value: --memory SIZE", "exec", "--memory");
	REFUSED(EINVAL, "'-n' needs a value: -n N", "run", "-n");
	REFUSED(EINVAL, "'--quiet' takes no value", "run", "--quiet=yes");
	REFUSED(EINVAL, "--memory 'much': a size such as 512M or 4G is needed", "run", "--memory",
		"much");
	REFUSED(EINVAL, "--attempts '0': a number from 1 to 100000 is needed", "run", "--attempts",
		"0");
	REFUSED(EINVAL, "--cpus '1.2345': a number such as 2 or 1.5 is needed", "run", "--cpus",
		"1.2345");
	REFUSED(EINVAL, "--cpus '1.': a number such as 2 or 1.5 is needed", "run", "--cpus", "1.");
	REFUSED(EINVAL, "--deadline '0': a time such as 90s, 15m or 2h is needed", "run",
		"--deadline", "0");
	REFUSED(EINVAL, "--keep 'some': failed, all or none is needed", "run", "--keep", "some");
	REFUSED(EINVAL, "--env '1A': a variable's name is needed", "run", "--env", "1A");
	REFUSED(EINVAL, "'hemra show' needs more: hemra show ID", "show");
	REFUSED(EINVAL, "'hemra gc' does not know what to do with 'x'", "gc", "x");
}

/* What stands behind the '=' may be a secret that slipped: it is not said again. */
static void test_a_value_given_to_env_is_not_repeated(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&o, &err, "exec", "--env", "TOKEN=hunter2hunter2", "ls"), -EINVAL);
	assert_null(strstr(err.text, "hunter2"));
	assert_non_null(strstr(err.text, "--env takes a variable's name only"));
	options_done(&o);
}

static void test_json_is_seen_although_another_word_is_wrong(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&o, &err, "runs", "--frob", "--json"), -EINVAL);
	assert_true(o.json);
	options_done(&o);
	assert_int_equal(PARSE(&o, &err, "exec", "--frob", "--", "ls", "--json"), -EINVAL);
	assert_false(o.json);
	options_done(&o);
}

static void test_paths_stand_against_the_current_directory(void **state)
{
	autofree char *here = get_current_dir_name();
	autofree char *expected = own_printf("%s/s", here);
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&o, &err, "run", "--store", "s", "--harness", "oracle", "--harness",
				 "h.toml", "--task", "/t"),
		0);
	assert_string_equal(o.settings.store, expected);
	assert_string_equal(o.settings.harnesses[0], "oracle");
	assert_int_equal(o.settings.harnesses[1][0], '/');
	assert_string_equal(o.settings.tasks[0], "/t");
	options_done(&o);
}

static void test_words_that_contradict_one_another_are_refused(void **state)
{
	(void)state;
	REFUSED(EINVAL, "--record-output and --no-record contradict one another: keep what?",
		"exec", "--no-record", "--record-output", "ls");
	REFUSED(EINVAL, "--record-output and --no-record contradict one another: keep what?",
		"exec", "--record-output", "--no-record", "ls");
	REFUSED(EINVAL, "the command is an empty word", "exec", "--", "");
	REFUSED(EINVAL, "--workspace '/etc/passwd': it is not a directory", "exec", "-C",
		"/etc/passwd", "ls");
}

/* Nothing can stand against a directory that is gone; who only asks for help is not in need of one. */
static void test_a_current_directory_that_is_gone_is_named(void **state)
{
	char directory[] = "/tmp/unit-cli-XXXXXX";
	autofree char *here = get_current_dir_name();
	struct options o;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(rmdir(directory), 0);
	REFUSED(ENOENT, "find the current directory (was it removed?): No such file or directory",
		"exec", "ls");
	assert_int_equal(PARSE(&o, &err, "runs", "--json"), -ENOENT);
	assert_true(o.json);
	options_done(&o);
	assert_int_equal(PARSE(&o, &err, "runs", "--help"), 0);
	options_done(&o);
	assert_int_equal(PARSE(&o, &err, "help", "run"), 0);
	options_done(&o);
	assert_int_equal(PARSE(&o, &err, "version"), 0);
	options_done(&o);
	assert_int_equal(chdir(here), 0);
}

static void test_help_and_version_need_no_verb(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&o, &err, "--version"), 0);
	assert_int_equal(o.verb, VERB_VERSION);
	options_done(&o);
	assert_int_equal(PARSE(&o, &err, "-h"), 0);
	assert_int_equal(o.verb, VERB_HELP);
	options_done(&o);
	assert_int_equal(PARSE(&o, &err, "show", "--help"), 0);
	assert_true(o.help);
	assert_int_equal(o.verb, VERB_SHOW);
	options_done(&o);
}

int test_options(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_verb_has_an_option_twice),
		cmocka_unit_test(test_every_row_has_help_and_a_verb),
		cmocka_unit_test(test_unknown_words_get_a_suggestion),
		cmocka_unit_test(test_what_is_not_built_says_so),
		cmocka_unit_test(test_options_of_exec_end_at_the_command),
		cmocka_unit_test(test_options_may_follow_operands_elsewhere),
		cmocka_unit_test(test_values_are_checked),
		cmocka_unit_test(test_a_value_given_to_env_is_not_repeated),
		cmocka_unit_test(test_json_is_seen_although_another_word_is_wrong),
		cmocka_unit_test(test_paths_stand_against_the_current_directory),
		cmocka_unit_test(test_words_that_contradict_one_another_are_refused),
		cmocka_unit_test(test_a_current_directory_that_is_gone_is_named),
		cmocka_unit_test(test_help_and_version_need_no_verb),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
