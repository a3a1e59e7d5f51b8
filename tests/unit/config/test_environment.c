/* SPDX-License-Identifier: Apache-2.0 */
/* HEMRA_* and HEARTH_* variables. */

#include "tests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "ground/base/buf.h"
#include "ground/base/file.h"
#include "ground/base/own.h"

static void every_variable(void **state)
{
	static const char *const pairs[][2] = {{"HEMRA_ATTEMPTS", "4"}, {"HEMRA_CONCURRENCY", "2"},
		{"HEMRA_CPUS", "1.5"}, {"HEMRA_DEADLINE", "90s"}, {"HEMRA_DEBUG", ""},
		{"HEMRA_DISK", "8G"}, {"HEMRA_KEEP", "none"}, {"HEMRA_MEMORY", "512M"},
		{"HEMRA_NETWORK", "none"}, {"HEMRA_PIDS", "64"},
		{"HEMRA_REQUIRE", "network_block,file_system"}, {"HEMRA_SANDBOX", "native"},
		{"HEMRA_STORE", "st"}, {"HEMRA_WEAKER", "probe"}, {"HEMRA_WORK_DIR", "/w/./x/"},
		{"HEMRA_WORKSPACE_MODE", "bind"}};
	autofree char *store = in_place("st");
	struct buf docs;
	struct settings s;
	struct err err = {0};

	(void)state;
	buf_init(&docs, 1024 * 1024);
	assert_int_equal(file_read(DOCS_FILES, &docs, NULL), 0);
	for (size_t i = 0; i < array_count(pairs); i++) {
		autofree char *quoted = own_printf("`%s`", pairs[i][0]);

		assert_non_null(strstr(buf_text(&docs), quoted));
		assert_int_equal(setenv(pairs[i][0], pairs[i][1], 1), 0);
	}
	buf_done(&docs);
	if (settings_read_environment(&s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.attempts, 4);
	assert_int_equal(s.concurrency, 2);
	assert_int_equal(s.limits.cpu_millis, 1500);
	assert_int_equal(s.deadline_ms, 90000);
	assert_int_equal(s.limits.disk_bytes, 8LL << 30);
	assert_int_equal(s.keep, KEEP_NONE);
	assert_int_equal(s.limits.memory_bytes, 512LL << 20);
	assert_int_equal(s.limits.pids, 64);
	assert_true(
		s.limit_said_cpus && s.limit_said_disk && s.limit_said_memory && s.limit_said_pids);
	assert_int_equal(s.require, ISOLATION_NETWORK_BLOCK | ISOLATION_FILE_SYSTEM);
	assert_int_equal(s.kind, SANDBOX_NATIVE);
	assert_string_equal(s.store, store);
	assert_int_equal(s.weaker, WEAKER_PROBE);
	assert_string_equal(s.work_dir, "/w/x");
	assert_int_equal(s.workspace, WORKSPACE_BIND);
	settings_done(&s);
}

static void bad_variables(void **state)
{
	static const struct {
		const char *name, *value, *sentence;
	} rows[] = {
		{"HEMRA_STOER", "x",
			"unknown environment variable HEMRA_STOER (did you mean HEMRA_STORE?)"},
		{"HEMRA_QQQQQQQQQQQQQQQQ", "x",
			"unknown environment variable HEMRA_QQQQQQQQQQQQQQQQ; hemra's are listed in docs/files.md"},
		{"HEMRA_SANDBOX", "docker", "HEMRA_SANDBOX: \"docker\" is not built yet"},
		{"HEMRA_SANDBOX", "box", "HEMRA_SANDBOX: expected native or local, found \"box\""},
		{"HEMRA_NETWORK", "open", "HEMRA_NETWORK: \"open\" is not built yet"},
		{"HEMRA_WORKSPACE_MODE", "overlay",
			"HEMRA_WORKSPACE_MODE: \"overlay\" is not built yet"},
		{"HEMRA_DEADLINE", "soon",
			"HEMRA_DEADLINE: expected a time such as 15m, found \"soon\""},
		{"HEMRA_CONCURRENCY", "0",
			"HEMRA_CONCURRENCY: expected a whole number from 1 to 1024, found \"0\""},
		{"HEMRA_CPUS", "1e3",
			"HEMRA_CPUS: expected a number from 0 to 4096, such as 1.5, found \"1e3\""},

		{"HEMRA_REQUIRE", "network_block,",
			"HEMRA_REQUIRE: expected network_block, resource_limit, file_system, with commas, found "
			"\"network_block,\""},
		{"HEARTH_ALLOWED_TOOLS", "a",
			"environment variable HEARTH_ALLOWED_TOOLS: what it asks for is not built yet; unset it "
			"to go on without"},
		{"HEARTH_ALLOWED_HOSTS", "",
			"environment variable HEARTH_ALLOWED_HOSTS: what it asks for is not built yet; unset it "
			"to go on without"},
		{"HEARTH_TRIPWIRE", "on",
			"environment variable HEARTH_TRIPWIRE: what it asks for is not built yet; unset it to go "
			"on without"},
		{"HEARTH_DECOYS", "on",
			"environment variable HEARTH_DECOYS: what it asks for is not built yet; unset it to go "
			"on without"},
		{"HEARTH_ALOWED_HOSTS", "x",
			"unknown environment variable HEARTH_ALOWED_HOSTS (did you mean HEARTH_ALLOWED_HOSTS?)"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		struct settings s;
		struct err err = {0};

		assert_int_equal(setenv(rows[i].name, rows[i].value, 1), 0);
		assert_int_equal(settings_read_environment(&s, &err), -EINVAL);
		assert_string_equal(err.text, rows[i].sentence);
		assert_int_equal(unsetenv(rows[i].name), 0);
		assert_int_equal(
			settings_read_environment(&s, &err), 0); /* that variable alone was it */
		settings_done(&s);
	}
}

static void strangers_are_left_alone(void **state)
{
	struct settings s;
	struct err err = {0};

	(void)state;
	assert_int_equal(setenv("HEMRA_ATTEMPT", "01jdw", 1), 0); /* hemra in a box of hemra's */
	assert_int_equal(setenv("HEMRA_ARTIFACTS", "/hemra/artifacts", 1), 0);
	assert_int_equal(setenv("HEMRA_STORE", "", 1), 0);
	assert_int_equal(setenv("HEMRA_KEEP", "", 1), 0);
	assert_int_equal(setenv("HEARTH_COLOUR", "x", 1), 0);
	assert_int_equal(settings_read_environment(&s, &err), 0);
	assert_null(s.store);
	assert_int_equal(s.keep, KEEP_COUNT);
	settings_done(&s);
}

int test_environment(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_variable, place_make, place_remove),
		cmocka_unit_test_setup_teardown(bad_variables, place_make, place_remove),
		cmocka_unit_test_setup_teardown(strangers_are_left_alone, place_make, place_remove),
	};

	return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
