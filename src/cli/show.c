/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of a run and of an attempt. What the index says is typed and bounded and is read here;
 * events and artifacts are an agent's bytes and are read by a reader. */

#include "cli/show.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cli/event_view.h"
#include "cli/exit.h"
#include "cli/locked.h"
#include "cli/out.h"
#include "cli/rows.h"
#include "cli/table.h"
#include "ground/base/own.h"

#define JSON_MAX ((size_t)256 * 1024 * 1024)

int show_open_events(struct place *p, const struct id *attempt, int *ret_fd, struct err *err)
{
	autofree char *name = own_printf("events/%s.jsonl", attempt->text);
	autoclose int fd =
		openat(store_fd(p->store), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return err_say(err, ENOENT,
			"attempt %s has no events here: it was removed, or never recorded",
			attempt->text);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open '%s'", name);
	if (!S_ISREG(st.st_mode))
		return err_say(err, EIO, "'%s' is not a regular file", name);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Has the steward let go of the events file? A lock that we get is given back at once. */
static bool is_free(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return false;
	(void)flock(fd, LOCK_UN); /* cannot fail: it is held */
	return true;
}

/* Runs the reader; with follow, hangs up on it once nobody writes the file any more. */
static int read_events(struct place *p, struct events_source *source, bool follow, struct err *err)
{
	int directory = store_fd(p->store), ends[2] = {-1, -1};
	struct locked_job job = {.directory_fds = &directory,
		.directory_count = 1,
		.fn = events_print,
		.context = source};
	struct locked reader;
	int r;

	source->until_fd = -1;
	if (follow && pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe");
	source->until_fd = ends[0];
	index_close(p->index); /* nothing of it is for the reader */
	p->index = NULL;
	source->close_fd = ends[1]; /* the reader waits for its end: it must not hold it itself */
	r = locked_start(&job, &reader, err);
	own_close(&ends[0]);
	while (r == 0 && follow && ends[1] >= 0) {
		struct pollfd result = {reader.result_fd, POLLIN, 0};

		if (poll(&result, 1, 200) != 0 || is_free(source->fd))
			own_close(&ends[1]);
	}
	own_close(&ends[1]);
	return r < 0 ? r : locked_wait(&reader, &job, err);
}

/* Ends the object that show_events() began, which then also holds what went wrong on the way. */
static int end_events(const struct options *o, int result, const struct err *err)
{
	autodone(buf_done) struct buf out = {.max = 64 * 1024};
	struct json_writer w;

	(void)fputs("\n]", stdout); /* out_finish() sees failure, here and below */
	if (result >= 0) {
		(void)puts("}");
		return EXIT_DONE;
	}
	out_say_failure(err, /* hint= */ NULL);
	json_writer_init(&w, &out);
	json_object_open(&w);
	out_put_error(&w, out_failure_kind(err->code), err, /* hint= */ NULL);
	json_object_close(&w);
	(void)printf(",%s\n", buf_text(&out) + 1); /* its opening brace is there already */
	return exit_of_error(o->verb, err->code);
}

int show_events(const struct options *o, struct place *p, const struct id *attempt)
{
	struct events_source source = {.flags = 0};
	autoclose int fd = -1;
	struct err err;
	int r = show_open_events(p, attempt, &fd, &err);

	if (r < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	source.fd = fd;
	if (o->json)
		source.flags = o->follow ? EVENTS_JSON : EVENTS_JSON | EVENTS_ARRAY;
	else if (out_is_terminal())
		source.flags = EVENTS_LOCAL;
	if ((source.flags & EVENTS_ARRAY) != 0)
		(void)printf("{\"attempt\":\"%s\",\"events\":[\n",
			attempt->text); /* out_finish() sees failure */
	r = read_events(p, &source, o->follow, &err);
	if ((source.flags & EVENTS_ARRAY) != 0)
		return end_events(o, r, &err);
	return r < 0 ? out_failure(o, &err, /* hint= */ NULL) : EXIT_DONE;
}

/* ---- the difference ---- */

struct diff_found {
	bool found;
	uint8_t sha256[32];
};

static int find_diff(void *context, const struct index_artifact *row)
{
	struct diff_found *found = context;

	if (strcmp(row->role, "workspace-diff") != 0)
		return 0;
	found->found = true;
	(void)memcpy(found->sha256, row->sha256, 32);
	return 1;
}

struct blob_source {
	int fd;
	bool json;
};

/* A locked_fn: the whole blob, made visible, or as one JSON string. */
static int print_blob(void *context, struct err *err)
{
	const struct blob_source *source = context;
	autodone(buf_done) struct buf all = {.max = (size_t)64 * 1024 * 1024};
	autodone(buf_done) struct buf out = {.max = (size_t)512 * 1024 * 1024};
	ssize_t n;

	do {
		char *into = buf_room(&all, 64 * 1024);

		if (into == NULL)
			return err_say(
				err, EMSGSIZE, "the recorded difference is too large to show");
		n = read(source->fd, into, 64 * 1024);
		if (n > 0)
			buf_grow(&all, (size_t)n);
	} while (n > 0);
	if (n < 0)
		return err_set(err, errno, "read the recorded difference");
	if (source->json) {
		struct json_writer w;

		json_writer_init(&w, &out);
		json_object_open(&w);
		json_key(&w, "diff");
		json_put_bytes(&w, buf_text(&all), all.len);
		json_object_close(&w);
		(void)buf_add_char(&out, '\n'); /* failure sticks */
	} else {
		str_add_visible(&out, buf_text(&all), all.len, /* keep_lines= */ true);
	}
	if (buf_status(&out) < 0)
		return err_say(
			err, -buf_status(&out), "the recorded difference is too large to show");
	(void)fwrite(buf_text(&out), 1, out.len, stdout); /* the reader's flush reports failure */
	return 0;
}

int show_diff(const struct options *o, struct place *p, const struct id *attempt)
{
	struct diff_found found = {0};
	struct blob_source source = {-1, o->json};
	int directory = store_fd(p->store);
	struct locked_job job = {.directory_fds = &directory,
		.directory_count = 1,
		.fn = print_blob,
		.context = &source};
	autoclose int fd = -1;
	struct err err;
	int r = index_each_artifact(p->index, attempt, find_diff, &found, &err);

	if (r < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	if (!found.found) {
		(void)err_say(&err, ENOENT, "attempt %s recorded no change of its workspace",
			attempt->text);
		return out_failure(o, &err, "hemra show --events tells what it did");
	}
	r = store_blob_get(p->store, found.sha256, &fd, &err);
	if (r < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	source.fd = fd;
	index_close(p->index);
	p->index = NULL;
	r = locked_run(&job, &err);
	return r < 0 ? out_failure(o, &err, /* hint= */ NULL) : EXIT_DONE;
}

/* ---- one attempt ---- */

static int add_artifact(void *context, const struct index_artifact *row)
{
	struct table *t = context;
	char bytes[OUT_BYTES_SIZE], digest[17];

	out_bytes(row->bytes, bytes);
	str_hex(row->sha256, 8, digest);
	table_add(t, row->path);
	table_add(t, row->role);
	table_add(t, bytes);
	table_add(t, digest);
	return 0;
}

static int print_artifacts(struct place *p, const struct id *attempt, struct err *err)
{
	struct table t;
	int r;

	table_init(&t, 4, 1u << 2);
	table_add(&t, "ARTIFACT");
	table_add(&t, "ROLE");
	table_add(&t, "BYTES");
	table_add(&t, "SHA-256");
	r = index_each_artifact(p->index, attempt, add_artifact, &t, err);
	if (r >= 0 && t.count > t.columns) {
		(void)putchar('\n'); /* out_finish() sees failure */
		table_print(&t);
	}
	table_done(&t);
	return r < 0 ? r : 0;
}

static int json_artifact(void *context, const struct index_artifact *row)
{
	struct json_writer *w = context;
	char digest[65];

	json_object_open(w);
	json_pair_string(w, "path", row->path);
	json_pair_string(w, "role", row->role);
	json_pair_bool(w, "declared", row->declared);
	json_pair_uint(w, "bytes", row->bytes);
	str_hex(row->sha256, 32, digest);
	json_pair_string(w, "sha256", digest);
	str_hex(row->raw_sha256, 32, digest);
	json_pair_string(w, "raw_sha256", digest);
	json_object_close(w);
	return 0;
}

static int attempt_json(const struct options *o, struct place *p, const struct row *row)
{
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct json_writer w;
	struct err err;

	json_writer_init(&w, &out);
	json_object_open(&w);
	row_json(&row->a, &w);
	json_key(&w, "artifacts");
	json_array_open(&w);
	if (index_each_artifact(p->index, &row->a.attempt, json_artifact, &w, &err) < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	json_array_close(&w);
	json_object_close(&w);
	out_json(&out);
	return EXIT_DONE;
}

int show_attempt(const struct options *o, struct place *p, const struct id *attempt)
{
	struct events_source source = {.flags = EVENTS_NOTABLE};
	autodone(row_done) struct row row = {0};
	autoclose int fd = -1;
	struct err err;

	if (row_get(p, attempt, &row, &err) < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	if (o->json)
		return attempt_json(o, p, &row);
	row_print(&row.a);
	if (print_artifacts(p, attempt, &err) < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	if (row.a.removed)
		return EXIT_DONE;
	if (show_open_events(p, attempt, &fd, &err) < 0)
		return out_failure(o, &err, "hemra verify says what is missing");
	source.fd = fd;
	source.flags |= out_is_terminal() ? EVENTS_LOCAL : 0;
	(void)putchar('\n'); /* out_finish() sees failure */
	if (read_events(p, &source, /* follow= */ false, &err) < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	return EXIT_DONE;
}

/* ---- one run ---- */

struct run_page {
	struct place *place;
	struct table table;
	struct json_writer *json; /* NULL: the table */
};

static int add_attempt(void *context, const struct index_attempt *a)
{
	struct run_page *page = context;

	if (page->json != NULL) {
		json_object_open(page->json);
		row_json(a, page->json);
		json_object_close(page->json);
	} else {
		row_add(&page->table, a, page->place);
	}
	return 0;
}

int show_run(const struct options *o, struct place *p, const struct id *run)
{
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct json_writer w = {0};
	struct run_page page = {.place = p, .json = o->json ? &w : NULL};
	struct err err;
	int r;

	json_writer_init(&w, &out);
	json_object_open(&w);
	json_pair_string(&w, "run", run->text);
	json_key(&w, "attempts");
	json_array_open(&w);
	row_table_init(&page.table);
	r = index_each_attempt(p->index, run, add_attempt, &page, &err);
	json_array_close(&w);
	json_object_close(&w);
	if (r >= 0 && o->json)
		out_json(&out);
	else if (r >= 0)
		table_print(&page.table);
	table_done(&page.table);
	return r < 0 ? out_failure(o, &err, /* hint= */ NULL) : EXIT_DONE;
}
