/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying manifests/, runs/ and blobs/: files that events and seals name by their digest. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
		uint8_t digest[32];
		char hex[65], name[96];
		unsigned mode;
		int r;

		str_hex(v->manifests.digests[i], 32, hex);
		(void)snprintf(name, sizeof(name), "manifests/%s.json", hex);
		r = verify_hash_file(v->dir, name, digest, &mode);
		if (r < 0)
			verify_find(v, "manifest.missing", name, 0,
				"an attempt's manifest cannot be read: %s", strerror(-r));
		else if (memcmp(digest, v->manifests.digests[i], 32) != 0)
			verify_find(v, "manifest.changed", name, 0,
				"its content is not what its name says");
	}
}

int verify_manifests(struct verify *v, struct err *err)
{
	autodone(strv_done) char **names = NULL;
	int r = 0;

	check_named_manifests(v);
	if (v->only == NULL)
		r = dirat_list(v->dir, "manifests", &names, err);
	for (char **name = names; name != NULL && *name != NULL; name++) {
		autofree char *where = own_printf("manifests/%s", *name);
		uint8_t digest[32];

		if (!name_is_digest(*name, ".json", digest) ||
			!digest_set_has(&v->manifests, digest))
			verify_remark(v, "manifest.stray", where, 0, "no attempt names this file");
	}
	return r;
}

int verify_runs(struct verify *v, struct err *err)
{
	(void)err;
	for (size_t i = 0; i < v->seal_count; i++) {
		const struct seal_line *line = &v->seals[i].line;
		uint8_t digest[32];
		char name[64];
		unsigned mode;
		bool told = false;
		int r;

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
		r = verify_hash_file(v->dir, name, digest, &mode);
		if (r < 0)
			verify_find(v, "run.missing", name, 0, "the run's file cannot be read: %s",
				strerror(-r));
		else if (memcmp(digest, line->run_sha256, 32) != 0)
			verify_find(
				v, "run.changed", name, 0, "its content is not what was sealed");
	}
	return 0;
}

static void check_named_blobs(struct verify *v)
{
	digest_set_unique(&v->blobs);
	for (size_t i = 0; i < v->blobs.count; i++) {
		char name[BLOB_NAME_SIZE];
		uint8_t digest[32];
		unsigned mode;
		int r;

		blob_name(v->blobs.digests[i], name);
		r = verify_hash_file(v->dir, name, digest, &mode);
		if (r < 0)
			verify_find(v, "blob.missing", name, 0,
				"an event names this blob, and it cannot be read: %s",
				strerror(-r));
		else if (memcmp(digest, v->blobs.digests[i], 32) != 0)
			verify_find(v, "blob.changed", name, 0,
				"its content is not what its name says");
		else if (mode != 0444)
			verify_find(
				v, "blob.mode", name, 0, "its mode is %04o, blobs are 0444", mode);
	}
}

static int check_bucket(struct verify *v, const char *bucket, struct err *err)
{
	autofree char *path = own_printf("blobs/sha256/%s", bucket);
	autodone(strv_done) char **names = NULL;
	int r;

	if (strlen(bucket) != 2) {
		verify_remark(v, "blob.stray", path, 0, "this is not a directory of blobs");
		return 0;
	}
	r = dirat_list(v->dir, path, &names, err);
	if (r < 0)
		return r;
	for (char **name = names; *name != NULL; name++) {
		autofree char *hex = own_printf("%s%s", bucket, *name);
		autofree char *where = own_printf("%s/%s", path, *name);
		uint8_t digest[32];

		if (!name_is_digest(hex, "", digest) || !digest_set_has(&v->blobs, digest))
			verify_remark(v, "blob.stray", where, 0,
				"no event names this file; gc removes it");
	}
	return 0;
}

int verify_blobs(struct verify *v, struct err *err)
{
	autodone(strv_done) char **buckets = NULL;
	int r = 0;

	check_named_blobs(v);
	if (v->only == NULL)
		r = dirat_list(v->dir, "blobs/sha256", &buckets, err);
	for (char **bucket = buckets; r == 0 && bucket != NULL && *bucket != NULL; bucket++)
		r = check_bucket(v, *bucket, err);
	return r;
}
