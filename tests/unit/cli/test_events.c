/* SPDX-License-Identifier: Apache-2.0 */
/* Events as a person reads them. */

#include "cli/event_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/check.h"
#include "ground/base/own.h"
#include "tests.h"

#define EVENT(seq, type, data)                                                                     \
	"{\"seq\":" seq                                                                            \
	",\"ts\":\"2026-01-02T03:04:05.000006Z\",\"src\":\"runner\",\"type\":\"" type              \
	"\",\"data\":" data ",\"h\":\"0011223344556677\"}"
/* The columns before a summary. */
#define SHOWN(seq, type) "    " seq "  2026-01-02T03:04:05.000006Z  " type

static void expect_line(const char *line, unsigned flags, const char *expected)
{
	autodone(buf_done) struct buf out = {.max = 1024 * 1024};
	struct json_doc doc;

	json_doc_init(&doc, EVENT_NODES_MAX, EVENT_DEPTH_MAX);
	event_view_line(&doc, line, strlen(line), flags, &out);
	assert_string_equal(buf_text(&out), expected);
	json_doc_done(&doc);
}

static void test_a_line_is_one_line(void **state)
{
	(void)state;
	expect_line(EVENT("7", "attempt.state", "{\"state\":\"running\"}"), 0,
		SHOWN("7", "attempt.state        running\n"));
	expect_line(EVENT("8", "harness.tool_call",
			    "{\"type\":\"event\",\"kind\":\"tool.call\",\"data\":{\"n\":[1,2]}}"),
		0, SHOWN("8", "harness.tool_call    kind=tool.call  data={\"n\":[1,2]}\n"));
	expect_line(EVENT("9", "harness.stderr", "{\"b64\":\"AAAAAAAA\"}"), 0,
		SHOWN("9", "harness.stderr       (6 bytes that are no text)\n"));
}

static void test_an_agent_cannot_write_to_the_terminal(void **state)
{
	(void)state;
	expect_line(EVENT("1", "harness.stdout",
			    "{\"text\":\"\\u001b[2J\\nfake\\u202e\",\"k\\u001b\":\"\\u0007\"}"),
		0, SHOWN("1", "harness.stdout       \\x1b[2J\\nfake\\u{202e}  k\\u001b=\\x07\n"));
}

static void test_damage_is_shown_as_damage(void **state)
{
	autodone(buf_done) struct buf out = {.max = 1024 * 1024};
	struct json_doc doc;
	static const char *const lines[] = {"\033]0;title\007 not json", "[1]", "{}", "7", "",
		"{\"seq\":1,\"ts\":\"x\",\"type\":\"t\",\"data\":[]}"};

	(void)state;
	json_doc_init(&doc, EVENT_NODES_MAX, EVENT_DEPTH_MAX);
	for (size_t i = 0; i < array_count(lines); i++) {
		buf_reset(&out);
		event_view_line(&doc, lines[i], strlen(lines[i]), 0, &out);
		assert_int_equal(strncmp(buf_text(&out), "    ?  damaged: ", 16), 0);
		assert_null(strchr(buf_text(&out), '\033'));
	}
	json_doc_done(&doc);
}

static void test_the_probe_names_what_did_not_hold(void **state)
{
	(void)state;
	expect_line(EVENT("3", "probe.result",
			    "{\"claims\":[{\"id\":\"box.files.home\",\"verdict\":\"held\"},"
			    "{\"id\":\"box.net.v4\",\"verdict\":\"broken\"}],\"held\":1}"),
		EVENTS_NOTABLE,
		SHOWN("3", "probe.result         1 of 2 claims held  box.net.v4=broken\n"));
}

static void test_notable_leaves_talk_out(void **state)
{
	(void)state;
	expect_line(EVENT("4", "harness.message", "{\"kind\":\"message\"}"), EVENTS_NOTABLE, "");
	expect_line(EVENT("5", "limit", "{\"which\":\"memory\"}"), EVENTS_NOTABLE,
		SHOWN("5", "limit                memory\n"));
}

static int file_of(const char *text)
{
	int fd = memfd_create("events", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static bool count_line(void *context, const char *line, size_t size)
{
	size_t *counts = context;

	(void)line;
	counts[0]++;
	counts[1] += size;
	return counts[0] < counts[2];
}

static void test_lines_are_given_whole_and_a_torn_tail_is_not(void **state)
{
	autoclose int fd = file_of("one\ntwo\n\nto");
	size_t counts[3] = {0, 0, 100};
	struct err err;

	(void)state;
	assert_int_equal(events_each(fd, -1, count_line, counts, &err), 0);
	assert_int_equal(counts[0], 3);
	assert_int_equal(counts[1], 6);
	/* and the other way to stop */
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	counts[0] = 0;
	counts[2] = 2;
	assert_int_equal(events_each(fd, -1, count_line, counts, &err), 0);
	assert_int_equal(counts[0], 2);
}

static void test_following_ends_when_the_other_side_hangs_up(void **state)
{
	autoclose int fd = file_of("one\ntwo\n");
	size_t counts[3] = {0, 0, 100};
	struct err err;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(events_each(fd, ends[0], count_line, counts, &err), 0);
	assert_int_equal(counts[0], 2);
	assert_int_equal(close(ends[0]), 0);
}

static void test_a_check_counts_what_it_saw(void **state)
{
	static const char events[] = EVENT("1", "probe.result",
		"{\"claims\":[{\"id\":\"box.limit.pids\",\"verdict\":\"held\"},"
		"{\"id\":\"box.net.v4\",\"verdict\":\"broken\"}]}") "\n" EVENT("2", "harness.hello",
		"{}") "\n" EVENT("3", "harness.ready", "{}") "\nnot an event\n" EVENT("4", "limit",
		"{\"which\":\"deadline\"}") "\n" EVENT("5", "harness.exit",
		"{\"code\":0,\"lingered\":true}") "\n";
	struct check_source source = {.fd = -1};
	autoclose int fd = file_of(events);
	struct err err;

	(void)state;
	source.fd = fd;
	assert_int_equal(check_read(&source, &err), 0);
	assert_true(source.facts.hello && source.facts.ready && source.facts.exited &&
		    source.facts.lingered);
	assert_false(source.facts.result || source.facts.cancelled || source.facts.protocol_error);
	assert_int_equal(source.facts.claims, 2);
	assert_int_equal(source.facts.claims_held, 1);
	assert_int_equal(source.facts.limits, 1);
	assert_int_equal(source.facts.limits_held, 1);
	assert_true(source.facts.cancel_us == source.facts.exit_us && source.facts.exit_us > 0);
}

int test_events(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_is_one_line),
		cmocka_unit_test(test_an_agent_cannot_write_to_the_terminal),
		cmocka_unit_test(test_damage_is_shown_as_damage),
		cmocka_unit_test(test_the_probe_names_what_did_not_hold),
		cmocka_unit_test(test_notable_leaves_talk_out),
		cmocka_unit_test(test_lines_are_given_whole_and_a_torn_tail_is_not),
		cmocka_unit_test(test_following_ends_when_the_other_side_hangs_up),
		cmocka_unit_test(test_a_check_counts_what_it_saw),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
