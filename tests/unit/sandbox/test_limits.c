/* SPDX-License-Identifier: Apache-2.0 */
/* Limits: in force, hit, reported; refused where they cannot be. */

#include "tests.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ground/base/own.h"
#include "ground/kernel/cgroup.h"
#include "rig.h"

static struct rig r;

static bool can_memory(void)
{
	struct cgroup c;
	char how[128];

	cgroup_probe(&c, how, sizeof(how));
	return c.can_memory;
}

static void memory(void **state)
{
	(void)state;
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.limits.memory_bytes = 48 << 20;
	rig_shell(&r, "head -c 200000000 /dev/zero | tail -c 190000000 | wc -c");
	if (!can_memory()) {
		assert_int_equal(rig_run(&r), -EOPNOTSUPP);
		assert_non_null(strstr(r.error.text, "the limit on memory cannot be enforced"));
		assert_non_null(strstr(r.error.text, "--weaker resource_limit"));
		r.spec.weaker = WEAKER_RESOURCE_LIMIT;
		assert_int_equal(rig_run(&r), 0);
		assert_null(rig_claim(&r, CLAIM_LIMIT_MEMORY)); /* not enforced, not claimed */
		return;
	}
	assert_int_equal(rig_run(&r), 0);
	assert_int_equal(rig_claim(&r, CLAIM_LIMIT_MEMORY)->verdict, CLAIM_HELD);
	assert_true(r.dead);
	assert_true(r.out_of_memory);
	/* the twin: the same work within its limit */
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.limits.memory_bytes = 48 << 20;
	rig_shell(&r, "head -c 2000000 /dev/zero | tail -c 1900000 | wc -c");
	assert_int_equal(rig_run(&r), 0);
	assert_false(r.out_of_memory);
	assert_string_equal(r.output, "1900000\n");
}

static void pids(void **state)
{
	static const char script[] =
		"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 100 & echo; done";

	(void)state;
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.limits.pids = 9;
	rig_shell(&r, script);
	assert_int_equal(rig_run(&r), 0);
	if (r.failed || r.broken_count > 0)
		fail_msg("%s%s", r.error.text, r.broken);
	assert_int_equal(rig_claim(&r, CLAIM_LIMIT_PIDS)->verdict, CLAIM_HELD);
	assert_true(strlen(r.output) > 0 && strlen(r.output) < 9);
	assert_true(r.survivor_count > 0 && r.survivor_count < 9);
	if (can_memory())
		assert_true(r.out_of_pids);
	rig_init(&r, SANDBOX_NATIVE);
	r.spec.limits.pids = 40;
	rig_shell(&r, script);
	assert_int_equal(rig_run(&r), 0);
	assert_int_equal(strlen(r.output), 12);
	assert_int_equal(r.survivor_count, 12);
	assert_false(r.out_of_pids);
}

/* Two boxes do not share the floor. */
static void floor_counts_per_box(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		rig_init(&r, SANDBOX_NATIVE);
		rig_shell(&r, "ulimit -p");
		assert_int_equal(rig_run(&r), 0);
		assert_string_equal(r.output, "4096\n");
	}
}

int test_limits(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory),
		cmocka_unit_test(pids),
		cmocka_unit_test(floor_counts_per_box),
	};

	return cmocka_run_group_tests_name(
		is_user() ? "limits, user" : "limits, root", tests, NULL, NULL);
}
