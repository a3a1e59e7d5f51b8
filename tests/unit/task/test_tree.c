/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a task: parts, links, digest, instruction. */

#include "tests.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"

/* Computed apart from this program, after the rule in docs/files.md. */
#define DIGEST_OF_PLACE "5c98568b7f0cd51b4d3b6de3265c856134d34e16f741d316c1fc06e24607dd86"

static void digest(char ret[65])
{
	struct task t;

	must_load(&t);
	(void)memcpy(ret, t.digest, 65);
	task_done(&t);
}

static void the_digest_is_harbors(void **state)
{
	char found[65];

	(void)state;
	digest(found);
	assert_string_equal(found, DIGEST_OF_PLACE);
}

static void what_counts_in_the_digest(void **state)
{
	static const char *const not_counted[] = {"notes.txt", "docs/x.md",
		"tests/__pycache__/x.txt", "tests/deep/__pycache__/y/z", "environment/x.pyc",
		"solution/.DS_Store", "tests/.a.swp", "tests/.a.swo", "tests/a~",
		"environment/old.pyc/file"};
	static const char *const counted[] = {"README.md", "environment/new", "tests/deep/er/new",
		"solution/pycache", "tests/__pycache__", "environment/.hidden"};
	char before[65], after[65];

	(void)state;
	digest(before);
	for (size_t i = 0; i < array_count(not_counted); i++) {
		put(not_counted[i], "x");
		digest(after);
		assert_string_equal(before, after);
	}
	for (size_t i = 0; i < array_count(counted); i++) {
		if (strcmp(counted[i], "tests/__pycache__") ==
			0) { /* only directories of this name are left out */
			drop("tests/__pycache__/x.txt");
			drop("tests/__pycache__");
		}
		put(counted[i], "x");
		digest(after);
		assert_string_not_equal(before, after);
		drop(counted[i]);
		digest(after);
		assert_string_equal(before, after);
	}
	put("tests/test.sh", "echo 0 > /logs/verifier/reward.txt\n");
	digest(after);
	assert_string_not_equal(before, after);
}

static void a_gitignore_is_named(void **state)
{
	struct task t;

	(void)state;
	put(".gitignore", "*.o\n");
	must_load(&t);
	assert_true(
		has_notice(&t, "t/.gitignore: not applied: files that it names count in the task's "
			       "digest, which then differs from Harbor's"));
	assert_string_equal(t.digest, DIGEST_OF_PLACE);
	task_done(&t);
}

static void links(void **state)
{
	char before[65], after[65];

	(void)state;
	digest(before);
	assert_int_equal(symlink("src", "t/environment/to-directory"), 0);
	digest(after);
	assert_string_equal(before, after);
	assert_int_equal(symlink("src/main.c", "t/environment/to-file"), 0);
	digest(after);
	assert_string_not_equal(before, after);
	assert_int_equal(symlink("nowhere", "t/tests/dangling"), 0);
	must_refuse(ENOENT, "t/tests/dangling: the link leads nowhere: No such file or directory");
	drop("tests/dangling");
	assert_int_equal(symlink("/etc/passwd", "t/tests/out"), 0);
	must_refuse(EXDEV, "t/tests/out: the link leaves its directory, to '/etc/passwd'");
	drop("tests/out");
	/* another part is another box's */
	assert_int_equal(symlink("../../tests/test.sh", "t/environment/src/peek"), 0);
	must_refuse(EXDEV,
		"t/environment/src/peek: the link leaves its directory, to '@/tests/test.sh'");
	drop("environment/src/peek");
	/* a directory whose name only begins alike */
	put("tests-more/x", "");
	assert_int_equal(symlink("../tests-more/x", "t/tests/near"), 0);
	must_refuse(EXDEV, "t/tests/near: the link leaves its directory, to '@/tests-more/x'");
	drop("tests/near");
	/* what is left out of the digest is looked at nevertheless */
	put("tests/__pycache__/x", "");
	assert_int_equal(symlink("/etc", "t/tests/__pycache__/etc"), 0);
	must_refuse(EXDEV, "t/tests/__pycache__/etc: the link leaves its directory, to '/etc'");
	drop("tests/__pycache__/etc");
	drop("instruction.md");
	assert_int_equal(symlink("/etc/hostname", "t/instruction.md"), 0);
	must_refuse(EXDEV, "t/instruction.md: the link leaves its directory, to '/etc/hostname'");
	drop("instruction.md");
	put("instruction.md", "x");
	digest(after); /* the control: all of it was undone */
}

static void things_that_are_no_files(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("t/environment/pipe", 0600), 0);
	must_refuse(EINVAL, "t/environment/pipe: neither a file nor a directory");
	drop("environment/pipe");
	drop("solution/solve.sh");
	drop("solution");
	put("solution", "");
	must_refuse(ENOTDIR, "t/solution: not a directory");
	drop("solution");
	put("README.md/x", "");
	must_refuse(EISDIR, "t/README.md: not a file");
	drop("README.md/x");
	drop("README.md");
	put("tests/a\xff", "");
	must_refuse(EILSEQ, "t: the name of a file in '@/tests' is not UTF-8");
}

static void too_deep(void **state)
{
	char path[256] = "environment";
	struct err err = {0};
	struct task t;

	(void)state;
	for (int i = 1; i < 64; i++)
		(void)strcat(path, "/d");
	(void)strcat(path, "/f");
	put(path, "");
	must_load(&t);
	task_done(&t);
	(void)strcpy(path + strlen(path) - 1, "e/f"); /* one more */
	put(path, "");
	assert_int_equal(task_load("t", &t, &err), -E2BIG);
	assert_non_null(strstr(err.text, ": more than 64 directories deep"));
}

static void parts_that_are_missing(void **state)
{
	struct task t;

	(void)state;
	drop("solution/solve.sh");
	must_load(&t);
	assert_null(t.solution);
	assert_true(has_notice(
		&t, "t/solution/solve.sh: not there: the oracle cannot solve this task"));
	task_done(&t);
	drop("solution");
	must_load(&t);
	assert_null(t.solution);
	assert_int_equal(t.warning_count, 0);
	task_done(&t);
	drop("tests/test.sh");
	must_refuse(ENOENT, "t/tests/test.sh: not there");
	drop("tests");
	must_load(&t);
	assert_null(t.tests);
	assert_true(has_notice(&t, "t/tests: not there: attempts at this task are not graded"));
	task_done(&t);
	put("trajectory.json", "{}");
	must_load(&t);
	assert_true(has_notice(&t, "t/trajectory.json: agents are not shown what came before"));
	task_done(&t);
	drop("environment/src/main.c");
	drop("environment/src");
	must_load(&t); /* an empty one will do */
	task_done(&t);
	drop("environment");
	must_refuse(ENOENT, "t/environment: every task has this directory, it may be empty");
	drop("instruction.md");
	must_refuse(ENOENT, "open 't/instruction.md': No such file or directory");
}

static void files_that_are_refused(void **state)
{
	static const char *const names[] = {"environment/Dockerfile",
		"environment/docker-compose.yaml", "environment/docker-compose.yml"};

	(void)state;
	for (size_t i = 0; i < array_count(names); i++) {
		autofree char *sentence = own_printf(
			"t/%s: images are not built yet: tasks run on the host root", names[i]);

		put(names[i], "");
		must_refuse(ENOTSUP, sentence);
		drop(names[i]);
	}
	put("steps/one/instruction.md", "");
	must_refuse(ENOTSUP, "t/steps: tasks of several steps are not built yet");
}

static void canary_lines(void **state)
{
	static const struct {
		const char *text, *instruction;
	} rows[] = {
		{"", ""},
		{"Do it.\n", "Do it.\n"},
		{"<!-- harbor-canary GUID 1 -->\n\n\nDo it.\n", "Do it.\n"},
		{"# Canary 1\n# CANARY 2\n \t\nDo it.\n\n# canary\n", "Do it.\n\n# canary\n"},
		{"  <!-- canary -->  \r\n\r\nDo it.\n", "Do it.\n"},
		{"# canary", ""},
		{"<!-- canary\n-->\nDo it.\n", "<!-- canary\n-->\nDo it.\n"},
		{"# Title\n# canary\n", "# Title\n# canary\n"},
		{"\n\nDo it.\n", "\n\nDo it.\n"},
		{"canary\nDo it.\n", "canary\nDo it.\n"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		struct task t;

		put("instruction.md", rows[i].text);
		must_load(&t);
		assert_string_equal(t.instruction, rows[i].instruction);
		task_done(&t);
	}
}

static void instructions_that_are_no_text(void **state)
{
	static char big[256 * 1024 + 2];
	struct task t;

	(void)state;
	put("instruction.md", "a\xff");
	must_refuse(EILSEQ, "t/instruction.md: not text in UTF-8");
	(void)memset(big, 'a', sizeof(big) - 1);
	put("instruction.md", big);
	must_refuse(EFBIG, "'t/instruction.md' is larger than 262144 bytes");
	big[sizeof(big) - 2] = '\0';
	put("instruction.md", big);
	must_load(&t);
	assert_int_equal(strlen(t.instruction), 256 * 1024);
	task_done(&t);
}

int test_tree(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_digest_is_harbors, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			what_counts_in_the_digest, place_make, place_remove),
		cmocka_unit_test_setup_teardown(a_gitignore_is_named, place_make, place_remove),
		cmocka_unit_test_setup_teardown(links, place_make, place_remove),
		cmocka_unit_test_setup_teardown(things_that_are_no_files, place_make, place_remove),
		cmocka_unit_test_setup_teardown(too_deep, place_make, place_remove),
		cmocka_unit_test_setup_teardown(parts_that_are_missing, place_make, place_remove),
		cmocka_unit_test_setup_teardown(files_that_are_refused, place_make, place_remove),
		cmocka_unit_test_setup_teardown(canary_lines, place_make, place_remove),
		cmocka_unit_test_setup_teardown(
			instructions_that_are_no_text, place_make, place_remove),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
