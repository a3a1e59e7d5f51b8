/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of references, and what is refused about the things they name. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "secret/secret.h"

static char directory[] = "/tmp/unit-secret-XXXXXX";

static int make_directory(void **state)
{
	(void)state;
	strcpy(strrchr(directory, '-'), "-XXXXXX");
	return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"good", "group", "others", "link", "fifo", "empty",
		"big", "foreign", "most", "line", "over", "over_line"};

	(void)state;
	for (size_t i = 0; i < array_count(names); i++) {
		autofree char *path = own_printf("%s/%s", directory, names[i]);

		(void)unlink(path); /* most tests make one of them */
	}
	return rmdir(directory);
}

static void put_file(const char *name, const char *text, size_t size, mode_t mode)
{
	autofree char *path = own_printf("%s/%s", directory, name);
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), (ssize_t)size);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void expect(const char *prefix, const char *name, int code, const char *format)
{
	autofree char *path = own_printf("%s/%s", directory, name);
	autofree char *reference = own_printf("%s%s", prefix, prefix[0] == 'f' ? path : name);
	autofree char *text = code != 0 ? own_printf("'%s' %s", path, format) : NULL;
	struct err err = {0};

	assert_int_equal(secret_check(reference, /* least_bytes= */ 0, &err), -code);
	assert_string_equal(err.text, code != 0 ? text : "");
}

static void forms(void **state)
{
	static const struct {
		const char *reference;
		int code;
		const char *text;
	} table[] = {
		{"TOKEN", EINVAL, "a secret is named by env:NAME, file:/path or credential:NAME"},
		{"", EINVAL, "a secret is named by env:NAME, file:/path or credential:NAME"},
		{"ENV:A", EINVAL, "a secret is named by env:NAME, file:/path or credential:NAME"},
		{"env:", EINVAL, "what follows 'env:' is not a variable's name"},
		{"env:A B", EINVAL, "what follows 'env:' is not a variable's name"},
		{"env:1A", EINVAL, "what follows 'env:' is not a variable's name"},
		{"env:A=B", EINVAL, "what follows 'env:' is not a variable's name"},
		{"file:", EINVAL, "what follows 'file:' is not an absolute path"},
		{"file:a/b", EINVAL, "what follows 'file:' is not an absolute path"},
		{"credential:", EINVAL, "what follows 'credential:' is not a credential's name"},
		{"credential:..", EINVAL, "what follows 'credential:' is not a credential's name"},
		{"credential:a/b", EINVAL, "what follows 'credential:' is not a credential's name"},
		{"keyring:x", ENOTSUP,
			"a secret from 'keyring:' is not built yet; use env:, file: or credential:"},
		{"command:pass x", ENOTSUP,
			"a secret from 'command:' is not built yet; use env:, file: or credential:"},
		{"env:UNIT_SECRET_ABSENT", ENOENT, "variable 'UNIT_SECRET_ABSENT' is not set"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(table); i++) {
		struct err err = {0};

		assert_int_equal(secret_check(table[i].reference, /* least_bytes= */ 0, &err),
			-table[i].code);
		assert_string_equal(err.text, table[i].text);
		assert_int_equal(secret_check(table[i].reference, /* least_bytes= */ 0, NULL),
			-table[i].code);
	}
}

static void variables(void **state)
{
	static char text[16 * 1024 + 2];
	struct err err = {0};

	(void)state;
	memset(text, 'x', sizeof(text) - 2);
	assert_int_equal(setenv("UNIT_SECRET_A", text, 1), 0);
	assert_int_equal(secret_check("env:UNIT_SECRET_A", /* least_bytes= */ 0, &err), 0);
	text[sizeof(text) - 2] = 'x';
	assert_int_equal(setenv("UNIT_SECRET_A", text, 1), 0);
	assert_int_equal(secret_check("env:UNIT_SECRET_A", /* least_bytes= */ 0, &err), -E2BIG);
	assert_string_equal(err.text, "variable 'UNIT_SECRET_A' is longer than 16384 bytes");
	assert_int_equal(setenv("UNIT_SECRET_A", "", 1), 0);
	assert_int_equal(secret_check("env:UNIT_SECRET_A", /* least_bytes= */ 0, &err), -ENOENT);
	assert_string_equal(err.text, "variable 'UNIT_SECRET_A' is empty");
	assert_int_equal(unsetenv("UNIT_SECRET_A"), 0);
}

static void files(void **state)
{
	static char big[16 * 1024 + 2];
	autofree char *link = own_printf("%s/link", directory),
		      *fifo = own_printf("%s/fifo", directory);

	(void)state;
	memset(big, 'x', sizeof(big));
	put_file("good", "value\n", 6, 0600);
	put_file("group", "value\n", 6, 0640);
	put_file("others", "value\n", 6, 0604);
	put_file("empty", "", 0, 0600);
	big[sizeof(big) - 2] = '\n'; /* cut, so the value is the longest there can be */
	put_file("most", big, sizeof(big) - 1, 0400);
	put_file("over_line", big, sizeof(big), 0600);
	big[sizeof(big) - 2] = 'x';
	put_file("over", big, sizeof(big) - 1, 0600);
	put_file("line", "\n", 1, 0600);
	put_file("big", big, sizeof(big), 0600);
	assert_int_equal(symlink("good", link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	expect("file:", "good", 0, NULL);
	expect("file:", "most", 0, NULL);
	expect("file:", "group", EACCES,
		"has mode 0640, so others can reach it: chmod 600 it first");
	expect("file:", "others", EACCES,
		"has mode 0604, so others can reach it: chmod 600 it first");
	expect("file:", "empty", ENOENT, "is empty");
	expect("file:", "big", E2BIG, "is longer than 16384 bytes");
	expect("file:", "over", E2BIG, "is longer than 16384 bytes");
	expect("file:", "over_line", E2BIG, "is longer than 16384 bytes");
	expect("file:", "line", ENOENT, "is empty");
	expect("file:", "link", EINVAL, "is a symbolic link: name the file itself");
	expect("file:", "fifo", EINVAL, "is not a regular file");
}

static void what_is_too_short(void **state)
{
	static const struct {
		const char *text;
		int code;
	} table[] = {
		{"1234567", EINVAL}, {"12345678", 0}, {"1234567\n", EINVAL}, {"12345678\n", 0}};
	autofree char *path = own_printf("%s/short", directory),
		      *file = own_printf("file:%s", path);

	(void)state;
	for (size_t i = 0; i < array_count(table); i++) {
		FILE *f = fopen(path, "we");
		struct err err = {0};

		assert_non_null(f);
		assert_int_equal(fchmod(fileno(f), 0600), 0);
		assert_true(fputs(table[i].text, f) >= 0);
		assert_int_equal(fclose(f), 0);
		assert_int_equal(secret_check(file, /* least_bytes= */ 8, &err), -table[i].code);
		if (table[i].code != 0)
			assert_string_equal(err.text,
				"it is shorter than 8 bytes: it would be found by chance");
		if (strchr(table[i].text, '\n') != NULL)
			continue;
		assert_int_equal(setenv("UNIT_SECRET_A", table[i].text, 1), 0);
		assert_int_equal(secret_check("env:UNIT_SECRET_A", /* least_bytes= */ 8, &err),
			-table[i].code);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unsetenv("UNIT_SECRET_A"), 0);
}

static void directories_and_nothing(void **state)
{
	autofree char *here = own_printf("file:%s", directory);
	autofree char *here_text = own_printf("'%s' is not a regular file", directory);
	autofree char *absent = own_printf("file:%s/absent", directory);
	autofree char *absent_text =
		own_printf("open '%s/absent': No such file or directory", directory);
	struct err err = {0};

	(void)state;
	assert_int_equal(secret_check(here, /* least_bytes= */ 0, &err), -EINVAL);
	assert_string_equal(err.text, here_text);
	assert_int_equal(secret_check(absent, /* least_bytes= */ 0, &err), -ENOENT);
	assert_string_equal(err.text, absent_text);
}

/* Another user's file: only root can make one, and only root could read it. */
static void foreign_file(void **state)
{
	autofree char *path = own_printf("%s/foreign", directory);

	(void)state;
	if (geteuid() != 0)
		skip();
	put_file("foreign", "value\n", 6, 0600);
	expect("file:", "foreign", 0, NULL); /* control: it is root's */
	assert_int_equal(chown(path, 1234, 0), 0);
	expect("file:", "foreign", EACCES,
		"belongs to user 1234: a secret's file must be your own or root's");
}

static void credentials(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
	assert_int_equal(secret_check("credential:good", /* least_bytes= */ 0, &err), -ENOENT);
	assert_string_equal(err.text,
		"'credential:good' needs CREDENTIALS_DIRECTORY, which systemd sets for services with "
		"LoadCredential=");
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", directory, 1), 0);
	put_file("good", "value\n", 6, 0400);
	put_file("group", "value\n", 6, 0440); /* as systemd does it beside an access list */
	put_file("others", "value\n", 6, 0444);
	memset(&err, 0, sizeof(err));
	expect("credential:", "good", 0, NULL);
	expect("credential:", "group", 0, NULL);
	expect("credential:", "others", EACCES,
		"has mode 0444, so others can reach it: chmod 600 it first");
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

int test_reference(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(variables),
		cmocka_unit_test_setup_teardown(files, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(
			directories_and_nothing, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(
			what_is_too_short, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(foreign_file, make_directory, remove_directory),
		cmocka_unit_test_setup_teardown(credentials, make_directory, remove_directory),
	};

	return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}
