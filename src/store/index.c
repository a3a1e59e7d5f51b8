/* SPDX-License-Identifier: Apache-2.0 */
/* The index's database: opening, schema, migrations, transactions.
 *
 * How it works: rows are only ever inserted; triggers abort anything else. What changes with time is
 * a row of its own: a state is a transition, the end of an attempt an outcome, its removal a
 * tombstone. WAL lets one hemra write while others read; a writer waits up to five seconds for another.
 * synchronous is NORMAL: power loss may take the last rows, never the database, and every row can be
 * derived again from the events. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "store/index_db.h"

#define APPLICATION_ID 1751477618 /* "hemr" */
#define BUSY_MS        5000

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

static const char *const tables[] = {
	"scores", "outcomes", "artifacts", "attempt_transitions", "tombstones", "attempts", "runs"};

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
};

#define IDS "(SELECT run AS id, 1 AS is_run FROM runs UNION ALL SELECT attempt, 0 FROM attempts)"

static const char *const statements[INDEX_STATEMENT_COUNT] = {
	[INDEX_BEGIN] = "BEGIN IMMEDIATE",
	[INDEX_COMMIT] = "COMMIT",
	[INDEX_ROLLBACK] = "ROLLBACK",
	[INDEX_PUT_RUN] = "INSERT INTO runs VALUES (?1, ?2, ?3)",
	[INDEX_PUT_ATTEMPT] =
		"INSERT INTO attempts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[INDEX_PUT_TRANSITION] =
		"INSERT INTO attempt_transitions (attempt, state, at) VALUES (?1, ?2, ?3)",
	[INDEX_PUT_ARTIFACT] =
		"INSERT INTO artifacts (attempt, path, role, bytes, sha256, raw_sha256, declared)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[INDEX_ADD_ARTIFACT] =
		"INSERT INTO artifacts (attempt, path, role, bytes, sha256, raw_sha256, declared)"
		" SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM artifacts"
		" WHERE attempt = ?1 AND path = ?2 AND role = ?3 AND sha256 = ?5)",
	[INDEX_PUT_OUTCOME] =
		"INSERT INTO outcomes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
		" ?11, ?12, ?13, ?14, ?15)",
	[INDEX_PUT_SCORE] = "INSERT INTO scores VALUES (?1, ?2, ?3)",
	[INDEX_PUT_TOMBSTONE] = "INSERT INTO tombstones VALUES (?1, ?2, ?3)",
	/* '{' is the character behind 'z', the last of an id's alphabet */
	[INDEX_FIND] = "SELECT id, is_run FROM " IDS
		       " WHERE id >= ?1 AND id < ?1 || '{' ORDER BY id LIMIT 5",
	[INDEX_BEFORE] = "SELECT max(coalesce((SELECT max(run) FROM runs WHERE run < ?1), ''),"
			 " coalesce((SELECT max(attempt) FROM attempts WHERE attempt < ?1), ''))",
	[INDEX_AFTER] = "SELECT min(coalesce((SELECT min(run) FROM runs WHERE run > ?1), '{'),"
			" coalesce((SELECT min(attempt) FROM attempts WHERE attempt > ?1), '{'))",
};

int index_error(struct index *x, int code, const char *what, struct err *err)
{
	const char *sentence = x->db != NULL ? sqlite3_errmsg(x->db) : sqlite3_errstr(code);
	int number;

	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		number = EBUSY;
		break;
	case SQLITE_CONSTRAINT:
		number = EEXIST;
		break;
	case SQLITE_FULL:
		number = ENOSPC;
		break;
	case SQLITE_READONLY:
		number = EROFS;
		break;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		number = EBADMSG;
		break;
	case SQLITE_CANTOPEN:
		number = ENOENT;
		break;
	default:
		number = EIO;
	}
	return err_say(err, number, "%s '%s/index.sqlite': %s", what, x->store->path, sentence);
}

int index_exec(struct index *x, const char *sql, struct err *err)
{
	int code = sqlite3_exec(x->db, sql, NULL, NULL, NULL);

	return code != SQLITE_OK ? index_error(x, code, "change", err) : 0;
}

int index_statement(
	struct index *x, enum index_statement which, sqlite3_stmt **ret, struct err *err)
{
	sqlite3_stmt **cached = &x->statements[which];

	if (*cached == NULL) {
		int code = sqlite3_prepare_v3(
			x->db, statements[which], -1, SQLITE_PREPARE_PERSISTENT, cached, NULL);

		if (code != SQLITE_OK)
			return index_error(x, code, "read", err);
	}
	*ret = *cached;
	return 0;
}

int index_run_statement(struct index *x, enum index_statement which, struct err *err)
{
	sqlite3_stmt *statement;
	int code, r;

	r = index_statement(x, which, &statement, err);
	if (r < 0)
		return r;
	code = sqlite3_step(statement);
	if (code != SQLITE_DONE)
		r = index_error(x, code, "write", err);
	(void)sqlite3_reset(statement);          /* repeats the error that was just told */
	(void)sqlite3_clear_bindings(statement); /* cannot fail */
	return r;
}

static int user_version(struct index *x, int *ret, struct err *err)
{
	sqlite3_stmt *statement;
	int code = sqlite3_prepare_v2(x->db, "PRAGMA user_version", -1, &statement, NULL);

	if (code != SQLITE_OK)
		return index_error(x, code, "read", err);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int(statement, 0);
	(void)sqlite3_finalize(statement); /* repeats the error of the step */
	return code == SQLITE_ROW ? 0 : index_error(x, code, "read", err);
}

static int migrate_inside(struct index *x, struct err *err)
{
	int version, r = user_version(x, &version, err);
	char sql[96];

	while (r == 0 && version < (int)array_count(migrations)) {
		r = index_exec(x, migrations[version], err);
		version++;
	}
	if (r < 0)
		return r;
	(void)snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		APPLICATION_ID, version);
	return index_exec(x, sql, err);
}

static int check_version(struct index *x, bool write, struct err *err)
{
	int version = 0, r = user_version(x, &version, err);

	if (r < 0)
		return r;
	if (version > (int)array_count(migrations))
		return err_say(err, ENOTSUP,
			"'%s/index.sqlite' was made by a newer hemra (version %d)", x->store->path,
			version);
	if (version == (int)array_count(migrations))
		return 0;
	if (!write)
		return err_say(
			err, ENODATA, "'%s/index.sqlite' is older than this hemra", x->store->path);
	r = index_run_statement(x, INDEX_BEGIN, err);
	if (r < 0)
		return r;
	r = migrate_inside(x, err);
	if (r == 0)
		return index_run_statement(x, INDEX_COMMIT, err);
	(void)index_run_statement(x, INDEX_ROLLBACK, NULL); /* the first error is the one to tell */
	return r;
}

/* Changing to WAL asks for the file alone and does not always wait for it: two first openers may meet. */
static int set_wal(struct index *x, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	struct mono end = mono_add_ms(mono_now(), BUSY_MS);
	int code;

	for (;;) {
		code = sqlite3_exec(x->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if (code != SQLITE_BUSY || mono_ms_between(mono_now(), end) <= 0)
			break;
		(void)nanosleep(&pause, NULL); /* a short sleep is as good */
	}
	return code != SQLITE_OK ? index_error(x, code, "open", err) : 0;
}

static int configure(struct index *x, bool write, struct err *err)
{
	int r = 0;

	(void)sqlite3_extended_result_codes(x->db, 0); /* these cannot fail on an open database */
	(void)sqlite3_busy_timeout(x->db, BUSY_MS);
	(void)sqlite3_db_config(x->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(x->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(x->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	if (write) {
		r = set_wal(x, err);
		if (r == 0)
			r = index_exec(x, "PRAGMA synchronous = NORMAL", err);
	}
	if (r == 0)
		r = index_exec(x, "PRAGMA cell_size_check = ON", err);
	if (r == 0)
		r = check_version(x, write, err);
	return r;
}

/* For a store on a medium that cannot be written: no WAL, no locks. */
static int open_immutable(struct index *x, const char *path)
{
	autodone(buf_done) struct buf uri = {.max = 3 * PATH_MAX + 32};

	(void)buf_add_text(&uri, "file:"); /* failure sticks, here and below */
	for (; *path != '\0'; path++) {
		if (strchr("?#%", *path) != NULL)
			(void)buf_addf(&uri, "%%%02x", (unsigned char)*path);
		else
			(void)buf_add_char(&uri, *path);
	}
	(void)buf_add_text(&uri, "?immutable=1");
	if (buf_status(&uri) < 0)
		return buf_status(&uri) == -ENOMEM ? SQLITE_NOMEM : SQLITE_CANTOPEN;
	return sqlite3_open_v2(buf_text(&uri), &x->db,
		SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
}

static int open_database(struct index *x, bool write, struct err *err)
{
	autofree char *path = own_printf("%s/index.sqlite", x->store->path);
	int code;

	if (write && access(path, F_OK) < 0) {
		/* only where there was none: closing a second descriptor of a database that this process
		 * has open would drop its locks */
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd >= 0)
			(void)close(fd); /* empty */
	}
	code = sqlite3_open_v2(path, &x->db,
		(write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		return index_error(x, code, "open", err);
	code = configure(x, write, err);
	if (code != -ENOENT || write)
		return code;
	(void)sqlite3_close(x->db); /* nothing is prepared */
	x->db = NULL;
	code = open_immutable(x, path);
	return code != SQLITE_OK ? index_error(x, code, "open", err) : configure(x, write, err);
}

int index_open(struct store *s, bool write, struct index **ret, struct err *err)
{
	struct index *x = own_alloc(sizeof(*x));
	int r;

	x->store = s;
	r = open_database(x, write, err);
	if (r < 0) {
		index_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

void index_close(struct index *x)
{
	if (x == NULL)
		return;
	for (size_t i = 0; i < INDEX_STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(x->statements[i]); /* repeats an error that was told */
	(void)sqlite3_close(x->db); /* cannot fail: every statement is finalised */
	free(x);
}

static int take_check(void *context, int columns, char **values, char **names)
{
	char *said = context;

	(void)names;
	if (columns > 0 && values[0] != NULL)
		(void)snprintf(said, 128, "%s", values[0]); /* a cut sentence is still a sentence */
	return 0;
}

int index_check(struct index *x, struct err *err)
{
	char said[128] = "";
	int code = sqlite3_exec(x->db, "PRAGMA quick_check(1)", take_check, said, NULL);

	if (code != SQLITE_OK)
		return index_error(x, code, "check", err);
	if (strcmp(said, "ok") != 0)
		return err_say(
			err, EBADMSG, "'%s/index.sqlite' is damaged: %s", x->store->path, said);
	return 0;
}

int index_clear(struct index *x, struct err *err)
{
	char sql[192];
	int r = 0;

	for (size_t i = 0; i < array_count(tables) && r == 0; i++) {
		(void)snprintf(sql, sizeof(sql),
			"DROP TRIGGER IF EXISTS %s_no_update;"
			"DROP TRIGGER IF EXISTS %s_no_delete; DELETE FROM %s",
			tables[i], tables[i], tables[i]);
		r = index_exec(x, sql, err);
	}
	return r < 0 ? r : index_exec(x, TRIGGERS, err);
}
