/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of texts: applied to the first they give the second. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attempt/diff.h"
#include "ground/base/own.h"

static size_t line_end(const char *text, size_t at, size_t size)
{
	const char *end = memchr(text + at, '\n', size - at);

	return end != NULL ? (size_t)(end - text) + 1 : size;
}

/* Applies a unified difference; NULL when a context or removed line does not match. */
static char *apply(const char *before, const char *diff)
{
	size_t n = strlen(before), m = strlen(diff), at = 0;
	struct buf out;

	buf_init(&out, 1 << 20);
	for (size_t d = 0; d < m;) {
		size_t end = line_end(diff, d, m), start = 0, count = 0;

		if (sscanf(diff + d, "@@ -%zu,%zu", &start, &count) == 2) {
			size_t skip = count > 0 ? start - 1 : start, line = 0, pos = 0;

			while (line < skip && pos < n) {
				pos = line_end(before, pos, n);
				line++;
			}
			(void)buf_add(&out, before + at, pos - at);
			at = pos;
		} else if (diff[d] == '\\') {
			if (out.len > 0 && out.data[out.len - 1] == '\n')
				buf_truncate(&out, out.len - 1);
		} else {
			size_t old = line_end(before, at, n);
			size_t want = end - d - 1;

			if (diff[d] != '+') {
				size_t have = old - at;

				/* a last line without its newline is written with one and a mark */
				if (have + 1 == want)
					want = have;
				if (have != want || memcmp(before + at, diff + d + 1, want) != 0)
					return NULL;
				at = old;
			}
			if (diff[d] != '-')
				(void)buf_add(&out, diff + d + 1, end - d - 1);
		}
		d = end;
	}
	(void)buf_add(&out, before + at, n - at);
	return buf_take(&out);
}

static void check(const char *before, const char *after)
{
	autofree char *got = NULL;
	struct buf out;

	buf_init(&out, 1 << 20);
	diff_unified(str_of(before), str_of(after), &out);
	assert_int_equal(buf_status(&out), 0);
	got = apply(before, buf_text(&out));
	assert_non_null(got);
	assert_string_equal(got, after);
	assert_int_equal(strcmp(before, after) == 0, out.len == 0);
	buf_done(&out);
}

static void test_small(void **state)
{
	(void)state;
	check("", "");
	check("a\nb\n", "a\nb\n");
	check("", "new\n");
	check("old\n", "");
	check("a\nb\nc\n", "a\nx\nc\n");
	check("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n", "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nL\nm\n");
}

static void test_random(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct buf a, b;

		buf_init(&a, 1 << 16);
		buf_init(&b, 1 << 16);
		for (int line = 0; line < 60; line++) {
			char text[4] = {(char)('a' + rand_r(&seed) % 4), '\n', '\0', '\0'};

			if (rand_r(&seed) % 5 != 0)
				(void)buf_add_text(&a, text);
			if (rand_r(&seed) % 5 != 0)
				(void)buf_add_text(&b, text);
		}
		check(buf_text(&a), buf_text(&b));
		buf_done(&a);
		buf_done(&b);
	}
}

static void test_too_far_apart(void **state)
{
	struct buf a, b;

	(void)state;
	buf_init(&a, 1 << 20);
	buf_init(&b, 1 << 20);
	for (int line = 0; line < 3000; line++) {
		(void)buf_addf(&a, "left %d\n", line);
		(void)buf_addf(&b, "right %d\n", line);
	}
	check(buf_text(&a), buf_text(&b));
	buf_done(&a);
	buf_done(&b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_small),
	cmocka_unit_test(test_random),
	cmocka_unit_test(test_too_far_apart),
};

int test_diff(void)
{
	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
