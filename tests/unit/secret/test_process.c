/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc shows of a process before and after. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "secret/secret.h"

#define MARK "seen-by-unit-secret"

static bool environ_shows(const char *text)
{
	static char all[256 * 1024];
	autoclose int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		abort();
	while (size < sizeof(all) && (n = read(fd, all + size, sizeof(all) - size)) > 0)
		size += (size_t)n;
	return memmem(all, size, text, strlen(text)) != NULL;
}

/* In a program started anew with the two variables: what is left of them? Status 0 is right. */
static int forgetting(void)
{
	static const char *const references[] = {"env:UNIT_SECRET_A", "env:UNIT_SECRET_B",
		"env:UNIT_SECRET_ABSENT", "file:/etc/hostname", "nonsense"};
	char *heap;

	if (!environ_shows("UNIT_SECRET_A=" MARK "-a") || !environ_shows(MARK "-b"))
		return 1; /* control */
	/* the first copy of B stays on the stack, the second is the C library's */
	if (setenv("UNIT_SECRET_B", "another", 1) < 0)
		return 2;
	heap = getenv("UNIT_SECRET_B");
	secret_forget_environment(references, array_count(references));
	if (getenv("UNIT_SECRET_A") != NULL || getenv("UNIT_SECRET_B") != NULL)
		return 3;
	if (environ_shows(MARK) || memcmp(heap, "\0\0\0\0\0\0\0", 7) != 0)
		return 4;
	if (getenv("UNIT_SECRET_AB") == NULL || !environ_shows("UNIT_SECRET_AB=stays"))
		return 5;
	return 0;
}

static void forgets(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		char **variables = NULL;

		strv_add(&variables, "UNIT_SECRET_AB=stays");
		strv_add(&variables, "UNIT_SECRET_A=" MARK "-a");
		strv_add(&variables, "UNIT_SECRET_B=" MARK "-b");
		(void)execle("/proc/self/exe", "unit_secret", "forgetting", NULL, variables);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void hardens(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit core;

		if (prctl(PR_GET_DUMPABLE) != 1)
			_exit(1); /* control */
		if (secret_harden_process(NULL) != 0)
			_exit(2);
		if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_cur > 1 || core.rlim_max > 1)
			_exit(3);
		_exit(prctl(PR_GET_DUMPABLE) == 0 ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int test_process(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forgets),
		cmocka_unit_test(hardens),
	};

	return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}

/* Runs before main(): the program started anew is this one. */
__attribute__((constructor)) static void start_anew(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "forgetting") == 0)
		_exit(forgetting());
}
