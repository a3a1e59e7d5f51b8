/* SPDX-License-Identifier: Apache-2.0 */
/* What git would obey, before and after. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attempt/gitwatch.h"
#include "ground/base/own.h"
#include "ground/kernel/files.h"

static char seen[4096];

static void take(void *context, const char *path, enum git_change change)
{
	static const char marks[] = {
		[GIT_CHANGE_ADDED] = '+', [GIT_CHANGE_CHANGED] = '*', [GIT_CHANGE_REMOVED] = '-'};
	size_t used = strlen(seen);

	(void)context;
	(void)snprintf(seen + used, sizeof(seen) - used, "%c%s\n", marks[change], path);
}

static void make(const char *directory)
{
	assert_int_equal(mkdir(directory, 0755), 0);
}

static void put(const char *path, const char *text)
{
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* A place of our own as working directory. */
static char *enter_place(void)
{
	char *place = own_strdup("/tmp/hemra-unit-XXXXXX");

	assert_non_null(mkdtemp(place));
	assert_int_equal(chdir(place), 0);
	return place;
}

static void leave_place(char *place)
{
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(file_remove_tree(AT_FDCWD, place), 0);
	free(place);
}

static void assert_changes(struct git_watch *w, const char *expected, int count)
{
	seen[0] = '\0';
	assert_int_equal(git_watch_changed(w, take, NULL), count);
	assert_string_equal(seen, expected);
}

static void make_repository(void)
{
	static const char *const directories[] = {".git", ".git/hooks", ".git/info", ".git/modules",
		".git/modules/a", ".git/modules/a/b", ".git/modules/a/b/objects",
		".git/modules/a/b/refs", ".git/worktrees", ".git/worktrees/w"};

	for (size_t i = 0; i < array_count(directories); i++)
		make(directories[i]);
	put(".git/config", "[core]\n");
	put(".git/modules/a/b/HEAD", "");
	put(".git/modules/a/b/config", "");
	put(".git/worktrees/w/commondir", "../..\n");
}

static void test_gitwatch_repository(void **state)
{
	char *place = enter_place();
	struct git_watch *w;

	(void)state;
	make_repository();
	w = git_watch_open(place);
	assert_non_null(w);
	put(".git/index", "");
	put(".git/hooks/pre-commit.sample", "");
	put("file", "");
	assert_changes(w, "", 0);
	put(".git/commondir", "../evil\n");
	put(".git/config.worktree", "");
	put(".git/hooks/pre-commit", "");
	put(".git/info/attributes", "");
	put(".git/modules/a/b/config", "[core]\n");
	assert_int_equal(unlink(".git/worktrees/w/commondir"), 0);
	assert_changes(w,
		"+.git/commondir\n+.git/config.worktree\n+.git/hooks/pre-commit\n"
		"+.git/info/attributes\n*.git/modules/a/b/config\n-.git/worktrees/w/commondir\n",
		6);
	assert_false(git_watch_is_cut(w));
	git_watch_close(w);
	leave_place(place);
}

/* The same size and a time put back do not hide it. */
static void test_gitwatch_disguised(void **state)
{
	char *place = enter_place();
	struct git_watch *w;
	struct stat st;

	(void)state;
	make_repository();
	assert_int_equal(stat(".git/config", &st), 0);
	w = git_watch_open(place);
	put(".git/config", "[evil]\n");
	assert_int_equal(utimensat(AT_FDCWD, ".git/config",
				 (const struct timespec[]){st.st_atim, st.st_mtim}, 0),
		0);
	assert_changes(w, "*.git/config\n", 1);
	git_watch_close(w);
	leave_place(place);
}

static void test_gitwatch_others(void **state)
{
	char *place = enter_place();
	struct git_watch *w;

	(void)state;
	make("1");
	make("1/2");
	make("1/2/3");
	make("1/2/3/4");
	make("1/2/3/4/5");
	w = git_watch_open(place);
	make("1/2/3/4/.git");
	put("1/2/3/4/.git/config", "");
	make("1/2/3/4/5/.git"); /* too deep */
	put("1/2/3/4/5/.git/config", "");
	put("1/.git", "gitdir: ../evil\n");
	make("bare");
	make("bare/objects");
	make("bare/refs");
	put("bare/HEAD", "");
	put("bare/config", "");
	assert_int_equal(symlink("bare", ".git"), 0);
	assert_changes(w, "+.git\n+1/.git\n+1/2/3/4/.git/config\n+bare/config\n", 4);
	git_watch_close(w);
	leave_place(place);
}

/* More directories than are looked at: it is said, and what repositories were found is seen. */
static void test_gitwatch_limit(void **state)
{
	char *place = enter_place(), name[32];
	struct git_watch *w;

	(void)state;
	make_repository();
	w = git_watch_open(place);
	assert_false(git_watch_is_cut(w));
	for (int i = 0; i < GIT_WATCH_DIRECTORIES + 1; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		make(name);
	}
	put(".git/hooks/pre-commit", "");
	assert_changes(w, "+.git/hooks/pre-commit\n", 1);
	assert_true(git_watch_is_cut(w));
	git_watch_close(w);
	leave_place(place);
	assert_null(git_watch_open("/nonexistent"));
	git_watch_close(NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_gitwatch_repository),
	cmocka_unit_test(test_gitwatch_disguised),
	cmocka_unit_test(test_gitwatch_others),
	cmocka_unit_test(test_gitwatch_limit),
};

int test_gitwatch(void)
{
	return cmocka_run_group_tests_name("gitwatch", tests, NULL, NULL);
}
