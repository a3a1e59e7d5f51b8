/* SPDX-License-Identifier: Apache-2.0 */
/* Reward files: what counts and what is ungraded. */

#include "tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attempt/reward.h"
#include "ground/base/own.h"

static int directory = -1;
static char path[] = "/tmp/hemra-reward-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	if (mkdtemp(path) == NULL)
		return -1;
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return directory < 0 ? -1 : 0;
}

static void clear(void)
{
	(void)unlinkat(directory, "reward.json", 0);
	(void)unlinkat(directory, "reward.txt", 0);
	(void)unlinkat(directory, "other", 0);
}

static int tear_down(void **state)
{
	(void)state;
	clear();
	own_close(&directory);
	return rmdir(path);
}

static void put(const char *name, const char *text)
{
	autoclose int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static struct reward read_it(void)
{
	struct reward r = {0};

	reward_read(directory, &r);
	clear();
	return r;
}

static void graded(const char *name, const char *text, double value)
{
	struct reward r;

	put(name, text);
	r = read_it();
	if (r.graded == 0)
		fail_msg("%s '%s': %s", name, text, r.reason);
	assert_true(r.value > value - 1e-12 && r.value < value + 1e-12);
	assert_string_equal(r.source, name);
}

static void ungraded(const char *name, const char *text, const char *reason)
{
	struct reward r;

	put(name, text);
	r = read_it();
	assert_int_equal(r.graded, 0);
	assert_string_equal(r.reason, reason);
}

static void test_good(void **state)
{
	(void)state;
	graded("reward.txt", "1", 1);
	graded("reward.txt", "0.25\n", 0.25);
	graded("reward.txt", " -3e-1 \n", -0.3);
	graded("reward.json", "0.5", 0.5);
	graded("reward.json", "{\"reward\": 0.75, \"style\": 1}", 0.75);
	graded("reward.json", "{\"only\":\n0.1}", 0.1);
}

static void test_bad(void **state)
{
	(void)state;
	ungraded("reward.txt", "", "reward.txt holds no number");
	ungraded("reward.txt", "one", "reward.txt holds no number");
	ungraded("reward.txt", "1 1", "reward.txt holds more than one number");
	ungraded("reward.txt", "nan", "the reward is not a finite decimal number");
	ungraded("reward.txt", "inf", "the reward is not a finite decimal number");
	ungraded("reward.txt", "0x10", "the reward is not a finite decimal number");
	ungraded("reward.txt", "1e999", "the reward is not a finite number");
	ungraded("reward.json", "{\"reward\": NaN}", "reward.json is not strict JSON");
	ungraded("reward.json", "{\"reward\":1,\"reward\":0}", "reward.json is not strict JSON");
	ungraded("reward.json", "{\"a\":1,\"b\":2}",
		"reward.json has several keys and none is \"reward\"");
	ungraded("reward.json", "{\"reward\":1,\"b\":\"x\"}",
		"reward.json holds a value that is not a finite number");
	ungraded("reward.json", "{\"reward\":1e999}",
		"reward.json holds a value that is not a finite number");
	ungraded("reward.json", "[1]", "reward.json is neither a number nor an object of numbers");
	ungraded("reward.json", "{}", "reward.json is neither a number nor an object of numbers");
}

static void test_neither_and_both(void **state)
{
	struct reward r = read_it();

	(void)state;
	assert_int_equal(r.graded, 0);
	assert_string_equal(r.reason, "the verifier wrote neither reward.json nor reward.txt");
	put("reward.json", "0.25");
	put("reward.txt", "1");
	r = read_it();
	assert_int_equal(r.graded, 1);
	assert_int_equal(r.both, 1);
	assert_true(r.value < 0.3);
}

/* Each is refused for what it is, and the same bytes in a plain file count. */
static void test_file_types(void **state)
{
	static const char reason[] = "the reward file is not a regular file of one name";
	struct reward r;

	(void)state;
	put("other", "1");
	assert_int_equal(symlinkat("other", directory, "reward.txt"), 0);
	r = read_it();
	assert_int_equal(r.graded, 0);
	assert_string_equal(r.reason, reason);
	put("other", "1");
	assert_int_equal(linkat(directory, "other", directory, "reward.txt", 0), 0);
	r = read_it();
	assert_string_equal(r.reason, reason);
	assert_int_equal(mkfifoat(directory, "reward.txt", 0644), 0);
	r = read_it();
	assert_string_equal(r.reason, reason);
	/* a bad reward.json is not outvoted by a good reward.txt */
	assert_int_equal(mkfifoat(directory, "reward.json", 0644), 0);
	put("reward.txt", "1");
	r = read_it();
	assert_int_equal(r.graded, 0);
	graded("reward.txt", "1", 1);
}

static void test_too_large(void **state)
{
	autofree char *large = own_alloc((2 << 20) + 1);

	(void)state;
	(void)memset(large, ' ', 2 << 20);
	large[0] = '1';
	ungraded("reward.txt", large, "the reward file is larger than 1 MiB");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_good),
	cmocka_unit_test(test_bad),
	cmocka_unit_test(test_neither_and_both),
	cmocka_unit_test(test_file_types),
	cmocka_unit_test(test_too_large),
};

int test_reward(void)
{
	return cmocka_run_group_tests_name("reward", tests, set_up, tear_down);
}
