/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, pages for secrets, names of variables. */

#include "tests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/file.h"
#include "ground/base/own.h"
#include "ground/base/variable.h"
#include "ground/base/vault.h"

static void files(void **state)
{
	char dir[] = "/tmp/unit-base-XXXXXX";
	struct err err = {0};
	struct buf b;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	f = fopen("text", "we");
	assert_non_null(f);
	for (int i = 0; i < 20000; i++)
		(void)fputc('x', f);
	assert_int_equal(fclose(f), 0);

	buf_init(&b, 20000);
	assert_int_equal(file_read("text", &b, &err), 0);
	assert_int_equal(b.len, 20000);
	buf_done(&b);
	buf_init(&b, 19999);
	assert_int_equal(file_read("text", &b, &err), -EFBIG);
	assert_string_equal(err.text, "'text' is larger than 19999 bytes");
	buf_done(&b);
	assert_int_equal(file_read("none", &b, &err), -ENOENT);
	assert_string_equal(err.text, "open 'none': No such file or directory");
	assert_int_equal(file_read(".", &b, &err), -EINVAL);
	assert_string_equal(err.text, "'.' is not a regular file");
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(file_read("pipe", &b, &err), -EINVAL);
	buf_done(&b);

	assert_int_equal(unlink("text"), 0);
	assert_int_equal(unlink("pipe"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Whether the mapping that holds p is left out of core files, as the kernel says. */
static bool is_left_out_of_cores(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool within = false, found = false;

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			within = from <= (unsigned long)p && (unsigned long)p < to;
		else if (within && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " dd") != NULL;
	}
	(void)fclose(f);
	return found;
}

static void vaults(void **state)
{
	static char ordinary;
	char *p = vault_alloc(100), *q;

	(void)state;
	assert_non_null(p);
	for (int i = 0; i < 100; i++)
		assert_int_equal(p[i], 0);
	assert_true(is_left_out_of_cores(p));
	assert_false(is_left_out_of_cores(&ordinary));
	(void)memset(p, 's', 100);
	q = vault_grow(p, 100, 10000);
	assert_non_null(q);
	assert_int_equal(q[99], 's');
	assert_int_equal(q[100], 0);
	vault_free(q, 10000);
	p = vault_grow(NULL, 0, 10);
	assert_non_null(p);
	vault_free(p, 10);
	vault_free(NULL, 0);
}

static void variables(void **state)
{
	static const char *const good[] = {"A", "_", "PATH2", "a_b_1"};
	static const char *const bad[] = {"", "1A", "A-B", "A=B", "A B", "\xc3\xa9", "A\n"};
	char name[257];

	(void)state;
	for (size_t i = 0; i < array_count(good); i++)
		assert_true(variable_is_name(good[i]));
	for (size_t i = 0; i < array_count(bad); i++)
		assert_false(variable_is_name(bad[i]));
	(void)memset(name, 'N', 256);
	name[256] = '\0';
	assert_false(variable_is_name(name));
	name[255] = '\0';
	assert_true(variable_is_name(name));
	assert_null(variable_refusal("LANG"));
	assert_null(variable_refusal("PATHS"));
	assert_null(variable_refusal("HEMRAX"));
	assert_string_equal(variable_refusal("PATH"), "is set by hemra in every box");
	assert_non_null(variable_refusal("HEMRA_X"));
	assert_non_null(variable_refusal("LD_PRELOAD"));
}

int test_files(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),
		cmocka_unit_test(vaults),
		cmocka_unit_test(variables),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
