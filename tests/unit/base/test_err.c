/* SPDX-License-Identifier: Apache-2.0 */
/* Error sentences, and the debugging line. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/err.h"
#include "ground/base/log.h"
#include "ground/base/own.h"

static void a_chain(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(err_set(&e, ENOENT, "open root '%s'", "/nope"), -ENOENT);
	assert_int_equal(e.code, ENOENT);
	assert_string_equal(e.text, "open root '/nope': No such file or directory");
	assert_int_equal(err_add(&e, "start sandbox '%s'", "web"), -ENOENT);
	assert_int_equal(err_add(&e, "run"), -ENOENT);
	assert_int_equal(e.code, ENOENT);
	assert_string_equal(
		e.text, "run: start sandbox 'web': open root '/nope': No such file or directory");
	assert_int_equal(err_say(&e, EINVAL, "line %d is wrong", 3), -EINVAL);
	assert_int_equal(e.code, EINVAL);
	assert_string_equal(e.text, "line 3 is wrong");
	assert_int_equal(err_set(&e, 4095, "odd"), -4095);
	assert_string_equal(e.text, "odd: unknown error");
}

static void nobody_wants_the_sentence(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, EPERM, "x"), -EPERM);
	assert_int_equal(err_say(NULL, EPERM, "x"), -EPERM);
	assert_true(err_add(NULL, "x") < 0);
}

static void long_sentences_are_cut(void **state)
{
	struct err e = {0};
	char words[2 * sizeof(e.text)];

	(void)state;
	(void)memset(words, 'w', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	assert_int_equal(err_set(&e, EIO, "%s", words), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(err_say(&e, EIO, "%s", words), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	/* the outermost step is what stays */
	assert_int_equal(err_add(&e, "first"), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_memory_equal(e.text, "first: www", 10);
	assert_int_equal(err_add(&e, "%s", words), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(e.text[0], 'w');
	for (int i = 0; i < 200; i++)
		assert_int_equal(err_add(&e, "again"), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

/* What log_debug writes in a child whose environment has (or has not) HEMRA_DEBUG. */
static size_t logged(bool debug, char *out, size_t size)
{
	autoclose int from = -1, to = -1;
	size_t n = 0;
	ssize_t got;
	pid_t pid;
	int ends[2], status;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	from = ends[0];
	to = ends[1];
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(to, STDERR_FILENO);
		if (debug)
			(void)setenv("HEMRA_DEBUG", "1", 1);
		else
			(void)unsetenv("HEMRA_DEBUG");
		log_debug("number %d", 7);
		log_debug("%0600d", 1);
		_exit(0);
	}
	own_close(&to);
	while (n < size - 1 && (got = read(from, out + n, size - 1 - n)) > 0)
		n += (size_t)got;
	out[n] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return n;
}

static void debugging_lines(void **state)
{
	char text[4096];

	(void)state;
	assert_int_equal(logged(/* debug= */ false, text, sizeof(text)), 0);
	assert_true(logged(/* debug= */ true, text, sizeof(text)) > 0);
	assert_memory_equal(text, "hemra[", 6);
	assert_non_null(strstr(text, "] test_err.c:"));
	assert_non_null(strstr(text, ": number 7\n"));
	assert_true(strlen(text) < 700); /* the long one is cut, and still a line */
	assert_int_equal(text[strlen(text) - 1], '\n');
}

int test_err(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain),
		cmocka_unit_test(nobody_wants_the_sentence),
		cmocka_unit_test(long_sentences_are_cut),
		cmocka_unit_test(debugging_lines),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
