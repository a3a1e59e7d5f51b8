/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of ground/terms: ids that only grow, names that come back, plans that are freed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/terms/claim.h"
#include "ground/terms/event.h"
#include "ground/terms/id.h"
#include "ground/terms/msg.h"
#include "ground/terms/outcome.h"
#include "ground/terms/plan.h"

static void ids_only_grow(void **state)
{
	struct id_source source = {0};
	struct wall now = {INT64_C(1795957200123456)};
	struct id last = id_new(&source, now);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct id next;

		/* often the same millisecond, sometimes later, sometimes the clock is set back */
		now.us += i % 7 == 0 ? 700 : i % 101 == 0 ? -5000000 : 0;
		next = id_new(&source, now);
		assert_true(id_is_valid(next.text));
		if (strcmp(last.text, next.text) >= 0)
			fail_msg("%s is followed by %s", last.text, next.text);
		last = next;
	}
}

static void ids_hold_their_time(void **state)
{
	struct id_source source = {0};
	struct id a = id_new(&source, (struct wall){INT64_C(1469918176385000)}), b;

	(void)state;
	assert_memory_equal(a.text, "01aryz6s41", 10); /* the specification's example */
	source = (struct id_source){0};
	b = id_new(&source, (struct wall){INT64_C(1469918176385999)});
	assert_memory_equal(a.text, b.text, 10);
	assert_string_not_equal(a.text, b.text);
}

static void ids_carry_and_overflow(void **state)
{
	struct id_source source = {.last_ms = 1000};
	struct id a;

	(void)state;
	/* any step carries through nine full bytes; 1000 is z8 */
	(void)memset(source.random, 0xff, sizeof(source.random));
	source.random[0] = 0x00;
	a = id_new(&source, (struct wall){1000000});
	assert_memory_equal(a.text, "00000000z8040", 13);
	/* a millisecond that is full borrows the next one */
	(void)memset(source.random, 0xff, sizeof(source.random));
	a = id_new(&source, (struct wall){1000000});
	assert_memory_equal(a.text, "00000000z9", 10);
	assert_int_equal(source.last_ms, 1001);
	assert_true(id_is_valid(a.text));
}

static void ids_that_people_type(void **state)
{
	static const char good[] = "01aryz6s41tsv4rrffq69g5fav";

	(void)state;
	assert_true(id_is_valid(good));
	assert_true(id_is_valid("7zzzzzzzzzzzzzzzzzzzzzzzzz"));
	assert_false(id_is_valid("8zzzzzzzzzzzzzzzzzzzzzzzzz"));
	assert_false(id_is_valid("01aryz6s41tsv4rrffq69g5fa"));
	assert_false(id_is_valid("01aryz6s41tsv4rrffq69g5favv"));
	assert_false(id_is_valid("01ARYZ6S41TSV4RRFFQ69G5FAV"));
	assert_false(id_is_valid("01aryz6s41tsv4rrffq69g5fal"));
	assert_false(id_is_valid(""));
	assert_true(id_is_prefix(good));
	assert_true(id_is_prefix("01ar"));
	assert_false(id_is_prefix("01a"));
	assert_false(id_is_prefix("01a/"));
	assert_false(id_is_prefix("../x"));
	assert_false(id_is_prefix("01aryz6s41tsv4rrffq69g5favv"));
	assert_true(id_is_none(&(struct id){""}));
	assert_false(id_is_none(&(struct id){"x"}));
}

/* Every value's name gives the value back, and no other text gives any. */
#define ROUND_TRIP(kind, count, name_of, parse)                                                    \
	do {                                                                                       \
		enum kind back = (enum kind)0;                                                     \
		for (int i = 0; i < (count); i++) {                                                \
			assert_true(strlen(name_of((enum kind)i)) > 0);                            \
			assert_int_equal(parse(name_of((enum kind)i), &back), 0);                  \
			assert_int_equal(back, i);                                                 \
		}                                                                                  \
		back = (enum kind)((count)-1);                                                     \
		assert_int_equal(parse("no such name", &back), -EINVAL);                           \
		assert_int_equal(parse("", &back), -EINVAL);                                       \
		assert_int_equal(back, (count)-1);                                                 \
	} while (0)

static void names_come_back(void **state)
{
	(void)state;
	ROUND_TRIP(state, STATE_COUNT, state_name, state_parse);
	ROUND_TRIP(outcome, OUTCOME_COUNT, outcome_name, outcome_parse);
	ROUND_TRIP(claim, CLAIM_COUNT, claim_name, claim_parse);
	ROUND_TRIP(event_type, EVENT_TYPE_COUNT, event_type_name, event_type_parse);
	ROUND_TRIP(harness_kind, HARNESS_KIND_COUNT, harness_kind_name, harness_kind_parse);
	ROUND_TRIP(instruction_via, INSTRUCTION_VIA_COUNT, instruction_via_name,
		instruction_via_parse);
	ROUND_TRIP(sandbox_kind, SANDBOX_KIND_COUNT, sandbox_kind_name, sandbox_kind_parse);
	ROUND_TRIP(workspace_mode, WORKSPACE_MODE_COUNT, workspace_mode_name, workspace_mode_parse);
	ROUND_TRIP(keep, KEEP_COUNT, keep_name, keep_parse);
	assert_string_equal(outcome_name(OUTCOME_LIMIT_LINE), "limit:line");
	assert_string_equal(state_name(STATE_DONE), "done");
	assert_string_equal(claim_name(CLAIM_NET_V4), "box.net.v4");
}

static void tables_are_told_in_full(void **state)
{
	(void)state;
	for (int i = 0; i < EVENT_TYPE_COUNT; i++) {
		assert_true(strlen(event_type_source((enum event_type)i)) > 0);
		assert_true(strlen(event_type_data((enum event_type)i)) > 0);
		assert_true(strlen(event_type_about((enum event_type)i)) > 0);
	}
	for (int i = 0; i < CLAIM_COUNT; i++)
		assert_true(strlen(claim_about((enum claim)i)) > 0);
	for (int i = 0; i < OUTCOME_COUNT; i++)
		assert_true(strlen(outcome_about((enum outcome)i)) > 0);
	for (int i = 0; i < MSG_TYPE_COUNT; i++)
		assert_true(strlen(msg_type_name((enum msg_type)i)) > 0);
	assert_string_equal(msg_type_name(MSG_NONE), "none");
	assert_string_equal(msg_type_name((enum msg_type)60000), "unknown");
	assert_string_equal(cancel_reason_name(CANCEL_DEADLINE), "deadline");
}

static void flags(void **state)
{
	const struct flag_name *const tables[] = {isolation_names, weaker_names};
	unsigned flag = 0, seen;

	(void)state;
	for (size_t t = 0; t < array_count(tables); t++) {
		seen = 0;
		for (const struct flag_name *n = tables[t]; n->name != NULL; n++) {
			assert_int_equal(flag_parse(tables[t], n->name, &flag), 0);
			assert_int_equal(flag, n->flag);
			assert_int_equal(__builtin_popcount(flag), 1);
			assert_int_equal(seen & flag, 0);
			seen |= flag;
			assert_true(strlen(n->about) > 0);
		}
		flag = 77;
		assert_int_equal(flag_parse(tables[t], "nothing", &flag), -EINVAL);
		assert_int_equal(flag, 77);
	}
}

/* A leak of any field is LeakSanitizer's to find. */
static void plans_are_freed(void **state)
{
	struct plan p = {0};

	(void)state;
	plan_done(&p);
	p.created = own_strdup("x");
	p.harness.name = own_strdup("x");
	strv_add(&p.harness.command, "a");
	strv_add(&p.harness.env, "a");
	plan_mounts_add(
		&p.harness.mounts, &p.harness.mount_count, "/a", "/b", /* writable= */ false);
	plan_mounts_add(
		&p.harness.mounts, &p.harness.mount_count, "/c", "/d", /* writable= */ true);
	assert_int_equal(p.harness.mount_count, 2);
	assert_string_equal(p.harness.mounts[1].source, "/c");
	assert_string_equal(p.harness.mounts[1].target, "/d");
	assert_true(p.harness.mounts[1].writable);
	p.task.instruction = own_strdup("x");
	plan_variables_add(&p.task.env, &p.task.env_count, "A", "1");
	plan_variables_add(&p.task.env, &p.task.env_count, "B", "2");
	assert_string_equal(p.task.env[1].name, "B");
	assert_string_equal(p.task.env[1].value, "2");
	plan_variables_add(&p.verifier.env, &p.verifier.env_count, "A", "1");
	plan_mounts_add(
		&p.sandbox.mounts, &p.sandbox.mount_count, "/a", "/b", /* writable= */ false);
	p.secrets = own_alloc(sizeof(*p.secrets));
	p.secret_count = 1;
	p.secrets[0] = (struct plan_secret){own_strdup("KEY"), own_strdup("env:KEY")};
	strv_add(&p.covered, "/x");
	strv_add(&p.readonly, "/x");
	p.store = own_strdup("/x");
	plan_done(&p);
	assert_null(p.harness.mounts);
	assert_int_equal(p.task.env_count, 0);
	plan_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_only_grow),
		cmocka_unit_test(ids_hold_their_time),
		cmocka_unit_test(ids_carry_and_overflow),
		cmocka_unit_test(ids_that_people_type),
		cmocka_unit_test(names_come_back),
		cmocka_unit_test(tables_are_told_in_full),
		cmocka_unit_test(flags),
		cmocka_unit_test(plans_are_freed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("terms", tests, NULL, NULL);
}
