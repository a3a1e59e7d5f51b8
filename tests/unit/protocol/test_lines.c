/* SPDX-License-Identifier: Apache-2.0 */
/* What a line may be: framing, whitespace, strict JSON. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
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

static void restart(struct rig *r)
{
	rig_done(r);
	rig_init(r, SESSION_PROGRAM);
	rig_open(r);
	rig_handshake(r);
}

/* The handshake took this many bytes. */
#define READY_BYTES 38

static void test_single_bytes(void **state)
{
	struct rig *r = *state;
	static const char text[] =
		"{\"type\":\"event\",\"seq\":1,\"kind\":\"message\",\"text\":\"\xe2\x82\xac\"}\n"
		"{\"type\":\"event\",\"seq\":2,\"kind\":\"message\"}\n";

	rig_handshake(r);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		rig_feed(r, r->box_out, text + i, 1);
		rig_until_read(r);
	}
	assert_int_equal(r->event_count, 2);
	assert_string_equal(r->events[0].data,
		"{\"type\":\"event\",\"seq\":1,\"kind\":\"message\",\"text\":\"\xe2\x82\xac\"}");
	assert_int_equal(r->brokes, 0);
}

static void test_many_lines_at_once(void **state)
{
	struct rig *r = *state;
	struct buf text;

	buf_init(&text, 1 << 20);
	for (int i = 1; i <= 1000; i++)
		(void)buf_addf(&text, "{\"type\":\"event\",\"seq\":%d,\"kind\":\"message\"}\n", i);
	rig_handshake(r);
	rig_feed(r, r->box_out, text.data, text.len);
	rig_until_read(r);
	assert_int_equal(r->event_count, 1000);
	assert_string_equal(
		r->events[999].data, "{\"type\":\"event\",\"seq\":1000,\"kind\":\"message\"}");
	assert_int_equal(r->brokes, 0);
	buf_done(&text);
}

static void test_whitespace(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	/* around the object it is dropped: a line that ends in CRLF is nothing special */
	rig_say(r, "{\"type\":\"event\",\"seq\":1,\"kind\":\"message\"}\r");
	assert_string_equal(
		rig_last(r)->data, "{\"type\":\"event\",\"seq\":1,\"kind\":\"message\"}");
	rig_say(r, " \t{\"type\":\"event\",\"seq\":2,\"kind\":\"message\"}\t \r");
	assert_string_equal(
		rig_last(r)->data, "{\"type\":\"event\",\"seq\":2,\"kind\":\"message\"}");
	/* spaces within are the harness's bytes */
	rig_say(r, "{ \"type\": \"event\", \"seq\": 3, \"kind\": \"message\" }");
	assert_string_equal(
		rig_last(r)->data, "{ \"type\": \"event\", \"seq\": 3, \"kind\": \"message\" }");
	/* tabs and returns within cannot stand in the record: the line is kept as text */
	rig_say(r, "{\"type\":\t\"event\",\r\"seq\":4,\"kind\":\"message\",\"text\":\"a\\tb\"}");
	assert_string_equal(rig_last(r)->data,
		"{\"text\":\"{\\\"type\\\":\\t\\\"event\\\",\\r\\\"seq\\\":4,\\\"kind\\\":\\\"message\\\","
		"\\\"text\\\":\\\"a\\\\tb\\\"}\"}");
	assert_int_equal(rig_last(r)->type, EVENT_HARNESS_MESSAGE);
	assert_int_equal(r->brokes, 0);
}

/* Kept as text it is longer than an event may be: it comes in parts, whole characters each. */
static void test_long_line_kept_as_text(void **state)
{
	struct rig *r = *state;
	struct buf line;
	size_t text_bytes = 0;

	buf_init(&line, 1 << 20);
	(void)buf_add_text(&line, "{\"type\":\"event\",\"seq\":1,\"kind\":\"message\",\t\"a\":[");
	while (line.len < 1048576 - 16)
		(void)buf_add_text(&line, "\t\"\xe2\x82\xac\",");
	(void)buf_add_text(&line, "0]}");
	rig_handshake(r);
	rig_say(r, line.data);
	assert_int_equal(r->brokes, 0);
	assert_int_equal(r->event_count, 3);
	for (size_t i = 0; i < 3; i++) {
		char end[64];

		(void)snprintf(end, sizeof(end), "\",\"part\":%zu,\"parts\":3}", i + 1);
		assert_true(strlen(r->events[i].data) == r->events[i].size);
		assert_string_equal(r->events[i].data + r->events[i].size - strlen(end), end);
		assert_true(str_is_utf8(r->events[i].data, r->events[i].size));
		assert_null(strstr(r->events[i].data, "\xef\xbf\xbd"));
		text_bytes += r->events[i].size;
	}
	assert_true(text_bytes > line.len);
	buf_done(&line);
}

static void test_not_strict(void **state)
{
	static const struct {
		const char *line;
		uint64_t at;
		const char *sentence;
	} cases[] = {
		{"", 0, "an empty line"},
		{"  ", 0, "an empty line"},
		{"\r", 0, "an empty line"},
		{"Hello, I am starting", 0, "expected a value"},
		{"[1]", 0, "a line that is not an object"},
		{"\"x\"", 0, "a line that is not an object"},
		{"{}", 0, "a message without a type"},
		{"{\"type\":5}", 8, "a message without a type"},
		{"{\"type\":\"pong\"}{\"type\":\"pong\"}", 15, "something behind the value"},
		{"{\"type\":\"pong\",}", 15, "expected a key in quotes"},
		{"{\"type\":\"pong\",\"a\":1,\"a\":1}", 21, "a key that this object already has"},
		{"{\"type\":\"pong\",\"a\":{\"b\":[{\"c\":1,\"\\u0063\":2}]}}", 32,
			"a key that this object already has"},
		{"{\"type\":\"pong\",\"a\":\"\xff\"}", 20, "not UTF-8"},
		{"{\"type\":\"pong\",\"a\":\"\xed\xa0\x80\"}", 20, "not UTF-8"},
		{"{\"type\":\"pong\",\"a\":\"\\ud800\"}", 20, "half of a surrogate pair"},
		{"{\"type\":\"pong\",\"a\":\"\\udc00\"}", 20, "half of a surrogate pair"},
		{"{\"type\":\"pong\",\"a\":\"\\ud800\\ud800\"}", 20, "half of a surrogate pair"},
		{"{\"type\":\"pong\",\"a\":\"\t\"}", 20, "a control character in a string"},
		{"{\"type\":\"pong\",\"a\":NaN}", 19, "expected a value"},
		{"\xef\xbb\xbf{\"type\":\"pong\"}", 0, "a byte order mark"},
	};
	struct rig *r = *state;

	rig_handshake(r);
	for (size_t i = 0; i < array_count(cases); i++) {
		rig_say(r, cases[i].line);
		rig_assert_broke(
			r, OUTCOME_PROTOCOL_ERROR, READY_BYTES + cases[i].at, cases[i].sentence);
		assert_int_equal(rig_last(r)->type, EVENT_PROTOCOL_ERROR);
		restart(r);
	}
}

static void test_accepted_oddities(void **state)
{
	static const char *const lines[] = {
		"{\"type\":\"pong\",\"a\":1e400}", /* nobody reads this number */
		"{\"type\":\"pong\",\"a\":-0.0e-0}",
		"{\"type\":\"pong\",\"a\":123456789012345678901234567890}",
		"{\"type\":\"pong\",\"a\":\"\\ud83d\\ude00\\u0000\"}",
		"{\"\\u0074ype\":\"p\\u006fng\"}",
		"{\"type\":\"pong\",\"\":null,\"a\\u0000\":1,\"a\":2}",
		"{\"type\":\"pong\",\"a\":\"\x7f\xc2\x80\xf4\x8f\xbf\xbf\"}",
	};
	struct rig *r = *state;

	rig_handshake(r);
	for (size_t i = 0; i < array_count(lines); i++) {
		rig_say(r, lines[i]);
		assert_string_equal(rig_last(r)->data, lines[i]);
	}
	assert_int_equal(r->brokes, 0);
}

static void test_nul(void **state)
{
	struct rig *r = *state;
	static const char line[] = "{\"type\":\"pong\",\"a\":\"x\0y\"}\n";

	rig_handshake(r);
	rig_feed(r, r->box_out, line, sizeof(line) - 1);
	rig_until_read(r);
	rig_assert_broke(
		r, OUTCOME_PROTOCOL_ERROR, READY_BYTES + 21, "a control character in a string");
	assert_string_equal(rig_last(r)->data,
		"{\"what\":\"a control character in a string\",\"offset\":59,\"sample\":{\"text\":"
		"\"{\\\"type\\\":\\\"pong\\\",\\\"a\\\":\\\"x\\u0000y\\\"}\"}}");
}

/* The line is an object itself, so depth counts from one. */
static void say_nested(struct rig *r, int depth)
{
	struct buf line;

	buf_init(&line, 4096);
	(void)buf_add_text(&line, "{\"type\":\"pong\",\"a\":");
	for (int i = 1; i < depth; i++)
		(void)buf_add_char(&line, '[');
	for (int i = 1; i < depth; i++)
		(void)buf_add_char(&line, ']');
	(void)buf_add_text(&line, "}");
	rig_say(r, line.data);
	buf_done(&line);
}

static void test_depth(void **state)
{
	struct rig *r = *state;

	rig_handshake(r);
	say_nested(r, 63);
	say_nested(r, 64);
	assert_int_equal(r->brokes, 0);
	say_nested(r, 65);
	assert_string_equal(r->sentence, "nested deeper than allowed");
	assert_int_equal(r->broke, OUTCOME_PROTOCOL_ERROR);
}

/* A sample is bounded, says where, and keeps bytes that are no text. */
static void test_sample(void **state)
{
	struct rig *r = *state;
	struct buf line;

	buf_init(&line, 4096);
	(void)buf_add_text(&line, "{\"type\":\"pong\",\"a\":\"");
	for (int i = 0; i < 100; i++)
		(void)buf_add_text(&line, "\xe2\x82\xac");
	(void)buf_add_text(&line, "\xff");
	for (int i = 0; i < 100; i++)
		(void)buf_add_char(&line, 'z');
	(void)buf_add_text(&line, "\"}");
	rig_handshake(r);
	rig_say(r, line.data);
	rig_assert_broke(r, OUTCOME_PROTOCOL_ERROR, READY_BYTES + 20 + 300, "not UTF-8");
	assert_non_null(strstr(
		rig_last(r)->data, "\"sample\":{\"b64\":\"4oKs")); /* starts with a whole sign */
	assert_true(rig_last(r)->size < 300);
	buf_done(&line);
}

int test_lines(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_single_bytes),
		T(test_many_lines_at_once),
		T(test_whitespace),
		T(test_long_line_kept_as_text),
		T(test_not_strict),
		T(test_accepted_oddities),
		T(test_nul),
		T(test_depth),
		T(test_sample),
	};

	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
