/* SPDX-License-Identifier: Apache-2.0 */
/* Tampering with events files: each kind is told apart, on real files. */

#include "tests.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "store/lines.h"

/* Attempt n's events, as lines. */
static char *events_path(int n)
{
	autofree char *name = own_printf("events/%s.jsonl", rig_attempts[n].text);

	return inside(name);
}

/* Computes the chain anew over lines, as one who knows the format but has no key would. */
static void rechain(struct lines *l, const struct id *attempt)
{
	struct event_line parsed;
	uint8_t hash[32], manifest[32];

	for (size_t i = 0; i < l->count; i++) {
		struct str line = str_of(l->line[i]);

		assert_int_equal(event_line_parse(line, &parsed), 0);
		if (i == 0) {
			assert_true(data_digest(parsed.data, "manifest", manifest));
			chain_start(attempt, manifest, hash);
		}
		chain_step(hash, parsed.hashed.p, parsed.hashed.n);
		str_hex(hash, 8, l->line[i] + parsed.hashed.n + 6);
		(void)strcpy(l->line[i] + parsed.hashed.n + 6 + 16, "\"}");
	}
}

enum {
	EDIT_NOTHING,
	EDIT_WRITE,
	EDIT_RECHAIN
};

#define EDIT(how, kinds, body)                                                                     \
	do {                                                                                       \
		autofree char *path = events_path(1);                                              \
		autodone(lines_done) struct lines l;                                               \
                                                                                                   \
		must_find("");                                                                     \
		lines_read(path, &l);                                                              \
		body;                                                                              \
		if ((how) == EDIT_RECHAIN)                                                         \
			rechain(&l, &rig_attempts[1]);                                             \
		lines_write(path, &l);                                                             \
		must_find(kinds);                                                                  \
	} while (0)

static void test_clean(void **state)
{
	(void)state;
	must_find("");
	must_find_only(&rig_attempts[2], "");
}

static void test_changed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.changed", replace_once(l.line[4], "one", "eno"));
	assert_int_equal(line_of("line.changed"), 5);
	must_find_only(&rig_attempts[0], "");
	must_find_only(&rig_attempts[1], "line.changed");
}

static void test_time_changed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.changed", replace_once(l.line[3], "\"ts\":\"20", "\"ts\":\"21"));
}

static void test_source_changed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.changed",
		replace_once(l.line[3], "\"src\":\"harness\"", "\"src\":\"warness\""));
}

static void test_first_changed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.changed", replace_once(l.line[0], "oracle", "elcaro"));
	assert_int_equal(line_of("line.changed"), 1);
}

static void test_last_changed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.changed",
		replace_once(l.line[l.count - 1], "completed", "cancelled"));
}

static void test_hash_changed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.hash_changed", {
		char *h = strstr(l.line[4], "\"h\":\"") + 5;

		h[0] = h[0] == '0' ? '1' : '0';
	});
	assert_int_equal(line_of("line.hash_changed"), 5);
}

static void test_last_hash_changed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.hash_changed", {
		char *h = strstr(l.line[l.count - 1], "\"h\":\"") + 5;

		h[0] = h[0] == '0' ? '1' : '0';
	});
}

static void test_removed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.removed", lines_drop(&l, 4));
	assert_int_equal(line_of("line.removed"), 5);
}

static void test_first_removed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.removed", lines_drop(&l, 0));
}

static void test_reordered(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.reordered", {
		char *swap = l.line[4];

		l.line[4] = l.line[5];
		l.line[5] = swap;
	});
	assert_int_equal(line_of("line.reordered"), 5);
}

static void test_inserted(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.inserted", {
		autofree char *copy = own_strdup(l.line[4]);

		replace_once(copy, "one", "two");
		lines_insert(&l, 4, copy);
	});
	assert_int_equal(line_of("line.inserted"), 5);
}

static void test_doubled(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.inserted", {
		autofree char *copy = own_strdup(l.line[2]);

		lines_insert(&l, 5, copy);
	});
	assert_int_equal(line_of("line.inserted"), 6);
}

static void test_malformed(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "line.malformed", replace_once(l.line[4], "{\"seq\":", "{ \"seq:"));
}

/* A line is taken out and the chain computed anew, the numbers left: the gap shows, and the seal. */
static void test_gap_rechained(void **state)
{
	(void)state;
	EDIT(EDIT_RECHAIN, "events.truncated line.seq", lines_drop(&l, 4));
}

static void test_rewritten(void **state)
{
	(void)state;
	EDIT(EDIT_RECHAIN, "events.rewritten", replace_once(l.line[4], "one", "eno"));
}

static void test_not_json(void **state)
{
	(void)state;
	EDIT(EDIT_RECHAIN, "events.rewritten line.not_json",
		replace_once(l.line[4], "\"one\"", "\"o\"e\""));
}

static void test_truncated(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "events.truncated", lines_drop(&l, l.count - 1));
}

static void test_cut(void **state)
{
	autofree char *path = events_path(1);
	autodone(buf_done) struct buf text = {.max = 1 << 20};

	(void)state;
	must_find("");
	slurp(path, &text);
	spill(path, text.data, text.len - 20);
	must_find("events.cut");
}

static void test_emptied(void **state)
{
	autofree char *path = events_path(1);

	(void)state;
	must_find("");
	spill(path, "", 0);
	must_find("events.truncated");
}

static void test_appended(void **state)
{
	(void)state;
	EDIT(EDIT_RECHAIN, "events.appended", {
		autofree char *copy = own_strdup(l.line[4]);

		replace_once(copy, "\"seq\":5,", "\"seq\":7,");
		lines_insert(&l, l.count, copy);
		free(l.line[l.count - 1]);
		l.line[l.count - 1] = own_printf("{\"seq\":%zu%s", l.count, strchr(copy, ','));
	});
}

static void test_appended_bytes(void **state)
{
	autofree char *path = events_path(1);
	autodone(buf_done) struct buf text = {.max = 1 << 20};

	(void)state;
	must_find("");
	slurp(path, &text);
	assert_int_equal(buf_add_text(&text, "{\"seq\""), 0);
	spill(path, text.data, text.len);
	must_find("events.appended");
}

static void test_appended_garbage(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "events.appended", lines_insert(&l, l.count, "nonsense"));
}

/* The events of attempts 0 and 1 change places. */
static void test_swapped(void **state)
{
	autofree char *one = events_path(0), *two = events_path(1), *between = inside("between");

	(void)state;
	must_find("");
	assert_int_equal(rename(one, between), 0);
	assert_int_equal(rename(two, one), 0);
	assert_int_equal(rename(between, two), 0);
	must_find("events.swapped events.swapped");
}

static void test_missing(void **state)
{
	autofree char *path = events_path(1);

	(void)state;
	must_find("");
	assert_int_equal(remove(path), 0);
	must_find("events.missing");
}

/* Another attempt's events under an id that was never planned: a chain that holds, and no seal. */
static void test_forged(void **state)
{
	autofree char *from = events_path(1), *to = NULL, *name = NULL;
	autodone(lines_done) struct lines l;
	struct id forged = new_id();

	(void)state;
	must_find("");
	lines_read(from, &l);
	replace_once(l.line[0], rig_attempts[1].text, forged.text);
	rechain(&l, &forged);
	name = own_printf("events/%s.jsonl", forged.text);
	to = inside(name);
	lines_write(to, &l);
	must_find("seal.missing");
	must_remark("index.behind");
}

static void test_no_plan(void **state)
{
	(void)state;
	EDIT(EDIT_WRITE, "events.no_plan",
		replace_once(l.line[0], "attempt.planned", "attempt.planted"));
}

static void test_empty(void **state)
{
	const uint8_t manifest[32] = {0};
	struct id attempt = new_id();
	struct event_log *l;

	(void)state;
	assert_int_equal(event_log_create(rig_store, &attempt, manifest, &l, NULL), 0);
	event_log_close(l);
	must_find("");
	must_remark("events.empty");
}

static void test_stray(void **state)
{
	autofree char *path = inside("events/notes.txt");

	(void)state;
	spill(path, "x", 1);
	must_find("");
	must_remark("events.stray");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_make, place_remove)

int test_verify_events(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_clean),
		CASE(test_changed),
		CASE(test_time_changed),
		CASE(test_source_changed),
		CASE(test_first_changed),
		CASE(test_last_changed),
		CASE(test_hash_changed),
		CASE(test_last_hash_changed),
		CASE(test_removed),
		CASE(test_first_removed),
		CASE(test_reordered),
		CASE(test_inserted),
		CASE(test_doubled),
		CASE(test_malformed),
		CASE(test_gap_rechained),
		CASE(test_rewritten),
		CASE(test_not_json),
		CASE(test_truncated),
		CASE(test_cut),
		CASE(test_emptied),
		CASE(test_appended),
		CASE(test_appended_bytes),
		CASE(test_appended_garbage),
		CASE(test_swapped),
		CASE(test_missing),
		CASE(test_forged),
		CASE(test_no_plan),
		CASE(test_empty),
		CASE(test_stray),
	};

	return cmocka_run_group_tests_name("verify events", tests, NULL, NULL);
}
