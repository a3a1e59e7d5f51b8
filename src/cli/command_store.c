/* SPDX-License-Identifier: Apache-2.0 */
/* hemra export, verify, rm and gc: the record leaves, is checked, is removed so that it shows. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/locked.h"
#include "cli/out.h"
#include "cli/where.h"
#include "ground/base/own.h"
#include "ground/wire/json.h"
#include "store/store.h"

#define JSON_MAX     ((size_t)256 * 1024 * 1024)
#define KEEP_WORK    (UINT64_C(10) * 1024 * 1024 * 1024)
#define FINDINGS_MAX 10000 /* printed; all are counted */

/* The attempts that an id means. */
struct chosen {
	struct id *ids; /* owned */
	size_t count;
};

static void choose_id(struct chosen *c, const struct id *id)
{
	c->ids = reallocarray(c->ids, c->count + 1, sizeof(*c->ids));
	if (c->ids == NULL)
		abort();
	c->ids[c->count++] = *id;
}

static int choose_row(void *context, const struct index_attempt *row)
{
	if (!row->removed)
		choose_id(context, &row->attempt);
	return 0;
}

static void chosen_done(struct chosen *c)
{
	free(c->ids);
	*c = (struct chosen){0};
}

static int choose(
	struct place *p, const struct id *id, bool is_run, struct chosen *ret, struct err *err)
{
	if (is_run)
		return index_each_attempt(p->index, id, choose_row, ret, err);
	choose_id(ret, id);
	return 0;
}

/* ---- export ---- */

int command_export(const struct options *o)
{
	autodone(where_done) struct place p = {0};
	autofree char *directory = o->operands[1][0] == '/'
					   ? own_strdup(o->operands[1])
					   : own_printf("%s/%s", o->cwd, o->operands[1]);
	bool is_run = false;
	struct err err;
	struct id id;

	if (where_open_find(o, &p, &id, &is_run, &err) < 0)
		return where_failure(o, &p, &err);
	if (store_export(p.store, p.index, &id, is_run, directory, &err) < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	if (o->json) {
		autodone(buf_done) struct buf out = {.max = JSON_MAX};
		struct json_writer w;

		json_writer_init(&w, &out);
		json_object_open(&w);
		json_pair_string(&w, is_run ? "run" : "attempt", id.text);
		json_pair_string(&w, "directory", directory);
		json_object_close(&w);
		out_json(&out);
	} else {
		(void)printf("exported to %s\n  hemra verify %s\n", o->operands[1],
			o->operands[1]); /* out_finish() sees failure */
	}
	return EXIT_DONE;
}

/* ---- verify ---- */

struct verify_answer {
	uint64_t findings, damning;
};

struct verify_job {
	struct store *store; /* or NULL: an exported directory */
	const char *directory;
	const struct chosen *only; /* no id: all of the store */
	struct verify_answer answer;
	bool json;
	struct json_writer *w;
};

/* Runs in the reader. */
static void print_finding(void *context, const struct store_finding *f)
{
	struct verify_job *job = context;

	job->answer.findings++;
	job->answer.damning += f->damning;
	if (job->answer.findings > FINDINGS_MAX)
		return;
	if (job->json) {
		json_object_open(job->w);
		json_pair_string(job->w, "kind", f->kind);
		json_pair_bool(job->w, "damning", f->damning);
		json_pair_string(job->w, "where", f->where);
		json_pair_uint(job->w, "line", f->line);
		json_pair_string(job->w, "sentence", f->sentence);
		json_object_close(job->w);
	} else {
		autofree char *where = out_line(f->where);
		autofree char *sentence = out_line(f->sentence);

		(void)printf("%s  %s  %s", f->damning ? "BROKEN" : "note  ", f->kind, where);
		if (f->line > 0)
			(void)printf(":%" PRIu64, f->line);
		(void)printf("  %s\n", sentence); /* the reader's flush reports failure */
	}
}

static int verify_all(struct verify_job *job, struct err *err)
{
	int r = 0;

	if (job->store == NULL)
		return store_verify_export(job->directory, print_finding, job, err);
	if (job->only->count == 0)
		return store_verify(job->store, /* only= */ NULL, print_finding, job, err);
	for (size_t i = 0; i < job->only->count && r >= 0; i++)
		r = store_verify(job->store, &job->only->ids[i], print_finding, job, err);
	return r;
}

/* A locked_fn. */
static int verify_in_reader(void *context, struct err *err)
{
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct verify_job *job = context;
	struct json_writer w;
	int r;

	job->w = &w;
	json_writer_init(&w, &out);
	json_object_open(&w);
	json_key(&w, "findings");
	json_array_open(&w);
	r = verify_all(job, err);
	json_array_close(&w);
	json_pair_uint(&w, "count", job->answer.findings);
	json_pair_uint(&w, "damning", job->answer.damning);
	json_pair_bool(&w, "holds", job->answer.damning == 0);
	json_object_close(&w);
	if (r < 0)
		return r;
	if (job->json)
		out_json(&out);
	return 0;
}

static int run_verify(const struct options *o, struct verify_job *job, int directory_fd)
{
	struct locked_job reader = {.directory_fds = &directory_fd,
		.directory_count = 1,
		.fn = verify_in_reader,
		.context = job,
		.answer = &job->answer,
		.answer_bytes = sizeof(job->answer)};
	struct err err;
	int r = locked_run(&reader, &err);

	if (r < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	if (!o->json && job->answer.findings > FINDINGS_MAX)
		(void)printf("… and %" PRIu64 " more\n", job->answer.findings - FINDINGS_MAX);
	if (!o->json)
		(void)puts(job->answer.damning == 0 ? "The record holds."
						    : "The record does not hold.");
	return job->answer.damning == 0 ? EXIT_DONE
					: EXIT_GATE; /* out_finish() sees failed writes */
}

static int verify_directory(const struct options *o, const char *path)
{
	autoclose int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct verify_job job = {.directory = path, .json = o->json};
	struct err err;

	if (fd < 0) {
		(void)err_set(&err, errno, "open '%s'", path);
		return out_failure(o, &err, /* hint= */ NULL);
	}
	return run_verify(o, &job, fd);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int command_verify(const struct options *o)
{
	autodone(where_done) struct place p = {0};
	autodone(chosen_done) struct chosen only = {0};
	struct verify_job job = {.only = &only, .json = o->json};
	bool is_run = false;
	struct err err;
	struct id id;
	int r;

	if (o->operand_count > 0 &&
		(strchr(o->operands[0], '/') != NULL || is_directory(o->operands[0])))
		return verify_directory(o, o->operands[0]);
	if (o->operand_count == 0) {
		r = where_open(o, &p, &err);
	} else {
		r = where_open_find(o, &p, &id, &is_run, &err);
		if (r == 0)
			r = choose(&p, &id, is_run, &only, &err);
	}
	if (r < 0)
		return where_failure(o, &p, &err);
	if (o->operand_count > 0 && only.count == 0) {
		(void)err_say(&err, ENOENT, "run %s has no attempt that is left", id.text);
		return out_failure(o, &err, "hemra verify without an id checks the tombstones");
	}
	/* keys and rows, which the store is compared with, are read here: the child needs none */
	if (store_witness_load(p.store, &err) < 0)
		return where_failure(o, &p, &err);
	index_close(p.index); /* nothing of it is for the reader */
	p.index = NULL;
	job.store = p.store;
	return run_verify(o, &job, store_fd(p.store));
}

/* ---- rm ---- */

static int remove_all(
	const struct options *o, struct place *p, struct seal_key *key, const struct chosen *c)
{
	const char *why = o->why != NULL ? o->why : "no reason given";
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct json_writer w;
	uint64_t total = 0, bytes = 0;
	char shown[OUT_BYTES_SIZE];
	struct err err;

	json_writer_init(&w, &out);
	json_object_open(&w);
	json_key(&w, "removed");
	json_array_open(&w);
	for (size_t i = 0; i < c->count; i++) {
		struct store_removal what = {&c->ids[i], why};

		if (store_remove(p->store, p->index, key, &what, &bytes, &err) < 0)
			return out_failure(
				o, &err, err.code == EBUSY ? "hemra cancel stops it first" : NULL);
		json_put_string(&w, c->ids[i].text);
		total += bytes;
	}
	json_array_close(&w);
	json_pair_uint(&w, "bytes", total);
	json_object_close(&w);
	out_bytes(total, shown);
	if (o->json)
		out_json(&out);
	else
		(void)printf("removed %zu attempt%s, %s\n", c->count, c->count == 1 ? "" : "s",
			shown); /* out_finish() sees failure */
	return EXIT_DONE;
}

/* What changes the store: the index for writing, the key for tombstones. */
static int open_to_change(
	const struct options *o, struct place *p, struct seal_key **ret_key, struct err *err)
{
	int r = where_open(o, p, err);

	if (r == 0)
		r = where_index(p, /* write= */ true, err);
	if (r == 0)
		r = seal_key_open(ret_key, err);
	return r;
}

int command_rm(const struct options *o)
{
	autodone(where_done) struct place p = {0};
	autodone(chosen_done) struct chosen chosen = {0};
	struct seal_key *key = NULL;
	bool is_run = false;
	struct err err;
	struct id id;
	int r = open_to_change(o, &p, &key, &err), status;

	if (r == 0)
		r = where_find(&p, o->operands[0], &id, &is_run, &err);
	if (r == 0)
		r = choose(&p, &id, is_run, &chosen, &err);
	if (r >= 0 && chosen.count == 0)
		r = err_say(&err, ENOENT, "all of run %s was removed already", id.text);
	status = r < 0 ? where_failure(o, &p, &err) : remove_all(o, &p, key, &chosen);
	seal_key_close(key);
	return status;
}

/* ---- gc ---- */

static void print_gc(const struct options *o, const struct store_gc *gc)
{
	char bytes[OUT_BYTES_SIZE];

	out_bytes(gc->bytes, bytes);
	if (o->json) {
		autodone(buf_done) struct buf out = {.max = JSON_MAX};
		struct json_writer w;

		json_writer_init(&w, &out);
		json_object_open(&w);
		json_pair_bool(&w, "dry_run", gc->dry_run);
		json_pair_uint(&w, "blobs", gc->blobs);
		json_pair_uint(&w, "work_directories", gc->work_directories);
		json_pair_uint(&w, "sockets", gc->sockets);
		json_pair_uint(&w, "bytes", gc->bytes);
		json_object_close(&w);
		out_json(&out);
		return;
	}
	(void)printf("%s %" PRIu64 " artifact%s and %" PRIu64 " kept workspace%s, %s\n",
		gc->dry_run ? "would remove" : "removed", gc->blobs, gc->blobs == 1 ? "" : "s",
		gc->work_directories, gc->work_directories == 1 ? "" : "s",
		bytes); /* out_finish() sees failure */
}

int command_gc(const struct options *o)
{
	autodone(where_done) struct place p = {0};
	struct store_gc gc = {.older_than_ms = o->older_than_ms,
		.keep_work_bytes = o->keep_work_said ? o->keep_work_bytes : KEEP_WORK,
		.dry_run = o->dry_run};
	struct seal_key *key = NULL;
	struct err err;
	int r = open_to_change(o, &p, &key, &err);

	if (r == 0)
		r = store_gc(p.store, p.index, key, &gc, &err);
	seal_key_close(key);
	if (r < 0)
		return where_failure(o, &p, &err);
	print_gc(o, &gc);
	return EXIT_DONE;
}
