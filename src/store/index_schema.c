/* SPDX-License-Identifier: Apache-2.0 */
/* The index's schema: what it is, how an older one becomes it, and whether a file has exactly it.
 *
 * How it works: a schema is a list of tables, indexes, views and triggers with their text. What it must
 * be is made in memory by the migrations that lead to the file's version, and the two lists are
 * walked side by side. A file with anything else in it is not written to, because a trigger that
 * somebody planted would run with the first row. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ground/base/own.h"
#include "store/index_db.h"

#define APPLICATION_ID 1751477618 /* "hemr" */

#define APPEND_ONLY(table)                                                                         \
	"CREATE TRIGGER " table "_no_update BEFORE UPDATE ON " table                               \
	" BEGIN SELECT RAISE(ABORT, '" table " is append-only'); END;"                             \
	"CREATE TRIGGER " table "_no_delete BEFORE DELETE ON " table                               \
	" BEGIN SELECT RAISE(ABORT, '" table " is append-only'); END;"

/* clang-format 14 sets calls without semicolons otherwise at each run. */
/* clang-format off */
#define TRIGGERS                                                                                   \
	APPEND_ONLY("runs")                                                                        \
	APPEND_ONLY("attempts")                                                                    \
	APPEND_ONLY("attempt_transitions")                                                         \
	APPEND_ONLY("artifacts")                                                                   \
	APPEND_ONLY("outcomes")                                                                    \
	APPEND_ONLY("scores")                                                                      \
	APPEND_ONLY("tombstones")
/* clang-format on */

/* migrations[n] leads from user_version n to n + 1. */
static const char *const migrations[] = {
	"CREATE TABLE runs (run TEXT PRIMARY KEY, created INTEGER NOT NULL, file TEXT NOT NULL)"
	" STRICT, WITHOUT ROWID;"
	"CREATE TABLE attempts (attempt TEXT PRIMARY KEY, run TEXT NOT NULL, number INTEGER NOT NULL,"
	" of INTEGER NOT NULL, harness TEXT NOT NULL, task TEXT NOT NULL, manifest TEXT NOT NULL,"
	" sandbox TEXT NOT NULL, weaker INTEGER NOT NULL, planned INTEGER NOT NULL)"
	" STRICT, WITHOUT ROWID;"
	"CREATE INDEX attempts_by_run ON attempts (run, attempt);"
	"CREATE TABLE attempt_transitions (n INTEGER PRIMARY KEY,"
	" attempt TEXT NOT NULL REFERENCES attempts, state TEXT NOT NULL, at INTEGER NOT NULL,"
	" UNIQUE (attempt, state)) STRICT;"
	"CREATE TABLE artifacts (n INTEGER PRIMARY KEY, attempt TEXT NOT NULL REFERENCES attempts,"
	" path TEXT NOT NULL, role TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 BLOB NOT NULL,"
	" raw_sha256 BLOB NOT NULL, declared INTEGER NOT NULL) STRICT;"
	"CREATE INDEX artifacts_by_attempt ON artifacts (attempt, path);"
	"CREATE TABLE outcomes (attempt TEXT PRIMARY KEY REFERENCES attempts, outcome TEXT NOT NULL,"
	" reason TEXT NOT NULL, settled INTEGER NOT NULL, duration_ms INTEGER NOT NULL,"
	" weaker INTEGER NOT NULL, input INTEGER, output INTEGER, cache_read INTEGER,"
	" cache_write INTEGER, reasoning INTEGER, cost_usd REAL, events INTEGER NOT NULL,"
	" event_bytes INTEGER NOT NULL, artifact_bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE scores (attempt TEXT NOT NULL REFERENCES attempts, name TEXT NOT NULL,"
	" value REAL NOT NULL, PRIMARY KEY (attempt, name)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE tombstones (attempt TEXT PRIMARY KEY REFERENCES attempts, at INTEGER NOT NULL,"
	" why TEXT NOT NULL) STRICT, WITHOUT ROWID;" TRIGGERS,
	/* Which attempts are open, so that finding them costs no walk through all the others. */
	"CREATE TABLE unsettled (attempt TEXT PRIMARY KEY REFERENCES attempts) STRICT, WITHOUT ROWID;"
	"INSERT INTO unsettled SELECT attempt FROM attempts EXCEPT SELECT attempt FROM outcomes"
	" EXCEPT SELECT attempt FROM tombstones;"
	"CREATE TRIGGER attempts_open AFTER INSERT ON attempts"
	" BEGIN INSERT INTO unsettled VALUES (new.attempt); END;"
	"CREATE TRIGGER outcomes_close AFTER INSERT ON outcomes"
	" BEGIN DELETE FROM unsettled WHERE attempt = new.attempt; END;"
	"CREATE TRIGGER tombstones_close AFTER INSERT ON tombstones"
	" BEGIN DELETE FROM unsettled WHERE attempt = new.attempt; END;",
};

#define VERSION ((int)array_count(migrations))

#define LIST                                                                                       \
	"SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name, tbl_name, sql"
#define COLUMNS 4

static void finalize(sqlite3_stmt **s)
{
	(void)sqlite3_finalize(*s); /* repeats an error that was told */
}

static int read_number(struct index *x, const char *sql, int *ret, struct err *err)
{
	autodone(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(x->db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code != SQLITE_ROW)
		return index_error(x, code, "read", err);
	*ret = sqlite3_column_int(statement, 0);
	return 0;
}

/* By the bytes of each column, with whatever stands behind a NUL. */
static int compare(sqlite3_stmt *a, sqlite3_stmt *b, int columns)
{
	for (int i = 0; i < columns; i++) {
		const void *x = sqlite3_column_blob(a, i), *y = sqlite3_column_blob(b, i);
		int m = sqlite3_column_bytes(a, i), n = sqlite3_column_bytes(b, i);
		int common = m < n ? m : n;
		int order = common > 0 ? memcmp(x, y, (size_t)common) : 0;

		if (order != 0 || m != n)
			return order != 0 ? order : m - n;
	}
	return 0;
}

/* A word for the kind of a thing whose name is not ours to repeat. */
static const char *kind_of(sqlite3_stmt *s)
{
	static const char *const kinds[] = {"table", "index", "view", "trigger"};
	const char *type = (const char *)sqlite3_column_text(s, 0);

	for (size_t i = 0; i < array_count(kinds); i++)
		if (type != NULL && strcmp(type, kinds[i]) == 0)
			return kinds[i];
	return "thing";
}

/* What the first difference is goes to said; whether the tables can be read as ours, to *ret_readable. */
static void tell(struct index *x, sqlite3_stmt *ours, sqlite3_stmt *there, int order)
{
	sqlite3_stmt *about = order < 0 ? ours : there;
	const char *kind = kind_of(about);

	if (strcmp(kind, "trigger") != 0 && (order <= 0 || strcmp(kind, "index") == 0))
		x->is_unreadable =
			true; /* a table of ours is not what it was, or reads go elsewhere */
	if (x->foreign[0] != '\0')
		return;
	if (order > 0)
		(void)snprintf(x->foreign, sizeof(x->foreign), "it holds %s %s that is not hemra's",
			kind[0] == 'i' ? "an" : "a", kind);
	else
		(void)snprintf(x->foreign, sizeof(x->foreign), "%s '%s' %s", kind,
			(const char *)sqlite3_column_text(ours, 1),
			order < 0 ? "is missing" : "was changed");
}

/* Both lists are sorted: a thing that only one of them has shows at once. */
static int walk(struct index *x, sqlite3_stmt *ours, sqlite3_stmt *there, struct err *err)
{
	int have = sqlite3_step(ours), found = sqlite3_step(there);

	while (have == SQLITE_ROW || found == SQLITE_ROW) {
		int order = -1;

		if (found == SQLITE_ROW)
			order = have == SQLITE_ROW ? compare(ours, there, 2) : 1;
		if (order != 0 || compare(ours, there, COLUMNS) != 0)
			tell(x, ours, there, order);
		if (order <= 0)
			have = sqlite3_step(ours);
		if (order >= 0)
			found = sqlite3_step(there);
	}
	return found != SQLITE_DONE ? index_error(x, found, "read", err) : 0;
}

static void close_memory(sqlite3 **db)
{
	(void)sqlite3_close(*db); /* cannot fail: every statement is finalised */
}

/* Compares with what the first migrations, version of them, make. */
static int compare_schema(struct index *x, int version, struct err *err)
{
	autodone(close_memory) sqlite3 *model = NULL;
	autodone(finalize) sqlite3_stmt *ours = NULL, *there = NULL;
	int code = sqlite3_open_v2(":memory:", &model,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	for (int i = 0; code == SQLITE_OK && i < version; i++)
		code = sqlite3_exec(model, migrations[i], NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(model, LIST, -1, &ours, NULL);
	if (code != SQLITE_OK)
		return err_say(err, ENOMEM, "make the index's schema: %s", sqlite3_errstr(code));
	code = sqlite3_prepare_v2(x->db, LIST, -1, &there, NULL);
	return code != SQLITE_OK ? index_error(x, code, "read", err) : walk(x, ours, there, err);
}

static int check_inside(struct index *x, int *ret_version, struct err *err)
{
	int application = 0, version = 0, r;

	r = read_number(x, "PRAGMA user_version", &version, err);
	if (r == 0)
		r = read_number(x, "PRAGMA application_id", &application, err);
	if (r < 0)
		return r;
	if (version > VERSION)
		return err_say(err, ENOTSUP,
			"'%s/index.sqlite' was made by a newer hemra (version %d)", x->store->path,
			version);
	*ret_version = version;
	if (version < 0 || application != (version > 0 ? APPLICATION_ID : 0)) {
		x->is_unreadable = true;
		(void)snprintf(x->foreign, sizeof(x->foreign), "its numbers are not hemra's");
		return 0;
	}
	return compare_schema(x, version, err);
}

int index_schema_check(struct index *x, enum index_mode mode, struct err *err)
{
	int version = 0, r;

	/* one read transaction: another opener may migrate just now */
	r = index_exec(x, "BEGIN", err);
	if (r < 0)
		return r;
	r = check_inside(x, &version, err);
	(void)index_exec(x, "COMMIT", NULL); /* nothing was written */
	if (r < 0)
		return r;
	if (x->foreign[0] != '\0' && mode != INDEX_WITNESS)
		return err_say(err, EUCLEAN,
			"'%s/index.sqlite' is not as hemra made it: %s; hemra doctor --reindex makes it anew",
			x->store->path, x->foreign);
	if (version < VERSION && mode != INDEX_WRITE && x->foreign[0] == '\0')
		return err_say(err, ENODATA,
			"'%s/index.sqlite' is older than this hemra: hemra doctor --reindex makes it anew",
			x->store->path);
	return 0;
}

static int migrate_inside(struct index *x, struct err *err)
{
	int version = 0, r = check_inside(x, &version, err);
	char sql[96];

	if (r == 0 && x->foreign[0] != '\0')
		return err_say(err, EUCLEAN, "'%s/index.sqlite' changed just now", x->store->path);
	if (r < 0 || version == VERSION)
		return r;
	while (r == 0 && version < VERSION)
		r = index_exec(x, migrations[version++], err);
	if (r < 0)
		return r;
	(void)snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		APPLICATION_ID, version);
	return index_exec(x, sql, err);
}

int index_schema_migrate(struct index *x, struct err *err)
{
	int version = 0, r = read_number(x, "PRAGMA user_version", &version, err);

	if (r < 0 || version == VERSION)
		return r;
	r = index_run_statement(x, INDEX_BEGIN, err);
	if (r < 0)
		return r;
	r = migrate_inside(x, err);
	if (r == 0)
		return index_run_statement(x, INDEX_COMMIT, err);
	(void)index_run_statement(x, INDEX_ROLLBACK, NULL); /* the first error is the one to tell */
	return r;
}
