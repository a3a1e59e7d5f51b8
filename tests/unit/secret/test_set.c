/* SPDX-License-Identifier: Apache-2.0 */
/* Values, as they are read and kept. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "secret/secret.h"

/* Reads a file of these bytes; its path never leaves this function. */
static int read_bytes(
	struct secret_set *s, const char *name, const void *bytes, size_t size, struct err *err)
{
	char path[] = "/tmp/unit-secret-XXXXXX";
	autoclose int fd = mkostemp(path, O_CLOEXEC);
	autofree char *reference = own_printf("file:%s", path);
	int r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	r = secret_set_read(s, name, reference, err);
	assert_int_equal(unlink(path), 0);
	return r;
}

static void expect_kept(const struct secret_set *s, const char *name, const char *wanted)
{
	size_t bytes = 0;
	const char *value = secret_set_value(s, name, &bytes);

	assert_non_null(value);
	assert_int_equal(bytes, strlen(wanted));
	assert_string_equal(value, wanted);
}

static void values(void **state)
{
	static char most[16 * 1024 + 2];
	struct secret_set *s = secret_set_new();
	struct err err = {0};

	(void)state;
	memset(most, 'x', 16 * 1024);
	most[16 * 1024] = '\n';
	assert_int_equal(setenv("UNIT_SECRET_A", "from the environment\n", 1), 0);
	assert_int_equal(secret_set_read(s, "A", "env:UNIT_SECRET_A", &err), 0);
	assert_int_equal(unsetenv("UNIT_SECRET_A"), 0);
	assert_int_equal(read_bytes(s, "B", "one line\n", 9, &err), 0);
	assert_int_equal(read_bytes(s, "C", "two\nlines\n\n", 11, &err), 0);
	assert_int_equal(read_bytes(s, "D", "none", 4, &err), 0);
	assert_int_equal(read_bytes(s, "E", most, 16 * 1024 + 1, &err), 0);
	expect_kept(s, "A", "from the environment\n");
	expect_kept(s, "B", "one line");
	expect_kept(s, "C", "two\nlines\n");
	expect_kept(s, "D", "none");
	most[16 * 1024] = '\0';
	expect_kept(s, "E", most);
	assert_int_equal(secret_set_count(s), 5);
	assert_string_equal(secret_set_name(s, 2), "C");
	assert_null(secret_set_name(s, 5));
	assert_null(secret_set_value(s, "F", NULL));
	secret_set_free(s);
	secret_set_free(NULL);
}

static void refusals(void **state)
{
	static char big[16 * 1024 + 1];
	struct secret_set *s = secret_set_new();
	struct err err = {0};

	(void)state;
	memset(big, 'x', sizeof(big));
	assert_int_equal(read_bytes(s, "A", "a\0b", 3, &err), -EINVAL);
	assert_non_null(strstr(err.text, "holds a NUL byte"));
	assert_int_equal(read_bytes(s, "A", "\n", 1, &err), -ENOENT);
	assert_non_null(strstr(err.text, "is empty"));
	assert_int_equal(read_bytes(s, "A", big, sizeof(big), &err), -E2BIG);
	assert_non_null(strstr(err.text, "is longer than 16384 bytes"));
	assert_int_equal(secret_set_read(s, "A", "env:UNIT_SECRET_ABSENT", &err), -ENOENT);
	assert_int_equal(secret_set_read(s, "A", "command:x", &err), -ENOTSUP);
	assert_int_equal(secret_set_count(s), 0);
	assert_int_equal(read_bytes(s, "A", "value", 5, &err), 0);
	assert_int_equal(read_bytes(s, "A", "value", 5, &err), -EEXIST);
	assert_string_equal(err.text, "there are two secrets named 'A'");
	assert_int_equal(secret_set_count(s), 1);
	secret_set_free(s);
}

/* The mapping that holds p, from /proc/self/smaps: its flags. */
static void flags_of(const void *p, char flags[512])
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	int inside = 0;

	assert_non_null(f);
	flags[0] = '\0';
	while (fgets(line, sizeof(line), f) != NULL) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = (uintptr_t)p >= start && (uintptr_t)p < end;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			(void)snprintf(flags, 512, "%s", line + 8);
	}
	(void)fclose(f);
}

static void locked_and_not_dumped(void **state)
{
	struct secret_set *s = secret_set_new();
	char flags[512], ordinary_flags[512], locked_flags[512];
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(read_bytes(s, "A", "value", 5, NULL), 0);
	flags_of(secret_set_value(s, "A", NULL), flags);
	secret_set_free(s);
	assert_true(page != MAP_FAILED);
	flags_of(page, ordinary_flags);
	assert_int_equal(mlock(page, 4096), 0);
	flags_of(page, locked_flags);
	assert_int_equal(munmap(page, 4096), 0);
	assert_null(strstr(ordinary_flags, " dd")); /* controls */
	assert_null(strstr(ordinary_flags, " lo"));
	assert_non_null(strstr(flags, " dd"));
	/* under AddressSanitizer mlock() locks nothing and says that it did */
	if (strstr(locked_flags, " lo") != NULL)
		assert_non_null(strstr(flags, " lo"));
}

/* Where nothing may be locked, values are kept all the same. */
static void without_locking(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		static const struct rlimit none = {0, 0};
		struct secret_set *s = secret_set_new();
		size_t bytes = 0;

		if (setrlimit(RLIMIT_MEMLOCK, &none) < 0)
			_exit(1);
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		if (setenv("UNIT_SECRET_A", "value", 1) < 0 ||
			secret_set_read(s, "A", "env:UNIT_SECRET_A", NULL) < 0)
			_exit(3);
		_exit(secret_set_value(s, "A", &bytes) != NULL && bytes == 5 ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int test_set(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(refusals),
		cmocka_unit_test(locked_and_not_dumped),
		cmocka_unit_test(without_locking),
	};

	return cmocka_run_group_tests_name("set", tests, NULL, NULL);
}
