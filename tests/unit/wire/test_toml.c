/* SPDX-License-Identifier: Apache-2.0 */
/* TOML: the tree, its order and lines, and the sentences. */

#include "tests.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/wire/toml.h"

static struct toml *parse(const char *text)
{
	struct toml *t = NULL;
	struct err err = {0};

	if (toml_parse(text, strlen(text), "run.toml", &t, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

static void keys_in_the_files_order(void **state)
{
	static const char text[] = "zebra = 1\n"
				   "apple.z = 2\n"
				   "apple.a = 3\n"
				   "\n"
				   "[server]\n"
				   "port = 4\n"
				   "host = \"h\"\n"
				   "[alpha.deep]\n"
				   "[client]\n"
				   "[[list]]\n"
				   "[[list]]\n"
				   "n = 1\n";
	static const struct {
		const char *key;
		enum toml_type type;
		unsigned line;
	} rows[] = {{"zebra", TOML_INTEGER, 1}, {"apple", TOML_TABLE, 2}, {"server", TOML_TABLE, 5},
		{"alpha", TOML_TABLE, 8}, {"client", TOML_TABLE, 9}, {"list", TOML_ARRAY, 10}};
	struct toml *t = parse(text);

	(void)state;
	assert_int_equal(t->type, TOML_TABLE);
	assert_null(t->key);
	assert_int_equal(t->count, array_count(rows));
	for (size_t i = 0; i < array_count(rows); i++) {
		assert_string_equal(t->children[i]->key, rows[i].key);
		assert_int_equal(t->children[i]->type, rows[i].type);
		assert_int_equal(t->children[i]->line, rows[i].line);
	}
	assert_string_equal(toml_get(t, "apple")->children[0]->key, "z");
	assert_string_equal(toml_get(t, "server")->children[0]->key, "port");
	assert_int_equal(toml_get(toml_get(t, "server"), "host")->line, 7);
	assert_int_equal(toml_get(t, "list")->count, 2);
	assert_null(toml_get(t, "list")->children[0]->key);
	assert_int_equal(toml_get(t, "list")->children[1]->line, 11);
	assert_null(toml_get(t, "nothing"));
	assert_null(toml_get(toml_get(t, "zebra"), "x"));
	assert_null(toml_get(NULL, "x"));
	toml_free(t);
	toml_free(NULL);
}

static void values(void **state)
{
	struct toml *t =
		parse("s = \"a\\u00e9\\n\"\nz = \"a\\u0000b\"\ni = -9223372036854775808\nh = 0xff\n"
		      "f = 1.5\nn = inf\nb = true\nc = false\ne = []\nm = \"\"\"\nx\n\"\"\"\n");

	(void)state;
	assert_string_equal(toml_get(t, "s")->string, "a\xc3\xa9\n");
	assert_int_equal(toml_get(t, "s")->string_bytes, 4);
	assert_int_equal(toml_get(t, "z")->string_bytes, 3);
	assert_memory_equal(toml_get(t, "z")->string, "a\0b", 4);
	assert_true(toml_get(t, "i")->integer == INT64_MIN);
	assert_int_equal(toml_get(t, "h")->integer, 255);
	assert_true(toml_get(t, "f")->number == 1.5);
	assert_true(isinf(toml_get(t, "n")->number));
	assert_int_equal(toml_get(t, "b")->type, TOML_BOOLEAN);
	assert_true(toml_get(t, "b")->boolean);
	assert_false(toml_get(t, "c")->boolean);
	assert_int_equal(toml_get(t, "e")->count, 0);
	assert_string_equal(toml_get(t, "m")->string, "x\n");
	toml_free(t);
	/* letters outside of ASCII where toml++ asks whether they are blanks */
	t = parse("\"\xc3\xa9t\xc3\xa9\" = \"\"\"\\\n  \xc3\xa9t\xc3\xa9\"\"\" # \xc3\xa9\n");
	assert_string_equal(toml_get(t, "\xc3\xa9t\xc3\xa9")->string, "\xc3\xa9t\xc3\xa9");
	toml_free(t);
}

static void dates_as_text(void **state)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {{"d = 2026-11-29", "2026-11-29"}, {"d = 13:00:00", "13:00:00"},
		{"d = 2026-11-29T13:00:00Z", "2026-11-29T13:00:00Z"},
		{"d = 2026-11-29 13:00:00.5+01:00", "2026-11-29T13:00:00.5+01:00"}};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		struct toml *t = parse(rows[i].text);

		assert_int_equal(toml_get(t, "d")->type, TOML_DATE);
		assert_string_equal(toml_get(t, "d")->string, rows[i].shown);
		toml_free(t);
	}
}

/* The sentence's beginning is asked for exactly where the words are toml++'s, which differ by version. */
static void faults_name_file_and_line(void **state)
{
	static const struct {
		const char *text, *begins;
	} rows[] = {
		{"a = 1\nb = \n", "run.toml:2: "},
		{"a = 1\n\n[x\n", "run.toml:3: "},
		{"a = 1\na = 2\n", "run.toml:2: "},
		{"[t]\n[t]\n", "run.toml:2: "},
		{"x = \"open\n", "run.toml:1: "},
		{"# fine\nx = \"\xff\"\n", "run.toml:2: not UTF-8"},
		{"# fine\n# \x01\n", "run.toml:2: a control character"},
		{"x = 1\ry = 1\n", "run.toml:1: a carriage return without a newline"},
		{"x = 1\r", "run.toml:1: a carriage return without a newline"},
		{"x = 01\n", "run.toml:1: "},
		{"x = 1 y = 2\n", "run.toml:1: "},
		{"\n[=1\n", "run.toml:2: "},
		{"\n\xc3\xa9 = 1\n", "run.toml:2: "},
		{"a = 1\n\"k\\u0000\" = 2\n", "run.toml:2: a key holds a NUL"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		struct toml *t = NULL;
		struct err err = {0};

		assert_int_equal(
			toml_parse(rows[i].text, strlen(rows[i].text), "run.toml", &t, &err),
			-EINVAL);
		assert_null(t);
		assert_int_equal(err.code, EINVAL);
		assert_memory_equal(err.text, rows[i].begins, strlen(rows[i].begins));
		assert_true(strlen(err.text) > strlen("run.toml:2: "));
		assert_null(strchr(err.text, '\n'));
		assert_null(strstr(err.text, "Error while"));
	}
}

/* prefix, then open depth times, then middle, then close depth times. */
static int parse_nested(const char *prefix, const char *open, const char *middle, const char *close,
	unsigned depth, struct err *err)
{
	autodone(buf_done) struct buf b = {0};
	struct toml *t = NULL;
	int r;

	buf_init(&b, 1 << 20);
	buf_add_text(&b, prefix);
	for (unsigned i = 0; i < depth; i++)
		buf_add_text(&b, open);
	buf_add_text(&b, middle);
	for (unsigned i = 0; i < depth; i++)
		buf_add_text(&b, close);
	r = toml_parse(b.data, b.len, "deep.toml", &t, err);
	toml_free(t);
	return r;
}

static void depth_is_bounded(void **state)
{
	struct err err;

	(void)state;
	/* dotted keys: never handed to toml++, which would recurse for each part */
	assert_int_equal(parse_nested("\n", "a.", "b = 1", "", 63, &err), 0);
	assert_int_equal(parse_nested("\n", "a.", "b = 1", "", 64, &err), -E2BIG);
	assert_string_equal(err.text, "deep.toml:2: a key of more than 64 parts");
	assert_int_equal(parse_nested("s = \"\"\"\n.\"\"\"\"\"\nx = 'a.\"'\n[", "\"a\".", "b]", "",
				 100000, &err),
		-E2BIG);
	assert_string_equal(err.text, "deep.toml:4: a key of more than 64 parts");
	/* arrays: refused by toml++ */
	assert_int_equal(parse_nested("x = ", "[", "", "]", 60, &err), 0);
	assert_int_equal(parse_nested("x = ", "[", "", "]", 65, &err), -EINVAL);
	assert_int_equal(parse_nested("x = ", "[", "", "]", 100000, &err), -EINVAL);
	/* short keys in deep tables: neither alone is too deep */
	assert_int_equal(parse_nested("x = ", "{a.b.c.d=", "1", "}", 15, &err), 0);
	assert_int_equal(parse_nested("\nx = ", "{a.b.c.d=", "1", "}", 20, &err), -E2BIG);
	assert_string_equal(err.text, "deep.toml:2: nested deeper than 64 levels");
	/* dots elsewhere are no parts */
	assert_int_equal(parse_nested("#", ".", "\n", "", 500, &err), 0);
	assert_int_equal(parse_nested("x = '", ".", "'\n", "", 500, &err), 0);
	assert_int_equal(parse_nested("x = \"\\\"", ".", "\"\n", "", 500, &err), 0);
	assert_int_equal(parse_nested("x = '''\n''", ".", "'''\n", "", 500, &err), 0);
}

static void size_is_bounded(void **state)
{
	struct toml *t = NULL;
	struct err err = {0};

	(void)state;
	/* refused by its size alone: the bytes are never looked at */
	assert_int_equal(toml_parse("", TOML_BYTES_MAX + 1, "big.toml", &t, &err), -E2BIG);
	assert_string_equal(err.text, "big.toml: larger than 16 MiB");
	assert_int_equal(toml_parse("", 0, "empty.toml", &t, &err), 0);
	assert_int_equal(t->count, 0);
	toml_free(t);
}

static void unknown_keys(void **state)
{
	static const char *const known[] = {"harness", "tasks", "attempts", NULL};
	static const char *const later[] = {"budget", NULL};
	static const struct {
		const char *text, *where, *sentence;
	} rows[] = {
		{"harness = 1\ntasks = 2\n", "run", NULL},
		{"harness = 1\natempts = 2\n", "run",
			"run.toml:2: unknown key 'run.atempts' (did you mean 'attempts'?)"},
		{"task = 2\n", "", "run.toml:1: unknown key 'task' (did you mean 'tasks'?)"},
		{"\n\ncolour = 2\n", "", "run.toml:3: unknown key 'colour'"},
		{"budget = 2\n", "run", "run.toml:1: key 'run.budget' is not built yet"},
		{"\"a\\u001b[31m\" = 1\n", "", "run.toml:1: unknown key 'a\\x1b[31m'"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(rows); i++) {
		struct toml *t = parse(rows[i].text);
		struct err err = {0};
		int r = toml_check_keys(t, "run.toml", rows[i].where, known, later, &err);

		assert_int_equal(r, rows[i].sentence != NULL ? -EINVAL : 0);
		assert_string_equal(err.text, rows[i].sentence != NULL ? rows[i].sentence : "");
		toml_free(t);
	}
	{
		struct toml *t = parse("budget = 1\n");
		struct err err = {0};

		assert_int_equal(
			toml_check_keys(t, "f", "", known, /* later= */ NULL, &err), -EINVAL);
		assert_string_equal(err.text, "f:1: unknown key 'budget'");
		toml_free(t);
	}
}

static void type_names(void **state)
{
	(void)state;
	assert_string_equal(toml_type_name(TOML_STRING), "a string");
	assert_string_equal(toml_type_name(TOML_INTEGER), "an integer");
	assert_string_equal(toml_type_name(TOML_TABLE), "a table");
}

int test_toml(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_in_the_files_order),
		cmocka_unit_test(values),
		cmocka_unit_test(dates_as_text),
		cmocka_unit_test(faults_name_file_and_line),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(size_is_bounded),
		cmocka_unit_test(unknown_keys),
		cmocka_unit_test(type_names),
	};

	return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
