/* SPDX-License-Identifier: Apache-2.0 */
/* Line framing: the maximum at its boundary, pieces of every size, offsets. */

#include "tests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/wire/ndjson.h"

/* Lines as "offset:text|". */
struct seen {
	struct buf text;
	unsigned count, stop_at; /* 0: never */
	const char *last;
};

static int on_line(void *context, const char *line, size_t size, uint64_t offset)
{
	struct seen *seen = context;

	buf_addf(&seen->text, "%u:", (unsigned)offset);
	buf_add(&seen->text, line, size);
	buf_add_char(&seen->text, '|');
	seen->last = line;
	return ++seen->count == seen->stop_at ? -ECANCELED : 0;
}

/* Feeds text in pieces of step bytes; each is a copy of exactly its size, so ASan sees an overrun. */
static int feed(struct ndjson *n, struct seen *seen, const char *text, size_t step)
{
	size_t size = strlen(text);

	for (size_t at = 0; at < size; at += step) {
		size_t piece = size - at < step ? size - at : step;
		autofree char *exact = malloc(piece);
		int r;

		assert_non_null(exact);
		(void)memcpy(exact, text + at, piece);
		r = ndjson_feed(n, exact, piece, on_line, seen);
		if (r < 0)
			return r;
	}
	return 0;
}

static void begin(struct ndjson *n, struct seen *seen, size_t max)
{
	ndjson_init(n, max);
	*seen = (struct seen){0};
	buf_init(&seen->text, 4096);
}

static void end(struct ndjson *n, struct seen *seen)
{
	ndjson_done(n);
	buf_done(&seen->text);
}

static void every_step_gives_the_same_lines(void **state)
{
	static const char text[] = "one\n\ntwo\r\nthree three\n\n\n{\"a\":1}\nrest";

	(void)state;
	for (size_t step = 1; step <= sizeof(text); step++) {
		struct ndjson n;
		struct seen seen;

		begin(&n, &seen, 12);
		assert_int_equal(feed(&n, &seen, text, step), 0);
		assert_string_equal(buf_text(&seen.text),
			"0:one|4:|5:two\r|10:three three|22:|23:|24:{\"a\":1}|");
		assert_int_equal(ndjson_pending(&n), 4);
		assert_int_equal(n.offset, 32);
		assert_int_equal(feed(&n, &seen, "\n", 1), 0);
		assert_int_equal(ndjson_pending(&n), 0);
		assert_int_equal(seen.count, 8);
		end(&n, &seen);
	}
}

static void the_maximum_counts_the_newline(void **state)
{
	static const struct {
		const char *text;
		int status;
		unsigned lines;
		uint64_t offset;
	} rows[] = {
		{"x\n123456\n", 0, 2, 9},           /* one below */
		{"x\n1234567\n", 0, 2, 10},         /* exactly */
		{"x\n12345678\n", -EMSGSIZE, 1, 2}, /* one above */
		{"x\n123456\r\n", 0, 2, 10},        /* a carriage return counts */
		{"x\n1234567\r\n", -EMSGSIZE, 1, 2},
		{"x\n1234567", 0, 1, 2},          /* may still end at the maximum */
		{"x\n12345678", -EMSGSIZE, 1, 2}, /* cannot any more */
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++)
		for (size_t step = 1; step <= 12; step++) {
			struct ndjson n;
			struct seen seen;

			begin(&n, &seen, 8);
			assert_int_equal(feed(&n, &seen, rows[i].text, step), rows[i].status);
			assert_int_equal(seen.count, rows[i].lines);
			assert_int_equal(n.offset, rows[i].offset);
			end(&n, &seen);
		}
}

static void the_least_maximum(void **state)
{
	struct ndjson n;
	struct seen seen;

	(void)state;
	begin(&n, &seen, 1);
	assert_int_equal(feed(&n, &seen, "\n\n", 1), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(feed(&n, &seen, "x", 1), -EMSGSIZE);
	assert_int_equal(n.offset, 2);
	end(&n, &seen);
}

static void memory_stays_within_the_maximum(void **state)
{
	struct ndjson n;
	struct seen seen;
	int r = 0;

	(void)state;
	begin(&n, &seen, 1000);
	for (int i = 0; i < 1000000 && r == 0; i++)
		r = ndjson_feed(&n, "x", 1, on_line, &seen);
	assert_int_equal(r, -EMSGSIZE);
	assert_true(n.pending.capacity <= 1000);
	assert_int_equal(ndjson_feed(&n, "x\n", 2, on_line, &seen), -EMSGSIZE);
	assert_int_equal(seen.count, 0);
	end(&n, &seen);
}

static void a_line_within_one_piece_is_not_copied(void **state)
{
	static const char text[] = "first\nsecond\n";
	struct ndjson n;
	struct seen seen;

	(void)state;
	begin(&n, &seen, 100);
	assert_int_equal(ndjson_feed(&n, text, sizeof(text) - 1, on_line, &seen), 0);
	assert_ptr_equal(seen.last, text + 6);
	assert_null(n.pending.data);
	end(&n, &seen);
}

static void the_callback_stops(void **state)
{
	struct ndjson n;
	struct seen seen;

	(void)state;
	for (size_t step = 1; step <= 9; step++) {
		begin(&n, &seen, 100);
		seen.stop_at = 2;
		assert_int_equal(feed(&n, &seen, "aa\nbb\ncc\n", step), -ECANCELED);
		assert_string_equal(buf_text(&seen.text), "0:aa|3:bb|");
		assert_int_equal(n.offset, 6);
		end(&n, &seen);
	}
}

static void zero_bytes_are_bytes(void **state)
{
	struct ndjson n;
	struct seen seen;

	(void)state;
	begin(&n, &seen, 100);
	assert_int_equal(ndjson_feed(&n, "a\0b\n", 4, on_line, &seen), 0);
	assert_int_equal(seen.text.len, 6);
	assert_memory_equal(seen.text.data, "0:a\0b|", 6);
	end(&n, &seen);
	/* done leaves it ready for a new stream */
	begin(&n, &seen, 100);
	assert_int_equal(feed(&n, &seen, "half", 9), 0);
	ndjson_done(&n);
	assert_int_equal(ndjson_pending(&n), 0);
	assert_int_equal(feed(&n, &seen, "x\n", 9), 0);
	assert_string_equal(buf_text(&seen.text), "0:x|");
	end(&n, &seen);
}

int test_ndjson(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_gives_the_same_lines),
		cmocka_unit_test(the_maximum_counts_the_newline),
		cmocka_unit_test(the_least_maximum),
		cmocka_unit_test(memory_stays_within_the_maximum),
		cmocka_unit_test(a_line_within_one_piece_is_not_copied),
		cmocka_unit_test(the_callback_stops),
		cmocka_unit_test(zero_bytes_are_bytes),
	};

	return cmocka_run_group_tests_name("ndjson", tests, NULL, NULL);
}
