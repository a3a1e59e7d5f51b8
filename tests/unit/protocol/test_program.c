/* SPDX-License-Identifier: Apache-2.0 */
/* hemra/1 from hello to the end: the order of messages, answers, usage, cancel, and every way to end. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "rig.h"
#include "tests.h"

static struct rig rig;

static int setup(void **state)
{
	rig_init(&rig, SESSION_PROGRAM);
	rig_open(&rig);
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	rig_done(*state);
	return 0;
}

static void test_whole_attempt(void **state)
{
	static const char start[] = "{\"type\":\"run.start\",\"run_id\":\"r1\"}";
	static const char *const lines[] = {
		"{\"type\":\"ready\",\"protocol\":\"hemra/1\",\"harness\":{\"name\":\"demo\",\"version\":\"1.2\"}}",
		"{\"type\":\"event\",\"seq\":1,\"kind\":\"tool.call\",\"id\":\"c1\",\"name\":\"bash\",\"args\":{}}",
		"{\"type\":\"event\",\"seq\":2,\"kind\":\"tool.result\",\"id\":\"c1\",\"status\":\"ok\"}",
		"{\"type\":\"event\",\"seq\":3,\"kind\":\"usage\",\"input\":1200,\"output\":90,\"cost_usd\":0.004}",
		"{\"type\":\"event\",\"seq\":4,\"kind\":\"message\",\"text\":\"hi\"}",
		"{\"type\":\"event\",\"seq\":5,\"kind\":\"thought\",\"text\":\"hm\"}",
		"{\"type\":\"event\",\"seq\":6,\"kind\":\"plan\",\"steps\":[]}",
		"{\"type\":\"artifact\",\"path\":\"patch.diff\",\"role\":\"patch\"}",
		"{\"type\":\"result\",\"status\":\"completed\",\"final_message\":\"done\"}",
	};
	static const enum event_type types[] = {EVENT_HARNESS_HELLO, EVENT_HARNESS_READY,
		EVENT_HARNESS_START, EVENT_HARNESS_TOOL_CALL, EVENT_HARNESS_TOOL_RESULT,
		EVENT_HARNESS_USAGE, EVENT_HARNESS_MESSAGE, EVENT_HARNESS_MESSAGE,
		EVENT_HARNESS_OTHER, EVENT_HARNESS_OTHER, EVENT_HARNESS_RESULT};
	static const char hello[] =
		"{\"type\":\"hello\",\"protocol\":\"hemra/1\",\"min\":\"hemra/1\","
		"\"runner\":{\"name\":\"hemra\",\"version\":\"" HEMRA_VERSION "\"},"
		"\"limits\":{\"line_bytes\":1048576,\"events_bytes\":67108864,\"stderr_bytes\":65536,"
		"\"handshake_ms\":30000,\"artifact_files\":0,\"artifact_bytes\":0}}";
	struct rig *r = *state;

	session_launch(r->session, start, sizeof(start) - 1);
	for (size_t i = 0; i < array_count(lines); i++)
		rig_say(r, lines[i]);
	assert_int_equal(r->event_count, array_count(types));
	for (size_t i = 0; i < array_count(types); i++)
		assert_string_equal(event_type_name(r->events[i].type), event_type_name(types[i]));
	/* the bytes are those that passed, in both directions */
	assert_string_equal(r->events[0].data, hello);
	assert_string_equal(r->events[1].data, lines[0]);
	assert_string_equal(r->events[2].data, start);
	for (size_t i = 3; i < array_count(types); i++)
		assert_string_equal(r->events[i].data, lines[i - 2]);
	assert_int_equal(r->said.len, strlen(hello) + 1 + strlen(start) + 1);
	assert_memory_equal(r->said.data, hello, strlen(hello));
	assert_string_equal(
		r->said.data + strlen(hello), "\n{\"type\":\"run.start\",\"run_id\":\"r1\"}\n");
	assert_string_equal(buf_text(&r->artifacts), "patch.diff\n");
	assert_int_equal(r->ready, 1);
	assert_int_equal(r->results, 1);
	assert_int_equal(r->result, OUTCOME_COMPLETED);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->brokes, 0);
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
	assert_int_equal(r->done.shook_hands, 1);
	assert_int_equal(r->done.got_result, 1);
	assert_string_equal(r->done.reason, "");
	assert_int_equal(r->done.usage.input, 1200);
	assert_int_equal(r->done.usage.output, 90);
	assert_int_equal(r->done.usage.cache_read, -1);
	assert_true(r->done.usage.cost_usd > 0.0039 && r->done.usage.cost_usd < 0.0041);
	assert_true(r->done.stdin_bytes == r->said.len);
}

static void launch(struct rig *r)
{
	session_launch(r->session, "{\"type\":\"run.start\"}", 20);
}

static void test_other_version(void **state)
{
	struct rig *r = *state;

	launch(r);
	rig_say(r, "{\"type\":\"ready\",\"protocol\":\"hemra/2\"}");
	rig_assert_broke(
		r, OUTCOME_HANDSHAKE_FAILED, 27, "it speaks another protocol than hemra/1");
	assert_int_equal(r->ready, 0);
	assert_int_equal(rig_last(r)->type, EVENT_HARNESS_READY);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_HANDSHAKE_FAILED);
	assert_int_equal(r->done.shook_hands, 0);
}

static void test_ready_twice(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	rig_say(r, "{\"type\":\"ready\",\"protocol\":\"hemra/1\"}");
	rig_assert_broke(r, OUTCOME_PROTOCOL_ERROR, 38, "a second ready");
	assert_string_equal(rig_last(r)->data,
		"{\"what\":\"a second ready\",\"offset\":38,\"sample\":{\"text\":"
		"\"{\\\"type\\\":\\\"ready\\\",\\\"protocol\\\":\\\"hemra/1\\\"}\"}}");
}

static void test_ready_without_protocol(void **state)
{
	launch(*state);
	rig_say(*state, "{\"type\":\"ready\"}");
	rig_assert_broke(*state, OUTCOME_PROTOCOL_ERROR, 0, "ready does not name its protocol");
}

static void test_message_before_ready(void **state)
{
	struct rig *r = *state;

	launch(r);
	rig_say(r, "{\"type\":\"ping\"}"); /* this one may come */
	assert_int_equal(r->brokes, 0);
	rig_say(r, "{\"type\":\"event\",\"seq\":1,\"kind\":\"message\"}");
	rig_assert_broke(r, OUTCOME_PROTOCOL_ERROR, 16, "a message before ready");
}

static void test_handshake_in_time(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	assert_int_equal(r->brokes, 0);
}

static void test_handshake_too_late(void **state)
{
	struct rig *r = *state;

	rig_done(r);
	rig_init(r, SESSION_PROGRAM);
	r->limits.handshake_ms = 30;
	rig_open(r);
	launch(r);
	rig_until(r, r->brokes == 1);
	rig_assert_broke(r, OUTCOME_HANDSHAKE_FAILED, 0, "it did not say ready in time");
	assert_string_equal(
		rig_last(r)->data, "{\"which\":\"handshake_ms\",\"value\":30,\"limit\":30}");
	rig_say(r, "{\"type\":\"ready\",\"protocol\":\"hemra/1\"}"); /* too late, and dropped */
	assert_int_equal(r->ready, 0);
	assert_int_equal(rig_last(r)->type, EVENT_LIMIT);
}

static void test_handshake_timer_ends_with_ready(void **state)
{
	struct rig *r = *state;
	struct mono start;

	rig_done(r);
	rig_init(r, SESSION_PROGRAM);
	r->limits.handshake_ms = 300;
	rig_open(r);
	rig_handshake(r);
	start = mono_now();
	while (mono_ms_between(start, mono_now()) < 400)
		rig_turn(r, 50);
	assert_int_equal(r->brokes, 0);
}

static void test_exit_before_ready(void **state)
{
	struct rig *r = *state;

	launch(r);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_HANDSHAKE_FAILED);
	assert_string_equal(r->done.reason, "it ended before ready: exit status 0");
	assert_int_equal(r->brokes, 0);
}

/* The exit may be known before the last bytes are read. */
static void test_exit_overtakes_output(void **state)
{
	struct rig *r = *state;
	static const char bytes[] = "{\"type\":\"ready\",\"protocol\":\"hemra/1\"}\n"
				    "{\"type\":\"result\",\"status\":\"completed\"}\n";

	launch(r);
	assert_int_equal(write(r->box_out, bytes, sizeof(bytes) - 1), sizeof(bytes) - 1);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
	assert_int_equal(r->done.got_result, 1);
}

static void test_crashed(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	rig_say(r, "{\"type\":\"event\",\"seq\":1,\"kind\":\"message\"}");
	rig_finish(r, WAIT_SIGNAL(SIGSEGV));
	assert_int_equal(r->done.outcome, OUTCOME_CRASHED);
	assert_string_equal(r->done.reason, "it ended without a result: killed by SIGSEGV");
	assert_int_equal(r->done.shook_hands, 1);
	assert_int_equal(r->done.got_result, 0);
}

static void test_end_within_a_line(void **state)
{
	struct rig *r = *state;
	static const char half[] = "{\"type\":\"event\",\"se";

	rig_handshake(r);
	rig_feed(r, r->box_out, half, strlen(half));
	rig_finish(r, WAIT_EXIT(1));
	assert_int_equal(r->done.outcome, OUTCOME_CRASHED);
	assert_string_equal(
		r->done.reason, "it ended in the middle of a line without a result: exit status 1");
	assert_string_equal(rig_last(r)->data,
		"{\"what\":\"standard output ended in the middle of a line\",\"offset\":57,"
		"\"sample\":{\"text\":\"{\\\"type\\\":\\\"event\\\",\\\"se\"}}");
	assert_int_equal(r->brokes, 0);
}

static void test_closes_stdout_and_lives_on(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	own_close(&r->box_out);
	rig_until(r, r->brokes == 1);
	rig_assert_broke(r, OUTCOME_CRASHED, 38, "it closed its standard output without a result");
}

static void test_closes_stdout_before_ready(void **state)
{
	struct rig *r = *state;

	launch(r);
	own_close(&r->box_out);
	rig_until(r, r->brokes == 1);
	rig_assert_broke(
		r, OUTCOME_HANDSHAKE_FAILED, 0, "it closed its standard output before ready");
}

static void test_results(void **state)
{
	static const struct {
		const char *line;
		enum outcome outcome;
		const char *reason;
	} cases[] = {
		{"{\"type\":\"result\",\"status\":\"completed\"}", OUTCOME_COMPLETED, ""},
		{"{\"type\":\"result\",\"status\":\"refused\"}", OUTCOME_REFUSED,
			"it declined the task"},
		{"{\"type\":\"result\",\"status\":\"refused\",\"error\":{\"code\":\"auth_required\"}}",
			OUTCOME_REFUSED, "it needs a sign-in that it was not given"},
		{"{\"type\":\"result\",\"status\":\"refused\",\"error\":\"auth_required\"}",
			OUTCOME_REFUSED, "it needs a sign-in that it was not given"},
		{"{\"type\":\"result\",\"status\":\"error\"}", OUTCOME_AGENT_ERROR,
			"it reported that it did not complete"},
		{"{\"type\":\"result\",\"status\":\"limit\"}", OUTCOME_AGENT_ERROR,
			"it reported that it did not complete"},
		{"{\"type\":\"result\",\"status\":\"cancelled\"}", OUTCOME_AGENT_ERROR,
			"it reported that it did not complete"},
	};
	struct rig *r = *state;

	for (size_t i = 0; i < array_count(cases); i++) {
		rig_handshake(r);
		rig_say(r, cases[i].line);
		assert_int_equal(r->results, 1);
		assert_string_equal(outcome_name(r->result), outcome_name(cases[i].outcome));
		rig_finish(r, WAIT_EXIT(0));
		assert_string_equal(outcome_name((enum outcome)r->done.outcome),
			outcome_name(cases[i].outcome));
		assert_string_equal(r->done.reason, cases[i].reason);
		rig_done(r);
		rig_init(r, SESSION_PROGRAM);
		rig_open(r);
	}
}

static void test_wrong_results(void **state)
{
	static const char *const lines[] = {
		"{\"type\":\"result\"}",
		"{\"type\":\"result\",\"status\":\"great\"}",
		"{\"type\":\"result\",\"status\":1}",
	};
	struct rig *r = *state;

	for (size_t i = 0; i < array_count(lines); i++) {
		rig_handshake(r);
		rig_say(r, lines[i]);
		assert_string_equal(r->sentence, "a result without a status of hemra/1");
		assert_int_equal(r->broke, OUTCOME_PROTOCOL_ERROR);
		assert_int_equal(r->results, 0);
		rig_done(r);
		rig_init(r, SESSION_PROGRAM);
		rig_open(r);
	}
}

static void test_after_result(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	rig_say(r, "{\"type\":\"result\",\"status\":\"completed\"}");
	rig_say(r, "{\"type\":\"pong\"}"); /* may cross ours on the way */
	assert_int_equal(r->brokes, 0);
	rig_say(r, "{\"type\":\"event\",\"seq\":1,\"kind\":\"message\"}");
	rig_assert_broke(r, OUTCOME_PROTOCOL_ERROR, 93, "output after result");
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_PROTOCOL_ERROR);
	assert_string_equal(r->done.reason, "output after result");
	assert_int_equal(r->done.got_result, 1);
}

static void test_second_result(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	rig_say(r, "{\"type\":\"result\",\"status\":\"completed\"}");
	rig_say(r, "{\"type\":\"result\",\"status\":\"completed\"}");
	rig_assert_broke(r, OUTCOME_PROTOCOL_ERROR, 77, "a second result");
	assert_int_equal(r->results, 1);
}

static void test_half_a_line_after_result(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	rig_say(r, "{\"type\":\"result\",\"status\":\"completed\"}");
	rig_feed(r, r->box_out, "x", 1);
	rig_finish(r, WAIT_EXIT(0));
	rig_assert_broke(r, OUTCOME_PROTOCOL_ERROR, 77, "output after result");
	assert_int_equal(r->done.outcome, OUTCOME_PROTOCOL_ERROR);
}

static void test_seq(void **state)
{
	static const struct {
		const char *lines[3];
		const char *sentence; /* of the last; NULL when it holds */
	} cases[] = {
		{{"{\"type\":\"event\",\"seq\":1,\"kind\":\"x\"}",
			 "{\"type\":\"event\",\"seq\":2,\"kind\":\"x\"}"},
			NULL},
		{{"{\"type\":\"event\",\"seq\":0,\"kind\":\"x\"}"},
			"seq does not follow the one before it"},
		{{"{\"type\":\"event\",\"seq\":2,\"kind\":\"x\"}"},
			"seq does not follow the one before it"},
		{{"{\"type\":\"event\",\"seq\":1,\"kind\":\"x\"}",
			 "{\"type\":\"event\",\"seq\":1,\"kind\":\"x\"}"},
			"seq does not follow the one before it"},
		{{"{\"type\":\"event\",\"seq\":1,\"kind\":\"x\"}",
			 "{\"type\":\"event\",\"seq\":3,\"kind\":\"x\"}"},
			"seq does not follow the one before it"},
		{{"{\"type\":\"event\",\"seq\":9007199254740993,\"kind\":\"x\"}"},
			"seq does not follow the one before it"},
		{{"{\"type\":\"event\",\"seq\":18446744073709551617,\"kind\":\"x\"}"},
			"an event without an integer seq"},
		{{"{\"type\":\"event\",\"seq\":1.0,\"kind\":\"x\"}"},
			"an event without an integer seq"},
		{{"{\"type\":\"event\",\"seq\":1e400,\"kind\":\"x\"}"},
			"an event without an integer seq"},
		{{"{\"type\":\"event\",\"seq\":\"1\",\"kind\":\"x\"}"},
			"an event without an integer seq"},
		{{"{\"type\":\"event\",\"kind\":\"x\"}"}, "an event without an integer seq"},
		{{"{\"type\":\"event\",\"seq\":1}"}, "an event without a kind"},
		{{"{\"type\":\"event\",\"seq\":1,\"kind\":7}"}, "an event without a kind"},
	};
	struct rig *r = *state;

	for (size_t i = 0; i < array_count(cases); i++) {
		rig_handshake(r);
		for (size_t n = 0; cases[i].lines[n] != NULL; n++)
			rig_say(r, cases[i].lines[n]);
		assert_int_equal(r->brokes, cases[i].sentence != NULL);
		if (cases[i].sentence != NULL)
			assert_string_equal(r->sentence, cases[i].sentence);
		rig_done(r);
		rig_init(r, SESSION_PROGRAM);
		rig_open(r);
	}
}

static void test_answers(void **state)
{
	static const struct {
		const char *line, *answer;
	} cases[] = {
		{"{\"type\":\"ping\"}", "{\"type\":\"pong\"}\n"},
		{"{\"type\":\"pong\"}", ""},
		{"{\"type\":\"error\",\"code\":\"x\"}", ""},
		{"{\"type\":\"telepathy\",\"x\":1}",
			"{\"type\":\"error\",\"code\":\"unknown_type\",\"message\":"
			"\"hemra/1 has no message of this type; it was stored\",\"of\":\"telepathy\"}\n"},
		{"{\"type\":\"permission.request\",\"id\":\"p1\",\"tool\":\"bash\",\"options\":[\"allow\",\"reject_once\",\"deny\"]}",
			"{\"type\":\"permission.reply\",\"id\":\"p1\",\"option\":\"reject_once\"}\n"},
		{"{\"type\":\"permission.request\",\"id\":\"p2\",\"options\":[{\"id\":\"yes\"},{\"id\":\"no\"}]}",
			"{\"type\":\"permission.reply\",\"id\":\"p2\",\"option\":\"no\"}\n"},
		{"{\"type\":\"permission.request\",\"id\":\"p3\",\"options\":[{\"name\":\"allow\"},{\"name\":\"deny it\"}]}",
			"{\"type\":\"permission.reply\",\"id\":\"p3\",\"option\":\"deny it\"}\n"},
		{"{\"type\":\"permission.request\",\"id\":\"p4\",\"options\":[\"allow\",\"north\"]}",
			"{\"type\":\"permission.reply\",\"id\":\"p4\",\"option\":\"deny\"}\n"},
		{"{\"type\":\"permission.request\",\"id\":\"p5\"}",
			"{\"type\":\"permission.reply\",\"id\":\"p5\",\"option\":\"deny\"}\n"},
	};
	struct rig *r = *state;

	rig_handshake(r);
	for (size_t i = 0; i < array_count(cases); i++) {
		rig_forget(r);
		buf_reset(&r->said);
		rig_say(r, cases[i].line);
		assert_string_equal(buf_text(&r->said), cases[i].answer);
		/* it is in the record before it is answered */
		assert_int_equal(r->events[0].type, EVENT_HARNESS_OTHER);
		assert_string_equal(r->events[0].data, cases[i].line);
	}
	assert_int_equal(r->event_count, 2);
	assert_string_equal(r->events[1].data,
		"{\"what\":\"permission.request\",\"verdict\":\"deny\","
		"\"rule\":\"this version grants no permission that a harness asks for\","
		"\"id\":\"p5\",\"option\":\"deny\"}");
	assert_int_equal(r->events[1].type, EVENT_DECISION);
	assert_int_equal(r->brokes, 0);
}

static void test_request_without_id(void **state)
{
	rig_handshake(*state);
	rig_say(*state, "{\"type\":\"permission.request\",\"id\":5}");
	rig_assert_broke(*state, OUTCOME_PROTOCOL_ERROR, 38 + 34,
		"a permission.request without a short string as id");
}

static void test_artifacts(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	rig_say(r, "{\"type\":\"artifact\",\"path\":\"a\\u00e9\\/b\"}");
	rig_say(r, "{\"type\":\"artifact\",\"path\":\"../../etc/passwd\"}"); /* judged elsewhere */
	assert_string_equal(buf_text(&r->artifacts), "a\xc3\xa9/b\n../../etc/passwd\n");
	assert_int_equal(rig_count(r, EVENT_HARNESS_OTHER), 2);
	rig_say(r, "{\"type\":\"artifact\",\"path\":\"\"}");
	assert_string_equal(r->sentence, "an artifact without a path");
}

static void test_usage(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	rig_say(r,
		"{\"type\":\"event\",\"seq\":1,\"kind\":\"usage\",\"input\":10,\"output\":null,\"reasoning\":3}");
	rig_say(r,
		"{\"type\":\"event\",\"seq\":2,\"kind\":\"usage\",\"input\":5,\"cost_usd\":0.25,\"reasoning\":0}");
	rig_say(r,
		"{\"type\":\"event\",\"seq\":3,\"kind\":\"usage\",\"cache_write\":9007199254740992,\"cost_usd\":0.5}");
	/* the total of result is the last word, field by field */
	rig_say(r,
		"{\"type\":\"result\",\"status\":\"completed\",\"usage\":{\"input\":14,\"output\":2}}");
	rig_finish(r, WAIT_EXIT(0));
	assert_true(r->done.usage.input == 14);
	assert_true(r->done.usage.output == 2);
	assert_true(r->done.usage.reasoning == 3);
	assert_true(r->done.usage.cache_read == -1);
	assert_true(r->done.usage.cache_write == INT64_C(1) << 53);
	assert_true(r->done.usage.cost_usd == 0.75);
}

static void test_wrong_usage(void **state)
{
	static const struct {
		const char *line, *sentence;
	} cases[] = {
		{"{\"type\":\"event\",\"seq\":1,\"kind\":\"usage\",\"input\":-1}",
			"a number of tokens is not an integer from 0 to 2^53"},
		{"{\"type\":\"event\",\"seq\":1,\"kind\":\"usage\",\"input\":9007199254740993}",
			"a number of tokens is not an integer from 0 to 2^53"},
		{"{\"type\":\"event\",\"seq\":1,\"kind\":\"usage\",\"output\":1.5}",
			"a number of tokens is not an integer from 0 to 2^53"},
		{"{\"type\":\"event\",\"seq\":1,\"kind\":\"usage\",\"cost_usd\":1e400}",
			"cost_usd is not a number from 0 upward"},
		{"{\"type\":\"event\",\"seq\":1,\"kind\":\"usage\",\"cost_usd\":-0.1}",
			"cost_usd is not a number from 0 upward"},
		{"{\"type\":\"result\",\"status\":\"completed\",\"usage\":[]}",
			"usage is not an object"},
		{"{\"type\":\"result\",\"status\":\"completed\",\"usage\":{\"input\":true}}",
			"a number of tokens is not an integer from 0 to 2^53"},
	};
	struct rig *r = *state;

	for (size_t i = 0; i < array_count(cases); i++) {
		rig_handshake(r);
		rig_say(r, cases[i].line);
		assert_string_equal(r->sentence, cases[i].sentence);
		assert_int_equal(r->broke, OUTCOME_PROTOCOL_ERROR);
		rig_done(r);
		rig_init(r, SESSION_PROGRAM);
		rig_open(r);
	}
}

static void test_usage_does_not_overflow(void **state)
{
	struct rig *r = *state;
	char line[128];

	rig_handshake(r);
	for (int i = 1; i <= 1100; i++) {
		(void)snprintf(line, sizeof(line),
			"{\"type\":\"event\",\"seq\":%d,\"kind\":\"usage\",\"input\":9007199254740992,"
			"\"cost_usd\":1e308}",
			i);
		rig_say(r, line);
	}
	rig_finish(r, WAIT_EXIT(0));
	assert_true(r->done.usage.input == INT64_MAX);
	assert_true(r->done.usage.cost_usd > 1e308 && __builtin_isfinite(r->done.usage.cost_usd));
}

static void test_cancel(void **state)
{
	static const struct {
		enum cancel_reason reason;
		const char *name;
		enum outcome outcome;
	} cases[] = {
		{CANCEL_OPERATOR, "operator", OUTCOME_CANCELLED},
		{CANCEL_DEADLINE, "deadline", OUTCOME_AGENT_TIMEOUT},
	};
	struct rig *r = *state;
	char text[128];

	for (size_t i = 0; i < array_count(cases); i++) {
		rig_handshake(r);
		session_cancel(r->session, cases[i].reason);
		session_cancel(r->session, CANCEL_LIMIT); /* the first word stands */
		(void)snprintf(text, sizeof(text), "{\"reason\":\"%s\",\"grace_ms\":10000}",
			cases[i].name);
		assert_string_equal(rig_last(r)->data, text);
		assert_int_equal(rig_last(r)->type, EVENT_HARNESS_CANCEL);
		rig_say(r,
			"{\"type\":\"event\",\"seq\":1,\"kind\":\"message\"}"); /* events go on */
		(void)snprintf(text, sizeof(text),
			"{\"type\":\"run.cancel\",\"reason\":\"%s\",\"grace_ms\":10000}\n",
			cases[i].name);
		assert_string_equal(buf_text(&r->said), text);
		rig_say(r, "{\"type\":\"result\",\"status\":\"cancelled\"}");
		assert_string_equal(outcome_name(r->result), outcome_name(cases[i].outcome));
		rig_finish(r, WAIT_EXIT(0));
		assert_string_equal(outcome_name((enum outcome)r->done.outcome),
			outcome_name(cases[i].outcome));
		rig_done(r);
		rig_init(r, SESSION_PROGRAM);
		rig_open(r);
	}
}

static void test_cancelled_without_a_word(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	session_cancel(r->session, CANCEL_OPERATOR);
	rig_finish(r, WAIT_SIGNAL(SIGKILL));
	assert_int_equal(r->done.outcome, OUTCOME_CANCELLED);
	assert_string_equal(r->done.reason, "it ended without a result: killed by SIGKILL");
}

static void test_cancel_before_ready(void **state)
{
	struct rig *r = *state;

	launch(r);
	rig_until_read(r);
	buf_reset(&r->said);
	session_cancel(r->session, CANCEL_OPERATOR);
	rig_until_read(r);
	assert_string_equal(buf_text(&r->said), "");
	rig_say(r, "{\"type\":\"ready\",\"protocol\":\"hemra/1\"}");
	assert_string_equal(buf_text(&r->said),
		"{\"type\":\"run.cancel\",\"reason\":\"operator\",\"grace_ms\":10000}\n");
	assert_int_equal(rig_count(r, EVENT_HARNESS_START), 0);
}

static void test_harness_closes_stdin(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	own_close(&r->box_in);
	for (int i = 0; i < 10; i++)
		rig_say(r, "{\"type\":\"ping\"}");
	session_cancel(r->session, CANCEL_OPERATOR);
	rig_say(r, "{\"type\":\"result\",\"status\":\"completed\"}");
	assert_int_equal(r->brokes, 0);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
}

/* The answers fill the pipe, then the queue; the loop goes on all the while. */
static void test_harness_never_reads(void **state)
{
	struct rig *r = *state;
	static const char ping[] = "{\"type\":\"ping\"}\n";
	uint64_t pings = 0;

	rig_handshake(r);
	rig_forget(r);
	r->count_only = true;
	while (r->brokes == 0 && pings < 200000) {
		rig_feed(r, r->box_out, ping, sizeof(ping) - 1);
		pings++;
	}
	assert_int_equal(r->brokes, 1);
	assert_string_equal(
		r->sentence, "it asks and does not read the answers on its standard input");
	assert_int_equal(r->broke, OUTCOME_PROTOCOL_ERROR);
	/* 1 MiB of queue and a pipe of 64 KiB, in answers of 16 bytes */
	assert_true(pings > 65536 && pings < 65536 + 4096 + 8200);
	rig_finish(r, WAIT_SIGNAL(SIGKILL));
	assert_int_equal(r->done.outcome, OUTCOME_PROTOCOL_ERROR);
}

/* A process that left the box holds the pipes and keeps writing: the end comes all the same. */
static void test_held_and_flooded_at_the_end(void **state)
{
	struct rig *r = *state;
	char junk[4096];

	rig_handshake(r);
	rig_say(r, "{\"type\":\"result\",\"status\":\"completed\"}");
	(void)memset(junk, 'x', sizeof(junk));
	while (write(r->box_err, junk, sizeof(junk)) > 0)
		;
	session_exited(r->session, WAIT_EXIT(0));
	session_stopped(r->session);
	while (r->dones == 0) {
		(void)!write(r->box_err, junk, sizeof(junk)); /* full or not */
		rig_turn(r, 20);
	}
	assert_int_equal(r->done.outcome, OUTCOME_COMPLETED);
	assert_true(r->done.stderr_bytes >= 65536);
}

static void test_stopped_before_launch(void **state)
{
	struct rig *r = *state;

	session_stopped(r->session);
	rig_until(r, r->dones == 1);
	assert_int_equal(r->done.outcome, OUTCOME_HANDSHAKE_FAILED);
	assert_string_equal(r->done.reason, "it ended before ready: its end was not seen");
	assert_int_equal(r->event_count, 0);
}

/* Output after something broke is read and dropped, so that the harness can still stop in order. */
static void test_broken_is_drained(void **state)
{
	struct rig *r = *state;
	static char junk[1 << 20];
	size_t events;

	rig_handshake(r);
	rig_say(r, "not JSON");
	assert_int_equal(r->brokes, 1);
	events = r->event_count;
	(void)memset(junk, 'x', sizeof(junk));
	rig_feed(r, r->box_out, junk, sizeof(junk));
	rig_say(r, "{\"type\":\"result\",\"status\":\"completed\"}");
	session_cancel(r->session, CANCEL_LIMIT);
	rig_until_read(r);
	assert_string_equal(buf_text(&r->said),
		"{\"type\":\"run.cancel\",\"reason\":\"limit\",\"grace_ms\":10000}\n");
	assert_int_equal(r->results, 0);
	assert_int_equal(r->event_count, events + 1);
	rig_finish(r, WAIT_EXIT(0));
	assert_int_equal(r->done.outcome, OUTCOME_PROTOCOL_ERROR);
}

int test_program(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_whole_attempt),
		T(test_other_version),
		T(test_ready_twice),
		T(test_ready_without_protocol),
		T(test_message_before_ready),
		T(test_handshake_in_time),
		T(test_handshake_too_late),
		T(test_handshake_timer_ends_with_ready),
		T(test_exit_before_ready),
		T(test_exit_overtakes_output),
		T(test_crashed),
		T(test_end_within_a_line),
		T(test_closes_stdout_and_lives_on),
		T(test_closes_stdout_before_ready),
		T(test_results),
		T(test_wrong_results),
		T(test_after_result),
		T(test_second_result),
		T(test_half_a_line_after_result),
		T(test_seq),
		T(test_answers),
		T(test_request_without_id),
		T(test_artifacts),
		T(test_usage),
		T(test_wrong_usage),
		T(test_usage_does_not_overflow),
		T(test_cancel),
		T(test_cancelled_without_a_word),
		T(test_cancel_before_ready),
		T(test_harness_closes_stdin),
		T(test_harness_never_reads),
		T(test_held_and_flooded_at_the_end),
		T(test_stopped_before_launch),
		T(test_broken_is_drained),
	};

	return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
