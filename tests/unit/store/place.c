/* SPDX-License-Identifier: Apache-2.0 */
/* A directory, a key and a store for each test, and hands for tampering. */

#include "tests.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

struct store *rig_store;
struct seal_key *rig_key;
struct id rig_run, rig_attempts[3];
uint8_t rig_blobs[3][32];
char rig_manifests[3][65];

static char directory[64];
static struct id_source source;

const char *place(void)
{
	return directory;
}

char *inside(const char *name)
{
	return own_printf("%s/store/%s", directory, name);
}

struct id new_id(void)
{
	return id_new(&source, wall_now());
}

int place_make(void **state)
{
	autofree char *path = NULL, *keys = NULL;

	(void)state;
	/* in memory where there is such a place: most of the time here is spent in syncs */
	(void)strcpy(directory, "/dev/shm/unit-store-XXXXXX");
	if (mkdtemp(directory) == NULL) {
		(void)strcpy(directory, "/tmp/unit-store-XXXXXX");
		if (mkdtemp(directory) == NULL)
			return -1;
	}
	keys = own_printf("%s/state", directory);
	path = own_printf("%s/store", directory);
	if (setenv("XDG_STATE_HOME", keys, 1) < 0)
		return -1;
	if (store_open(path, STORE_CREATE, &rig_store, NULL) < 0)
		return -1;
	return seal_key_open(&rig_key, NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw; /* everything goes */
	return remove(path);
}

int place_remove(void **state)
{
	(void)state;
	store_close(rig_store);
	seal_key_close(rig_key);
	rig_store = NULL;
	rig_key = NULL;
	return nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void slurp(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	buf_reset(out);
	do {
		char *room = buf_room(out, 65536);

		assert_non_null(room);
		n = fread(room, 1, 65536, f);
		buf_grow(out, n);
	} while (n > 0);
	assert_int_equal(fclose(f), 0);
}

void spill(const char *path, const void *bytes, size_t size)
{
	struct stat st;
	bool there = stat(path, &st) == 0;
	FILE *f;

	if (there)
		assert_int_equal(chmod(path, 0600), 0);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	if (there)
		assert_int_equal(chmod(path, st.st_mode & 07777), 0);
}

void lines_read(const char *path, struct lines *ret)
{
	autodone(buf_done) struct buf text = {.max = 64 * 1024 * 1024};
	char *p, *end;

	*ret = (struct lines){0};
	slurp(path, &text);
	for (p = text.data; p != NULL && (end = strchr(p, '\n')) != NULL; p = end + 1) {
		*end = '\0';
		lines_insert(ret, ret->count, p);
	}
}

void lines_write(const char *path, const struct lines *l)
{
	autodone(buf_done) struct buf text = {.max = 64 * 1024 * 1024};

	for (size_t i = 0; i < l->count; i++)
		assert_int_equal(buf_addf(&text, "%s\n", l->line[i]), 0);
	spill(path, buf_text(&text), text.len);
}

void lines_drop(struct lines *l, size_t at)
{
	assert_true(at < l->count);
	free(l->line[at]);
	(void)memmove(&l->line[at], &l->line[at + 1], (l->count - at - 1) * sizeof(*l->line));
	l->count--;
}

void lines_insert(struct lines *l, size_t at, const char *text)
{
	l->line = reallocarray(l->line, l->count + 1, sizeof(*l->line));
	assert_non_null(l->line);
	(void)memmove(&l->line[at + 1], &l->line[at], (l->count - at) * sizeof(*l->line));
	l->line[at] = own_strdup(text);
	l->count++;
}

void lines_done(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->line[i]);
	free(l->line);
	*l = (struct lines){0};
}

void replace_once(char *text, const char *from, const char *to)
{
	char *at = strstr(text, from);

	assert_non_null(at);
	assert_int_equal(strlen(from), strlen(to));
	(void)memcpy(at, to, strlen(to));
}
