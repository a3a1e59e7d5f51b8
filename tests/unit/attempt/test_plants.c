/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a host program would run. */

#include "tests.h"

#include "attempt/plants.h"

static void test_plants_named(void **state)
{
	static const char *const yes[] = {".git/hooks/post-checkout", ".git/config",
		"sub/.git/hooks/x", "package.json", "deep/er/package.json", ".envrc", "Makefile",
		"a/conftest.py", ".vscode/tasks.json", "x/.vscode/tasks.json",
		"node_modules/.bin/eslint", ".github/workflows/ci.yml", ".mcp.json", "lib/evil.pth",
		".bashrc"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!plants_is_one(yes[i], /* executable= */ false))
			fail_msg("%s is not named", yes[i]);
}

static void test_plants_ordinary(void **state)
{
	static const char *const no[] = {"src/main.c", "README.md", "git/hooks/x", "xpackage.json",
		"package.jsonx", "hooks/pre-commit", "bin/tool"};

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (plants_is_one(no[i], /* executable= */ false))
			fail_msg("%s is named", no[i]);
	assert_true(plants_is_one("bin/tool", /* executable= */ true));
	assert_false(plants_is_one("src/tool", /* executable= */ true));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_plants_named),
	cmocka_unit_test(test_plants_ordinary),
};

int test_plants(void)
{
	return cmocka_run_group_tests_name("plants", tests, NULL, NULL);
}
