/* SPDX-License-Identifier: Apache-2.0 */
/* The index: rows, short ids, append-only, rebuilding through a pipe. */

#include "tests.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"

static struct index *open_index(bool write)
{
	struct err err = {0};
	struct index *x;

	if (index_open(rig_store, write, &x, &err) < 0)
		fail_msg("%s", err.text);
	return x;
}

static int count_attempt(void *context, const struct index_attempt *a)
{
	int *count = context;

	assert_string_equal(a->attempt.text, rig_attempts[*count].text);
	assert_int_equal(a->state, STATE_DONE);
	assert_int_equal(a->outcome, OUTCOME_COMPLETED);
	assert_string_equal(a->reason, "said \"done\"");
	assert_string_equal(a->task, "demo/\"fix\" the parser");
	assert_string_equal(a->manifest, rig_manifests[*count]);
	assert_int_equal(a->index, *count + 1);
	assert_int_equal(a->graded, *count != 1);
	assert_true(a->graded ? a->score > *count : true);
	assert_int_equal(a->usage.output, 20);
	assert_int_equal(a->usage.cache_read, -1);
	assert_int_equal(a->usage.reasoning, 0);
	assert_int_equal(a->weaker, *count == 2);
	assert_true(*count == 0 ? a->usage.cost_usd > 0.24 : a->usage.cost_usd < 0);
	assert_int_equal(a->events, 9);
	assert_false(a->removed);
	(*count)++;
	return 0;
}

static int see_run(void *context, const struct index_run *r)
{
	(*(int *)context)++;
	assert_string_equal(r->run.text, rig_run.text);
	assert_string_equal(r->file, "run.toml");
	assert_int_equal(r->attempts, 3);
	assert_int_equal(r->done, 3);
	assert_int_equal(r->graded, 2);
	assert_true(r->score_mean > 1.09 && r->score_mean < 1.11);
	assert_true(r->bytes > 1000);
	return 0;
}

static int see_artifact(void *context, const struct index_artifact *a)
{
	int *count = context;

	assert_string_equal(a->path, *count == 0 ? "out.txt" : "common.txt");
	if (*count == 0)
		assert_memory_equal(a->sha256, rig_blobs[1], 32);
	(*count)++;
	return *count == 2 ? 7 : 0;
}

static void check_rows(bool write)
{
	struct index *x = open_index(write);
	int count = 0;

	assert_int_equal(index_each_attempt(x, NULL, count_attempt, &count, NULL), 0);
	assert_int_equal(count, 3);
	count = 0;
	assert_int_equal(index_each_attempt(x, &rig_run, count_attempt, &count, NULL), 0);
	assert_int_equal(count, 3);
	count = 0;
	assert_int_equal(index_each_run(x, see_run, &count, NULL), 0);
	assert_int_equal(count, 1);
	count = 0;
	/* what a callback returns stops the walk and is handed on */
	assert_int_equal(index_each_artifact(x, &rig_attempts[1], see_artifact, &count, NULL), 7);
	count = 0;
	assert_int_equal(index_get_attempt(x, &rig_attempts[0], count_attempt, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(index_get_attempt(x, &rig_run, count_attempt, &count, NULL), -ENOENT);
	index_close(x);
}

static void test_rows(void **state)
{
	(void)state;
	check_rows(true);
	check_rows(false);
}

static void test_settings(void **state)
{
	autofree char *path = inside("index.sqlite");
	sqlite3_stmt *s;
	struct stat st;
	sqlite3 *db;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db,
			"SELECT journal_mode, application_id, user_version, (SELECT count(*) FROM sqlite_schema"
			" WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE '%STRICT%')"
			" FROM pragma_journal_mode, pragma_application_id, pragma_user_version",
			-1, &s, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(s, 0), "wal");
	assert_int_equal(sqlite3_column_int(s, 1), 0x68656d72);
	assert_int_equal(sqlite3_column_int(s, 2), 2);
	assert_int_equal(sqlite3_column_int(s, 3), 0);
	assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	{
		struct err err = {0};
		struct index *x;

		assert_int_equal(index_open(rig_store, /* write= */ true, &x, &err), -ENOTSUP);
		assert_non_null(strstr(err.text, "made by a newer hemra (version 99)"));
	}
}

static void test_append_only(void **state)
{
	static const char *const tables[] = {
		"runs", "attempts", "attempt_transitions", "artifacts", "outcomes", "scores"};
	autofree char *path = inside("index.sqlite");
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (size_t i = 0; i < array_count(tables); i++) {
		autofree char *remove_rows = own_printf("DELETE FROM %s", tables[i]);
		autofree char *sentence = own_printf("%s is append-only", tables[i]);
		char *said = NULL;

		assert_int_equal(
			sqlite3_exec(db, remove_rows, NULL, NULL, &said), SQLITE_CONSTRAINT);
		assert_string_equal(said, sentence);
		sqlite3_free(said);
	}
	assert_int_equal(sqlite3_exec(db, "UPDATE scores SET value = 1", NULL, NULL, NULL),
		SQLITE_CONSTRAINT);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_twice(void **state)
{
	struct index *x = open_index(true);
	struct index_attempt a = {.attempt = rig_attempts[0], .outcome = OUTCOME_LOST};
	struct err err = {0};

	(void)state;
	assert_int_equal(index_put_settled(x, &a, &err), -EEXIST);
	assert_int_equal(index_put_planned(x, &a, &err), -EEXIST);
	assert_int_equal(
		index_put_state(x, &rig_attempts[0], STATE_RUNNING, wall_now(), &err), -EEXIST);
	/* nothing is left open by a refusal */
	a.attempt = new_id();
	a.run = rig_run;
	assert_int_equal(index_put_planned(x, &a, &err), 0);
	assert_int_equal(index_put_settled(x, &a, &err), 0);
	index_close(x);
}

static void test_short_ids(void **state)
{
	struct index *x = open_index(true);
	struct id found, ids[2];
	struct err err = {0};
	char prefix[27];
	bool is_run;
	unsigned n;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct index_attempt a = {.run = rig_run};

		(void)strcpy(a.attempt.text, "7zzzzzzzzzz0000000000000aa");
		a.attempt.text[12] = (char)('a' + i);
		assert_int_equal(index_put_planned(x, &a, &err), 0);
		ids[i] = a.attempt;
	}
	assert_int_equal(index_shortest(x, &ids[0]), 13);
	assert_int_equal(index_find(x, "7zzz", &found, &is_run, &err), -EEXIST);
	assert_non_null(strstr(err.text, ids[0].text));
	assert_non_null(strstr(err.text, ids[1].text));
	assert_int_equal(index_find(x, "7zzzzzzzzzz0a", &found, &is_run, &err), 0);
	assert_string_equal(found.text, ids[0].text);
	assert_false(is_run);
	assert_int_equal(index_find(x, "7zz", &found, &is_run, &err), -EINVAL);
	assert_int_equal(index_find(x, "7zzu", &found, &is_run, &err), -EINVAL);
	assert_int_equal(index_find(x, "' OR 1", &found, &is_run, &err), -EINVAL);
	assert_int_equal(index_find(x, "6zzz", &found, &is_run, &err), -ENOENT);
	assert_string_equal(err.text, "no run or attempt begins with '6zzz'");
	n = index_shortest(x, &rig_run);
	(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)n, rig_run.text);
	assert_int_equal(index_find(x, prefix, &found, &is_run, &err), 0);
	assert_true(is_run);
	assert_string_equal(found.text, rig_run.text);
	prefix[n - 1] = '\0';
	if (n > 4)
		assert_int_equal(index_find(x, prefix, &found, &is_run, &err), -EEXIST);
	index_close(x);
}

/* The child derives, this process writes; an end that never comes changes nothing. x NULL: the whole
 * index is replaced, else x is completed with what only (NULL: everything) stands for. */
static int rows_from_child(struct index *x, const struct id *only, bool whole)
{
	int pipes[2], status, r;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct index_sink sink;

		(void)close(pipes[0]);
		index_pipe_sink(&pipes[1], &sink);
		if (store_derive(rig_store, only, &sink, NULL) != 0)
			_exit(1);
		_exit(whole && index_pipe_end(pipes[1], NULL) < 0 ? 1 : 0);
	}
	(void)close(pipes[1]);
	r = x != NULL ? index_complete_from(x, pipes[0], NULL)
		      : index_rebuild_from(rig_store, pipes[0], NULL);
	(void)close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return r;
}

static int rebuild_from_child(bool whole)
{
	return rows_from_child(/* x= */ NULL, /* only= */ NULL, whole);
}

static int count_any(void *context, const struct index_attempt *a)
{
	(void)a;
	(*(int *)context)++;
	return 0;
}

/* What an engine that died did not write comes in; what is there stays, once. */
static void test_complete(void **state)
{
	autofree char *path = inside("index.sqlite");
	struct index *x;
	int count = 0;

	(void)state;
	assert_int_equal(remove(path), 0);
	x = open_index(true);
	assert_int_equal(rows_from_child(x, &rig_attempts[1], true), 0);
	assert_int_equal(index_each_attempt(x, NULL, count_any, &count, NULL), 0);
	assert_int_equal(count, 1);
	/* an end that does not come: nothing of the rest */
	assert_int_equal(rows_from_child(x, /* only= */ NULL, false), -EPROTO);
	count = 0;
	assert_int_equal(index_each_attempt(x, NULL, count_any, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(rows_from_child(x, /* only= */ NULL, true), 0);
	assert_int_equal(rows_from_child(x, /* only= */ NULL, true), 0);
	index_close(x);
	check_rows(false);
	must_find("");
	test_append_only(state);
}

static void test_rebuild(void **state)
{
	autofree char *path = inside("index.sqlite");

	(void)state;
	assert_int_equal(rebuild_from_child(false), -EPROTO);
	check_rows(false);
	assert_int_equal(remove(path), 0);
	assert_int_equal(rebuild_from_child(true), 0);
	check_rows(false);
	must_find("");
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	check_rows(false);
	must_find("");
	/* and rows are still append-only */
	test_append_only(state);
}

/* A child that lies: nothing of it arrives. */
static void test_rebuild_garbage(void **state)
{
	char bytes[4096];
	int pipes[2];

	(void)state;
	for (int fill = 0; fill < 256; fill += 5) {
		(void)memset(bytes, fill, sizeof(bytes));
		assert_int_equal(pipe(pipes), 0);
		assert_int_equal(write(pipes[1], bytes, sizeof(bytes)), sizeof(bytes));
		(void)close(pipes[1]);
		assert_int_equal(index_rebuild_from(rig_store, pipes[0], NULL), -EPROTO);
		(void)close(pipes[0]);
	}
	check_rows(false);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_make, place_remove)

int test_index(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_rows),
		CASE(test_settings),
		CASE(test_append_only),
		CASE(test_twice),
		CASE(test_short_ids),
		CASE(test_rebuild),
		CASE(test_complete),
		CASE(test_rebuild_garbage),
	};

	return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
