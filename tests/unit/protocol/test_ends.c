/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping the two ends of a stream. */

#include <string.h>

#include "ground/base/buf.h"
#include "protocol/ends.h"
#include "tests.h"

struct seen {
	struct buf text; /* pieces in brackets, losses as <n> */
};

static void piece(void *context, const char *bytes, size_t size)
{
	struct seen *s = context;

	(void)buf_add_char(&s->text, '[');
	(void)buf_add(&s->text, bytes, size);
	(void)buf_add_char(&s->text, ']');
}

static void lost(void *context, uint64_t bytes)
{
	(void)buf_addf(&((struct seen *)context)->text, "<%llu>", (unsigned long long)bytes);
}

static const struct ends_hooks hooks = {piece, lost};

/* Adds the words one by one and compares what came out. */
static void check(uint64_t begin, size_t end, const char *const *words, const char *expected)
{
	struct seen s;
	struct ends e;

	buf_init(&s.text, 1 << 20);
	ends_init(&e, begin, end, &hooks, &s);
	for (; *words != NULL; words++)
		ends_add(&e, *words, strlen(*words));
	ends_end(&e);
	assert_string_equal(buf_text(&s.text), expected);
	ends_done(&e);
	buf_done(&s.text);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_bounds_of_both(void **state)
{
	(void)state;
	check(4, 4, WORDS(""), "");
	check(4, 4, WORDS("abcd"), "[abcd]");
	check(4, 4, WORDS("abcde"), "[abcd][e]");
	check(4, 4, WORDS("abcdefgh"), "[abcd][efgh]");
	check(4, 4, WORDS("abcdefghi"), "[abcd]<1>[fghi]");
	check(4, 4, WORDS("ab", "cd", "ef", "gh", "ij", "kl"), "[ab][cd]<4>[ijkl]");
	check(4, 4, WORDS("abcdefghijklmnopqrstuvwxyz"), "[abcd]<18>[wxyz]");
	check(4, 0, WORDS("abcd", "e", "f"), "[abcd]<2>");
	check(0, 4, WORDS("abcdef"), "<2>[cdef]");
	check(0, 0, WORDS("abc"), "<3>");
}

static void test_sequences_stay_whole(void **state)
{
	(void)state;
	check(100, 0,
		WORDS("a\xe2", "\x82",
			"\xac"
			"b"),
		"[a][\xe2\x82\xac"
		"b]");
	check(100, 0, WORDS("a\xe2"), "[a][\xe2]"); /* the stream ends within one */
	check(100, 0, WORDS("\xff\xfe"), "[\xff\xfe]");
	/* the beginning ends within one: it goes to the end as a whole */
	check(3, 8, WORDS("ab\xe2\x82\xac"), "[ab][\xe2\x82\xac]");
	/* the ring lost the beginning of one */
	check(0, 4,
		WORDS("\xe2\x82\xac"
		      "abc"),
		"<3>[abc]");
}

static void test_pieces_have_a_size(void **state)
{
	struct seen s;
	struct ends e;
	static char bytes[200000];

	(void)state;
	(void)memset(bytes, 'x', sizeof(bytes));
	buf_init(&s.text, 1 << 20);
	ends_init(&e, UINT64_MAX, 0, &hooks, &s);
	ends_add(&e, bytes, sizeof(bytes));
	ends_end(&e);
	assert_int_equal(s.text.len, sizeof(bytes) + 4 * 2);
	assert_int_equal(strcspn(s.text.data, "]"), ENDS_PIECE_BYTES + 1);
	ends_done(&e);
	buf_done(&s.text);
}

int test_ends(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_of_both),
		cmocka_unit_test(test_sequences_stay_whole),
		cmocka_unit_test(test_pieces_have_a_size),
	};

	return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}
