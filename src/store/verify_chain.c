/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying one events file: its lines, its chain, and the seal that says what it must come to.
 *
 * How it works: the chain is computed from the attempt's id and the manifest that line 1 names, and
 * each line carries the first digits of its hash. The first line that does not fit is looked at with
 * what follows it: if the chain goes on when only its "h" was wrong, that was changed; if it goes on
 * without the line, the line was inserted; if its number is ahead, lines were removed or stand later;
 * else the line was changed, and what follows cannot be judged. A chain that was computed anew from end
 * to end fits itself but not the seal. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/dir.h"
#include "store/lines.h"
#include "store/verify.h"

#define INSERTED_MAX 16 /* lines in one block that are tried as inserted */
#define ODD_MAX      64 /* lines of a file that are looked at when they do not fit */
#define BEYOND_SEAL  ((uint64_t)16 * 1024 * 1024) /* bytes that are read behind what was sealed */
#define UNSEALED_MAX ((uint64_t)16 * 1024 * 1024 * 1024) /* bytes of events without a seal */

struct chain {
	struct verify *v;
	struct attempt_seen *seen;
	const struct seal_line *seal; /* may be NULL */
	const char *where;            /* the attempt's id */
	int fd;
	struct derivation derivation;
	struct index_sink rows;
	uint8_t hash[32];                 /* after the last good line */
	uint8_t hash_sealed[32];          /* after as many lines as were sealed */
	uint64_t lines, expected, number; /* good lines; the next seq; the line in the file */
	uint64_t bytes_sealed;            /* where the sealed lines end */
	uint64_t bytes, limit;            /* of the file; where reading ends, 0: at its end */
	unsigned odd;                     /* lines that did not fit so far */
	bool settled, stopped, damaged;   /* stopped: the rest cannot be judged */
};

static void stop(struct chain *c)
{
	c->stopped = true;
	c->damaged = true;
}

/* Whether a line with this number stands behind offset. */
static bool stands_later(const struct chain *c, uint64_t offset, uint64_t seq)
{
	autodone(line_reader_done) struct line_reader reader;
	struct event_line parsed;
	struct str line;

	line_reader_init(&reader, c->fd);
	reader.limit = c->limit;
	reader.read = reader.offset = offset;
	while (line_reader_next(&reader, &line) == 1)
		if (event_line_parse(line, &parsed) == 0 && parsed.seq == seq)
			return true;
	return false;
}

/* Whether one of the next lines goes on from hash: the very next one only, or one behind a block. */
static bool goes_on(const struct chain *c, uint64_t offset, const uint8_t hash[32], unsigned within)
{
	autodone(line_reader_done) struct line_reader reader;
	struct event_line parsed;
	struct str line;

	line_reader_init(&reader, c->fd);
	reader.read = reader.offset = offset;
	for (unsigned i = 0; i < within && line_reader_next(&reader, &line) == 1; i++) {
		uint8_t next[32];

		if (event_line_parse(line, &parsed) < 0)
			continue;
		(void)memcpy(next, hash, 32);
		chain_step(next, parsed.hashed.p, parsed.hashed.n);
		if (chain_fits(next, parsed.h))
			return true;
	}
	return false;
}

/* A line that does not fit. Returns whether the chain goes on with hash (the line's own). */
static bool classify(
	struct chain *c, const struct event_line *line, uint64_t offset, const uint8_t hash[32])
{
	bool last_sealed = c->seal != NULL && c->lines + 1 == c->seal->count &&
			   memcmp(hash, c->seal->head, 32) == 0;

	c->damaged = true;
	if (c->seal != NULL && c->lines == c->seal->count &&
		memcmp(c->hash, c->seal->head, 32) == 0) {
		stop(c); /* told as appended at the end */
		c->lines++;
		return false;
	}
	if (c->odd++ == ODD_MAX) {
		verify_find(c->v, "line.changed", c->where, c->number,
			"so many lines do not fit that the rest cannot be judged");
		stop(c);
		return false;
	}
	if (line->seq == c->expected && (last_sealed || goes_on(c, offset, hash, 1))) {
		verify_find(c->v, "line.hash_changed", c->where, c->number,
			"only the hash that this line carries was changed");
		return true;
	}
	if (line->seq > c->expected && stands_later(c, offset, c->expected) &&
		!stands_later(c, offset, line->seq)) {
		verify_find(c->v, "line.reordered", c->where, c->number,
			"event %llu stands before event %llu", (unsigned long long)line->seq,
			(unsigned long long)c->expected);
		stop(c);
		return false;
	}
	if (goes_on(c, offset, c->hash, INSERTED_MAX)) {
		verify_find(
			c->v, "line.inserted", c->where, c->number, "this line was put in later");
		return false;
	}
	if (line->seq > c->expected)
		verify_find(c->v, "line.removed", c->where, c->number,
			"%llu event(s) are missing before event %llu",
			(unsigned long long)(line->seq - c->expected),
			(unsigned long long)line->seq);
	else if (line->seq < c->expected)
		verify_find(c->v, "line.inserted", c->where, c->number,
			"a second event %llu stands here", (unsigned long long)line->seq);
	else
		verify_find(c->v, "line.changed", c->where, c->number,
			"this line is not what was written; what follows it cannot be judged");
	stop(c);
	return false;
}

/* Line 1 starts the chain. false: told, and nothing more can be judged. */
static bool start(struct chain *c, const struct event_line *line, uint64_t offset)
{
	struct id named = {0};
	uint8_t manifest[32], own[32], other[32];
	bool is_plan = str_is(line->type, "attempt.planned") &&
		       data_digest(line->data, "manifest", manifest) &&
		       data_id(line->data, "attempt", &named);

	if (line->seq > 1 && !is_plan) {
		bool later = stands_later(c, offset, 1);

		verify_find(c->v, later ? "line.reordered" : "line.removed", c->where, 1,
			later ? "event %llu stands before event 1"
			      : "events are missing before event %llu",
			(unsigned long long)line->seq);
		return false;
	}
	if (!is_plan) {
		verify_find(c->v, "events.no_plan", c->where, 1,
			"the first event is not attempt.planned");
		return false;
	}
	chain_start(&c->seen->id, manifest, c->hash);
	(void)memcpy(own, c->hash, 32);
	chain_step(own, line->hashed.p, line->hashed.n);
	chain_start(&named, manifest, other);
	chain_step(other, line->hashed.p, line->hashed.n);
	if (strcmp(named.text, c->seen->id.text) != 0 && !chain_fits(own, line->h) &&
		chain_fits(other, line->h)) {
		verify_find(c->v, "events.swapped", c->where, 1,
			"this file holds the events of attempt %s", named.text);
		return false;
	}
	digest_set_add(&c->v->manifests, manifest);
	return true;
}

/* A line that the chain vouches for, or that only carried a wrong hash. */
static void accept(struct chain *c, const struct event_line *line, struct str whole)
{
	uint64_t bytes = UINT64_MAX;
	uint8_t blob[32];

	if (line->seq != c->expected) {
		verify_find(c->v, "line.seq", c->where, c->number,
			"event %llu stands where event %llu must stand, in a chain that was computed anew",
			(unsigned long long)line->seq, (unsigned long long)c->expected);
		c->damaged = true;
	}
	if (json_parse(&c->v->doc, whole.p, whole.n, /* ret_fault= */ NULL) < 0) {
		verify_find(
			c->v, "line.not_json", c->where, c->number, "this line is not strict JSON");
		c->damaged = true;
	}
	c->lines++;
	c->expected = line->seq + 1;
	c->settled = str_is(line->src, "runner") && str_is(line->type, "attempt.settled");
	(void)derivation_add(&c->derivation, line); /* our sink never stops */
	/* what an artifact's event names must lie among the blobs; a refused one has no digest */
	if (str_is(line->src, "runner") && str_is(line->type, "artifact") &&
		data_digest(line->data, "sha256", blob)) {
		(void)data_number(line->data, "bytes", &bytes); /* an event need not say it */
		verify_name_blob(c->v, blob, bytes);
	}
}

static void take_line(struct chain *c, struct str text, uint64_t offset)
{
	struct event_line line;
	uint8_t hash[32];
	bool good;

	c->number++;
	if (event_line_parse(text, &line) < 0) {
		if (c->seal != NULL && c->lines == c->seal->count && c->lines > 0)
			c->lines++; /* told as appended at the end */
		else
			verify_find(c->v, "line.malformed", c->where, c->number,
				"this line is not an event");
		stop(c);
		return;
	}
	if (c->number == 1 && !start(c, &line, offset)) {
		stop(c);
		return;
	}
	(void)memcpy(hash, c->hash, 32);
	chain_step(hash, line.hashed.p, line.hashed.n);
	good = chain_fits(hash, line.h) || classify(c, &line, offset, hash);
	if (c->stopped || !good)
		return;
	(void)memcpy(c->hash, hash, 32);
	accept(c, &line, text);
	if (c->seal != NULL && c->lines == c->seal->count) {
		(void)memcpy(c->hash_sealed, hash, 32);
		c->bytes_sealed = offset;
	}
}

static void judge_sealed(struct chain *c, uint64_t torn)
{
	const struct seal_line *seal = c->seal;

	if (c->limit > 0 && !c->stopped && c->lines < seal->count) {
		verify_find(c->v, "events.appended", c->where, 0,
			"%llu bytes of events were sealed, the file has %llu",
			(unsigned long long)seal->bytes, (unsigned long long)c->bytes);
	} else if (c->lines < seal->count && torn > 0) {
		verify_find(c->v, "events.cut", c->where, c->lines + 1,
			"the file ends within line %llu of %llu", (unsigned long long)c->lines + 1,
			(unsigned long long)seal->count);
	} else if (c->lines < seal->count) {
		verify_find(c->v, "events.truncated", c->where, c->lines,
			"%llu events were sealed, the file ends with event %llu",
			(unsigned long long)seal->count, (unsigned long long)c->lines);
	} else if (memcmp(c->hash_sealed, seal->head, 32) != 0) {
		verify_find(c->v, "events.rewritten", c->where, 0,
			"the chain fits itself but not the seal: it was computed anew");
	} else if (c->lines > seal->count || torn > 0) {
		verify_find(c->v, "events.appended", c->where, seal->count + 1,
			"something stands behind the %llu events that were sealed",
			(unsigned long long)seal->count);
	} else if (!c->damaged && c->bytes_sealed != seal->bytes) {
		verify_find(c->v, "seal.bytes", c->where, 0,
			"the seal names %llu bytes, the events are %llu",
			(unsigned long long)seal->bytes, (unsigned long long)c->bytes_sealed);
	} else {
		return;
	}
	c->damaged = true;
}

/* A changed seal line was told already; its attempt is not told once more. */
static bool has_bad_seal(const struct verify *v, const struct id *attempt)
{
	for (size_t i = 0; i < v->seal_count; i++)
		if (v->seals[i].parsed && !v->seals[i].is_signed &&
			strcmp(v->seals[i].line.attempt.text, attempt->text) == 0)
			return true;
	return false;
}

static void judge_unsealed(struct chain *c, uint64_t offset, uint64_t torn)
{
	if (c->seen->held) {
		verify_remark(c->v, "attempt.running", c->where, 0, "it runs; %llu events so far",
			(unsigned long long)c->lines);
		return;
	}
	if (torn > 0)
		verify_remark(c->v, "events.torn", c->where, c->lines + 1,
			"the record ends at byte %llu; %llu byte(s) of a torn line follow",
			(unsigned long long)offset, (unsigned long long)torn);
	if (c->lines == 0)
		verify_remark(c->v, "events.empty", c->where, 0, "no whole event was written");
	else if (!c->settled)
		verify_remark(c->v, "attempt.unfinished", c->where, 0,
			"it ended without an outcome after event %llu",
			(unsigned long long)c->lines);
	else if (!has_bad_seal(c->v, &c->seen->id))
		verify_find(c->v, "seal.missing", c->where, 0,
			"it is settled, and no seal vouches for it");
}

/* A line that cannot be had whole. */
static void take_failure(struct chain *c, int r)
{
	if (r != -EMSGSIZE)
		verify_find_unread(c->v, NOUN_EVENTS, c->where, r);
	else if (c->seal != NULL && c->lines == c->seal->count && c->lines > 0)
		c->lines++; /* told as appended at the end */
	else
		verify_find(c->v, "line.malformed", c->where, c->number + 1,
			"this line is longer than any event");
	stop(c);
}

static void walk(struct chain *c)
{
	autodone(line_reader_done) struct line_reader reader;
	struct str text;
	int r;

	line_reader_init(&reader, c->fd);
	reader.limit = c->limit;
	while (!c->stopped && (r = line_reader_next(&reader, &text)) != 0) {
		if (r < 0)
			take_failure(c, r);
		else
			take_line(c, text, reader.offset);
	}
	if (c->seal != NULL && (!c->stopped || c->lines > c->seal->count))
		judge_sealed(c, reader.torn);
	else if (c->seal == NULL && !c->stopped)
		judge_unsealed(c, reader.offset, reader.torn);
	if (!c->stopped)
		(void)derivation_end(
			&c->derivation, c->lines, reader.offset); /* our sink never stops */
}

void verify_events_file(
	struct verify *v, const char *name, const struct seal_line *seal, struct attempt_seen *seen)
{
	autoclose int fd = -1;
	int r = fileat_open(v->dir, name, O_RDONLY, &fd, /* err= */ NULL);
	uint64_t limit = seal != NULL ? seal->bytes + BEYOND_SEAL : UNSEALED_MAX;
	struct chain c = {.v = v,
		.seen = seen,
		.seal = seal,
		.where = seen->id.text,
		.fd = fd,
		.bytes = fd_bytes(fd),
		.expected = 1};

	if (r < 0) {
		verify_find_unread(v, NOUN_EVENTS, r == -ENOENT ? name : c.where, r);
		seen->broken = true;
		return;
	}
	if (c.bytes > limit)
		c.limit = limit;
	if (c.limit > 0 && seal == NULL) {
		verify_find(v, "events.too_large", c.where, 0,
			"no seal vouches for it, and it has %llu bytes: it was not read",
			(unsigned long long)c.bytes);
		seen->broken = true;
		return;
	}
	row_set_sink(&v->rows, &c.rows);
	derivation_init(&c.derivation, &seen->id, &c.rows);
	walk(&c);
	seen->broken = c.damaged;
	derivation_done(&c.derivation);
}
