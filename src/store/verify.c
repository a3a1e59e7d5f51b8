/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying a store: the order of checks, and how findings are told.
 *
 * How it works: seals first, because they say what every events file must come to; then each events
 * file, which yields the names of manifests and blobs and the rows that the index must hold; then
 * those. Each check names what it found and goes on; where one kind of damage implies others,
 * only the first is told. Nothing is opened but for reading beneath the store. */

#include "store/verify.h"

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
	digest_set_done(&v->blobs);
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

int verify_hash_file(int dir, const char *name, uint8_t ret[32], unsigned *ret_mode)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	crypto_hash_sha256_state state;
	unsigned char bytes[65536];
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	(void)crypto_hash_sha256_init(&state); /* these three cannot fail */
	for (;;) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		(void)crypto_hash_sha256_update(&state, bytes, (size_t)n);
	}
	(void)crypto_hash_sha256_final(&state, ret);
	*ret_mode = st.st_mode & 07777;
	return 0;
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
	if (s->id[0] == '\0')
		verify_find(&v, "store.id_missing", "id", 0,
			"the store's file 'id' is missing or holds no id");
	r = verify_seals(&v, s->id, err);
	if (r == 0)
		r = verify_events(&v, err);
	if (r == 0)
		r = verify_manifests(&v, err);
	if (r == 0)
		r = verify_runs(&v, err);
	if (r == 0)
		r = verify_blobs(&v, err);
	if (r == 0)
		r = verify_index(&v, err);
	return r < 0 ? err_add_to(r, err, "verify store '%s'", s->path) : v.damning;
}
