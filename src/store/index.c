/* SPDX-License-Identifier: Apache-2.0 */
/* The index's database: opening, statements, transactions.
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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "store/index_db.h"

#define BEING_MADE_MS      500
#define BEING_MADE_STEP_MS 10

#define BUSY_MS 5000

const char *const index_files[INDEX_FILES] = {
	"index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal", "index.sqlite"};

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
	sqlite3_stmt *statement = NULL;
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

/* Changing to WAL asks for the file alone and does not always wait for it: two first openers may meet. */
int index_set_wal(struct index *x, struct err *err)
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

void index_configure(struct index *x)
{
	(void)sqlite3_extended_result_codes(x->db, 0); /* these cannot fail on an open database */
	(void)sqlite3_busy_timeout(x->db, BUSY_MS);
	(void)sqlite3_db_config(x->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(x->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(x->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
}

/* Nothing is written, and nothing but the schema read, before the schema is known to be hemra's. */
static int configure(struct index *x, enum index_mode mode, struct err *err)
{
	int r;

	index_configure(x);
	r = index_exec(x, "PRAGMA cell_size_check = ON", err);
	if (r == 0)
		r = index_schema_check(x, mode, err);
	if (r == 0 && mode == INDEX_WRITE) {
		r = index_set_wal(x, err);
		if (r == 0)
			r = index_exec(x, "PRAGMA synchronous = NORMAL", err);
		if (r == 0)
			r = index_schema_migrate(x, err);
	}
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

/* SQLite would wait for the other end of a FIFO, and follow a link. */
static int check_files(const struct index *x, struct err *err)
{
	for (size_t i = 0; i < INDEX_FILES; i++) {
		struct stat st;

		if (fstatat(x->store->fd, index_files[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			!S_ISREG(st.st_mode))
			return err_say(err, EINVAL,
				"'%s/%s' is not a regular file: hemra doctor --reindex makes the index anew",
				x->store->path, index_files[i]);
	}
	return 0;
}

int index_make_file(struct store *s, struct err *err)
{
	/* only where there was none: closing a second descriptor of a database that this process has open
	 * would drop its locks */
	int fd = openat(
		s->fd, "index.sqlite", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0 : err_set(err, errno, "make '%s/index.sqlite'", s->path);
	(void)close(fd); /* empty */
	return 0;
}

static int open_database(struct index *x, enum index_mode mode, struct err *err)
{
	autofree char *path = own_printf("%s/index.sqlite", x->store->path);
	int flags = mode == INDEX_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
	int code, r = check_files(x, err);

	if (r == 0 && mode == INDEX_WRITE)
		r = store_may_write(x->store, err);
	if (r == 0 && mode == INDEX_WRITE)
		r = index_make_file(x->store, err);
	if (r < 0)
		return r;
	code = sqlite3_open_v2(path, &x->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		return index_error(x, code, "open", err);
	r = configure(x, mode, err);
	if (r != -ENOENT || mode == INDEX_WRITE)
		return r;
	(void)sqlite3_close(x->db); /* nothing is prepared */
	x->db = NULL;
	code = open_immutable(x, path);
	return code != SQLITE_OK ? index_error(x, code, "open", err) : configure(x, mode, err);
}

int index_open_mode(struct store *s, enum index_mode mode, struct index **ret, struct err *err)
{
	struct index *x = own_alloc(sizeof(*x));
	int r;

	x->store = s;
	r = open_database(x, mode, err);
	if (r < 0) {
		index_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

/* A store is made in steps: whoever only looks may come between them. An index that stays away or
 * empty is told as what it is. */
int index_open(struct store *s, bool write, struct index **ret, struct err *err)
{
	const struct timespec pause = {.tv_nsec = BEING_MADE_STEP_MS * 1000000L};
	int r;

	for (int left = write ? 0 : BEING_MADE_MS;; left -= BEING_MADE_STEP_MS) {
		r = index_open_mode(s, write ? INDEX_WRITE : INDEX_READ, ret, err);
		if ((r != -ENOENT && r != -ENODATA) || left <= 0)
			return r;
		(void)nanosleep(&pause, NULL);
	}
}

int index_open_private(struct store *s, struct index **ret, struct err *err)
{
	struct index *x = own_alloc(sizeof(*x));
	int code, r;

	x->store = s;
	code = sqlite3_open_v2(":memory:", &x->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK) {
		r = index_error(x, code, "put together", err);
	} else {
		index_configure(x);
		r = index_schema_migrate(x, err);
	}
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
	int code = sqlite3_exec(x->db, "PRAGMA integrity_check(1)", take_check, said, NULL);

	if (code != SQLITE_OK)
		return index_error(x, code, "check", err);
	if (strcmp(said, "ok") != 0)
		return err_say(
			err, EBADMSG, "'%s/index.sqlite' is damaged: %s", x->store->path, said);
	return 0;
}
