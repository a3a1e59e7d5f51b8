/* SPDX-License-Identifier: Apache-2.0 */
/* Removing an attempt: the tombstone first, then what it stands for. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/blob.h"
#include "store/dir.h"
#include "store/lines.h"
#include "store/named.h"
#include "store/seal.h"
#include "store/store.h"
#include "store/tree.h"

/* Opens and locks the events of an attempt that does not live. -EBUSY, -ENOENT. */
static int hold(struct store *s, const struct id *attempt, int *ret_fd, struct err *err)
{
	char name[EVENTS_NAME_SIZE];
	autoclose int fd = -1;
	int r;

	events_name(attempt, name);
	r = fileat_open(s->fd, name, O_RDONLY, &fd, err);
	if (r < 0)
		return r;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return err_say(err, EBUSY, "attempt %s still runs: cancel it first",
				attempt->text);
		return err_set(err, errno, "lock '%s/%s'", s->path, name);
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

/* What the tombstone says of the events: their head as far as their frames can be read. */
static void measure(int fd, const struct id *attempt, struct seal_line *ret)
{
	autodone(line_reader_done) struct line_reader reader;
	struct event_line parsed;
	struct str line;

	line_reader_init(&reader, fd);
	while (line_reader_next(&reader, &line) == 1 && event_line_parse(line, &parsed) == 0) {
		if (ret->count == 0) {
			ret->has_manifest = data_digest(parsed.data, "manifest", ret->manifest);
			(void)data_id(parsed.data, "run",
				&ret->run); /* named only with its file's digest */
			chain_start(attempt, ret->manifest, ret->head);
		}
		chain_step(ret->head, parsed.hashed.p, parsed.hashed.n);
		ret->count++;
		ret->bytes = reader.offset;
	}
}

static int bury(struct store *s, struct seal_key *k, const struct id *attempt, int fd,
	const char *why, struct err *err)
{
	struct seal_line tombstone = {.kind = SEAL_TOMBSTONE, .attempt = *attempt};
	autodone(seal_list_done) struct seal_list seals = {0};
	const struct seal_line *seal;
	int r = seal_list_read(s->fd, &seals, err);

	if (r < 0)
		return r;
	if (seal_list_find(&seals, SEAL_TOMBSTONE, attempt) != NULL)
		return 0; /* a removal that was cut short goes on */
	seal = seal_list_find(&seals, SEAL_ATTEMPT, attempt);
	measure(fd, attempt, &tombstone);
	if (seal != NULL && seal->has_run) {
		tombstone.has_run = true;
		tombstone.run = seal->run;
		(void)memcpy(tombstone.run_sha256, seal->run_sha256, 32);
	}
	(void)snprintf(
		tombstone.why, sizeof(tombstone.why), "%s", why[0] != '\0' ? why : "removed");
	return seal_append(s, k, &tombstone, err);
}

static int remove_file(struct store *s, const char *name, uint64_t *bytes, struct err *err)
{
	struct stat st;

	if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_set(err, errno, "stat '%s/%s'", s->path, name);
	if (unlinkat(s->fd, name, 0) < 0)
		return err_set(err, errno, "remove '%s/%s'", s->path, name);
	*bytes += (uint64_t)st.st_size;
	return 0;
}

/* Blobs and the manifest that only this attempt named. What a living attempt renewed stays: it may be
 * about to name it. */
static int remove_named(struct store *s, struct index *x, const struct id *attempt, uint64_t *bytes,
	struct err *err)
{
	autodone(digest_set_done) struct digest_set mine = {0}, others = {0};
	struct wall living;
	int r;

	r = named_add_events(s, attempt, &mine, err);
	if (r == 0)
		r = named_add_all(s, x, attempt, &others, err);
	if (r == 0)
		r = oldest_living(s, attempt, &living, err);
	digest_set_unique(&mine);
	for (size_t i = 0; r == 0 && i < mine.count; i++) {
		char blob[BLOB_NAME_SIZE], manifest[96], hex[65];
		struct stat st;

		if (digest_set_has(&others, mine.digests[i]))
			continue;
		str_hex(mine.digests[i], 32, hex);
		(void)snprintf(manifest, sizeof(manifest), "manifests/%s.json", hex);
		r = remove_file(s, manifest, bytes, err);
		blob_name(mine.digests[i], blob);
		if (r == 0 && living.us > 0 &&
			fstatat(s->fd, blob, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			st.st_mtim.tv_sec * INT64_C(1000000) >= living.us)
			continue; /* gc takes it later */
		if (r == 0)
			r = remove_file(s, blob, bytes, err);
	}
	return r;
}

static int remove_torn(struct store *s, const struct id *attempt, uint64_t *bytes, struct err *err)
{
	autodone(strv_done) char **names = NULL;
	int r = dirat_list(s->fd, "events", &names, err);

	for (char **name = names; r == 0 && *name != NULL; name++) {
		autofree char *path = own_printf("events/%s", *name);

		if (str_starts(*name, attempt->text) && str_ends(*name, ".torn"))
			r = remove_file(s, path, bytes, err);
	}
	return r;
}

static int remove_all(struct store *s, struct index *x, const struct id *attempt, uint64_t *bytes,
	struct err *err)
{
	static const char *const trees[] = {"trials", "work"};
	char name[EVENTS_NAME_SIZE];
	int r = remove_named(s, x, attempt, bytes, err);

	for (size_t i = 0; r == 0 && i < array_count(trees); i++) {
		(void)snprintf(name, sizeof(name), "%s/%s", trees[i], attempt->text);
		r = treeat_remove(s->fd, name, bytes, err);
	}
	if (r == 0)
		r = remove_torn(s, attempt, bytes, err);
	/* the events go last: while they are there, the removal can be finished */
	events_name(attempt, name);
	if (r == 0)
		r = remove_file(s, name, bytes, err);
	if (r == 0)
		r = dirat_sync(s->fd, "events", err);
	return r;
}

static int note_removed(struct store *s, struct index *x, const struct id *attempt, struct err *err)
{
	autodone(seal_list_done) struct seal_list seals = {0};
	const struct seal_line *tombstone;
	int r = seal_list_read(s->fd, &seals, err);

	if (r < 0)
		return r;
	tombstone = seal_list_find(&seals, SEAL_TOMBSTONE, attempt);
	r = tombstone != NULL ? index_put_removed(x, attempt, tombstone->at, tombstone->why, err)
			      : 0;
	return r == -EEXIST ? 0 : r; /* a removal that was cut short had come this far */
}

int store_remove(struct store *s, struct index *x, struct seal_key *k,
	const struct store_removal *what, uint64_t *ret_bytes, struct err *err)
{
	const struct id *attempt = what->attempt;
	autoclose int lock = -1, fd = -1;
	uint64_t bytes = 0;
	int r;

	r = store_lock(s, STORE_LOCK_EXCLUSIVE, &lock, err);
	if (r == 0)
		r = hold(s, attempt, &fd, err);
	if (r == 0)
		r = bury(s, k, attempt, fd, what->why, err);
	if (r == 0)
		r = remove_all(s, x, attempt, &bytes, err);
	if (r == 0 && x != NULL)
		r = note_removed(s, x, attempt, err);
	if (r < 0)
		return err_add_to(r, err, "remove attempt %s", attempt->text);
	*ret_bytes = bytes;
	return 0;
}
