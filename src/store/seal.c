/* SPDX-License-Identifier: Apache-2.0 */
/* Appending to seals.jsonl.
 *
 * How it works: under the lock of the file, its last line gives the number and the digest that the new
 * line goes on from. If the note beside the key knows of a later line, or of another one under
 * that number, somebody took lines away: the new line says so, for good. The line is written and
 * synced first, the note moves after: a crash between leaves a note that is behind, which is harmless. */

#include "store/seal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"
#include "store/lines.h"
#include "store/store.h"

const char *const seal_kind_names[] = {
	[SEAL_ATTEMPT] = "seal", [SEAL_TOMBSTONE] = "tombstone", [SEAL_GC] = "gc"};
static_assert(array_count(seal_kind_names) == SEAL_KIND_COUNT, "names");

void seal_genesis(const char *store_id, uint8_t ret[32])
{
	char text[64];
	int n = snprintf(text, sizeof(text), "hemra seals 1\n%.32s", store_id);

	(void)crypto_hash_sha256(ret, (unsigned char *)text, (size_t)n); /* cannot fail */
}

static int open_seals(struct store *s, int *ret_fd, struct err *err)
{
	autoclose int fd = -1;
	int r = store_may_write(s, err);

	if (r == 0)
		r = fileat_open(s->fd, "seals.jsonl", O_RDWR | O_CREAT, &fd, err);
	if (r < 0)
		return err_add_to(r, err, "store '%s'", s->path);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_set(err, errno, "lock '%s/seals.jsonl'", s->path);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* What a crash left behind the last newline was never acknowledged; it is kept in a file beside. */
static int cut_torn(struct store *s, int fd, const char *torn, size_t torn_bytes, uint64_t offset,
	struct err *err)
{
	char name[64];
	int r;

	(void)snprintf(name, sizeof(name), "seals.jsonl.%llu.torn", (unsigned long long)offset);
	r = fileat_put(s->fd, name, torn, torn_bytes, 0600, err);
	if (r < 0)
		return r;
	if (ftruncate(fd, (off_t)offset) < 0)
		return err_set(err, errno, "cut a torn line off '%s/seals.jsonl'", s->path);
	return 0;
}

/* The number with which a line begins: `{"n":12,`. */
static bool number_of(const char *line, uint64_t *ret)
{
	static const char begin[] = "{\"n\":";
	autofree char *digits = NULL;
	size_t n;

	if (!str_starts(line, begin))
		return false;
	line += sizeof(begin) - 1;
	n = strspn(line, "0123456789");
	digits = own_strndup(line, n);
	return line[n] == ',' && str_parse_u64(digits, INT64_MAX, ret) == 0;
}

/* Number and digest of the last whole line (0 and the genesis when there is none), and where it ends. */
static int read_last(struct store *s, int fd, uint64_t *ret_n, uint8_t ret_digest[32],
	uint64_t *ret_end, struct err *err)
{
	char tail[2 * SEAL_LINE_MAX], *end, *start;
	uint64_t from, n;
	struct stat st;
	ssize_t size;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat '%s/seals.jsonl'", s->path);
	from = (uint64_t)st.st_size > sizeof(tail) ? (uint64_t)st.st_size - sizeof(tail) : 0;
	size = pread(fd, tail, sizeof(tail), (off_t)from);
	if (size < 0)
		return err_set(err, errno, "read '%s/seals.jsonl'", s->path);
	end = memrchr(tail, '\n', (size_t)size);
	if (end == NULL && from > 0)
		return err_say(err, EBADMSG, "'%s/seals.jsonl' does not end with a seal", s->path);
	*ret_end = end != NULL ? from + (uint64_t)(end - tail) + 1 : 0;
	if (*ret_end < (uint64_t)st.st_size) {
		int r = cut_torn(s, fd, end != NULL ? end + 1 : tail,
			(size_t)((uint64_t)st.st_size - *ret_end), *ret_end, err);

		if (r < 0)
			return r;
	}
	if (end == NULL) {
		*ret_n = 0;
		seal_genesis(s->id, ret_digest);
		return 0;
	}
	start = end > tail ? memrchr(tail, '\n', (size_t)(end - tail)) : NULL;
	if (start == NULL && from > 0)
		return err_say(
			err, EBADMSG, "the last line of '%s/seals.jsonl' is too long", s->path);
	start = start != NULL ? start + 1 : tail;
	*end = '\0';
	if (!number_of(start, &n))
		return err_say(
			err, EBADMSG, "the last line of '%s/seals.jsonl' is not a seal", s->path);
	(void)crypto_hash_sha256(
		ret_digest, (unsigned char *)start, (size_t)(end - start)); /* cannot fail */
	*ret_n = n;
	return 0;
}

static void put_hex(struct buf *out, const char *key, const uint8_t *bytes, size_t size)
{
	char hex[129];

	str_hex(bytes, size, hex);
	(void)buf_addf(out, ",\"%s\":\"%s\"", key, hex); /* failure sticks in out */
}

/* The bytes that are signed: the line up to `,"signature":`. */
static void encode(const struct seal_line *line, struct buf *out)
{
	char at[WALL_TEXT_SIZE];
	struct json_writer w;

	wall_format(line->at, at);
	(void)buf_addf(out, "{\"n\":%llu,\"kind\":\"%s\",\"store\":\"%s\"",
		(unsigned long long)line->n, seal_kind_names[line->kind],
		line->store); /* failure sticks in out, here and below */
	if (line->kind != SEAL_GC) {
		(void)buf_addf(out, ",\"attempt\":\"%s\"", line->attempt.text);
		put_hex(out, "head", line->head, 32);
	}
	(void)buf_addf(out, ",\"count\":%llu,\"bytes\":%llu", (unsigned long long)line->count,
		(unsigned long long)line->bytes);
	if (line->has_manifest)
		put_hex(out, "manifest", line->manifest, 32);
	if (line->has_run) {
		(void)buf_addf(out, ",\"run\":\"%s\"", line->run.text);
		put_hex(out, "run_sha256", line->run_sha256, 32);
	}
	(void)buf_addf(out, ",\"at\":\"%s\",\"local\":%s", at, line->local ? "true" : "false");
	if (line->why[0] != '\0') {
		(void)buf_add_text(out, ",\"why\":");
		json_writer_init(&w, out);
		json_put_string(&w, line->why);
	}
	if (line->lost_n > 0) {
		(void)buf_addf(out, ",\"lost_n\":%llu", (unsigned long long)line->lost_n);
		put_hex(out, "lost", line->lost, 32);
	}
	put_hex(out, "previous", line->previous, 32);
	put_hex(out, "key", line->key, 32);
}

static int sign(struct seal_key *k, struct seal_line *line, struct buf *out, struct err *err)
{
	encode(line, out);
	if (buf_status(out) < 0)
		return err_set(err, -buf_status(out), "put a seal together");
	(void)crypto_sign_detached(line->signature, NULL, (unsigned char *)out->data, out->len,
		k->secret_key); /* cannot fail */
	put_hex(out, "signature", line->signature, 64);
	(void)buf_add_text(out, "}"); /* asked just below */
	if (buf_status(out) < 0)
		return err_set(err, -buf_status(out), "put a seal together");
	(void)crypto_hash_sha256(
		line->digest, (unsigned char *)out->data, out->len); /* cannot fail */
	return 0;
}

static int write_line(struct store *s, int fd, struct buf *text, uint64_t end, struct err *err)
{
	int r;

	(void)buf_add_char(text, '\n'); /* asked just below */
	if (buf_status(text) < 0)
		return err_set(err, -buf_status(text), "put a seal together");
	if (lseek(fd, (off_t)end, SEEK_SET) < 0)
		return err_set(err, errno, "seek in '%s/seals.jsonl'", s->path);
	r = fd_write(fd, text->data, text->len, err);
	if (r == 0 && fdatasync(fd) < 0)
		r = err_set(err, errno, "sync");
	if (r < 0) {
		/* what is there of it would only be found torn later */
		if (ftruncate(fd, (off_t)end) < 0)
			return err_add_to(
				r, err, "append to '%s/seals.jsonl', which now ends torn", s->path);
		return err_add_to(r, err, "append to '%s/seals.jsonl'", s->path);
	}
	return end == 0 ? dirat_sync(s->fd, ".", err) : 0;
}

int seal_append(struct store *s, struct seal_key *k, struct seal_line *line, struct err *err)
{
	autodone(buf_done) struct buf text = {.max = SEAL_LINE_MAX};
	struct seal_note note;
	autoclose int fd = -1;
	uint64_t last, end;
	int r;

	if (s->id[0] == '\0')
		return err_say(err, EIO,
			"store '%s' has lost its file 'id': put back the value of \"store\" in seals.jsonl",
			s->path);
	r = open_seals(s, &fd, err);
	if (r == 0)
		r = read_last(s, fd, &last, line->previous, &end, err);
	if (r == 0)
		r = seal_note_read(k->directory, s->id, &note, err);
	if (r != 0)
		return r;
	line->n = last + 1;
	(void)memcpy(line->store, s->id, STORE_ID_SIZE);
	(void)memcpy(line->key, k->public_key, 32);
	line->at = wall_now();
	line->lost_n = 0;
	if (note.present && (note.n > last || (note.n == last && memcmp(note.digest, line->previous,
									 32) != 0))) {
		line->lost_n = note.n;
		(void)memcpy(line->lost, note.digest, 32);
	}
	r = sign(k, line, &text, err);
	if (r == 0)
		r = write_line(s, fd, &text, end, err);
	if (r < 0)
		return r;
	note = (struct seal_note){.n = line->n};
	(void)memcpy(note.digest, line->digest, 32);
	return seal_note_write(k->directory, s->id, &note, err);
}

/* Manifest and run as the first event names them, and the digest of the run's file. */
static int fill_names(struct store *s, struct seal_line *line, struct err *err)
{
	autodone(line_reader_done) struct line_reader reader;
	autodone(buf_done) struct buf run = {.max = STORE_FILE_MAX + 16384};
	char name[EVENTS_NAME_SIZE];
	struct event_line parsed;
	autoclose int fd = -1;
	struct str text;
	int r;

	line_reader_init(&reader, -1);
	events_name(&line->attempt, name);
	r = fileat_open(s->fd, name, O_RDONLY, &fd, err);
	if (r < 0)
		return r;
	reader.fd = fd;
	if (line_reader_next(&reader, &text) != 1 || event_line_parse(text, &parsed) < 0)
		return err_say(err, EBADMSG, "'%s/%s' has no first event", s->path, name);
	line->has_manifest = data_digest(parsed.data, "manifest", line->manifest);
	if (!data_id(parsed.data, "run", &line->run))
		return 0;
	(void)snprintf(name, sizeof(name), "runs/%s.json", line->run.text);
	r = fileat_read(s->fd, name, STORE_FILE_MAX, &run, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	(void)crypto_hash_sha256(
		line->run_sha256, (const unsigned char *)buf_text(&run), run.len); /* cannot fail */
	line->has_run = true;
	return 0;
}

int store_seal(struct store *s, struct seal_key *k, const struct id *attempt,
	const struct event_head *head, bool local, struct err *err)
{
	struct seal_line line = {.kind = SEAL_ATTEMPT,
		.attempt = *attempt,
		.count = head->count,
		.bytes = head->bytes,
		.local = local};
	int r;

	(void)memcpy(line.head, head->hash, 32);
	r = fill_names(s, &line, err);
	if (r == 0)
		r = seal_append(s, k, &line, err);
	return r < 0 ? err_add_to(r, err, "seal attempt %s", attempt->text) : 0;
}

int store_is_sealed(
	struct store *s, const struct id *attempt, const struct event_head *head, struct err *err)
{
	autodone(seal_list_done) struct seal_list seals = {0};
	const struct seal_line *line;
	int r = seal_list_read(s->fd, &seals, err);

	if (r < 0)
		return err_add_to(r, err, "look for the seal of attempt %s", attempt->text);
	line = seal_list_find(&seals, SEAL_ATTEMPT, attempt);
	return line != NULL && line->count == head->count &&
	       memcmp(line->head, head->hash, sizeof(line->head)) == 0;
}
