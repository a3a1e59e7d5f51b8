/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: the instruction on standard input, output as log, the exit status as result. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "rig.h"
#include "tests.h"

static struct rig rig;

static int setup(void **state)
{
	rig_init(&rig, SESSION_COMMAND);
	rig_open(&rig);
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	rig_done(*state);
	return 0;
}

/* The box's standard input has ended. */
static bool input_ended(struct rig *r)
{
	char byte;

	rig_until_read(r);
	return read(r->box_in, &byte, 1) == 0;
}

static void test_instruction_then_end(void **state)
{
	struct rig *r = *state;

	session_launch(r->session, "do \0 it", 7);
	rig_until(r, input_ended(r));
	assert_int_equal(r->said.len, 7);
	assert_memory_equal(r->said.data, "do \0 it", 7);
	rig_feed(r, r->box_out, "out \xff\n", 6);
	rig_feed(r, r->box_err, "err", 3);
	rig_finish(r, WAIT_EXIT(0));
	assert_string_equal(buf_text(&r->stdout_seen), "out \xff\n");
	assert_string_equal(buf_text(&r->stderr_seen), "err");
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
	assert_true(r->done.stdin_bytes == 7);
	assert_true(r->done.stdout_bytes == 6);
	assert_true(r->done.stderr_bytes == 3);
	assert_int_equal(r->event_count, 0);
	assert_int_equal(r->done.shook_hands, 0);
	assert_true(r->done.usage.input == -1 && r->done.usage.cost_usd < 0);
}

static void test_no_instruction(void **state)
{
	struct rig *r = *state;

	session_launch(r->session, "", 0);
	rig_until(r, input_ended(r));
	assert_int_equal(r->said.len, 0);
}

/* A long instruction and a command that reads it late, or never. */
static void test_long_instruction(void **state)
{
	struct rig *r = *state;
	static char text[1048576];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i % 251);
	session_launch(r->session, text, sizeof(text));
	rig_until(r, input_ended(r));
	assert_int_equal(r->said.len, sizeof(text));
	assert_memory_equal(r->said.data, text, sizeof(text));
}

static void test_instruction_not_read(void **state)
{
	struct rig *r = *state;
	static char text[1048576];

	session_launch(r->session, text, sizeof(text));
	for (int i = 0; i < 5; i++)
		rig_turn(r, /* timeout_ms= */ 0);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
	assert_int_equal(r->brokes, 0);
	assert_true(r->done.stdin_bytes <= 65536);
}

static void test_exits(void **state)
{
	static const struct {
		int wait_status;
		bool cancel;
		enum outcome outcome;
		const char *reason;
	} cases[] = {
		{WAIT_EXIT(0), false, OUTCOME_COMPLETED, ""},
		{WAIT_EXIT(3), false, OUTCOME_AGENT_ERROR, "exit status 3"},
		{WAIT_SIGNAL(SIGABRT), false, OUTCOME_CRASHED, "killed by SIGABRT"},
		{WAIT_SIGNAL(SIGTERM), true, OUTCOME_CANCELLED, "killed by SIGTERM"},
		{WAIT_EXIT(0), true, OUTCOME_COMPLETED, ""},
	};
	struct rig *r = *state;

	for (size_t i = 0; i < array_count(cases); i++) {
		session_launch(r->session, "", 0);
		if (cases[i].cancel)
			session_cancel(r->session, CANCEL_OPERATOR);
		rig_finish(r, cases[i].wait_status);
		assert_string_equal(outcome_name((enum outcome)r->done.outcome),
			outcome_name(cases[i].outcome));
		assert_string_equal(r->done.reason, cases[i].reason);
		assert_int_equal(r->event_count, 0);
		rig_done(r);
		rig_init(r, SESSION_COMMAND);
		rig_open(r);
	}
}

static void test_output_limit(void **state)
{
	struct rig *r = *state;
	static char text[1001];

	(void)memset(text, 'o', sizeof(text));
	for (size_t size = 999; size <= 1001; size++) {
		rig_done(r);
		rig_init(r, SESSION_COMMAND);
		r->limits.events_bytes = 1000;
		rig_open(r);
		session_launch(r->session, "", 0);
		rig_feed(r, r->box_out, text, size);
		rig_until_read(r);
		assert_int_equal(r->brokes, size > 1000);
		if (size > 1000) {
			rig_assert_broke(r, OUTCOME_LIMIT_EVENTS, 1000,
				"it wrote more bytes on its standard output than allowed");
			assert_string_equal(rig_last(r)->data,
				"{\"which\":\"events\",\"value\":1001,\"limit\":1000}");
		}
		rig_finish(r, WAIT_EXIT(0));
		assert_int_equal(r->stdout_seen.len, size < 1000 ? size : 1000);
		assert_int_equal(
			r->done.outcome, size > 1000 ? OUTCOME_LIMIT_EVENTS : OUTCOME_COMPLETED);
	}
}

static void test_large_output_in_pieces(void **state)
{
	struct rig *r = *state;
	static char text[3000000];

	for (size_t i = 0; i + 3 <= sizeof(text); i += 3)
		(void)memcpy(text + i, "\xe2\x82\xac", 3);
	session_launch(r->session, "", 0);
	rig_feed(r, r->box_out, text, sizeof(text));
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->stdout_seen.len, sizeof(text));
	assert_memory_equal(r->stdout_seen.data, text, sizeof(text));
	assert_true(r->piece_max > 4096);
	assert_true(r->done.stdout_bytes == sizeof(text));
}

int test_command(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_instruction_then_end),
		T(test_no_instruction),
		T(test_long_instruction),
		T(test_instruction_not_read),
		T(test_exits),
		T(test_output_limit),
		T(test_large_output_in_pieces),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
