/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts: what lies in the artifact directory of the dead box.
 *
 * The steward lists and opens: beneath the directory, without links, regular files with one name
 * only, within the quotas, sizes checked again while reading. A reader decides what is text and
 * writes it redacted into an unnamed file; the steward hashes both forms and links the blob. */

#include "attempt/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"

#define READ_BYTES     (64 * 1024)
#define READER_WAIT_MS 60000
#define DEPTH_MAX      32
#define ENTRIES_MAX    100000

struct intake {
	struct attempt *a;
	uint64_t files, bytes, entries;
};

struct copy_job {
	const struct attempt *a;
	int from, to;
};

struct copy_result {
	uint64_t counts[NEEDLE_SECRETS_MAX];
	uint64_t text; /* 0 or 1 */
};

static bool write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

/* In the reader: copies, replacing secrets when the beginning looks like text. */
static int copy_redacted(void *context, void *result)
{
	const struct copy_job *job = context;
	struct copy_result *r = result;
	struct needle_stream *stream = NULL;
	char bytes[READ_BYTES];
	struct buf out;
	ssize_t n;

	buf_init(&out, 16 * 1024 * 1024);
	while ((n = read(job->from, bytes, sizeof(bytes))) > 0) {
		if (stream == NULL)
			r->text = memchr(bytes, '\0', (size_t)n) == NULL;
		if (stream == NULL)
			stream = needle_stream_new(job->a->needle);
		buf_reset(&out);
		if (r->text == 0)
			(void)buf_add(&out, bytes, (size_t)n); /* fits: READ_BYTES */
		else if (needle_stream_write(stream, bytes, (size_t)n, &out, r->counts) < 0)
			return -1;
		if (!write_all(job->to, buf_text(&out), out.len))
			return -1;
	}
	buf_reset(&out);
	if (stream != NULL && r->text != 0 && needle_stream_flush(stream, &out, r->counts) < 0)
		return -1;
	return n < 0 || !write_all(job->to, buf_text(&out), out.len) ? -1 : 0;
}

static int copy_plain(int from, int to, uint64_t bytes_max)
{
	char bytes[READ_BYTES];
	uint64_t total = 0;
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0) {
		total += (uint64_t)n;
		if (total > bytes_max)
			return -EFBIG;
		if (!write_all(to, bytes, (size_t)n))
			return -errno;
	}
	return n < 0 ? -errno : 0;
}

static int hash_file(int fd, uint64_t bytes_max, uint8_t ret_digest[32], uint64_t *ret_bytes)
{
	crypto_hash_sha256_state hash;
	char bytes[READ_BYTES];
	uint64_t total = 0;
	ssize_t n;

	(void)crypto_hash_sha256_init(&hash);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		total += (uint64_t)n;
		if (total > bytes_max)
			return -EFBIG;
		(void)crypto_hash_sha256_update(&hash, (unsigned char *)bytes, (size_t)n);
	}
	if (n < 0)
		return -errno;
	(void)crypto_hash_sha256_final(&hash, ret_digest);
	*ret_bytes = total;
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

static bool is_declared(const struct attempt *a, const char *path)
{
	for (size_t i = 0; i < a->declared_count; i++)
		if (strcmp(a->declared[i], path) == 0)
			return true;
	return false;
}

/* A path as it may be shown and stored: the agent may have named a file after a secret. */
static char *shown_path(struct attempt *a, const char *path)
{
	char text[8192];

	(void)snprintf(text, sizeof(text), "%s", path);
	note_redact(a, text, sizeof(text));
	return own_strdup(text);
}

static void refuse(struct intake *in, const char *path, const char *why)
{
	autofree char *shown = shown_path(in->a, path);
	struct index_artifact row = {
		.path = shown, .role = "refused", .declared = is_declared(in->a, path)};
	struct buf out;

	buf_init(&out, 64 * 1024);
	event_encode_artifact(&row, /* media_type= */ NULL, why, &out);
	note_plain(in->a, EVENT_ARTIFACT, buf_text(&out), out.len);
	buf_done(&out);
}

static void tell(struct attempt *a, const char *path, const struct msg_artifact *head,
	uint64_t bytes, bool text)
{
	autofree char *shown = shown_path(a, path);
	struct msg m = {.type = MSG_ROW_ARTIFACT, .value = {bytes}};
	struct index_artifact row = {
		.path = shown, .role = head->role, .bytes = bytes, .declared = head->declared != 0};
	struct msg_artifact sent = *head;
	struct buf out;

	(void)memcpy(row.sha256, head->sha256, 32);
	(void)memcpy(row.raw_sha256, head->raw_sha256, 32);
	buf_init(&out, 64 * 1024);
	event_encode_artifact(&row, text ? "text/plain" : NULL, /* refused= */ NULL, &out);
	note_plain(a, EVENT_ARTIFACT, buf_text(&out), out.len);
	note_flush(a);
	if (a->record_failed) {
		buf_done(&out);
		return;
	}
	a->artifact_bytes += bytes;
	buf_reset(&out);
	sent.path_bytes = (uint32_t)strlen(shown);
	(void)buf_add(&out, &sent, sizeof(sent)); /* both fit */
	(void)buf_add_text(&out, shown);
	m.length = (uint32_t)out.len;
	wire_to_engine(a, &m, out.data);
	buf_done(&out);
}

void collect_tell(
	struct attempt *a, const char *path, const struct msg_artifact *head, uint64_t bytes)
{
	tell(a, path, head, bytes, /* text= */ true);
}

/* Copies one opened file into a blob. 0, or -errno with a sentence. */
static int take_in(struct intake *in, int file, struct msg_artifact *row, uint64_t *ret_bytes,
	bool *ret_text, struct err *err)
{
	struct attempt *a = in->a;
	const uint64_t bytes_max = a->plan.limits.artifact_bytes;
	autoclose int blob = -1;
	struct copy_job job = {a, file, -1};
	struct copy_result result = {0};
	uint64_t raw_bytes;
	int r;

	if (store_blob_open(a->store, &blob, err) < 0)
		return -err->code;
	r = hash_file(file, bytes_max, row->raw_sha256, &raw_bytes);
	if (r < 0)
		return err_set(err, -r, "read it");
	if (a->needle != NULL && needle_secret_count(a->needle) > 0) {
		job.to = blob;
		const struct reader_job read = {.fn = copy_redacted,
			.context = &job,
			.result = &result,
			.result_size = sizeof(result)};

		if (reader_run(&read, READER_WAIT_MS, err) < 0)
			return -err->code;
		for (size_t i = 0; i < needle_secret_count(a->needle); i++)
			a->redactions[i] += result.counts[i];
	} else {
		r = copy_plain(file, blob, bytes_max);
		if (r < 0)
			return err_set(err, -r, "copy it");
	}
	r = hash_file(blob, UINT64_MAX, row->sha256, ret_bytes);
	if (r < 0)
		return err_set(err, -r, "read the copy");
	*ret_text = result.text != 0;
	return store_blob_link(a->store, blob, row->sha256, err);
}

static void handle_file(struct intake *in, int at, const char *name, const char *path)
{
	const struct plan *p = &in->a->plan;
	autoclose int file = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct msg_artifact row = {.declared = is_declared(in->a, path)};
	struct err err = {0};
	struct stat st;
	uint64_t bytes = 0;
	bool text = false;

	if (file < 0 || fstat(file, &st) < 0) {
		refuse(in, path, "it cannot be opened");
	} else if (!S_ISREG(st.st_mode)) {
		refuse(in, path, "it is not a regular file");
	} else if (st.st_nlink != 1) {
		refuse(in, path, "it has more than one name");
	} else if ((uint64_t)st.st_size > p->limits.artifact_bytes) {
		refuse(in, path, "it is larger than one artifact may be");
	} else if (in->files >= p->limits.artifact_files) {
		refuse(in, path, "there are more artifacts than allowed");
	} else if (in->bytes + (uint64_t)st.st_size > p->limits.artifacts_bytes) {
		refuse(in, path, "all artifacts together are larger than allowed");
	} else {
		in->files++;
		in->bytes += (uint64_t)st.st_size;
		(void)snprintf(
			row.role, sizeof(row.role), "%s", row.declared ? "declared" : "undeclared");
		if (take_in(in, file, &row, &bytes, &text, &err) < 0)
			refuse(in, path, err.text);
		else
			tell(in->a, path, &row, bytes, text);
	}
}

static void walk(struct intake *in, int directory, const char *prefix, unsigned depth)
{
	autoclosedir DIR *dir = fdopendir(directory);
	struct dirent *entry;

	if (dir == NULL)
		abort();
	while ((entry = readdir(dir)) != NULL) {
		autofree char *path = NULL;
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++in->entries > ENTRIES_MAX)
			return;
		path = own_printf("%s%s", prefix, entry->d_name);
		if (!str_is_utf8(entry->d_name, strlen(entry->d_name))) {
			refuse(in, path, "its name is not UTF-8");
			continue;
		}
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISDIR(st.st_mode)) {
			int below = openat(dirfd(dir), entry->d_name,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
			autofree char *deeper = own_printf("%s/", path);

			if (below < 0 || depth >= DEPTH_MAX) {
				own_close(&below);
				refuse(in, path, "the directory cannot be opened or lies too deep");
				continue;
			}
			walk(in, below, deeper, depth + 1);
			continue;
		}
		handle_file(in, dirfd(dir), entry->d_name, path);
	}
}

void collect_artifacts(struct attempt *a)
{
	struct intake in = {.a = a};
	int directory;

	if (a->artifacts == NULL)
		return;
	directory =
		openat(a->work_fd, "artifacts", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (directory < 0) {
		note_eventf(
			a, EVENT_LOSS, "{\"what\":\"the artifact directory cannot be opened\"}");
		return;
	}
	walk(&in, directory, "", 0);
	for (size_t i = 0; i < a->declared_count; i++) {
		struct stat st;

		if (fstatat(a->work_fd, "artifacts", &st, 0) == 0) {
			autofree char *path = own_printf("artifacts/%s", a->declared[i]);

			if (strstr(a->declared[i], "..") != NULL || a->declared[i][0] == '/' ||
				fstatat(a->work_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
				refuse(&in, a->declared[i], "it was declared but is not there");
		}
	}
}
