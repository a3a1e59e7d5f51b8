/* SPDX-License-Identifier: Apache-2.0 */
/* Which store a command means. */

#include "cli/where.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "tests.h"

struct house {
	char top[64], deep[96], store[96], state[96];
};

static int set_up(void **state)
{
	struct house *h = own_alloc(sizeof(*h));

	(void)strcpy(h->top, "/tmp/unit-cli-XXXXXX");
	assert_non_null(mkdtemp(h->top));
	(void)snprintf(h->deep, sizeof(h->deep), "%s/a/b", h->top);
	(void)snprintf(h->store, sizeof(h->store), "%s/.hemra", h->top);
	(void)snprintf(h->state, sizeof(h->state), "%s/state", h->top);
	h->deep[strlen(h->deep) - 2] = '\0';
	assert_int_equal(mkdir(h->deep, 0700), 0);
	h->deep[strlen(h->deep)] = '/';
	assert_int_equal(mkdir(h->deep, 0700), 0);
	assert_int_equal(unsetenv("HEMRA_STORE"), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", h->state, 1), 0);
	*state = h;
	return 0;
}

static int tear_down(void **state)
{
	struct house *h = *state;
	autofree char *command = own_printf("rm -r '%s'", h->top);

	assert_int_equal(system(command), 0);
	free(h);
	return unsetenv("HEMRA_STORE");
}

static void expect_store(
	const struct house *h, enum verb verb, const char *said, const char *expected)
{
	struct options o = {.verb = verb, .cwd = (char *)h->deep};
	autofree char *path = NULL;
	struct err err = {0};

	assert_int_equal(where_store(&o, said, &path, &err), 0);
	assert_string_equal(path, expected);
}

static void test_what_is_said_goes_first(void **state)
{
	const struct house *h = *state;
	autofree char *relative = own_printf("%s/x", h->deep);

	assert_int_equal(mkdir(h->store, 0700), 0);
	expect_store(h, VERB_RUNS, NULL, h->store);
	assert_int_equal(setenv("HEMRA_STORE", "x", 1), 0);
	expect_store(h, VERB_RUNS, NULL, relative);
	expect_store(h, VERB_RUNS, "/y", "/y");
}

static void test_without_one_run_makes_it_here_and_exec_at_home(void **state)
{
	const struct house *h = *state;
	struct options o = {.verb = VERB_RUNS, .cwd = (char *)h->deep};
	autofree char *here = own_printf("%s/.hemra", h->deep);
	autofree char *home = own_printf("%s/hemra/store", h->state);
	autofree char *made = own_printf("mkdir -p '%s'", home);
	autofree char *path = NULL;
	struct err err = {0};

	expect_store(h, VERB_RUN, NULL, here);
	expect_store(h, VERB_EXEC, NULL, home);
	assert_int_equal(where_store(&o, NULL, &path, &err), -ENOENT);
	assert_string_equal(err.text,
		"no store: no .hemra here or above, and --store and $HEMRA_STORE name none");
	assert_int_equal(system(made), 0);
	expect_store(h, VERB_RUNS, NULL, home);
}

static void test_another_users_store_above_is_not_used(void **state)
{
	const struct house *h = *state;
	struct options o = {.verb = VERB_RUN, .cwd = (char *)h->deep};
	autofree char *path = NULL;
	struct err err = {0};

	assert_int_equal(mkdir(h->store, 0755), 0);
	expect_store(h, VERB_RUN, NULL, h->store);
	if (geteuid() != 0)
		skip(); /* only root can give a directory away */
	assert_int_equal(chown(h->store, 12345, 12345), 0);
	assert_int_equal(where_store(&o, NULL, &path, &err), -EACCES);
	assert_non_null(strstr(err.text, "belongs to another user"));
	expect_store(h, VERB_RUN, h->store, h->store);
}

int test_where(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_said_goes_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_without_one_run_makes_it_here_and_exec_at_home, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_another_users_store_above_is_not_used, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("where", tests, NULL, NULL);
}
