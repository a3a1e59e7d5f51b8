/* SPDX-License-Identifier: Apache-2.0 */
/* A small record with everything in it, and what verify says of it. */

#include "tests.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define KINDS_MAX 128

static struct {
	char kind[48];
	bool damning;
	uint64_t line;
} found[KINDS_MAX];
static size_t found_count;

static void must(int r)
{
	assert_int_equal(r, 0);
}

static void append(struct event_log *l, enum event_type type, const char *data)
{
	struct err err = {0};

	if (event_log_append(l, type, data, strlen(data), &err) < 0)
		fail_msg("%s", err.text);
}

static void put_state(struct index *x, struct event_log *l, const struct id *attempt, enum state s)
{
	autodone(buf_done) struct buf data = {.max = 4096};

	event_encode_state(s, &data);
	append(l, EVENT_ATTEMPT_STATE, buf_text(&data));
	must(index_put_state(x, attempt, s, event_log_at(l), NULL));
}

static void put_artifact(struct index *x, struct event_log *l, const struct id *attempt,
	const char *path, const char *content, uint8_t ret_sha256[32])
{
	autodone(buf_done) struct buf data = {.max = 4096};
	struct index_artifact a = {.attempt = *attempt,
		.path = path,
		.role = "output",
		.bytes = strlen(content),
		.declared = true};

	must(store_blob_put(rig_store, content, strlen(content), a.sha256, NULL));
	(void)memcpy(a.raw_sha256, a.sha256, 32);
	(void)memcpy(ret_sha256, a.sha256, 32);
	event_encode_artifact(&a, "text/plain", /* refused= */ NULL, &data);
	append(l, EVENT_ARTIFACT, buf_text(&data));
	must(index_put_artifact(x, &a, NULL));
}

static void plan(struct index *x, struct index_attempt *a, struct event_log **ret)
{
	autodone(buf_done) struct buf data = {.max = 4096};
	autofree char *content =
		own_printf("{\"attempt\":\"%s\",\"sandbox\":\"native\"}", a->attempt.text);
	autofree char *name = NULL;
	uint8_t digest[32];

	/* the digest of a manifest is that of its bytes, as of a blob's */
	must(store_blob_put(rig_store, content, strlen(content), digest, NULL));
	str_hex(digest, 32, (char *)(uintptr_t)a->manifest);
	name = own_printf("blobs/sha256/%.2s/%s", a->manifest, a->manifest + 2);
	{
		autofree char *blob = inside(name);

		must(remove(blob));
	}
	free(take_ptr(&name));
	name = own_printf("manifests/%s.json", a->manifest);
	must(store_put_once(rig_store, name, content, strlen(content), NULL));
	must(event_log_create(rig_store, &a->attempt, digest, ret, NULL));
	event_encode_planned(a, &data);
	append(*ret, EVENT_ATTEMPT_PLANNED, buf_text(&data));
	must(event_log_sync(*ret, NULL));
	a->planned = event_log_at(*ret);
	must(index_put_planned(x, a, NULL));
}

static void settle(struct index *x, struct event_log *l, struct index_attempt *a)
{
	autodone(buf_done) struct buf data = {.max = 4096};
	struct event_head head;

	event_encode_settled(a, &data);
	append(l, EVENT_ATTEMPT_SETTLED, buf_text(&data));
	must(event_log_sync(l, NULL));
	must(store_sync_directories(rig_store, NULL));
	event_log_head(l, &head);
	must(store_seal(rig_store, rig_key, &a->attempt, &head, /* local= */ false, NULL));
	a->settled = event_log_at(l);
	a->events = head.count;
	a->event_bytes = head.bytes;
	must(index_put_settled(x, a, NULL));
}

void rig_attempt(struct index *x, unsigned number, struct id *ret)
{
	autofree char *mine = own_printf("output of attempt %u\n", number);
	char manifest[65] = "";
	uint8_t shared[32], own[32];
	struct index_attempt a = {.run = rig_run,
		.attempt = new_id(),
		.index = number + 1,
		.of = 3,
		.harness = "oracle",
		.task = "demo/\"fix\" the parser",
		.manifest = manifest,
		.sandbox = "native",
		.weaker = number == 2 ? 1 : 0,
		.outcome = OUTCOME_COMPLETED,
		.reason = "said \"done\"",
		.graded = number != 1,
		.score = 0.1 + number,
		.duration_ms = 1234,
		.usage = {10, 20, -1, -1, 0, number == 0 ? 0.25 : -1}};
	struct event_log *l;

	plan(x, &a, &l);
	put_state(x, l, &a.attempt, STATE_PREPARING);
	put_state(x, l, &a.attempt, STATE_RUNNING);
	append(l, EVENT_HARNESS_MESSAGE, "{\"kind\":\"message\",\"text\":\"h\\u00e9llo\"}");
	append(l, EVENT_HARNESS_STDERR, "{\"text\":\"one\"}");
	append(l, EVENT_HARNESS_STDERR, "{\"text\":\"two\"}");
	put_artifact(x, l, &a.attempt, "out.txt", mine, own);
	put_artifact(x, l, &a.attempt, "common.txt", "what all attempts wrote\n", shared);
	a.artifact_bytes = strlen(mine) + strlen("what all attempts wrote\n");
	settle(x, l, &a);
	event_log_close(l);
	*ret = a.attempt;
	if (number < 3) {
		(void)memcpy(rig_blobs[number], own, 32);
		(void)strcpy(rig_manifests[number], manifest);
	}
}

int rig_make(void **state)
{
	autodone(buf_done) struct buf text = {.max = 4096};
	char created[WALL_TEXT_SIZE], name[64];
	struct wall now = wall_now();
	struct index *x;

	if (place_make(state) < 0)
		return -1;
	rig_run = new_id();
	wall_format(now, created);
	(void)buf_addf(&text, "{\"created\":\"%s\",\"file\":\"run.toml\"}", created);
	(void)snprintf(name, sizeof(name), "runs/%s.json", rig_run.text);
	must(store_put_once(rig_store, name, text.data, text.len, NULL));
	must(index_open(rig_store, /* write= */ true, &x, NULL));
	must(index_put_run(x, &rig_run, now, "run.toml", NULL));
	for (unsigned i = 0; i < 3; i++)
		rig_attempt(x, i, &rig_attempts[i]);
	index_close(x);
	return 0;
}

void collect_reset(void)
{
	found_count = 0;
}

void collect(void *context, const struct store_finding *f)
{
	(void)context;
	assert_true(found_count < KINDS_MAX);
	assert_true(strlen(f->kind) < sizeof(found[0].kind));
	assert_true(f->sentence[0] != '\0' && f->where[0] != '\0');
	if (getenv("HEMRA_DEBUG") != NULL)
		print_message("%s%s %s:%llu %s\n", f->kind, f->damning ? "" : " (remark)", f->where,
			(unsigned long long)f->line, f->sentence);
	(void)strcpy(found[found_count].kind, f->kind);
	found[found_count].damning = f->damning;
	found[found_count++].line = f->line;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *collected(void)
{
	static char text[4096];
	const char *kinds[KINDS_MAX];
	size_t count = 0;

	text[0] = '\0';
	for (size_t i = 0; i < found_count; i++)
		if (found[i].damning)
			kinds[count++] = found[i].kind;
	qsort(kinds, count, sizeof(*kinds), by_name);
	for (size_t i = 0; i < count; i++) {
		(void)strcat(text, i > 0 ? " " : "");
		(void)strcat(text, kinds[i]);
	}
	return text;
}

/* Opened anew, as another process would. */
void must_find_only(const struct id *only, const char *kinds)
{
	autofree char *path = inside("");
	struct err err = {0};
	struct store *s;
	int r;

	must(store_open(path, /* flags= */ 0, &s, &err));
	collect_reset();
	r = store_verify(s, only, collect, /* context= */ NULL, &err);
	if (r < 0)
		fail_msg("%s", err.text);
	store_close(s);
	assert_string_equal(collected(), kinds);
	assert_int_equal(r == 0, kinds[0] == '\0');
}

void must_find(const char *kinds)
{
	must_find_only(/* only= */ NULL, kinds);
}

void must_remark(const char *kind)
{
	for (size_t i = 0; i < found_count; i++)
		if (!found[i].damning && strcmp(found[i].kind, kind) == 0)
			return;
	fail_msg("no remark %s", kind);
}

uint64_t line_of(const char *kind)
{
	for (size_t i = 0; i < found_count; i++)
		if (strcmp(found[i].kind, kind) == 0)
			return found[i].line;
	fail_msg("no finding %s", kind);
	return 0;
}

static int run_sql(sqlite3 *db, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
	return 0;
}

void tamper_plainly(const char *sql)
{
	autofree char *path = inside("index.sqlite");
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	(void)run_sql(db, sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

void tamper(const char *sql)
{
	autodone(buf_done) struct buf drops = {.max = 1 << 20}, makes = {.max = 1 << 20};
	autofree char *path = inside("index.sqlite");
	sqlite3_stmt *s;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'",
			-1, &s, NULL),
		SQLITE_OK);
	while (sqlite3_step(s) == SQLITE_ROW) {
		assert_int_equal(buf_addf(&drops, "DROP TRIGGER %s;",
					 (const char *)sqlite3_column_text(s, 0)),
			0);
		assert_int_equal(
			buf_addf(&makes, "%s;", (const char *)sqlite3_column_text(s, 1)), 0);
	}
	assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
	(void)run_sql(db, buf_text(&drops));
	(void)run_sql(db, sql);
	(void)run_sql(db, buf_text(&makes));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}
