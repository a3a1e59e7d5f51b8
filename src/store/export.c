/* SPDX-License-Identifier: Apache-2.0 */
/* Writing sealed attempts to a directory that verifies alone.
 *
 *   <attempt's directory>/events.jsonl manifest.json seal.json key.pub record.json
 *                         blobs/sha256/ab/cdef…                       run.json (where it was sealed)
 *
 * Of a run, such directories lie beneath attempts/. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"
#include "store/blob.h"
#include "store/dir.h"
#include "store/lines.h"
#include "store/record.h"
#include "store/seal.h"
#include "store/store.h"

struct export
{
	struct store *store;
	struct index *index;
	int to;
	struct err *err;
	struct buf *record;
};

/* A copy, and what its size must be. */
struct copy {
	const char *from, *to; /* relative to the store and to the export */
	uint64_t bytes_min, bytes_max;
};

/* A file of another size than the record says is not worth copying, and might never end. */
static int copy_file(struct export *e, const struct copy *c)
{
	autoclose int fd = -1;
	uint64_t bytes;
	int r = fileat_open(e->store->fd, c->from, O_RDONLY, &fd, e->err);

	if (r < 0)
		return err_add_to(r, e->err, "store '%s'", e->store->path);
	bytes = fd_bytes(fd);
	if (bytes < c->bytes_min || bytes > c->bytes_max)
		return err_say(e->err, EBADMSG,
			"'%s/%s' has not the size it was recorded with: hemra verify says what changed",
			e->store->path, c->from);
	return fileat_copy(fd, e->to, c->to, 0444, e->err);
}

/* The seal's line as it stands in seals.jsonl, byte for byte. */
static int find_seal(struct store *s, const struct id *attempt, struct buf *out,
	struct seal_line *ret, struct err *err)
{
	autodone(line_reader_done) struct line_reader reader;
	struct json_doc doc;
	struct seal_line line;
	autoclose int fd = -1;
	struct str text;
	int r = fileat_open(s->fd, "seals.jsonl", O_RDONLY, &fd, err);

	line_reader_init(&reader, fd);
	if (r < 0 && r != -ENOENT)
		return r;
	json_doc_init(&doc, /* nodes_max= */ 128, /* depth_max= */ 2);
	while (fd >= 0 && line_reader_next(&reader, &text) == 1) {
		if (seal_line_parse(&doc, text, &line) < 0 || line.kind != SEAL_ATTEMPT ||
			strcmp(line.attempt.text, attempt->text) != 0)
			continue;
		*ret = line;
		buf_reset(out);
		(void)buf_add(out, text.p, text.n); /* at most a line, which fits */
		(void)buf_add_char(out, '\n');
	}
	json_doc_done(&doc);
	if (out->len > 0)
		return 0;
	if (events_are_held(s->fd, attempt))
		return err_say(err, EBUSY, "attempt %s still runs", attempt->text);
	return err_say(err, ENODATA, "attempt %s is not sealed", attempt->text);
}

static int export_blob(void *context, const struct index_artifact *a)
{
	struct export *e = context;
	char name[BLOB_NAME_SIZE], bucket[sizeof("blobs/sha256/ab")];
	int r;

	blob_name(a->sha256, name);
	(void)snprintf(bucket, sizeof(bucket), "%.15s", name);
	r = dirat_make(e->to, bucket, e->err);
	if (r < 0 || fileat_exists(e->to, name))
		return r;
	return copy_file(e, &(struct copy){name, name, a->bytes, a->bytes});
}

static int export_blobs(struct export *e, const struct id *attempt)
{
	int r = dirat_make(e->to, "blobs", e->err);

	if (r == 0)
		r = dirat_make(e->to, "blobs/sha256", e->err);
	return r == 0 ? index_each_artifact(e->index, attempt, export_blob, e, e->err) : r;
}

static int take_artifact(void *context, const struct index_artifact *a)
{
	record_add_artifact(context, a);
	return 0;
}

static int take_attempt(void *context, const struct index_attempt *a)
{
	struct export *e = context;
	struct record record;
	int r;

	record_open(&record, e->record, a);
	r = index_each_artifact(e->index, &a->attempt, take_artifact, &record, e->err);
	record_close(&record);
	return r;
}

static int export_record(struct export *e, const struct id *attempt)
{
	autodone(buf_done) struct buf text = {.max = 64 * 1024 * 1024};
	int r;

	e->record = &text;
	r = index_get_attempt(e->index, attempt, take_attempt, e, e->err);
	if (r == 0 && buf_status(&text) < 0)
		r = err_set(e->err, -buf_status(&text), "put record.json together");
	return r == 0 ? fileat_put_once(e->to, "record.json", text.data, text.len, 0444, e->err)
		      : r;
}

static int export_files(struct export *e, const struct id *attempt, const struct seal_line *seal)
{
	char name[EVENTS_NAME_SIZE + 64], hex[65];
	int r;

	events_name(attempt, name);
	r = copy_file(e, &(struct copy){name, "events.jsonl", seal->bytes, seal->bytes});
	if (r == 0 && seal->has_manifest) {
		str_hex(seal->manifest, 32, hex);
		(void)snprintf(name, sizeof(name), "manifests/%s.json", hex);
		r = copy_file(e, &(struct copy){name, "manifest.json", 1, STORE_FILE_MAX});
	}
	if (r == 0 && seal->has_run) {
		(void)snprintf(name, sizeof(name), "runs/%s.json", seal->run.text);
		r = copy_file(e, &(struct copy){name, "run.json", 1, STORE_FILE_MAX});
	}
	str_hex(seal->key, 32, hex);
	hex[64] = '\n';
	return r == 0 ? fileat_put_once(e->to, "key.pub", hex, 65, 0444, e->err) : r;
}

static int make_new(int dir, const char *path, int *ret_fd, struct err *err)
{
	if (mkdirat(dir, path, 0700) < 0)
		return err_set(err, errno, "make directory '%s'", path);
	*ret_fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? err_set(err, errno, "open directory '%s'", path) : 0;
}

static int export_attempt(struct store *s, struct index *x, const struct id *attempt, int dir,
	const char *path, struct err *err)
{
	autodone(buf_done) struct buf text = {.max = SEAL_LINE_MAX + 1};
	struct export e = {.store = s, .index = x, .err = err};
	struct seal_line seal;
	autoclose int to = -1;
	int r;

	r = find_seal(s, attempt, &text, &seal, err);
	if (r == 0)
		r = make_new(dir, path, &to, err);
	if (r < 0)
		return r;
	e.to = to;
	r = export_files(&e, attempt, &seal);
	if (r == 0)
		r = export_blobs(&e, attempt);
	if (r == 0)
		r = export_record(&e, attempt);
	/* the seal goes last: without it the directory does not verify */
	if (r == 0)
		r = fileat_put_once(to, "seal.json", text.data, text.len, 0444, err);
	return r < 0 ? err_add_to(r, err, "export attempt %s", attempt->text) : 0;
}

static int list_attempt(void *context, const struct index_attempt *a)
{
	if (!a->removed)
		strv_add(context, a->attempt.text);
	return 0;
}

static int export_run(struct store *s, struct index *x, const struct id *run, const char *directory,
	struct err *err)
{
	autodone(strv_done) char **attempts = NULL;
	autoclose int to = -1, under = -1;
	int r;

	r = index_each_attempt(x, run, list_attempt, &attempts, err);
	if (r < 0)
		return r;
	if (strv_count(attempts) == 0)
		return err_say(err, ENOENT, "run %s has no attempt to export", run->text);
	r = make_new(AT_FDCWD, directory, &to, err);
	if (r == 0)
		r = make_new(to, "attempts", &under, err);
	for (char **name = attempts; r == 0 && *name != NULL; name++) {
		struct id attempt = {0};

		(void)memcpy(attempt.text, *name, ID_LENGTH);
		r = export_attempt(s, x, &attempt, under, *name, err);
	}
	return r;
}

int store_export(struct store *s, struct index *x, const struct id *attempt_or_run, bool is_run,
	const char *directory, struct err *err)
{
	return is_run ? export_run(s, x, attempt_or_run, directory, err)
		      : export_attempt(s, x, attempt_or_run, AT_FDCWD, directory, err);
}
