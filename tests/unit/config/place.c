/* SPDX-License-Identifier: Apache-2.0 */
/* A directory for each test. */

#include "tests.h"

#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/file.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

static char directory[64];

const char *place(void)
{
	return directory;
}

static void forget_variables(void)
{
	for (char **p = environ; *p != NULL;) {
		autofree char *name = own_strndup(*p, strcspn(*p, "="));

		if (str_starts(name, "HEMRA_") || str_starts(name, "HEARTH_")) {
			assert_int_equal(unsetenv(name), 0);
			p = environ;
		} else {
			p++;
		}
	}
}

int place_make(void **state)
{
	autofree char *home = NULL;

	(void)state;
	(void)strcpy(directory, "/tmp/unit-config-XXXXXX");
	if (mkdtemp(directory) == NULL || chdir(directory) < 0)
		return -1;
	forget_variables();
	home = in_place("home");
	if (mkdir(home, 0700) < 0 || setenv("HOME", home, /* overwrite= */ 1) < 0)
		return -1;
	return unsetenv("XDG_CONFIG_HOME");
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

char *in_place(const char *name)
{
	return own_printf("%s/%s", directory, name);
}

void put(const char *name, const char *text)
{
	autofree char *path = in_place(name);
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

void put_program(const char *name)
{
	autofree char *path = in_place(name);

	put(name, "#!/bin/sh\n");
	assert_int_equal(chmod(path, 0755), 0);
}

char *with_place(const char *text)
{
	struct buf out;

	buf_init(&out, 64 * 1024);
	for (; *text != '\0'; text++) {
		if (*text == '@')
			assert_int_equal(buf_add_text(&out, directory), 0);
		else
			assert_int_equal(buf_add_char(&out, *text), 0);
	}
	return buf_take(&out);
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
