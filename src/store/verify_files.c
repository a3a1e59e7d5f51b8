/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying manifests/, runs/ and blobs/: files that events and seals name by their digest. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/blob.h"
#include "store/dir.h"
#include "store/verify.h"

/* Whether name is 64 hex digits and suffix. */
static bool name_is_digest(const char *name, const char *suffix, uint8_t ret[32])
{
	char hex[65];

	if (strlen(name) != 64 + strlen(suffix) || strcmp(name + 64, suffix) != 0)
		return false;
	(void)memcpy(hex, name, 64);
	hex[64] = '\0';
	return str_unhex(hex, 32, ret) == 0;
}

static void check_named_manifests(struct verify *v)
{
	digest_set_unique(&v->manifests);
	for (size_t i = 0; i < v->manifests.count; i++) {
		char hex[65], name[96];
		unsigned mode;

		str_hex(v->manifests.digests[i], 32, hex);
		(void)snprintf(name, sizeof(name), "manifests/%s.json", hex);
		(void)verify_file(v,
			&(struct verify_file){
				NOUN_MANIFEST, name, v->manifests.digests[i], 1, STORE_FILE_MAX},
			&mode); /* it told what it found */
	}
}

void verify_manifests(struct verify *v)
{
	autodone(strv_done) char **names = NULL;

	check_named_manifests(v);
	if (v->only == NULL)
		names = verify_list(v, "manifests");
	for (char **name = names; name != NULL && *name != NULL; name++) {
		autofree char *where = own_printf("manifests/%s", *name);
		uint8_t digest[32];

		if (!name_is_digest(*name, ".json", digest) ||
			!digest_set_has(&v->manifests, digest))
			verify_remark(v, "manifest.stray", where, 0, "no attempt names this file");
	}
}

void verify_runs(struct verify *v)
{
	for (size_t i = 0; i < v->seal_count; i++) {
		const struct seal_line *line = &v->seals[i].line;
		char name[64];
		unsigned mode;
		bool told = false;

		if (!v->seals[i].is_signed || line->kind == SEAL_GC || !line->has_run ||
			(v->only != NULL && strcmp(v->only->text, line->attempt.text) != 0))
			continue;
		/* seals of one run mostly stand together: the search from here back is short */
		for (size_t j = i; j-- > 0 && !told;)
			told = v->seals[j].is_signed && v->seals[j].line.has_run &&
			       strcmp(v->seals[j].line.run.text, line->run.text) == 0;
		if (told && v->only == NULL)
			continue;
		(void)snprintf(name, sizeof(name), "runs/%s.json", line->run.text);
		(void)verify_file(v,
			&(struct verify_file){NOUN_RUN, name, line->run_sha256, 1, STORE_FILE_MAX},
			&mode); /* it told what it found */
	}
}

static int by_digest(const void *a, const void *b)
{
	return memcmp(
		((const struct named_blob *)a)->digest, ((const struct named_blob *)b)->digest, 32);
}

void verify_name_blob(struct verify *v, const uint8_t digest[32], uint64_t bytes)
{
	struct named_blob *blob;

	if (v->blob_count == v->blob_room) {
		v->blob_room = v->blob_room * 2 + 64;
		v->blobs = reallocarray(v->blobs, v->blob_room, sizeof(*v->blobs));
		if (v->blobs == NULL)
			abort();
	}
	blob = &v->blobs[v->blob_count++];
	(void)memcpy(blob->digest, digest, 32);
	blob->bytes = bytes;
}

static bool is_named(const struct verify *v, const uint8_t digest[32])
{
	struct named_blob wanted = {0};

	(void)memcpy(wanted.digest, digest, 32);
	return v->blob_count > 0 &&
	       bsearch(&wanted, v->blobs, v->blob_count, sizeof(wanted), by_digest) != NULL;
}

static void check_named_blobs(struct verify *v)
{
	if (v->blob_count > 0)
		qsort(v->blobs, v->blob_count, sizeof(*v->blobs), by_digest);
	for (size_t i = 0; i < v->blob_count; i++) {
		const struct named_blob *blob = &v->blobs[i];
		bool is_known = blob->bytes != UINT64_MAX;
		char name[BLOB_NAME_SIZE];
		unsigned mode;

		if (i > 0 && by_digest(blob, blob - 1) == 0)
			continue;
		blob_name(blob->digest, name);
		if (verify_file(v,
			    &(struct verify_file){NOUN_BLOB, name, blob->digest,
				    is_known ? blob->bytes : 0, blob->bytes},
			    &mode) &&
			mode != 0444)
			verify_find(
				v, "blob.mode", name, 0, "its mode is %04o, blobs are 0444", mode);
	}
}

static void check_bucket(struct verify *v, const char *bucket)
{
	autofree char *path = own_printf("blobs/sha256/%s", bucket);
	autodone(strv_done) char **names = NULL;

	if (strlen(bucket) != 2) {
		verify_remark(v, "blob.stray", path, 0, "this is not a directory of blobs");
		return;
	}
	names = verify_list(v, path);
	for (char **name = names; *name != NULL; name++) {
		autofree char *hex = own_printf("%s%s", bucket, *name);
		autofree char *where = own_printf("%s/%s", path, *name);
		uint8_t digest[32];

		if (!name_is_digest(hex, "", digest) || !is_named(v, digest))
			verify_remark(v, "blob.stray", where, 0,
				"no event names this file; gc removes it");
	}
}

void verify_blobs(struct verify *v)
{
	autodone(strv_done) char **buckets = NULL;

	check_named_blobs(v);
	if (v->only == NULL)
		buckets = verify_list(v, "blobs/sha256");
	for (char **bucket = buckets; bucket != NULL && *bucket != NULL; bucket++)
		check_bucket(v, *bucket);
}
