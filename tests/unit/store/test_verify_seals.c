/* SPDX-License-Identifier: Apache-2.0 */
/* Tampering with seals.jsonl, the key's side of it, and the store's id. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define EDIT(kinds, body)                                                                          \
	do {                                                                                       \
		autofree char *path = inside("seals.jsonl");                                       \
		autodone(lines_done) struct lines l;                                               \
                                                                                                   \
		must_find("");                                                                     \
		lines_read(path, &l);                                                              \
		assert_int_equal(l.count, 3);                                                      \
		body;                                                                              \
		lines_write(path, &l);                                                             \
		must_find(kinds);                                                                  \
	} while (0)

static void test_changed(void **state)
{
	(void)state;
	EDIT("seal.changed", replace_once(l.line[1], "\"local\":false", "\"local\":true "));
	assert_int_equal(line_of("seal.changed"), 2);
}

static void test_malformed(void **state)
{
	(void)state;
	EDIT("seal.malformed seal.missing",
		replace_once(l.line[1], "\"kind\":\"seal\"", "\"kind\":\"sael\""));
}

/* One key twice in an object means two things to two readers. */
static void test_doubled_key(void **state)
{
	(void)state;
	EDIT("seal.malformed seal.missing", replace_once(l.line[1], "\"local\"", "\"count\""));
}

static void test_middle_removed(void **state)
{
	(void)state;
	EDIT("seal.missing seal.removed", lines_drop(&l, 1));
	assert_int_equal(line_of("seal.removed"), 2);
}

static void test_first_removed(void **state)
{
	(void)state;
	EDIT("seal.missing seal.removed", lines_drop(&l, 0));
}

static void test_last_removed(void **state)
{
	(void)state;
	EDIT("seal.last_removed seal.missing", lines_drop(&l, 2));
}

/* The whole last attempt goes: events, seal, and nothing is left but the note beside the key. */
static void test_last_attempt_removed(void **state)
{
	autofree char *name = own_printf("events/%s.jsonl", rig_attempts[2].text),
		      *events = inside(name);

	(void)state;
	EDIT("index.row_extra index.row_extra index.row_extra index.row_extra index.row_extra"
	     " index.row_extra seal.last_removed",
		{
			lines_drop(&l, 2);
			assert_int_equal(remove(events), 0);
		});
}

static void test_reordered(void **state)
{
	(void)state;
	EDIT("seal.reordered", {
		char *swap = l.line[0];

		l.line[0] = l.line[1];
		l.line[1] = swap;
	});
}

static void test_inserted(void **state)
{
	(void)state;
	EDIT("seal.inserted", {
		autofree char *copy = own_strdup(l.line[0]);

		lines_insert(&l, 2, copy);
	});
	assert_int_equal(line_of("seal.inserted"), 3);
}

static void test_file_removed(void **state)
{
	autofree char *path = inside("seals.jsonl");

	(void)state;
	must_find("");
	assert_int_equal(remove(path), 0);
	must_find("seal.missing seal.missing seal.missing seals.missing");
}

static void test_torn(void **state)
{
	autofree char *path = inside("seals.jsonl");
	autodone(buf_done) struct buf text = {.max = 1 << 20};
	struct index *x;
	struct id another;

	(void)state;
	slurp(path, &text);
	assert_int_equal(buf_add_text(&text, "{\"n\":4,\"kind\""), 0);
	spill(path, text.data, text.len);
	must_find("");
	must_remark("seals.torn");
	/* the next seal sets it aside and goes on */
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), 0);
	rig_attempt(x, 3, &another);
	index_close(x);
	must_find("");
}

/* Seals the attempt n once more with whatever key is in force. */
static void seal_again(struct seal_key *k, int n, const char *line)
{
	struct event_head head = {0};
	char hex[65];

	(void)snprintf(hex, sizeof(hex), "%.64s", strstr(line, "\"head\":\"") + 8);
	assert_int_equal(str_unhex(hex, 32, head.hash), 0);
	head.count = strtoull(strstr(line, "\"count\":") + 8, NULL, 10);
	head.bytes = strtoull(strstr(line, "\"bytes\":") + 8, NULL, 10);
	assert_int_equal(
		store_seal(rig_store, k, &rig_attempts[n], &head, /* local= */ false, NULL), 0);
}

/* Another user's key. The environment is put back. */
static struct seal_key *other_key(void)
{
	autofree char *mine = own_strdup(getenv("XDG_STATE_HOME"));
	autofree char *other = own_printf("%s/other", place());
	struct seal_key *k;

	assert_int_equal(setenv("XDG_STATE_HOME", other, 1), 0);
	assert_int_equal(seal_key_open(&k, NULL), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", mine, 1), 0);
	return k;
}

static void test_other_signer(void **state)
{
	autofree char *path = inside("seals.jsonl");
	autofree char *from = own_printf("%s/other/hemra/keys/seal.pub", place());
	autofree char *to = own_printf("%s/state/hemra/keys/signers", place());
	autodone(lines_done) struct lines l;
	autodone(buf_done) struct buf key = {.max = 65536 * 2};
	struct seal_key *k = other_key();

	(void)state;
	must_find("");
	lines_read(path, &l);
	seal_again(k, 1, l.line[1]);
	seal_key_close(k);
	must_find("seal.unknown_signer");
	assert_int_equal(line_of("seal.unknown_signer"), 4);
	/* once this user trusts the key, all is well */
	slurp(from, &key);
	spill(to, key.data, key.len);
	must_find("");
}

/* All seals are made anew with another key. */
static void test_resigned(void **state)
{
	autofree char *path = inside("seals.jsonl");
	autodone(lines_done) struct lines l;
	struct seal_key *k = other_key();

	(void)state;
	must_find("");
	lines_read(path, &l);
	assert_int_equal(remove(path), 0);
	for (int i = 0; i < 3; i++)
		seal_again(k, i, l.line[i]);
	seal_key_close(k);
	must_find("seals.resigned");
}

/* Our own key is used to make another last seal: the note remembers the first. */
static void test_replaced(void **state)
{
	autofree char *note =
		own_printf("%s/state/hemra/keys/notes/%s", place(), store_id(rig_store));
	autodone(buf_done) struct buf text = {.max = 65536 * 2};

	(void)state;
	slurp(note, &text);
	EDIT("seal.replaced", {
		autofree char *last = own_strdup(l.line[2]);

		lines_drop(&l, 2);
		lines_write(path, &l);
		assert_int_equal(remove(note), 0);
		lines_done(&l);
		seal_again(rig_key, 2, last);
		lines_read(path, &l);
		spill(note, text.data, text.len);
	});
}

/* A last seal goes, and the next seal is made before anybody looked: it says so for ever. */
static void test_lost(void **state)
{
	struct index *x;
	struct id another;

	(void)state;
	EDIT("seal.last_removed seal.missing", lines_drop(&l, 2));
	assert_int_equal(index_open(rig_store, /* write= */ true, &x, NULL), 0);
	rig_attempt(x, 3, &another);
	rig_attempt(x, 4, &another);
	index_close(x);
	must_find("seal.lost seal.missing");
	assert_int_equal(line_of("seal.lost"), 3);
}

static void test_forked(void **state)
{
	autofree char *note =
		own_printf("%s/state/hemra/keys/notes/%s", place(), store_id(rig_store));
	autofree char *kept = NULL, *replaced = NULL;

	(void)state;
	/* our key signs another second seal; the third still goes on from the first second */
	EDIT("seal.forked", {
		kept = own_strdup(l.line[2]);
		replaced = own_strdup(l.line[1]);
		lines_drop(&l, 2);
		lines_drop(&l, 1);
		lines_write(path, &l);
		assert_int_equal(rename(note, "/dev/null/no") < 0, 1);
		assert_int_equal(remove(note), 0);
		seal_again(rig_key, 1, replaced);
		lines_done(&l);
		lines_read(path, &l);
		lines_insert(&l, 2, kept);
		assert_int_equal(remove(note), 0);
	});
}

/* Our own key gives an attempt the head of another. */
static void test_twice(void **state)
{
	(void)state;
	EDIT("events.rewritten seal.twice", {
		seal_again(rig_key, 1, l.line[0]);
		lines_done(&l);
		lines_read(path, &l);
	});
}

static void test_bytes(void **state)
{
	(void)state;
	EDIT("seal.bytes", {
		autofree char *other = own_strdup(l.line[1]);
		char *bytes = strstr(other, "\"bytes\":") + 8;

		bytes[0] = bytes[0] == '9' ? '8' : '9';
		seal_again(rig_key, 1, other);
		lines_done(&l);
		lines_read(path, &l);
	});
}

static void test_id_missing(void **state)
{
	autofree char *path = inside("id");
	struct event_head head = {0};
	struct err err = {0};
	struct store *s;

	(void)state;
	must_find("");
	assert_int_equal(remove(path), 0);
	must_find("store.id_missing");
	/* and nothing goes on under another id */
	free(take_ptr(&path));
	path = inside("");
	assert_int_equal(store_open(path, STORE_CREATE, &s, &err), 0);
	assert_string_equal(store_id(s), "");
	assert_int_equal(
		store_seal(s, rig_key, &rig_attempts[0], &head, /* local= */ false, &err), -5);
	assert_non_null(strstr(err.text, "has lost its file 'id'"));
	store_close(s);
}

static void test_id_changed(void **state)
{
	autofree char *path = inside("id");

	(void)state;
	must_find("");
	spill(path, "00112233445566778899aabbccddeeff\n", 33);
	must_find("seal.other_store seal.other_store seal.other_store");
}

/* Seals of another store, by the same key. */
static void test_other_store(void **state)
{
	autofree char *path = own_printf("%s/second", place()), *name = NULL, *seals = NULL,
		      *ours = NULL;
	autodone(lines_done) struct lines l, m;
	struct store *mine = rig_store, *second;

	(void)state;
	name = inside("seals.jsonl");
	lines_read(name, &l);
	assert_int_equal(store_open(path, STORE_CREATE, &second, NULL), 0);
	seals = own_printf("cp -r %s/store/events %s/store/runs %s/", place(), place(), path);
	assert_int_equal(system(seals), 0);
	rig_store = second;
	seal_again(rig_key, 1, l.line[1]);
	rig_store = mine;
	store_close(second);
	ours = own_printf("%s/seals.jsonl", path);
	lines_read(ours, &m);
	lines_insert(&l, 3, m.line[0]);
	lines_write(name, &l);
	must_find("seal.inserted seal.other_store");
}

static void test_is_sealed(void **state)
{
	struct event_head head = {0};
	struct event_log *l;
	struct id other = new_id();

	(void)state;
	assert_int_equal(event_log_claim(rig_store, &rig_attempts[1], &l, NULL), 0);
	event_log_head(l, &head);
	assert_int_equal(store_is_sealed(rig_store, &rig_attempts[1], &head, NULL), 1);
	assert_int_equal(store_is_sealed(rig_store, &rig_attempts[0], &head, NULL), 0);
	assert_int_equal(store_is_sealed(rig_store, &other, &head, NULL), 0);
	assert_int_equal(event_log_append(l, EVENT_LOSS, "{\"what\":\"x\"}", 12, NULL), 0);
	event_log_head(l, &head);
	assert_int_equal(store_is_sealed(rig_store, &rig_attempts[1], &head, NULL), 0);
	event_log_close(l);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_make, place_remove)

int test_verify_seals(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_is_sealed),
		CASE(test_changed),
		CASE(test_malformed),
		CASE(test_doubled_key),
		CASE(test_middle_removed),
		CASE(test_first_removed),
		CASE(test_last_removed),
		CASE(test_last_attempt_removed),
		CASE(test_reordered),
		CASE(test_inserted),
		CASE(test_file_removed),
		CASE(test_torn),
		CASE(test_other_signer),
		CASE(test_resigned),
		CASE(test_replaced),
		CASE(test_lost),
		CASE(test_forked),
		CASE(test_twice),
		CASE(test_bytes),
		CASE(test_id_missing),
		CASE(test_id_changed),
		CASE(test_other_store),
	};

	return cmocka_run_group_tests_name("verify seals", tests, NULL, NULL);
}
