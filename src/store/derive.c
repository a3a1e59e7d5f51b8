/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from the record. Only lines that hemra wrote are looked into; their data may quote an agent's
 * words, so this belongs into a locked child. */

#include "store/derive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/terms/plan.h"
#include "store/dir.h"
#include "store/lines.h"

#define NODES_MAX (1 << 20)
#define DEPTH_MAX 80

void derivation_init(struct derivation *d, const struct id *attempt, const struct index_sink *sink)
{
	*d = (struct derivation){.sink = sink, .attempt = *attempt};
	json_doc_init(&d->doc, NODES_MAX, DEPTH_MAX);
}

void derivation_done(struct derivation *d)
{
	json_doc_done(&d->doc);
	free(d->reason);
	d->reason = NULL;
}

static void get_id(const struct json_doc *doc, const char *key, struct id *ret)
{
	autofree char *text = json_text(doc, json_get(doc, 0, key));

	*ret = (struct id){0};
	if (text != NULL && id_is_valid(text))
		(void)memcpy(ret->text, text, sizeof(ret->text));
}

static int64_t get_int(
	const struct json_doc *doc, uint32_t object, const char *key, int64_t otherwise)
{
	uint32_t node = object != JSON_NONE ? json_get(doc, object, key) : JSON_NONE;
	int64_t value;

	return node != JSON_NONE && json_int64(doc, node, &value) == 0 ? value : otherwise;
}

static double get_double(
	const struct json_doc *doc, uint32_t object, const char *key, double otherwise)
{
	uint32_t node = object != JSON_NONE ? json_get(doc, object, key) : JSON_NONE;
	double value;

	return node != JSON_NONE && json_double(doc, node, &value) == 0 ? value : otherwise;
}

static bool get_digest(const struct json_doc *doc, const char *key, uint8_t ret[32])
{
	autofree char *text = json_text(doc, json_get(doc, 0, key));

	return text != NULL && str_unhex(text, 32, ret) == 0;
}

static unsigned get_weaker(const struct json_doc *doc)
{
	uint32_t list = json_get(doc, 0, "weaker");
	unsigned weaker = 0, flag;

	if (list == JSON_NONE || doc->nodes[list].type != JSON_ARRAY)
		return 0;
	for (uint32_t n = json_first(doc, list); n != JSON_NONE; n = json_next(doc, list, n)) {
		autofree char *name = json_text(doc, n);

		if (name != NULL && flag_parse(weaker_names, name, &flag) == 0)
			weaker |= flag;
	}
	return weaker;
}

static const char *or_empty(const char *text)
{
	return text != NULL ? text : "";
}

static int add_planned(struct derivation *d, const struct event_line *line)
{
	autofree char *harness = json_text(&d->doc, json_get(&d->doc, 0, "harness"));
	autofree char *task = json_text(&d->doc, json_get(&d->doc, 0, "task"));
	autofree char *manifest = json_text(&d->doc, json_get(&d->doc, 0, "manifest"));
	autofree char *sandbox = json_text(&d->doc, json_get(&d->doc, 0, "sandbox"));
	struct index_attempt a = {.harness = or_empty(harness),
		.task = or_empty(task),
		.manifest = or_empty(manifest),
		.sandbox = or_empty(sandbox)};

	get_id(&d->doc, "attempt", &a.attempt);
	get_id(&d->doc, "run", &a.run);
	if (line->seq != 1 || strcmp(a.attempt.text, d->attempt.text) != 0 || id_is_none(&a.run))
		return 0;
	d->planned = true;
	a.index = (unsigned)get_int(&d->doc, 0, "index", 0);
	a.of = (unsigned)get_int(&d->doc, 0, "of", 0);
	a.weaker = get_weaker(&d->doc);
	(void)wall_parse(line->ts, &a.planned); /* checked with the line's frame */
	return d->sink->planned != NULL ? d->sink->planned(d->sink->context, &a) : 0;
}

static int add_state(struct derivation *d, const struct event_line *line)
{
	autofree char *name = json_text(&d->doc, json_get(&d->doc, 0, "state"));
	struct wall at;
	enum state s;

	if (name == NULL || state_parse(name, &s) < 0 || d->sink->state == NULL)
		return 0;
	(void)wall_parse(line->ts, &at); /* checked with the line's frame */
	return d->sink->state(d->sink->context, &d->attempt, s, at);
}

static int add_artifact(struct derivation *d, const struct event_line *line)
{
	autofree char *path = json_text(&d->doc, json_get(&d->doc, 0, "path"));
	autofree char *role = json_text(&d->doc, json_get(&d->doc, 0, "role"));
	struct index_artifact a = {
		.attempt = d->attempt, .path = or_empty(path), .role = or_empty(role)};

	(void)line;
	if (!get_digest(&d->doc, "sha256", a.sha256))
		return 0; /* refused */
	if (!get_digest(&d->doc, "raw_sha256", a.raw_sha256))
		(void)memcpy(a.raw_sha256, a.sha256, 32);
	a.bytes = (uint64_t)get_int(&d->doc, 0, "bytes", 0);
	a.declared = json_is_true(&d->doc, json_get(&d->doc, 0, "declared"));
	d->artifact_bytes += a.bytes;
	return d->sink->artifact != NULL ? d->sink->artifact(d->sink->context, &a) : 0;
}

static int add_settled(struct derivation *d, const struct event_line *line)
{
	autofree char *outcome = json_text(&d->doc, json_get(&d->doc, 0, "outcome"));
	uint32_t usage = json_get(&d->doc, 0, "usage");
	struct index_attempt *a = &d->outcome;

	*a = (struct index_attempt){.attempt = d->attempt, .state = STATE_DONE};
	if (outcome == NULL || outcome_parse(outcome, &a->outcome) < 0)
		return 0;
	free(d->reason);
	d->reason = json_text(&d->doc, json_get(&d->doc, 0, "reason"));
	if (d->reason == NULL)
		d->reason = own_strdup("");
	a->reason = d->reason;
	a->graded = json_is_true(&d->doc, json_get(&d->doc, 0, "graded"));
	a->score = a->graded ? get_double(&d->doc, 0, "score", 0) : 0;
	a->duration_ms = get_int(&d->doc, 0, "duration_ms", 0);
	a->weaker = get_weaker(&d->doc);
	if (usage != JSON_NONE && d->doc.nodes[usage].type != JSON_OBJECT)
		usage = JSON_NONE;
	a->usage = (struct usage){.input = get_int(&d->doc, usage, "input", -1),
		.output = get_int(&d->doc, usage, "output", -1),
		.cache_read = get_int(&d->doc, usage, "cache_read", -1),
		.cache_write = get_int(&d->doc, usage, "cache_write", -1),
		.reasoning = get_int(&d->doc, usage, "reasoning", -1),
		.cost_usd = get_double(&d->doc, usage, "cost_usd", -1)};
	(void)wall_parse(line->ts, &a->settled); /* checked with the line's frame */
	d->settled = true;
	return 0;
}

int derivation_add(struct derivation *d, const struct event_line *line)
{
	static const struct {
		const char *type;
		int (*add)(struct derivation *d, const struct event_line *line);
	} kinds[] = {
		{"attempt.planned", add_planned},
		{"attempt.state", add_state},
		{"artifact", add_artifact},
		{"attempt.settled", add_settled},
	};

	if (!str_is(line->src, "runner"))
		return 0;
	for (size_t i = 0; i < array_count(kinds); i++) {
		if (!str_is(line->type, kinds[i].type))
			continue;
		if (i > 0 && !d->planned)
			return 0;
		if (json_parse(&d->doc, line->data.p, line->data.n, /* ret_fault= */ NULL) < 0)
			return 0; /* verify names it */
		return kinds[i].add(d, line);
	}
	return 0;
}

int derivation_end(struct derivation *d, uint64_t lines, uint64_t bytes)
{
	if (!d->settled || d->sink->settled == NULL)
		return 0;
	d->outcome.events = lines;
	d->outcome.event_bytes = bytes;
	d->outcome.artifact_bytes = d->artifact_bytes;
	return d->sink->settled(d->sink->context, &d->outcome);
}

static int derive_events(
	int dir, const struct id *attempt, const struct index_sink *sink, struct err *err)
{
	autodone(line_reader_done) struct line_reader reader;
	autodone(derivation_done) struct derivation d;
	char name[EVENTS_NAME_SIZE];
	struct event_line parsed;
	autoclose int fd = -1;
	struct str line;
	uint64_t lines = 0;
	int r, called = 0;

	line_reader_init(&reader, -1);
	derivation_init(&d, attempt, sink);
	events_name(attempt, name);
	r = fileat_open(dir, name, O_RDONLY, &fd, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	reader.fd = fd;
	while ((r = line_reader_next(&reader, &line)) == 1 && called == 0) {
		if (event_line_parse(line, &parsed) < 0)
			break;
		lines++;
		called = derivation_add(&d, &parsed);
	}
	if (called == 0)
		called = derivation_end(&d, lines, reader.offset);
	return called;
}

static void doc_done(struct json_doc *doc)
{
	json_doc_done(doc);
}

static int derive_run(int dir, const struct id *run, const struct index_sink *sink)
{
	autodone(buf_done) struct buf text = {.max = STORE_FILE_MAX + 16384};
	autofree char *created = NULL, *file = NULL;
	autodone(doc_done) struct json_doc doc;
	struct wall at = {0};
	char name[64];

	json_doc_init(&doc, NODES_MAX, DEPTH_MAX);
	(void)snprintf(name, sizeof(name), "runs/%s.json", run->text);
	if (fileat_read(dir, name, STORE_FILE_MAX, &text, /* err= */ NULL) < 0 ||
		json_parse(&doc, buf_text(&text), text.len, /* ret_fault= */ NULL) < 0 ||
		doc.nodes[0].type != JSON_OBJECT)
		return 0;
	created = json_text(&doc, json_get(&doc, 0, "created"));
	file = json_text(&doc, json_get(&doc, 0, "file"));
	if (created == NULL || wall_parse(created, &at) < 0)
		return 0;
	return sink->run(sink->context, run, at, or_empty(file));
}

int derive_runs(int dir, const struct index_sink *sink, struct err *err)
{
	autodone(strv_done) char **names = NULL;
	int r = dirat_list(dir, "runs", &names, err);

	if (r < 0 || sink->run == NULL)
		return r;
	for (char **name = names; *name != NULL && r == 0; name++) {
		struct id run = {0};

		if (strlen(*name) != ID_LENGTH + 5 || strcmp(*name + ID_LENGTH, ".json") != 0)
			continue;
		(void)memcpy(run.text, *name, ID_LENGTH);
		if (id_is_valid(run.text))
			r = derive_run(dir, &run, sink);
	}
	return r;
}

/* A removed attempt left only its tombstone: its row is a stub. */
static int derive_stub(const struct seal_line *line, const struct index_sink *sink)
{
	struct index_attempt a = {.attempt = line->attempt,
		.run = line->run,
		.harness = "",
		.task = "",
		.sandbox = ""};
	char manifest[65] = "";

	if (line->has_manifest)
		str_hex(line->manifest, 32, manifest);
	a.manifest = manifest;
	return sink->planned != NULL ? sink->planned(sink->context, &a) : 0;
}

int derive_removed(int dir, const struct seal_list *seals, const struct id *only,
	const struct index_sink *sink, struct err *err)
{
	(void)err;
	for (size_t i = 0; i < seals->count; i++) {
		const struct seal_line *line = &seals->lines[i];
		char name[EVENTS_NAME_SIZE];
		int r = 0;

		if (line->kind != SEAL_TOMBSTONE ||
			(only != NULL && strcmp(only->text, line->attempt.text) != 0) ||
			seal_list_find(seals, SEAL_TOMBSTONE, &line->attempt) != line)
			continue;
		events_name(&line->attempt, name);
		if (!fileat_exists(dir, name))
			r = derive_stub(line, sink);
		if (r == 0 && sink->removed != NULL)
			r = sink->removed(sink->context, &line->attempt, line->at, line->why);
		if (r != 0)
			return r;
	}
	return 0;
}

int store_derive(
	struct store *s, const struct id *only, const struct index_sink *sink, struct err *err)
{
	autodone(seal_list_done) struct seal_list seals = {0};
	autodone(strv_done) char **names = NULL;
	int r;

	r = derive_runs(s->fd, sink, err);
	if (r == 0)
		r = dirat_list(s->fd, "events", &names, err);
	if (r == 0)
		r = seal_list_read(s->fd, &seals, err);
	for (char **name = names; r == 0 && *name != NULL; name++) {
		struct id attempt;

		if (events_name_parse(*name, &attempt) &&
			(only == NULL || strcmp(only->text, attempt.text) == 0))
			r = derive_events(s->fd, &attempt, sink, err);
		/* one that cannot be read is left out, unless it is the one that is wanted */
		if (only == NULL && (r == -EINVAL || r == -EACCES))
			r = 0;
	}
	return r == 0 ? derive_removed(s->fd, &seals, only, sink, err) : r;
}
