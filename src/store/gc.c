/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting what nothing names any more. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/dir.h"
#include "store/named.h"
#include "store/seal.h"
#include "store/store.h"
#include "store/tree.h"

static int64_t modified_us(const struct stat *st)
{
	return st->st_mtim.tv_sec * INT64_C(1000000) + st->st_mtim.tv_nsec / 1000;
}

/* One file in a bucket of blobs: goes unless it is named, or may be about to be. */
static int collect_blob(struct store *s, const char *path, const char *hex,
	struct digest_set *named, int64_t living_us, struct store_gc *gc)
{
	uint8_t digest[32];
	struct stat st;

	if (str_unhex(hex, 32, digest) == 0 && digest_set_has(named, digest))
		return 0;
	if (fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
		return 0;
	if (living_us > 0 && modified_us(&st) >= living_us)
		return 0;
	if (!gc->dry_run && unlinkat(s->fd, path, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	gc->blobs++;
	gc->bytes += (uint64_t)st.st_size;
	return 0;
}

static int collect_bucket(struct store *s, const char *bucket, struct digest_set *named,
	int64_t living_us, struct store_gc *gc, struct err *err)
{
	autofree char *directory = own_printf("blobs/sha256/%s", bucket);
	autodone(strv_done) char **names = NULL;
	int r = dirat_list(s->fd, directory, &names, err);

	for (char **name = names; r == 0 && *name != NULL; name++) {
		autofree char *path = own_printf("%s/%s", directory, *name);
		autofree char *hex = own_printf("%s%s", bucket, *name);

		r = collect_blob(s, path, hex, named, living_us, gc);
		if (r < 0)
			return err_set(err, -r, "remove '%s/%s'", s->path, path);
	}
	return r;
}

static int collect_blobs(struct store *s, struct index *x, struct store_gc *gc, struct err *err)
{
	autodone(digest_set_done) struct digest_set named = {0};
	autodone(strv_done) char **buckets = NULL, **temporary = NULL;
	struct wall living;
	int r;

	r = oldest_living(s, /* but= */ NULL, &living, err);
	if (r == 0)
		r = named_add_all(s, x, /* but= */ NULL, &named, err);
	if (r == 0)
		r = dirat_list(s->fd, "blobs/sha256", &buckets, err);
	for (char **bucket = buckets; r == 0 && *bucket != NULL; bucket++)
		r = collect_bucket(s, *bucket, &named, living.us, gc, err);
	if (r == 0)
		r = dirat_list(s->fd, "blobs", &temporary, err);
	for (char **name = temporary; r == 0 && *name != NULL; name++) {
		autofree char *path = own_printf("blobs/%s", *name);

		/* left by a process that died while it linked; none links now, as we hold the lock */
		if (str_starts(*name, ".tmp-") && !gc->dry_run && unlinkat(s->fd, path, 0) < 0 &&
			errno != ENOENT)
			r = err_set(err, errno, "remove '%s/%s'", s->path, path);
	}
	return r;
}

struct kept {
	char *name; /* borrowed */
	uint64_t bytes;
	int64_t modified;
};

static int newest_first(const void *a, const void *b)
{
	int64_t x = ((const struct kept *)a)->modified, y = ((const struct kept *)b)->modified;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The work directories of attempts that do not live. */
static int list_kept(
	struct store *s, char **names, struct kept *list, size_t *ret_count, struct err *err)
{
	size_t count = 0;

	for (char **name = names; *name != NULL; name++) {
		autofree char *path = own_printf("work/%s", *name);
		struct id attempt = {0};
		struct stat st;
		int r;

		if (!id_is_valid(*name))
			continue;
		(void)memcpy(attempt.text, *name, ID_LENGTH);
		if (events_are_held(s->fd, &attempt) ||
			fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		list[count] = (struct kept){.name = *name, .modified = modified_us(&st)};
		r = treeat_size(s->fd, path, &list[count].bytes, err);
		if (r < 0)
			return r;
		count++;
	}
	if (count > 0)
		qsort(list, count, sizeof(*list), newest_first);
	*ret_count = count;
	return 0;
}

static int collect_work(struct store *s, struct store_gc *gc, struct err *err)
{
	int64_t oldest =
		gc->older_than_ms > 0 ? wall_add_ms(wall_now(), -gc->older_than_ms).us : INT64_MIN;
	autodone(strv_done) char **names = NULL;
	autofree struct kept *list = NULL;
	uint64_t total = 0, freed = 0;
	size_t count;
	int r = dirat_list(s->fd, "work", &names, err);

	if (r < 0)
		return r;
	list = own_alloc((strv_count(names) + 1) * sizeof(*list));
	r = list_kept(s, names, list, &count, err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		autofree char *path = own_printf("work/%s", list[i].name);

		total += list[i].bytes;
		if (total <= gc->keep_work_bytes && list[i].modified >= oldest)
			continue;
		if (!gc->dry_run)
			r = treeat_remove(s->fd, path, &freed, err);
		gc->work_directories++;
		gc->bytes += list[i].bytes;
	}
	return r;
}

static int collect_sockets(struct store *s, struct store_gc *gc, struct err *err)
{
	autodone(strv_done) char **names = NULL;
	int r = dirat_list(s->fd, "live", &names, err);

	for (char **name = names; r == 0 && *name != NULL; name++) {
		autofree char *path = own_printf("live/%s", *name);
		struct id attempt = {0};

		if (strlen(*name) != ID_LENGTH + 5 || !str_ends(*name, ".sock"))
			continue;
		(void)memcpy(attempt.text, *name, ID_LENGTH);
		if (!id_is_valid(attempt.text) || events_are_held(s->fd, &attempt))
			continue;
		if (!gc->dry_run && unlinkat(s->fd, path, 0) < 0 && errno != ENOENT)
			r = err_set(err, errno, "remove '%s/%s'", s->path, path);
		else
			gc->sockets++;
	}
	return r;
}

/* The line says before what will be gone after: it comes from a first, dry round. */
static int announce(struct store *s, struct seal_key *k, const struct store_gc *gc, struct err *err)
{
	struct seal_line line = {.kind = SEAL_GC, .count = gc->blobs, .bytes = gc->bytes};

	(void)snprintf(line.why, sizeof(line.why), "%llu blobs, %llu work directories",
		(unsigned long long)gc->blobs, (unsigned long long)gc->work_directories);
	return seal_append(s, k, &line, err);
}

static int collect(struct store *s, struct index *x, struct store_gc *gc, struct err *err)
{
	int r = collect_blobs(s, x, gc, err);

	if (r == 0)
		r = collect_work(s, gc, err);
	return r == 0 ? collect_sockets(s, gc, err) : r;
}

int store_gc(
	struct store *s, struct index *x, struct seal_key *k, struct store_gc *gc, struct err *err)
{
	struct store_gc round = {.older_than_ms = gc->older_than_ms,
		.keep_work_bytes = gc->keep_work_bytes,
		.dry_run = true};
	autoclose int lock = -1;
	int r;

	r = store_lock(s, STORE_LOCK_EXCLUSIVE, &lock, err);
	if (r == 0)
		r = collect(s, x, &round, err);
	if (r == 0 && !gc->dry_run) {
		if (round.blobs + round.work_directories > 0)
			r = announce(s, k, &round, err);
		round = (struct store_gc){
			.older_than_ms = gc->older_than_ms, .keep_work_bytes = gc->keep_work_bytes};
		if (r == 0)
			r = collect(s, x, &round, err);
	}
	if (r < 0)
		return err_add_to(r, err, "collect garbage in '%s'", s->path);
	gc->blobs = round.blobs;
	gc->work_directories = round.work_directories;
	gc->sockets = round.sockets;
	gc->bytes = round.bytes;
	return 0;
}
