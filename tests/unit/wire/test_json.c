/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON: what is accepted, what is refused and where. */

#include "tests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"

#define NODES_MAX 1000
#define DEPTH_MAX 64

struct vector {
	const char *text;
	size_t size;
	size_t offset;    /* of the fault */
	const char *what; /* NULL: accepted */
};
#define GOOD(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1, 0, NULL                                                    \
	}
#define BAD(text, offset, fault)                                                                   \
	{                                                                                          \
		text, sizeof(text) - 1, offset, fault                                              \
	}

static const struct vector vectors[] = {
	GOOD("null"),
	GOOD("true"),
	GOOD("false"),
	GOOD(" \t\r\n1 \n"),
	GOOD("0"),
	GOOD("-0"),
	GOOD("-0.0e-0"),
	GOOD("1e400"),
	GOOD("123456789012345678901234567890.5E+17"),
	GOOD("\"\""),
	GOOD("[]"),
	GOOD("{}"),
	GOOD("[[],{}]"),
	GOOD("{\"\":{\"\":1}}"),
	GOOD("[1,\"a\",null]"),
	GOOD("\"\\u0000\\\"\\\\\\/\\b\\f\\n\\r\\t\\uABcd\""),
	GOOD("\"\\ud83d\\ude00\""),
	GOOD("\"\xf0\x9f\x98\x80 \x7f \xe2\x82\xac \xc3\xa9\""),
	GOOD("{\"a\":1,\"A\":1,\"aa\":1}"),
	GOOD("[{\"a\":1},{\"a\":1}]"),
	GOOD("{\"a\":{\"a\":{\"a\":1}}}"),
	GOOD("{\"a\\u0000\":1,\"a\":2}"),

	BAD("", 0, "expected a value"),
	BAD("  ", 2, "expected a value"),
	BAD("nul", 3, "expected true, false or null"),
	BAD("nulL", 3, "expected true, false or null"),
	BAD("truefalse", 4, "something behind the value"),
	BAD("True", 0, "expected a value"),
	BAD("NaN", 0, "expected a value"),
	BAD("-Infinity", 1, "expected a digit"),
	BAD("+1", 0, "expected a value"),
	BAD(".5", 0, "expected a value"),
	BAD("01", 0, "a number does not start with 0 before other digits"),
	BAD("-01", 1, "a number does not start with 0 before other digits"),
	BAD("00", 0, "a number does not start with 0 before other digits"),
	BAD("1.", 2, "expected a digit"),
	BAD("1.e5", 2, "expected a digit"),
	BAD("1e", 2, "expected a digit"),
	BAD("1e+", 3, "expected a digit"),
	BAD("-", 1, "expected a digit"),
	BAD("0x10", 1, "something behind the value"),
	BAD("1 2", 2, "something behind the value"),
	BAD("{}x", 2, "something behind the value"),
	BAD("1\0", 1, "something behind the value"),
	BAD("\0", 0, "expected a value"),
	BAD("[1,]", 3, "expected a value"),
	BAD("[,1]", 1, "expected a value"),
	BAD("[1 2]", 3, "expected ',' or ']'"),
	BAD("[1}", 2, "expected ',' or ']'"),
	BAD("[", 1, "expected a value"),
	BAD("[1", 2, "expected ',' or ']'"),
	BAD("]", 0, "expected a value"),
	BAD("{1:2}", 1, "expected a key in quotes"),
	BAD("{a:2}", 1, "expected a key in quotes"),
	BAD("{'a':2}", 1, "expected a key in quotes"),
	BAD("{\"a\"}", 4, "expected ':'"),
	BAD("{\"a\" 1}", 5, "expected ':'"),
	BAD("{\"a\":}", 5, "expected a value"),
	BAD("{\"a\":1,}", 7, "expected a key in quotes"),
	BAD("{\"a\":1]", 6, "expected ',' or '}'"),
	BAD("{\"a\":1 \"b\":2}", 7, "expected ',' or '}'"),
	BAD("{\"a\":1", 6, "expected ',' or '}'"),
	BAD("[1] // x", 4, "something behind the value"),
	BAD("/**/1", 0, "expected a value"),
	BAD("\"a", 2, "the string does not end"),
	BAD("\"a\\", 2, "no such escape"),
	BAD("\"\\x41\"", 1, "no such escape"),
	BAD("\"\\0\"", 1, "no such escape"),
	BAD("\"\\\0\"", 1, "no such escape"),
	BAD("\"\\u12g4\"", 1, "no such escape"),
	BAD("\"\\u123\"", 1, "no such escape"),
	BAD("\"\\U0041\"", 1, "no such escape"),
	BAD("\"\\ud800\"", 1, "half of a surrogate pair"),
	BAD("\"\\udc00\"", 1, "half of a surrogate pair"),
	BAD("\"ab\\ud800\\u0041\"", 3, "half of a surrogate pair"),
	BAD("\"\\ud800\\ud800\"", 1, "half of a surrogate pair"),
	BAD("\"\\udc00\\ud800\"", 1, "half of a surrogate pair"),
	BAD("\"a\nb\"", 2, "a control character in a string"),
	BAD("\"\0\"", 1, "a control character in a string"),
	BAD("\"123456789\x1f\"", 10, "a control character in a string"),
	BAD("\xef\xbb\xbf{}", 0, "a byte order mark"),
	BAD("\"\xff\"", 1, "not UTF-8"),
	BAD("\"\xc0\xaf\"", 1, "not UTF-8"),
	BAD("\"ab\xed\xa0\x80\"", 3, "not UTF-8"),
	BAD("\"\xf4\x90\x80\x80\"", 1, "not UTF-8"),
	BAD("\"\xe2\x82\"", 1, "not UTF-8"),
	BAD("1\xff", 1, "not UTF-8"),
	BAD("{}\xc3", 2, "not UTF-8"),
	BAD("[1,x,\"\xff\"]", 3, "expected a value"),
	BAD("\xa0"
	    "1",
		0, "not UTF-8"),

	BAD("{\"a\":1,\"a\":2}", 7, "a key that this object already has"),
	BAD("{\"a\":1,\"\\u0061\":2}", 7, "a key that this object already has"),
	BAD("{\"\\u0061\":1,\"b\":0,\"a\":2}", 18, "a key that this object already has"),
	BAD("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", 18,
		"a key that this object already has"),
	BAD("{\"\\/\":1,\"/\":2}", 8, "a key that this object already has"),
	BAD("{\"\":1,\"\":2}", 6, "a key that this object already has"),
	BAD("[0,{\"x\":{\"y\":[{\"k\":1,\"k\":2}]}}]", 21, "a key that this object already has"),
	BAD("{\"a\":{\"b\":1},\"a\":{\"c\":1}}", 13, "a key that this object already has"),
};

static void vectors_hold(void **state)
{
	struct json_doc d;

	(void)state;
	json_doc_init(&d, NODES_MAX, DEPTH_MAX);
	for (size_t i = 0; i < array_count(vectors); i++) {
		const struct vector *v = &vectors[i];
		struct json_fault fault = {0};
		/* a copy of exactly this size: reading beyond it is a failure under ASan */
		autofree char *exact = malloc(v->size + (v->size == 0));
		int r;

		assert_non_null(exact);
		(void)memcpy(exact, v->text, v->size);
		r = json_parse(&d, exact, v->size, &fault);
		if (r != (v->what != NULL ? -EINVAL : 0) ||
			(r < 0 && (fault.offset != v->offset || strcmp(fault.what, v->what) != 0)))
			fail_msg("'%s' gave %d at %zu: %s", v->text, r, fault.offset,
				r < 0 ? fault.what : "accepted");
	}
	json_doc_done(&d);
}

static int parse_nested(
	unsigned depth, const char *open, const char *close, struct json_fault *fault)
{
	autodone(buf_done) struct buf b = {0};
	struct json_doc d;
	int r;

	buf_init(&b, 4096);
	for (unsigned i = 0; i < depth; i++)
		buf_add_text(&b, open);
	buf_add_text(&b, "1");
	for (unsigned i = 0; i < depth; i++)
		buf_add_text(&b, close);
	json_doc_init(&d, NODES_MAX, DEPTH_MAX);
	r = json_parse(&d, b.data, b.len, fault);
	json_doc_done(&d);
	return r;
}

static void depth_is_bounded(void **state)
{
	struct json_fault fault;

	(void)state;
	assert_int_equal(parse_nested(64, "[", "]", &fault), 0);
	assert_int_equal(parse_nested(65, "[", "]", &fault), -E2BIG);
	assert_int_equal(fault.offset, 64);
	assert_string_equal(fault.what, "nested deeper than allowed");
	assert_int_equal(parse_nested(64, "{\"k\":", "}", &fault), 0);
	assert_int_equal(parse_nested(65, "{\"k\":", "}", &fault), -E2BIG);
}

static void nodes_are_bounded(void **state)
{
	struct json_doc d;
	struct json_fault fault;

	(void)state;
	json_doc_init(&d, 3, DEPTH_MAX);
	assert_int_equal(json_parse(&d, "[1,2]", 5, &fault), 0);
	assert_int_equal(json_parse(&d, "{\"a\":1}", 7, &fault), 0);
	assert_int_equal(json_parse(&d, "[1,2,3]", 7, &fault), -E2BIG);
	assert_int_equal(fault.offset, 5);
	assert_string_equal(fault.what, "more values than allowed");
	/* a refused text leaves an empty document */
	assert_int_equal(json_first(&d, 0), JSON_NONE);
	assert_int_equal(json_get(&d, 0, "a"), JSON_NONE);
	json_doc_done(&d);
	assert_null(d.nodes);
	assert_int_equal(json_parse(&d, "[1,2]", 5, NULL), 0);
	json_doc_done(&d);
}

/* An object of count keys; the last repeats key number again unless it is negative. */
static int parse_flat(unsigned count, int again, bool escape, struct json_fault *fault)
{
	autodone(buf_done) struct buf b = {0};
	struct json_doc d;
	int r;

	buf_init(&b, 1 << 24);
	buf_add_text(&b, "{");
	for (unsigned i = 0; i < count; i++)
		buf_addf(&b, "\"member-%u\":%u,", i, i);
	buf_addf(&b, "\"%s-%d\":0}", escape ? "m\\u0065mber" : "member",
		again >= 0 ? again : (int)count);
	assert_int_equal(buf_status(&b), 0);
	json_doc_init(&d, UINT32_MAX, DEPTH_MAX);
	r = json_parse(&d, b.data, b.len, fault);
	if (r == 0) {
		int64_t value;

		assert_int_equal(d.nodes[0].count, count + 1);
		assert_int_equal(json_int64(&d, json_get(&d, 0, "member-3"), &value), 0);
		assert_int_equal(value, 3);
	} else {
		assert_int_equal(b.data[fault->offset], '"');
		assert_int_equal(fault->offset, strrchr(b.data, ',') - b.data + 1);
	}
	json_doc_done(&d);
	return r;
}

static void huge_objects(void **state)
{
	struct json_fault fault;

	(void)state;
	/* across the size at which keys are sorted, and far beyond */
	for (unsigned count = 14; count < 19; count++) {
		assert_int_equal(parse_flat(count, -1, /* escape= */ false, &fault), 0);
		assert_int_equal(parse_flat(count, 3, /* escape= */ false, &fault), -EINVAL);
		assert_int_equal(parse_flat(count, 3, /* escape= */ true, &fault), -EINVAL);
		assert_int_equal(
			parse_flat(count, (int)count - 1, /* escape= */ true, &fault), -EINVAL);
	}
	assert_int_equal(parse_flat(100000, -1, /* escape= */ true, &fault), 0);
	assert_int_equal(parse_flat(100000, 54321, /* escape= */ false, &fault), -EINVAL);
	assert_string_equal(fault.what, "a key that this object already has");
}

static void zero_bytes_are_letters_in_sorted_keys(void **state)
{
	autodone(buf_done) struct buf b = {0};
	struct json_doc d;

	(void)state;
	buf_init(&b, 4096);
	buf_add_text(&b, "{\"\":0");
	for (unsigned i = 1; i < 20; i++) {
		buf_add_text(&b, ",\"");
		for (unsigned j = 0; j < i; j++)
			buf_add_text(&b, "\\u0000");
		buf_addf(&b, "\":%u", i);
	}
	buf_add_text(&b, "}");
	json_doc_init(&d, NODES_MAX, DEPTH_MAX);
	assert_int_equal(json_parse(&d, b.data, b.len, NULL), 0);
	json_doc_done(&d);
}

static void walking(void **state)
{
	static const char text[] =
		"{ \"a\" : [1, [2, {\"x\":3}], \"s\"] , \"b\\n\":{}, \"c\":true}";
	static const char *const keys[] = {"\"a\"", "\"b\\n\"", "\"c\""};
	static const char *const elements[] = {"1", "[2, {\"x\":3}]", "\"s\""};
	struct json_doc d;
	uint32_t n, list;
	size_t i = 0;

	(void)state;
	json_doc_init(&d, NODES_MAX, DEPTH_MAX);
	assert_int_equal(json_parse(&d, text, sizeof(text) - 1, NULL), 0);
	for (n = json_first(&d, 0); n != JSON_NONE; n = json_next(&d, 0, n))
		assert_true(str_is(json_raw(&d, n), keys[i++]));
	assert_int_equal(i, 3);
	list = json_get(&d, 0, "a");
	i = 0;
	for (n = json_first(&d, list); n != JSON_NONE; n = json_next(&d, list, n))
		assert_true(str_is(json_raw(&d, n), elements[i++]));
	assert_int_equal(i, 3);
	assert_int_equal(json_first(&d, json_get(&d, 0, "b\n")), JSON_NONE);
	assert_int_equal(d.nodes[json_value_of(&d, json_first(&d, 0))].type, JSON_ARRAY);
	assert_true(json_is_true(&d, json_get(&d, 0, "c")));
	assert_false(json_is_true(&d, list));
	assert_int_equal(json_get(&d, 0, "x"), JSON_NONE); /* not this object's */
	assert_int_equal(json_get(&d, list, "a"), JSON_NONE);
	assert_int_equal(json_get(&d, JSON_NONE, "a"), JSON_NONE);
	assert_int_equal(json_first(&d, JSON_NONE), JSON_NONE);
	assert_int_equal(json_raw(&d, JSON_NONE).n, 0);
	json_doc_done(&d);
}

static void strings(void **state)
{
	static const char text[] =
		"[\"plain\",\"a\\u00e9\\u20ac\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\","
		"\"nul\\u0000\",\"\",5]";
	static const char decoded[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\\/\b\f\n\r\t";
	autodone(buf_done) struct buf b = {0};
	autofree char *plain = NULL, *escaped = NULL, *empty = NULL;
	struct json_doc d;

	(void)state;
	buf_init(&b, 100);
	json_doc_init(&d, NODES_MAX, DEPTH_MAX);
	assert_int_equal(json_parse(&d, text, sizeof(text) - 1, NULL), 0);
	plain = json_text(&d, 1);
	escaped = json_text(&d, 2);
	empty = json_text(&d, 4);
	assert_string_equal(plain, "plain");
	assert_string_equal(escaped, decoded);
	assert_null(json_text(&d, 3)); /* holds a NUL */
	assert_string_equal(empty, "");
	assert_null(json_text(&d, 5));
	assert_null(json_text(&d, JSON_NONE));
	assert_true(json_is(&d, 1, "plain"));
	assert_false(json_is(&d, 1, "plai"));
	assert_false(json_is(&d, 1, "plain!"));
	assert_true(json_is(&d, 2, decoded));
	assert_false(json_is(&d, 2, "a\xc3\xa9"));
	assert_false(json_is(&d, 3, "nul"));
	assert_false(json_is(&d, 5, "5"));
	assert_false(json_is(&d, JSON_NONE, ""));
	assert_int_equal(json_string(&d, 3, &b), 0);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "nul", 4);
	assert_int_equal(json_string(&d, 5, &b), -EINVAL);
	b.max = 6;
	assert_int_equal(json_string(&d, 1, &b), -EMSGSIZE);
	json_doc_done(&d);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		int int_status;
		int64_t integer;
		int double_status;
		double number;
	} rows[] = {
		{"0", 0, 0, 0, 0},
		{"-0", 0, 0, 0, 0},
		{"42", 0, 42, 0, 42},
		{"9223372036854775807", 0, INT64_MAX, 0, 9223372036854775807.0},
		{"-9223372036854775808", 0, INT64_MIN, 0, -9223372036854775808.0},
		{"9223372036854775808", -ERANGE, 0, 0, 9223372036854775808.0},
		{"-9223372036854775809", -ERANGE, 0, 0, -9223372036854775808.0},
		{"99999999999999999999999", -ERANGE, 0, 0, 1e23},
		{"1.0", -EINVAL, 0, 0, 1},
		{"1e3", -EINVAL, 0, 0, 1000},
		{"-2.5e-1", -EINVAL, 0, 0, -0.25},
		{"1e400", -EINVAL, 0, -ERANGE, 0},
		{"-1e400", -EINVAL, 0, -ERANGE, 0},
		{"1e-400", -EINVAL, 0, 0, 0},
		{"\"1\"", -EINVAL, 0, -EINVAL, 0},
		{"true", -EINVAL, 0, -EINVAL, 0},
	};
	struct json_doc d;

	(void)state;
	json_doc_init(&d, NODES_MAX, DEPTH_MAX);
	for (size_t i = 0; i < array_count(rows); i++) {
		int64_t integer = 77;
		double number = 77;

		assert_int_equal(json_parse(&d, rows[i].text, strlen(rows[i].text), NULL), 0);
		assert_int_equal(json_int64(&d, 0, &integer), rows[i].int_status);
		assert_true(integer == (rows[i].int_status < 0 ? 77 : rows[i].integer));
		assert_int_equal(json_double(&d, 0, &number), rows[i].double_status);
		assert_true(number == (rows[i].double_status < 0 ? 77 : rows[i].number));
	}
	assert_int_equal(json_int64(&d, JSON_NONE, NULL), -EINVAL);
	json_doc_done(&d);
}

int test_json(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_hold),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(nodes_are_bounded),
		cmocka_unit_test(huge_objects),
		cmocka_unit_test(zero_bytes_are_letters_in_sorted_keys),
		cmocka_unit_test(walking),
		cmocka_unit_test(strings),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
