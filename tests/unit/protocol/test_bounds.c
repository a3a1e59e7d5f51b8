/* SPDX-License-Identifier: Apache-2.0 */
/* Every size at its limit, one below and one above, small and real; and how fast lines pass. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "rig.h"
#include "tests.h"

static struct rig rig;

#define LINE_BYTES   1048576
#define EVENTS_BYTES 67108864
#define READY_BYTES  38 /* what the handshake takes */

static void open_with(uint64_t line_bytes, uint64_t events_bytes)
{
	rig_init(&rig, SESSION_PROGRAM);
	rig.limits.line_bytes = line_bytes;
	rig.limits.events_bytes = events_bytes;
	rig_open(&rig);
	rig_handshake(&rig);
}

/* An event of exactly that many bytes with its newline; owned by the caller. */
static char *event_of(size_t bytes, int seq)
{
	char *line = malloc(bytes + 1);
	int head = snprintf(line, bytes,
		"{\"type\":\"event\",\"seq\":%d,\"kind\":\"message\",\"text\":\"", seq);

	assert_true(head > 0 && (size_t)head + 3 <= bytes);
	(void)memset(line + head, 'a', bytes - (size_t)head - 3);
	(void)memcpy(line + bytes - 3, "\"}\n", 4);
	return line;
}

static void try_line(uint64_t limit, size_t bytes, size_t step)
{
	autofree char *line = event_of(bytes, 1);

	open_with(limit, EVENTS_BYTES);
	for (size_t from = 0; from < bytes; from += step)
		rig_feed(&rig, rig.box_out, line + from, bytes - from < step ? bytes - from : step);
	rig_until_read(&rig);
	if (bytes <= limit) {
		assert_int_equal(rig.brokes, 0);
		assert_int_equal(rig.event_count, 1);
		assert_int_equal(rig.events[0].size, bytes - 1);
		assert_memory_equal(rig.events[0].data, line, bytes - 1);
	} else {
		char text[128];

		rig_assert_broke(&rig, OUTCOME_LIMIT_LINE, READY_BYTES,
			"it wrote a longer line than allowed");
		assert_int_equal(rig.event_count, 1);
		(void)snprintf(text, sizeof(text),
			"{\"which\":\"line\",\"value\":%llu,\"limit\":%llu}",
			(unsigned long long)limit + 1, (unsigned long long)limit);
		assert_string_equal(rig.events[0].data, text);
		rig_finish(&rig, WAIT_EXIT(0));
		assert_int_equal(rig.done.outcome, OUTCOME_LIMIT_LINE);
	}
	rig_done(&rig);
}

static void test_small_lines(void **state)
{
	(void)state;
	for (size_t step = 1; step <= 4096; step += 4095)
		for (size_t bytes = 199; bytes <= 201; bytes++)
			try_line(200, bytes, step);
}

static void test_real_lines(void **state)
{
	(void)state;
	for (size_t bytes = LINE_BYTES - 1; bytes <= LINE_BYTES + 1; bytes++)
		try_line(LINE_BYTES, bytes, bytes);
}

/* The end of a line that is too long need not come for it to be refused. */
static void test_endless_line(void **state)
{
	autofree char *line = event_of(LINE_BYTES, 1);

	(void)state;
	open_with(LINE_BYTES, EVENTS_BYTES);
	rig_feed(&rig, rig.box_out, line, LINE_BYTES - 1);
	rig_until_read(&rig);
	assert_int_equal(rig.brokes, 0);
	rig_feed(&rig, rig.box_out, "a", 1); /* where the newline had to be */
	rig_until_read(&rig);
	rig_assert_broke(
		&rig, OUTCOME_LIMIT_LINE, READY_BYTES, "it wrote a longer line than allowed");
	rig_done(&rig);
}

/* A line of the most values that fit, so that the parser's own bound never shows. */
static void test_line_of_many_values(void **state)
{
	autofree char *line = malloc(LINE_BYTES + 1);
	int head = snprintf(line, LINE_BYTES, "{\"type\":\"pong\",\"a\":[");
	size_t at = (size_t)head;

	(void)state;
	while (at + 2 < LINE_BYTES - 4) {
		line[at++] = '1';
		line[at++] = ',';
	}
	(void)strcpy(line + at, "1]}\n");
	open_with(LINE_BYTES, EVENTS_BYTES);
	rig_feed(&rig, rig.box_out, line, strlen(line));
	rig_until_read(&rig);
	assert_int_equal(rig.brokes, 0);
	assert_int_equal(rig.event_count, 1);
	rig_done(&rig);
}

/* Events of piece bytes until exactly total bytes are written, the handshake's included. */
static void feed_total(uint64_t total, size_t piece)
{
	uint64_t written = READY_BYTES;
	int seq = 1;

	while (written < total) {
		size_t left = (size_t)(total - written);
		/* the rest must still hold a whole event */
		size_t bytes = left >= 2 * piece ? piece : left;
		autofree char *line = event_of(bytes, seq++);

		rig_feed(&rig, rig.box_out, line, bytes);
		written += bytes;
	}
	rig_until_read(&rig);
}

static void try_total(uint64_t limit, size_t piece)
{
	static const char result[] = "{\"type\":\"result\",\"status\":\"completed\"}\n";
	char text[128];

	for (int off = -1; off <= 0; off++) {
		open_with(LINE_BYTES, limit);
		rig.count_only = true;
		feed_total(limit - (sizeof(result) - 1) + (uint64_t)(int64_t)off, piece);
		rig_feed(&rig, rig.box_out, result, sizeof(result) - 1);
		rig_until_read(&rig);
		assert_int_equal(rig.brokes, 0);
		assert_int_equal(rig.results, 1);
		rig_finish(&rig, WAIT_EXIT(0));
		assert_int_equal(rig.done.outcome, OUTCOME_COMPLETED);
		assert_true(rig.done.stdout_bytes == limit + (uint64_t)(int64_t)off);
		rig_done(&rig);
	}
	open_with(LINE_BYTES, limit);
	rig.count_only = true;
	feed_total(limit, piece);
	assert_int_equal(rig.brokes, 0);
	rig.event_count = 0;
	rig.count_only = false;
	rig_feed(&rig, rig.box_out, "{", 1);
	rig_until_read(&rig);
	rig_assert_broke(&rig, OUTCOME_LIMIT_EVENTS, limit,
		"it wrote more bytes on its standard output than allowed");
	(void)snprintf(text, sizeof(text), "{\"which\":\"events\",\"value\":%llu,\"limit\":%llu}",
		(unsigned long long)limit + 1, (unsigned long long)limit);
	assert_string_equal(rig_last(&rig)->data, text);
	rig_finish(&rig, WAIT_EXIT(0));
	assert_int_equal(rig.done.outcome, OUTCOME_LIMIT_EVENTS);
	rig_done(&rig);
}

static void test_small_total(void **state)
{
	(void)state;
	try_total(1000, 100);
}

static void test_real_total(void **state)
{
	(void)state;
	try_total(EVENTS_BYTES, 500000);
}

/* The lines that lie within the limit count even when one read crosses it. */
static void test_one_write_across_the_limit(void **state)
{
	autofree char *first = event_of(100, 1), *second = event_of(100, 2);
	char both[201];

	(void)state;
	(void)snprintf(both, sizeof(both), "%s%s", first, second);
	open_with(LINE_BYTES, READY_BYTES + 150);
	rig_feed(&rig, rig.box_out, both, 200);
	rig_until_read(&rig);
	assert_int_equal(rig.event_count, 2);
	assert_int_equal(rig.events[0].type, EVENT_HARNESS_MESSAGE);
	assert_string_equal(
		rig.events[1].data, "{\"which\":\"events\",\"value\":238,\"limit\":188}");
	assert_int_equal(rig.broke, OUTCOME_LIMIT_EVENTS);
	rig_done(&rig);
}

/* A flood after the limit is dropped up to the limit once more; then the pipe is closed. */
static void test_flood_is_cut_off(void **state)
{
	static char junk[65536];
	int sent = 0;

	(void)state;
	(void)memset(junk, 'x', sizeof(junk));
	open_with(LINE_BYTES, 1000000);
	while (sent < 100 && rig_feed_some(&rig, rig.box_out, junk, sizeof(junk)) == 0)
		sent++;
	assert_int_equal(rig.broke, OUTCOME_LIMIT_EVENTS);
	assert_int_equal(rig.brokes, 1);
	assert_in_range(sent, 30, 34); /* 2,000,000 bytes and at most a pipe more */
	rig_finish(&rig, WAIT_SIGNAL(13));
	rig_done(&rig);
}

static void test_stderr_keeps_both_ends(void **state)
{
	static const size_t sizes[] = {32767, 32768, 32769, 65535, 65536, 65537, 1000000};
	static char bytes[1000000];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)('a' + i % 23);
	for (size_t i = 0; i < array_count(sizes); i++) {
		size_t size = sizes[i];

		open_with(LINE_BYTES, EVENTS_BYTES);
		rig_feed(&rig, rig.box_err, bytes, size);
		for (int turn = 0; turn < 20; turn++)
			rig_turn(&rig, /* timeout_ms= */ 0);
		/* the beginning is there at once */
		assert_int_equal(rig.stderr_seen.len, size < 32768 ? size : 32768);
		rig_finish(&rig, WAIT_EXIT(0));
		assert_true(rig.done.stderr_bytes == size);
		assert_int_equal(rig.stderr_seen.len, size < 65536 ? size : 65536);
		assert_memory_equal(rig.stderr_seen.data, bytes, size < 32768 ? size : 32768);
		if (size > 65536) {
			char text[128];

			(void)snprintf(text, sizeof(text),
				"{\"what\":\"bytes of standard error\",\"count\":%zu}",
				size - 65536);
			assert_string_equal(rig_find(&rig, EVENT_LOSS)->data, text);
			assert_memory_equal(
				rig.stderr_seen.data + 32768, bytes + size - 32768, 32768);
		} else {
			assert_int_equal(rig_count(&rig, EVENT_LOSS), 0);
			assert_memory_equal(rig.stderr_seen.data, bytes, size);
		}
		rig_done(&rig);
	}
}

/* No assertion on time: the figure is printed. */
static void test_throughput(void **state)
{
	enum {
		LINES = 300000,
		BYTES = 200
	};
	struct buf text;
	struct mono start;
	int64_t ms;

	(void)state;
	buf_init(&text, (size_t)LINES * BYTES);
	for (int i = 1; i <= LINES; i++) {
		autofree char *line = event_of(BYTES, i);

		(void)buf_add(&text, line, BYTES);
	}
	open_with(LINE_BYTES, EVENTS_BYTES);
	rig.count_only = true;
	start = mono_now();
	rig_feed(&rig, rig.box_out, text.data, text.len);
	rig_until_read(&rig);
	ms = mono_ms_between(start, mono_now());
	assert_int_equal(rig.brokes, 0);
	assert_int_equal(rig.event_count, LINES);
	print_message("# %d events of %d bytes, through a pipe: %lld events/s\n", LINES, BYTES,
		(long long)LINES * 1000 / (ms > 0 ? ms : 1));
	buf_done(&text);
	rig_done(&rig);
}

int test_bounds(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_lines),
		cmocka_unit_test(test_real_lines),
		cmocka_unit_test(test_endless_line),
		cmocka_unit_test(test_line_of_many_values),
		cmocka_unit_test(test_small_total),
		cmocka_unit_test(test_real_total),
		cmocka_unit_test(test_one_write_across_the_limit),
		cmocka_unit_test(test_flood_is_cut_off),
		cmocka_unit_test(test_stderr_keeps_both_ends),
		cmocka_unit_test(test_throughput),
	};

	return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
