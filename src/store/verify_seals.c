/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying seals.jsonl: each line, the chain through all of them, and whether its end is there. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/lines.h"
#include "store/verify.h"

#define WHERE "seals.jsonl"

static bool is_known(const struct verify *v, const uint8_t key[32])
{
	for (size_t i = 0; i < v->w->signer_count; i++)
		if (memcmp(v->w->signers[i], key, 32) == 0)
			return true;
	return false;
}

/* false: it cannot be read, which was told. */
static bool read_lines(struct verify *v, uint64_t *ret_torn)
{
	autodone(line_reader_done) struct line_reader reader;
	autoclose int fd = -1;
	size_t room = 0;
	struct str text;
	int r = fileat_open(v->dir, WHERE, O_RDONLY, &fd, /* err= */ NULL);

	line_reader_init(&reader, fd);
	*ret_torn = 0;
	if (r == -ENOENT)
		return true;
	if (r < 0) {
		verify_find_unread(v, NOUN_SEALS, WHERE, r);
		return false;
	}
	while ((r = line_reader_next(&reader, &text)) == 1) {
		struct seal_seen *seen;

		if (v->seal_count == room) {
			seen = reallocarray(v->seals, room = room * 2 + 16, sizeof(*seen));
			if (seen == NULL)
				abort();
			v->seals = seen;
		}
		seen = &v->seals[v->seal_count++];
		*seen = (struct seal_seen){.number = v->seal_count, .end = reader.offset};
		seen->parsed = seal_line_parse(&v->doc, text, &seen->line) == 0;
		seen->is_signed = seen->parsed && seal_line_is_signed(&seen->line, text);
		seen->known = seen->parsed && is_known(v, seen->line.key);
	}
	*ret_torn = reader.torn;
	if (r == -EMSGSIZE)
		verify_find(v, "seal.malformed", WHERE, v->seal_count + 1,
			"this line is longer than any seal, and what follows it was not read");
	else if (r < 0)
		verify_find_unread(v, NOUN_SEALS, WHERE, r);
	return r == 0;
}

/* Whose signatures these are. A store that was signed anew by one who has no key of ours is told once. */
static bool check_signers(struct verify *v)
{
	size_t is_signed = 0, unknown = 0;
	const struct seal_seen *first = NULL;
	char hex[65];

	for (size_t i = 0; i < v->seal_count; i++) {
		is_signed += v->seals[i].is_signed;
		if (!v->seals[i].is_signed || v->seals[i].known)
			continue;
		if (unknown++ == 0)
			first = &v->seals[i];
	}
	if (unknown == 0)
		return true;
	str_hex(first->line.key, 32, hex);
	if (unknown == is_signed) {
		verify_find(v, "seals.resigned", WHERE, 0,
			"every seal is by a key that is not yours; if you trust %s, add it to '%s/signers'",
			hex, seal_key_directory());
		return false;
	}
	for (size_t i = 0; i < v->seal_count; i++) {
		if (!v->seals[i].is_signed || v->seals[i].known)
			continue;
		str_hex(v->seals[i].line.key, 32, hex);
		verify_find(v, "seal.unknown_signer", WHERE, v->seals[i].number,
			"this seal is by a key that is not yours; if you trust %s, add it to '%s/signers'",
			hex, seal_key_directory());
	}
	return true;
}

static void check_line(struct verify *v, const struct seal_seen *s, const char *store_id)
{
	if (!s->parsed)
		verify_find(v, "seal.malformed", WHERE, s->number, "this line is not a seal");
	else if (!s->is_signed)
		verify_find(v, "seal.changed", WHERE, s->number,
			"the signature does not fit this line");
	else if (store_id[0] != '\0' && strcmp(s->line.store, store_id) != 0)
		verify_find(v, "seal.other_store", WHERE, s->number,
			"this seal was made for store %s, this is %s", s->line.store, store_id);
	else if (s->line.lost_n > 0)
		verify_find(v, "seal.lost", WHERE, s->number,
			"when this seal was made, seal %llu, which its signer had made before, was gone",
			(unsigned long long)s->line.lost_n);
}

static bool stands_later(const struct verify *v, size_t from, uint64_t n)
{
	for (size_t i = from; i < v->seal_count; i++)
		if (v->seals[i].parsed && v->seals[i].line.n == n)
			return true;
	return false;
}

struct chain {
	uint64_t expected;
	uint8_t previous[32];
	bool suspect; /* the line before was told already: its digest says nothing */
	uint64_t moved_from, moved_to; /* numbers that were told to stand elsewhere */
};

/* A number ahead of its turn: lines are missing before it, or stand behind it. */
static void check_gap(struct verify *v, size_t at, struct chain *c)
{
	const struct seal_seen *s = &v->seals[at];

	if (stands_later(v, at + 1, c->expected)) {
		verify_find(v, "seal.reordered", WHERE, s->number,
			"seal %llu stands before seal %llu", (unsigned long long)s->line.n,
			(unsigned long long)c->expected);
		c->moved_from = c->expected;
		c->moved_to = s->line.n - 1;
	} else {
		verify_find(v, "seal.removed", WHERE, s->number,
			"%llu seal(s) are missing before seal %llu",
			(unsigned long long)(s->line.n - c->expected),
			(unsigned long long)s->line.n);
	}
}

static void check_chain(struct verify *v, const char *store_id)
{
	struct chain c = {.expected = 1, .suspect = store_id[0] == '\0'};

	seal_genesis(store_id, c.previous);
	for (size_t i = 0; i < v->seal_count; i++) {
		const struct seal_seen *s = &v->seals[i];

		check_line(v, s, store_id);
		if (!s->is_signed) {
			c.expected++;
			c.suspect = true;
			continue;
		}
		if (s->line.n < c.expected) {
			if (s->line.n < c.moved_from || s->line.n > c.moved_to)
				verify_find(v, "seal.inserted", WHERE, s->number,
					"a second seal %llu stands here",
					(unsigned long long)s->line.n);
			continue;
		}
		if (s->line.n > c.expected)
			check_gap(v, i, &c);
		else if (!c.suspect && strcmp(s->line.store, store_id) == 0 &&
			 memcmp(s->line.previous, c.previous, 32) != 0)
			verify_find(v, "seal.forked", WHERE, s->number,
				"seal %llu goes on from another line than the one before it",
				(unsigned long long)s->line.n);
		c.expected = s->line.n + 1;
		c.suspect = strcmp(s->line.store, store_id) != 0;
		(void)memcpy(c.previous, s->line.digest, 32);
	}
}

/* The note beside the key knows a line that must be here. */
static void check_note(struct verify *v)
{
	const struct seal_note *note = &v->w->note;
	uint64_t last = 0;

	if (!note->present)
		return;
	if (v->seal_count == 0) {
		verify_find(v, "seals.missing", WHERE, 0,
			"%llu seal(s) were made in this store, and none is there",
			(unsigned long long)note->n);
		return;
	}
	for (size_t i = 0; i < v->seal_count; i++) {
		const struct seal_seen *s = &v->seals[i];

		if (s->is_signed && s->line.n == note->n) {
			if (memcmp(s->line.digest, note->digest, 32) != 0)
				verify_find(v, "seal.replaced", WHERE, s->number,
					"seal %llu is not the one that was noted beside the key",
					(unsigned long long)note->n);
			return;
		}
		/* a line that was told as changed or malformed still holds its place */
		last = s->is_signed ? s->line.n : last + 1;
	}
	if (last < note->n)
		verify_find(v, "seal.last_removed", WHERE, 0,
			"seal %llu was made in this store; the file ends with seal %llu",
			(unsigned long long)note->n, (unsigned long long)last);
}

static void check_doubles(struct verify *v)
{
	for (size_t i = 0; i < v->seal_count; i++) {
		const struct seal_seen *s = &v->seals[i];
		const struct seal_seen *last;

		if (!s->is_signed || s->line.kind != SEAL_ATTEMPT)
			continue;
		last = verify_seal_of(v, SEAL_ATTEMPT, &s->line.attempt);
		if (last != NULL && last != s && last->line.n != s->line.n &&
			memcmp(last->line.head, s->line.head, 32) != 0)
			verify_find(v, "seal.twice", s->line.attempt.text, 0,
				"lines %llu and %llu of " WHERE
				" seal this attempt with different heads",
				(unsigned long long)s->number, (unsigned long long)last->number);
	}
}

static int compare_place(const struct seal_seen *s, enum seal_kind kind, const struct id *attempt)
{
	int r = strcmp(s->line.attempt.text, attempt->text);

	return r != 0 ? r : (int)s->line.kind - (int)kind;
}

static int by_place(const void *a, const void *b)
{
	const struct seal_seen *x = *(const struct seal_seen *const *)a;
	const struct seal_seen *y = *(const struct seal_seen *const *)b;
	int r = compare_place(x, y->line.kind, &y->line.attempt);

	return r != 0 ? r : (x->number > y->number) - (x->number < y->number);
}

static void sort_seals(struct verify *v)
{
	v->by_attempt = own_alloc((v->seal_count + 1) * sizeof(struct seal_seen *));
	for (size_t i = 0; i < v->seal_count; i++)
		if (v->seals[i].is_signed)
			v->by_attempt[v->by_attempt_count++] = &v->seals[i];
	if (v->by_attempt_count > 0)
		qsort(v->by_attempt, v->by_attempt_count, sizeof(struct seal_seen *), by_place);
}

void verify_seals(struct verify *v, const char *store_id)
{
	uint64_t torn;
	bool whole = read_lines(v, &torn);

	sort_seals(v);
	if (torn > 0)
		verify_remark(v, "seals.torn", WHERE, 0,
			"%llu byte(s) behind the last line were never acknowledged",
			(unsigned long long)torn);
	check_chain(v, store_id);
	check_doubles(v);
	if (check_signers(v) && whole)
		check_note(v);
}

/* The last seal of the attempt stands last among its own, so a search from above finds it. */
const struct seal_seen *verify_seal_of(
	const struct verify *v, enum seal_kind kind, const struct id *attempt)
{
	size_t low = 0, high = v->by_attempt_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_place(v->by_attempt[middle], kind, attempt) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || compare_place(v->by_attempt[low - 1], kind, attempt) != 0)
		return NULL;
	return v->by_attempt[low - 1];
}
