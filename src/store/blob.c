/* SPDX-License-Identifier: Apache-2.0 */
/* Content-addressed files: blobs/sha256/ab/cdef…, 0444.
 *
 * How it works: content goes into a file without a name, and gets its name, its digest, when it is
 * whole and synced; so no half-written blob is ever seen under a name. Linking holds `lock` shared
 * and renews the time of a blob that was there already: gc, which holds `lock` alone, spares what
 * is newer than the oldest living attempt, so a blob cannot go between being linked and being named
 * by an event. */

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/rand.h"
#include "ground/base/str.h"
#include "store/blob.h"
#include "store/dir.h"
#include "store/store.h"

void blob_name(const uint8_t sha256[32], char out[BLOB_NAME_SIZE])
{
	char hex[65];

	str_hex(sha256, 32, hex);
	(void)snprintf(out, BLOB_NAME_SIZE, "blobs/sha256/%.2s/%s", hex, hex + 2);
}

static void temporary(char *out, size_t size)
{
	uint8_t random[8];
	char hex[17];

	rand_bytes(random, sizeof(random));
	str_hex(random, sizeof(random), hex);
	(void)snprintf(out, size, "blobs/.tmp-%s", hex);
}

int store_blob_open(struct store *s, int *ret_fd, struct err *err)
{
	autoclose int fd = -1;
	char name[64];
	int r = store_may_write(s, err);

	if (r < 0)
		return r;
	fd = openat(s->fd, "blobs", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		temporary(name, sizeof(name));
		fd = openat(s->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 && unlinkat(s->fd, name, 0) < 0)
			return err_set(err, errno, "unlink '%s/%s'", s->path, name);
	}
	if (fd < 0)
		return err_set(err, errno, "make a file in '%s/blobs'", s->path);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Gives fd's content a name where there was none: by linking the unnamed file, or, where the file system
 * has no O_TMPFILE, by a copy. -EEXIST when the name is taken. */
static int give_name(struct store *s, int fd, const char *name, struct err *err)
{
	char link[64];
	int r;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, link, s->fd, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno == EEXIST)
		return -EEXIST;
	if (errno != ENOENT && errno != EXDEV)
		return err_set(err, errno, "link '%s'", name);
	temporary(link, sizeof(link));
	r = fileat_copy(fd, s->fd, link, 0444, err);
	if (r == 0 && linkat(s->fd, link, s->fd, name, 0) < 0)
		r = errno == EEXIST ? -EEXIST : err_set(err, errno, "link '%s'", name);
	(void)unlinkat(s->fd, link, 0); /* its content has its name, or failed */
	return r;
}

/* The blob is there: say that it is wanted now. Another user's file cannot be touched, but replaced, and
 * so is what only stands in a blob's place. */
static int renew(struct store *s, int fd, const char *name, struct err *err)
{
	char beside[64];
	struct stat st;
	bool good = fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_size == fd_bytes(fd);
	int r;

	if (good && utimensat(s->fd, name, NULL, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (good && errno != EPERM && errno != EACCES)
		return err_set(err, errno, "renew '%s'", name);
	temporary(beside, sizeof(beside));
	r = fileat_copy(fd, s->fd, beside, 0444, err);
	if (r < 0)
		return r;
	if (renameat(s->fd, beside, s->fd, name) < 0)
		return err_set(err, errno, "replace '%s'", name);
	return 0;
}

int store_blob_link(struct store *s, int fd, const uint8_t sha256[32], struct err *err)
{
	char name[BLOB_NAME_SIZE], bucket[sizeof("blobs/sha256/ab")];
	autoclose int lock = -1;
	int r;

	blob_name(sha256, name);
	(void)snprintf(bucket, sizeof(bucket), "%.15s", name);
	if (fchmod(fd, 0444) < 0 || fsync(fd) < 0)
		return err_set(err, errno, "sync '%s'", name);
	r = store_lock(s, STORE_LOCK_SHARED, &lock, err);
	if (r < 0)
		return r;
	if (!fileat_exists(s->fd, bucket)) {
		r = dirat_make(s->fd, bucket, err);
		if (r < 0)
			return r;
		s->dirty_buckets = true;
	}
	r = give_name(s, fd, name, err);
	if (r == -EEXIST)
		r = renew(s, fd, name, err);
	if (r == 0)
		s->dirty_bucket[sha256[0]] = true;
	return r;
}

int store_blob_put(
	struct store *s, const void *bytes, size_t size, uint8_t ret_sha256[32], struct err *err)
{
	autoclose int fd = -1;
	uint8_t sha256[32];
	int r;

	r = store_blob_open(s, &fd, err);
	if (r == 0)
		r = fd_write(fd, bytes, size, err);
	if (r < 0)
		return err_add_to(r, err, "put a blob");
	(void)crypto_hash_sha256(sha256, bytes, size); /* cannot fail */
	r = store_blob_link(s, fd, sha256, err);
	if (r == 0)
		(void)memcpy(ret_sha256, sha256, sizeof(sha256));
	return r;
}

/* Reads from until its end into to and the hash. */
static int copy_hashed(int from, int to, uint64_t max_bytes, crypto_hash_sha256_state *hash,
	uint64_t *ret_bytes, struct err *err)
{
	char bytes[65536];
	uint64_t done = 0;
	int r;

	for (;;) {
		ssize_t n = pread(from, bytes, sizeof(bytes), (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read a file");
		if (n == 0)
			break;
		done += (uint64_t)n;
		if (done > max_bytes)
			return err_say(err, EFBIG, "a file is larger than %llu bytes",
				(unsigned long long)max_bytes);
		(void)crypto_hash_sha256_update(
			hash, (unsigned char *)bytes, (size_t)n); /* cannot fail */
		r = fd_write(to, bytes, (size_t)n, err);
		if (r < 0)
			return r;
	}
	*ret_bytes = done;
	return 0;
}

int store_blob_copy(struct store *s, int fd, uint64_t max_bytes, uint8_t ret_sha256[32],
	uint64_t *ret_bytes, struct err *err)
{
	crypto_hash_sha256_state hash;
	struct stat before, after;
	autoclose int to = -1;
	uint8_t sha256[32];
	uint64_t bytes;
	int r;

	if (fstat(fd, &before) < 0)
		return err_set(err, errno, "stat a file");
	if (!S_ISREG(before.st_mode))
		return err_say(err, EINVAL, "only a regular file becomes a blob");
	if ((uint64_t)before.st_size > max_bytes)
		return err_say(err, EFBIG, "a file is larger than %llu bytes",
			(unsigned long long)max_bytes);
	r = store_blob_open(s, &to, err);
	if (r < 0)
		return r;
	(void)crypto_hash_sha256_init(&hash); /* cannot fail */
	r = copy_hashed(fd, to, max_bytes, &hash, &bytes, err);
	if (r < 0)
		return err_add_to(r, err, "put a blob");
	if (fstat(fd, &after) < 0)
		return err_set(err, errno, "stat a file");
	if (bytes != (uint64_t)before.st_size || after.st_size != before.st_size)
		return err_say(err, EBUSY, "a file changed its size while it was read");
	(void)crypto_hash_sha256_final(&hash, sha256); /* cannot fail */
	r = store_blob_link(s, to, sha256, err);
	if (r < 0)
		return r;
	(void)memcpy(ret_sha256, sha256, sizeof(sha256));
	*ret_bytes = bytes;
	return 0;
}

int store_blob_get(struct store *s, const uint8_t sha256[32], int *ret_fd, struct err *err)
{
	char name[BLOB_NAME_SIZE];
	int r;

	blob_name(sha256, name);
	r = fileat_open(s->fd, name, O_RDONLY, ret_fd, err);
	return r < 0 ? err_add_to(r, err, "store '%s'", s->path) : 0;
}

int store_sync_directories(struct store *s, struct err *err)
{
	char bucket[sizeof("blobs/sha256/ab")];
	int r;

	for (unsigned i = 0; i < STORE_BUCKETS; i++) {
		if (!s->dirty_bucket[i])
			continue;
		(void)snprintf(bucket, sizeof(bucket), "blobs/sha256/%02x", i & 0xff);
		r = dirat_sync(s->fd, bucket, err);
		if (r < 0)
			return r;
		s->dirty_bucket[i] = false;
	}
	if (s->dirty_buckets) {
		r = dirat_sync(s->fd, "blobs/sha256", err);
		if (r < 0)
			return r;
		s->dirty_buckets = false;
	}
	return 0;
}
