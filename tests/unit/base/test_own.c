/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership by scope, vectors of strings, randomness. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/rand.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int opened(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void descriptors(void **state)
{
	int kept, left;

	(void)state;
	{
		autoclose int gone = opened();
		autoclose int handed = opened();
		autoclose int none = -1;

		assert_int_equal(none, -1);
		left = gone;
		kept = take_fd(&handed);
		assert_int_equal(handed, -1);
		errno = ENOTTY;
	}
	assert_int_equal(errno, ENOTTY); /* leaving the scope keeps it */
	assert_false(is_open(left));
	assert_true(is_open(kept));
	own_close(&kept);
	assert_int_equal(kept, -1);
	own_close(&kept);
}

static void memory(void **state)
{
	char *kept;
	char *zeroed = own_alloc(64), *empty = own_alloc(0);

	(void)state;
	for (int i = 0; i < 64; i++)
		assert_int_equal(zeroed[i], 0);
	assert_non_null(empty);
	free(zeroed);
	free(empty);
	{
		autofree char *freed = own_strdup("freed");
		autofree char *handed = own_strdup("handed");

		assert_string_equal(freed, "freed");
		kept = take_ptr(&handed);
		assert_null(handed);
	}
	assert_string_equal(kept, "handed");
	free(kept);
	kept = own_strndup("abcdef", 3);
	assert_string_equal(kept, "abc");
	free(kept);
	kept = own_strndup("ab", 30);
	assert_string_equal(kept, "ab");
	free(kept);
	kept = own_printf("%s-%d", "x", 5);
	assert_string_equal(kept, "x-5");
	free(kept);
}

static void vectors(void **state)
{
	char **v = NULL, **copy;

	(void)state;
	assert_int_equal(strv_count(NULL), 0);
	assert_null(strv_copy(NULL));
	strv_free(NULL);
	for (int i = 0; i < 20; i++)
		strv_add(&v, i % 2 ? "odd" : "even");
	assert_int_equal(strv_count(v), 20);
	copy = strv_copy(v);
	assert_int_equal(strv_count(copy), 20);
	assert_string_equal(copy[19], "odd");
	assert_ptr_not_equal(copy[0], v[0]);
	strv_done(&v);
	assert_null(v);
	strv_done(&v);
	strv_free(copy);
	v = own_alloc(sizeof(*v));
	copy = strv_copy(v);
	assert_int_equal(strv_count(copy), 0);
	strv_free(copy);
	strv_free(v);
}

static void randomness(void **state)
{
	unsigned char a[100] = {0}, b[100] = {0};

	(void)state;
	rand_bytes(a, 0);
	assert_int_equal(a[0], 0);
	rand_bytes(a, sizeof(a) - 1);
	rand_bytes(b, sizeof(b) - 1);
	assert_memory_not_equal(a, b, sizeof(a) - 1); /* equal once in 2^792 */
	assert_int_equal(a[99], 0);
}

int test_own(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors),
		cmocka_unit_test(memory),
		cmocka_unit_test(vectors),
		cmocka_unit_test(randomness),
	};

	return cmocka_run_group_tests_name("own", tests, NULL, NULL);
}
