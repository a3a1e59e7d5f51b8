/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying a store: the order of checks, and how findings are told.
 *
 * How it works: seals first, because they say what every events file must come to; then each events
 * file, which yields the names of manifests and blobs and the rows that the index must hold; then
 * those. Each check names what it found and goes on; where one kind of damage implies others,
 * only the first is told. What cannot be read is a finding as well, never the end of the round, and a size
 * that is known is looked at before a file is read. Nothing is opened but for reading beneath the store. */

#include "store/verify.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/dir.h"

#define NODES_MAX (1 << 21)
#define DEPTH_MAX 80

void verify_init(struct verify *v, int dir, store_finding_fn *fn, void *context)
{
	*v = (struct verify){.fn = fn, .context = context, .dir = dir};
	json_doc_init(&v->doc, NODES_MAX, DEPTH_MAX);
}

void verify_done(struct verify *v)
{
	free(v->seals);
	free(v->by_attempt);
	free(v->attempts);
	digest_set_done(&v->manifests);
	free(v->blobs);
	row_set_done(&v->rows);
	json_doc_done(&v->doc);
}

__attribute__((format(printf, 3, 0))) static void tell(
	struct verify *v, const struct store_finding *shape, const char *format, va_list args)
{
	struct store_finding finding = *shape;
	char sentence[512];

	(void)vsnprintf(
		sentence, sizeof(sentence), format, args); /* a cut sentence is still a sentence */
	finding.sentence = sentence;
	if (finding.damning)
		v->damning++;
	v->fn(v->context, &finding);
}

void verify_find(struct verify *v, const char *kind, const char *where, uint64_t line,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(v,
		&(struct store_finding){
			.kind = kind, .damning = true, .where = where, .line = line},
		format, args);
	va_end(args);
}

void verify_remark(struct verify *v, const char *kind, const char *where, uint64_t line,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(v, &(struct store_finding){.kind = kind, .where = where, .line = line}, format, args);
	va_end(args);
}

void verify_find_unread(struct verify *v, enum verify_noun noun, const char *where, int r)
{
	static const struct {
		const char *missing, *not_a_file, *unreadable;
	} kinds[] = {
#define KINDS(word) {word ".missing", word ".not_a_file", word ".unreadable"}
		[NOUN_EVENTS] = KINDS("events"),
		[NOUN_SEALS] = KINDS("seals"),
		[NOUN_SEAL] = KINDS("seal"),
		[NOUN_MANIFEST] = KINDS("manifest"),
		[NOUN_RUN] = KINDS("run"),
		[NOUN_RECORD] = KINDS("record"),
		[NOUN_BLOB] = KINDS("blob"),
		[NOUN_ID] = KINDS("id"),
		[NOUN_LOCK] = KINDS("lock"),
#undef KINDS
	};
	static_assert(array_count(kinds) == NOUN_COUNT, "kinds");

	if (r == -ENOENT)
		verify_find(v, kinds[noun].missing, where, 0, "it is not there");
	else if (r == -EINVAL)
		verify_find(v, kinds[noun].not_a_file, where, 0,
			"a link, a directory or something else that is no regular file stands in its place");
	else
		verify_find(
			v, kinds[noun].unreadable, where, 0, "it cannot be read: %s", strerror(-r));
}

char **verify_list(struct verify *v, const char *name)
{
	char **names;
	int r = dirat_list(v->dir, name, &names, /* err= */ NULL);

	if (r == 0)
		return names;
	verify_find(v, "directory.unreadable", name, 0,
		"this directory of the store cannot be listed: %s", strerror(-r));
	return own_alloc(sizeof(*names));
}

/* What is read of a file that grows meanwhile ends behind max. */
static int hash_file(int fd, uint64_t max, uint8_t ret[32])
{
	crypto_hash_sha256_state state;
	unsigned char bytes[65536];
	uint64_t total = 0;

	(void)crypto_hash_sha256_init(&state); /* these three cannot fail */
	while (total <= max) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		total += (uint64_t)n;
		(void)crypto_hash_sha256_update(&state, bytes, (size_t)n);
	}
	(void)crypto_hash_sha256_final(&state, ret);
	return 0;
}

static const char *changed_kind(enum verify_noun noun)
{
	return noun == NOUN_MANIFEST ? "manifest.changed"
	       : noun == NOUN_RUN    ? "run.changed"
				     : "blob.changed";
}

bool verify_file(struct verify *v, const struct verify_file *f, unsigned *ret_mode)
{
	autoclose int fd = -1;
	uint8_t digest[32];
	struct stat st = {0};
	int r = fileat_open(v->dir, f->name, O_RDONLY, &fd, /* err= */ NULL);

	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0 &&
		((uint64_t)st.st_size < f->bytes_min || (uint64_t)st.st_size > f->bytes_max)) {
		verify_find(v, changed_kind(f->noun), f->name, 0,
			"it has %lld bytes, which is not what was recorded", (long long)st.st_size);
		return false;
	}
	if (r == 0)
		r = hash_file(fd, f->bytes_max, digest);
	if (r < 0) {
		verify_find_unread(v, f->noun, f->name, r);
		return false;
	}
	if (memcmp(digest, f->digest, 32) != 0) {
		verify_find(v, changed_kind(f->noun), f->name, 0,
			"its content is not what was recorded");
		return false;
	}
	*ret_mode = st.st_mode & 07777;
	return true;
}

/* The files that hold no record themselves. */
static void check_own_files(struct verify *v, const char *store_id)
{
	autodone(buf_done) struct buf text = {.max = 65536};
	struct stat st;
	int r = fileat_read(v->dir, "id", 64, &text, /* err= */ NULL);

	if (r < 0 && r != -ENOENT && r != -EMSGSIZE)
		verify_find_unread(v, NOUN_ID, "id", r);
	else if (store_id[0] == '\0')
		verify_find(v, "store.id_missing", "id", 0,
			"the store's file 'id' is missing or holds no id");
	if (fstatat(v->dir, "lock", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		verify_find_unread(v, NOUN_LOCK, "lock", -EINVAL);
}

int store_verify(struct store *s, const struct id *only, store_finding_fn *fn, void *context,
	struct err *err)
{
	autodone(verify_done) struct verify v;
	int r = 0;

	verify_init(&v, s->fd, fn, context);
	v.only = only;
	if (s->witness == NULL)
		r = store_witness_load(s, err);
	if (r < 0)
		return r;
	v.w = s->witness;
	check_own_files(&v, s->id);
	verify_seals(&v, s->id);
	verify_events(&v);
	verify_manifests(&v);
	verify_runs(&v);
	verify_blobs(&v);
	r = verify_index(&v, err);
	return r < 0 ? err_add_to(r, err, "verify store '%s'", s->path) : v.damning;
}
