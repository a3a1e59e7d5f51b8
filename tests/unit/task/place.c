/* SPDX-License-Identifier: Apache-2.0 */
/* A directory with a task for each test. */

#include "tests.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/file.h"
#include "ground/base/own.h"

static char directory[64];

const char *place(void)
{
	return directory;
}

int place_make(void **state)
{
	(void)state;
	(void)strcpy(directory, "/tmp/unit-task-XXXXXX");
	if (mkdtemp(directory) == NULL || chdir(directory) < 0)
		return -1;
	put("task.toml", "");
	put("instruction.md", "Fix the parser.\n");
	put("environment/src/main.c", "int main(void) { return 1; }\n");
	put("tests/test.sh", "echo 1 > /logs/verifier/reward.txt\n");
	put("solution/solve.sh", "true\n");
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw; /* everything goes */
	return remove(path);
}

int place_remove(void **state)
{
	(void)state;
	if (chdir("/") < 0)
		return -1;
	return nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void put(const char *name, const char *text)
{
	autofree char *path = own_printf("%s/t/%s", directory, name);
	FILE *f;

	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755); /* it may be there; fopen() tells */
		*slash = '/';
	}
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

void drop(const char *name)
{
	autofree char *path = own_printf("%s/t/%s", directory, name);

	assert_int_equal(remove(path), 0);
}

void must_load(struct task *ret)
{
	struct err err = {0};

	if (task_load("t", ret, &err) < 0)
		fail_msg("%s", err.text);
}

void must_refuse(int code, const char *sentence)
{
	struct err err = {0};
	struct task t = {.wants_network = true};
	struct buf expected;

	buf_init(&expected, 4096);
	for (const char *p = sentence; *p != '\0'; p++) {
		if (*p == '@')
			assert_int_equal(buf_addf(&expected, "%s/t", directory), 0);
		else
			assert_int_equal(buf_add_char(&expected, *p), 0);
	}
	if (task_load("t", &t, &err) == 0)
		fail_msg("accepted; expected: %s", sentence);
	assert_string_equal(err.text, buf_text(&expected));
	assert_int_equal(err.code, code);
	assert_true(t.wants_network && t.directory == NULL); /* untouched */
	buf_done(&expected);
}

bool has_notice(const struct task *t, const char *text)
{
	for (size_t i = 0; i < t->warning_count; i++)
		if (strcmp(t->warnings[i].text, text) == 0)
			return true;
	return false;
}

/* The TOML example of docs/files.md whose first line is this comment. Owned. */
char *example(const char *name)
{
	autofree char *opening = own_printf("```toml\n# %s\n", name);
	struct buf text;
	const char *begin, *end;
	char *block;

	buf_init(&text, 1024 * 1024);
	assert_int_equal(file_read(DOCS_FILES, &text, NULL), 0);
	begin = strstr(buf_text(&text), opening);
	assert_non_null(begin);
	begin += strlen("```toml\n");
	end = strstr(begin, "\n```");
	assert_non_null(end);
	block = own_strndup(begin, (size_t)(end - begin));
	buf_done(&text);
	return block;
}
