/* SPDX-License-Identifier: Apache-2.0 */
/* An index that is not as hemra made it: nothing of it runs, and nothing of it stays. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/index_db.h"

static struct index *open_index(bool write)
{
	struct err err = {0};
	struct index *x;

	if (index_open(rig_store, write, &x, &err) < 0)
		fail_msg("%s", err.text);
	return x;
}

/* Found, refused to readers and writers, gone after a rebuild. */
static void must_be_foreign(const char *sql, const char *kinds, const char *why)
{
	struct index *x = NULL;
	struct err err = {0};

	must_find("");
	tamper_plainly(sql);
	must_find(kinds);
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, &err), -EUCLEAN);
	assert_non_null(strstr(err.text, why));
	assert_non_null(strstr(err.text, "hemra doctor --reindex makes it anew"));
	assert_int_equal(index_open(rig_store, /* write= */ false, &x, &err), -EUCLEAN);
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("");
	index_close(open_index(true));
}

static void test_foreign(void **state)
{
	(void)state;
	must_be_foreign("CREATE TABLE more (a)", "index.schema", "it holds a table that is not");
	must_be_foreign("CREATE VIEW more AS SELECT 1", "index.schema", "holds a view that is not");
	must_be_foreign("CREATE INDEX more ON outcomes (reason)", "index.schema",
		"it holds an index that is not");
	must_be_foreign("CREATE TRIGGER more AFTER INSERT ON runs BEGIN DELETE FROM scores; END",
		"index.schema", "it holds a trigger that is not");
	must_be_foreign("DROP TRIGGER runs_no_update", "index.schema",
		"trigger 'runs_no_update' is missing");
	must_be_foreign("ALTER TABLE scores ADD COLUMN more TEXT", "index.schema",
		"table 'scores' was changed");
	must_be_foreign("DROP TABLE scores", "index.schema", "is missing");
	must_be_foreign(
		"DROP INDEX attempts_by_run", "index.schema", "index 'attempts_by_run' is missing");
	must_be_foreign("PRAGMA user_version = -1", "index.schema", "its numbers are not hemra's");
	must_be_foreign("PRAGMA application_id = 1", "index.schema", "its numbers are not hemra's");
	/* a name that hides behind a NUL, and one that hides its text */
	must_be_foreign(
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || char(0) || 'x'"
		" WHERE name = 'runs_no_delete'",
		"index.schema", "trigger 'runs_no_delete' was changed");
}

/* A view that never ends in the place of a table: nobody reads it. */
static void test_endless_view(void **state)
{
	(void)state;
	(void)alarm(20);
	must_be_foreign(
		"DROP TABLE tombstones; CREATE VIEW tombstones AS WITH RECURSIVE n(x) AS"
		" (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS attempt, x AS at, x AS why FROM n",
		"index.schema", "is missing");
	(void)alarm(0);
}

/* Rows are told as well where the tables are hemra's. */
static void test_rows_beside(void **state)
{
	(void)state;
	must_find("");
	tamper("UPDATE attempts SET harness = 'other' WHERE number = 1");
	tamper_plainly("CREATE TRIGGER more AFTER INSERT ON runs BEGIN DELETE FROM scores; END");
	must_find("index.row_changed index.schema");
}

/* A planted trigger does not run, neither when the index is opened nor when it is made anew. */
static void test_planted_trigger(void **state)
{
	autofree char *path = inside("index.sqlite");
	struct index *x = NULL;
	sqlite3_stmt *s;
	sqlite3 *db;

	(void)state;
	tamper_plainly("CREATE TABLE ran (n); CREATE TRIGGER planted AFTER INSERT ON runs"
		       " BEGIN INSERT INTO ran VALUES (1); END");
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), -EUCLEAN);
	tamper_plainly("INSERT INTO runs VALUES ('control', 1, 'x')");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT count(*) FROM ran", -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(s, 0), 1); /* it does run when somebody lets it */
	assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT count(*) FROM ran", -1, &s, NULL), SQLITE_ERROR);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	must_find("");
}

static void test_odd_rows(void **state)
{
	static const char *const changes[] = {
		"INSERT INTO scores SELECT attempt, 'other', 1 FROM attempts WHERE number = 1",
		"INSERT INTO scores VALUES ('nobody', 'reward', 1)",
		"INSERT INTO scores SELECT attempt, 'reward' || char(0) || 'x', 1 FROM attempts"
		" WHERE number = 1",
		"INSERT INTO outcomes SELECT 'nobody', outcome, reason, settled, duration_ms, weaker,"
		" input, output, cache_read, cache_write, reasoning, cost_usd, events, event_bytes,"
		" artifact_bytes FROM outcomes LIMIT 1",
		"INSERT INTO tombstones VALUES ('nobody', 1, 'x')",
		"INSERT INTO artifacts SELECT n + 100, 'nobody', path, role, bytes, sha256, raw_sha256,"
		" declared FROM artifacts LIMIT 1",
		"INSERT INTO attempt_transitions VALUES (100, 'nobody', 'running', 1)",
		"INSERT INTO attempt_transitions SELECT 100, attempt, 'dancing', 1 FROM attempts"
		" WHERE number = 1",
		"INSERT INTO unsettled SELECT attempt FROM attempts WHERE number = 1",
		"UPDATE outcomes SET cache_read = -1 WHERE attempt = (SELECT min(attempt) FROM outcomes)",
		"UPDATE attempts SET number = number + 4294967296 WHERE number = 1",
		"UPDATE artifacts SET declared = 2 WHERE n = 1",
	};

	(void)state;
	for (size_t i = 0; i < array_count(changes); i++) {
		must_find("");
		tamper(changes[i]);
		must_find("index.row_extra");
		assert_int_equal(index_rebuild(rig_store, NULL), 0);
	}
	must_find("");
}

static void test_text_behind_nul(void **state)
{
	static const struct {
		const char *sql, *kinds;
	} cases[] = {
		{"UPDATE runs SET file = file || char(0) || 'x'", "index.row_changed"},
		{"UPDATE attempts SET task = task || char(0) || 'x' WHERE number = 1",
			"index.row_changed"},
		{"UPDATE artifacts SET role = role || char(0) WHERE n = 1", "index.row_changed"},
		{"UPDATE outcomes SET reason = reason || char(0) || 'x' WHERE attempt ="
		 " (SELECT min(attempt) FROM outcomes)",
			"index.row_changed"},
		{"UPDATE artifacts SET path = path || char(0) WHERE n = 1",
			"index.row_extra index.row_missing"},
		{"UPDATE attempt_transitions SET state = state || char(0) WHERE n = 1",
			"index.row_extra index.row_missing"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(cases); i++) {
		must_find("");
		tamper(cases[i].sql);
		must_find(cases[i].kinds);
		assert_int_equal(index_rebuild(rig_store, NULL), 0);
	}
}

/* An outcome that is on its way is no damage while the engine of its run lives. */
static void test_outcome_on_its_way(void **state)
{
	autofree char *name = own_printf("live/%s.run", rig_run.text), *path = inside(name);
	FILE *f;

	(void)state;
	tamper("DELETE FROM scores; DELETE FROM outcomes WHERE attempt = (SELECT max(attempt) FROM outcomes);"
	       " INSERT INTO scores SELECT attempt, 'reward', 0.1 FROM attempts WHERE number = 1;"
	       " INSERT INTO unsettled SELECT max(attempt) FROM attempts");
	must_find("index.unsettled");
	f = fopen(path, "we");
	assert_non_null(f);
	must_find("index.unsettled");
	assert_int_equal(flock(fileno(f), LOCK_EX | LOCK_NB), 0);
	must_find("");
	must_remark("index.behind");
	assert_int_equal(fclose(f), 0);
	must_find("index.unsettled");
}

static int count_one(void *context, const struct index_attempt *a)
{
	(void)a;
	(*(int *)context)++;
	return 0;
}

static int count_all(struct index *x)
{
	int count = 0;

	assert_int_equal(index_each_attempt(x, NULL, count_one, &count, NULL), 0);
	return count;
}

/* A connection of this process stays good over a rebuild, for reading and writing. */
static void test_rebuild_under_connection(void **state)
{
	struct index *x = open_index(true), *reader = open_index(false);
	struct index_attempt a = {.run = rig_run, .attempt = new_id()};

	(void)state;
	assert_int_equal(count_all(x), 3);
	assert_int_equal(count_all(reader), 3);
	/* a row that no record stands for: gone after */
	assert_int_equal(index_put_planned(x, &a, NULL), 0);
	assert_int_equal(count_all(x), 4);
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	assert_int_equal(count_all(x), 3);
	assert_int_equal(count_all(reader), 3);
	assert_int_equal(index_put_planned(x, &a, NULL), 0);
	assert_int_equal(count_all(reader), 4);
	index_close(reader);
	index_close(x);
	/* what was put last is in the file, not in one that has no name any more */
	x = open_index(false);
	assert_int_equal(count_all(x), 4);
	index_close(x);
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	must_find("");
}

/* While another one writes, and when another one wrote meanwhile. */
static void test_rebuild_busy(void **state)
{
	struct index_attempt a = {.run = rig_run, .attempt = new_id()};
	struct index *x = open_index(true);
	struct index_sink sink;
	struct err err = {0};
	int pipes[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	/* so small that the rows do not fit: the child goes on when they are read */
	assert_true(fcntl(pipes[1], F_SETPIPE_SZ, 4096) >= 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* the rows are through, and then another one comes past them; the end last */
		index_pipe_sink(&pipes[1], &sink);
		if (store_derive(rig_store, /* only= */ NULL, &sink, NULL) != 0 ||
			index_open(rig_store, /* write= */ true, &x, NULL) < 0 ||
			index_put_planned(x, &a, NULL) < 0)
			_exit(1);
		_exit(index_pipe_end(pipes[1], NULL) < 0 ? 1 : 0);
	}
	(void)close(pipes[1]);
	assert_int_equal(index_rebuild_from(rig_store, pipes[0], &err), -EBUSY);
	assert_non_null(strstr(err.text, "another hemra wrote into"));
	(void)close(pipes[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(count_all(x), 4);
	index_close(x);
}

/* Another name for the file would show what comes after. */
static void test_rebuild_of_linked(void **state)
{
	autofree char *path = inside("index.sqlite"), *other = own_printf("%s/other", place());
	struct stat mine, theirs;

	(void)state;
	assert_int_equal(link(path, other), 0);
	assert_int_equal(index_rebuild(rig_store, NULL), 0);
	assert_int_equal(stat(path, &mine), 0);
	assert_int_equal(stat(other, &theirs), 0);
	assert_true(mine.st_ino != theirs.st_ino);
	assert_int_equal(mine.st_mode & 07777, 0600);
	must_find("");
}

/* What the schema was before, as an older hemra left it. */
static void test_migration(void **state)
{
	struct index *x;
	int count = 0;

	(void)state;
	tamper_plainly(
		"DROP TRIGGER attempts_open; DROP TRIGGER outcomes_close;"
		" DROP TRIGGER tombstones_close; DROP TABLE unsettled; PRAGMA user_version = 1;"
		" DROP TRIGGER outcomes_no_delete; DROP TRIGGER scores_no_delete;"
		" DELETE FROM scores; DELETE FROM outcomes WHERE attempt ="
		" (SELECT max(attempt) FROM attempts)");
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), -EUCLEAN);
	tamper_plainly("CREATE TRIGGER outcomes_no_delete BEFORE DELETE ON outcomes"
		       " BEGIN SELECT RAISE(ABORT, 'outcomes is append-only'); END;"
		       "CREATE TRIGGER scores_no_delete BEFORE DELETE ON scores"
		       " BEGIN SELECT RAISE(ABORT, 'scores is append-only'); END;");
	x = open_index(true);
	assert_int_equal(index_each_open(x, count_one, &count, NULL), 0);
	assert_int_equal(count, 1);
	index_close(x);
}

static int see_open(void *context, const struct index_attempt *a)
{
	struct id *seen = context;

	assert_true(id_is_none(seen));
	assert_int_not_equal(a->state, STATE_DONE);
	*seen = a->attempt;
	return 0;
}

static void test_each_open(void **state)
{
	struct index_attempt a = {.run = rig_run, .attempt = new_id()};
	struct index *x = open_index(true);
	struct id seen = {0};

	(void)state;
	assert_int_equal(index_each_open(x, see_open, &seen, NULL), 0);
	assert_true(id_is_none(&seen));
	assert_int_equal(index_put_planned(x, &a, NULL), 0);
	assert_int_equal(index_each_open(x, see_open, &seen, NULL), 0);
	assert_string_equal(seen.text, a.attempt.text);
	seen = (struct id){0};
	assert_int_equal(index_put_removed(x, &a.attempt, wall_now(), "x", NULL), 0);
	assert_int_equal(index_each_open(x, see_open, &seen, NULL), 0);
	assert_true(id_is_none(&seen));
	a.attempt = new_id();
	assert_int_equal(index_put_planned(x, &a, NULL), 0);
	assert_int_equal(index_put_settled(x, &a, NULL), 0);
	assert_int_equal(index_each_open(x, see_open, &seen, NULL), 0);
	assert_true(id_is_none(&seen));
	index_close(x);
}

/* Rows that are looked at are those that are wanted: the steps of the machine do not grow with the rest. */
static int count_steps(void *context)
{
	(*(uint64_t *)context)++;
	return 0;
}

static uint64_t steps_of_open(struct index *x)
{
	uint64_t steps = 0;
	int count = 0;

	sqlite3_progress_handler(x->db, 1, count_steps, &steps);
	assert_int_equal(index_each_open(x, count_one, &count, NULL), 0);
	sqlite3_progress_handler(x->db, 0, NULL, NULL);
	assert_int_equal(count, 1);
	return steps;
}

static void test_each_open_is_cheap(void **state)
{
	struct index_attempt a = {.run = rig_run, .attempt = new_id()};
	struct index *x = open_index(true);
	uint64_t before, all = 0;
	int count = 0;

	(void)state;
	assert_int_equal(index_put_planned(x, &a, NULL), 0);
	before = steps_of_open(x);
	for (int i = 0; i < 500; i++) {
		a.attempt = new_id();
		assert_int_equal(index_put_planned(x, &a, NULL), 0);
		assert_int_equal(index_put_settled(x, &a, NULL), 0);
	}
	assert_true(steps_of_open(x) < before + 100);
	sqlite3_progress_handler(x->db, 1, count_steps, &all);
	assert_int_equal(index_each_attempt(x, NULL, count_one, &count, NULL), 0);
	assert_true(all > 5000 && before < 500);
	index_close(x);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_make, place_remove)

int test_schema(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_foreign),
		CASE(test_endless_view),
		CASE(test_rows_beside),
		CASE(test_planted_trigger),
		CASE(test_odd_rows),
		CASE(test_text_behind_nul),
		CASE(test_outcome_on_its_way),
		CASE(test_rebuild_under_connection),
		CASE(test_rebuild_busy),
		CASE(test_rebuild_of_linked),
		CASE(test_migration),
		CASE(test_each_open),
		CASE(test_each_open_is_cheap),
	};

	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
