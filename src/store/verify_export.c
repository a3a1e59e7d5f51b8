/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying an exported directory, without the store it came from. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/dir.h"
#include "store/lines.h"
#include "store/record.h"
#include "store/verify.h"

/* The rows of one attempt, gathered to write record.json again. */
struct gathered {
	struct index_attempt attempt;
	char *texts[5];                   /* owned: harness, task, manifest, sandbox, reason */
	struct index_artifact *artifacts; /* paths and roles owned */
	size_t count;
	bool planned, settled;
};

static void gathered_done(struct gathered *g)
{
	for (size_t i = 0; i < array_count(g->texts); i++)
		free(g->texts[i]);
	for (size_t i = 0; i < g->count; i++) {
		free((char *)(uintptr_t)g->artifacts[i].path);
		free((char *)(uintptr_t)g->artifacts[i].role);
	}
	free(g->artifacts);
}

static const char *keep(struct gathered *g, int at, const char *text)
{
	free(g->texts[at]);
	g->texts[at] = own_strdup(text != NULL ? text : "");
	return g->texts[at];
}

static int gather_planned(void *context, const struct index_attempt *a)
{
	struct gathered *g = context;

	g->attempt = *a;
	g->attempt.harness = keep(g, 0, a->harness);
	g->attempt.task = keep(g, 1, a->task);
	g->attempt.manifest = keep(g, 2, a->manifest);
	g->attempt.sandbox = keep(g, 3, a->sandbox);
	g->planned = true;
	return 0;
}

static int gather_artifact(void *context, const struct index_artifact *a)
{
	struct gathered *g = context;
	struct index_artifact *grown = reallocarray(g->artifacts, g->count + 1, sizeof(*grown));

	if (grown == NULL)
		abort();
	g->artifacts = grown;
	grown[g->count] = *a;
	grown[g->count].path = own_strdup(a->path);
	grown[g->count++].role = own_strdup(a->role);
	return 0;
}

static int gather_settled(void *context, const struct index_attempt *a)
{
	struct gathered *g = context;

	g->attempt.outcome = a->outcome;
	g->attempt.reason = keep(g, 4, a->reason);
	g->attempt.settled = a->settled;
	g->attempt.graded = a->graded;
	g->attempt.score = a->score;
	g->attempt.duration_ms = a->duration_ms;
	g->attempt.weaker = a->weaker;
	g->attempt.usage = a->usage;
	g->attempt.events = a->events;
	g->attempt.event_bytes = a->event_bytes;
	g->attempt.artifact_bytes = a->artifact_bytes;
	g->settled = true;
	return 0;
}

/* false: there is none to verify with, which was told. */
static bool read_seal(struct verify *v, struct seal_line *ret)
{
	autodone(buf_done) struct buf text = {.max = SEAL_LINE_MAX + 32768};
	autodone(buf_done) struct buf key = {.max = 65536};
	char hex[65];
	int r = fileat_read(v->dir, "seal.json", SEAL_LINE_MAX + 1, &text, /* err= */ NULL);

	if (r < 0 && r != -EMSGSIZE) {
		verify_find_unread(v, NOUN_SEAL, "seal.json", r);
		return false;
	}
	if (r < 0 || text.len == 0 || text.data[text.len - 1] != '\n' ||
		seal_line_parse(&v->doc, (struct str){text.data, text.len - 1}, ret) < 0 ||
		ret->kind != SEAL_ATTEMPT) {
		verify_find(v, "seal.malformed", "seal.json", 0, "this is not a seal");
		return false;
	}
	if (!seal_line_is_signed(ret, (struct str){text.data, text.len - 1})) {
		verify_find(
			v, "seal.changed", "seal.json", 0, "the signature does not fit this seal");
		return false;
	}
	str_hex(ret->key, 32, hex);
	hex[64] = '\n';
	if (fileat_read(v->dir, "key.pub", 256, &key, /* err= */ NULL) < 0 || key.len != 65 ||
		memcmp(key.data, hex, 65) != 0)
		verify_find(v, "key.changed", "key.pub", 0,
			"key.pub is not the key that the seal was made with");
	hex[64] = '\0';
	verify_remark(v, "export.signer", ret->attempt.text, 0,
		"sealed with the key %s; whose it is, is yours to know", hex);
	return true;
}

static void check_record(struct verify *v, const struct id *attempt)
{
	autodone(buf_done) struct buf text = {.max = 64 * 1024 * 1024};
	autodone(buf_done) struct buf again = {.max = 64 * 1024 * 1024};
	autodone(line_reader_done) struct line_reader reader;
	autodone(derivation_done) struct derivation d;
	autodone(gathered_done) struct gathered g = {0};
	const struct index_sink sink = {.context = &g,
		.planned = gather_planned,
		.artifact = gather_artifact,
		.settled = gather_settled};
	autoclose int fd = -1;
	struct event_line parsed;
	struct record record;
	struct str line;
	uint64_t lines = 0;
	int r = fileat_open(v->dir, "events.jsonl", O_RDONLY, &fd, /* err= */ NULL);

	line_reader_init(&reader, fd); /* verified already */
	derivation_init(&d, attempt, &sink);
	while (fd >= 0 && line_reader_next(&reader, &line) == 1 &&
		event_line_parse(line, &parsed) == 0) {
		lines++;
		(void)derivation_add(&d, &parsed); /* our sink never stops */
	}
	(void)derivation_end(&d, lines, reader.offset); /* likewise */
	r = fileat_read(v->dir, "record.json", 48 * 1024 * 1024, &text, /* err= */ NULL);
	if (r < 0 && r != -EMSGSIZE) {
		verify_find_unread(v, NOUN_RECORD, "record.json", r);
		return;
	}
	if (g.planned && g.settled) {
		record_open(&record, &again, &g.attempt);
		for (size_t i = 0; i < g.count; i++)
			record_add_artifact(&record, &g.artifacts[i]);
		record_close(&record);
	}
	if (r < 0 || again.len != text.len ||
		memcmp(buf_text(&again), buf_text(&text), text.len) != 0)
		verify_find(
			v, "record.changed", "record.json", 0, "it says otherwise than the events");
}

static void check_stray(struct verify *v)
{
	static const char *const known[] = {"blobs", "events.jsonl", "key.pub", "manifest.json",
		"record.json", "run.json", "seal.json"};
	autodone(strv_done) char **names = NULL;

	if (dirat_list(v->dir, ".", &names, /* err= */ NULL) < 0)
		return;
	for (char **name = names; *name != NULL; name++) {
		bool expected = false;

		for (size_t i = 0; i < array_count(known) && !expected; i++)
			expected = strcmp(*name, known[i]) == 0;
		if (!expected)
			verify_remark(
				v, "export.stray", *name, 0, "this file is not part of an export");
	}
}

static void verify_attempt(struct verify *v)
{
	struct attempt_seen seen = {0};
	struct seal_line seal;
	unsigned mode;

	if (!read_seal(v, &seal))
		return;
	seen.id = seal.attempt;
	verify_events_file(v, "events.jsonl", &seal, &seen);
	if (seal.has_manifest)
		(void)verify_file(v,
			&(struct verify_file){
				NOUN_MANIFEST, "manifest.json", seal.manifest, 1, STORE_FILE_MAX},
			&mode); /* it told what it found, and so does the next */
	if (seal.has_run)
		(void)verify_file(v,
			&(struct verify_file){
				NOUN_RUN, "run.json", seal.run_sha256, 1, STORE_FILE_MAX},
			&mode);
	verify_blobs(v);
	if (!seen.broken)
		check_record(v, &seal.attempt);
	check_stray(v);
}

static int verify_one(int dir, const char *name, store_finding_fn *fn, void *context)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autodone(verify_done) struct verify v;

	verify_init(&v, fd, fn, context);
	if (fd < 0)
		verify_find(&v, "directory.unreadable", name, 0,
			"this directory of the export cannot be opened: %s", strerror(errno));
	else
		verify_attempt(&v);
	return v.damning;
}

int store_verify_export(const char *directory, store_finding_fn *fn, void *context, struct err *err)
{
	autoclose int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodone(strv_done) char **names = NULL;
	int r, damning = 0;

	if (fd < 0)
		return err_set(err, errno, "open '%s'", directory);
	if (!fileat_exists(fd, "attempts"))
		return verify_one(fd, ".", fn, context);
	r = dirat_list(fd, "attempts", &names, err);
	if (r < 0)
		return r;
	if (names[0] == NULL)
		return err_say(err, ENOENT, "'%s' holds no attempt", directory);
	for (char **name = names; *name != NULL; name++) {
		autofree char *path = own_printf("attempts/%s", *name);

		damning += verify_one(fd, path, fn, context);
	}
	return damning;
}
