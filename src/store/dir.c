/* SPDX-License-Identifier: Apache-2.0 */
/* The store's directory: making it, opening it, its id. */

#include "store/dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/rand.h"
#include "ground/base/str.h"
#include "store/store.h"
#include "store/witness.h"

static const char *const directories[] = {
	"manifests", "runs", "events", "blobs", "blobs/sha256", "trials", "live", "work"};

/* The path with "." and ".." of the caller's kept away: absolute, without resolving its last part,
 * which may not exist yet. */
static char *absolute(const char *path)
{
	autofree char *here = NULL;

	if (path[0] == '/')
		return own_strdup(path);
	here = getcwd(NULL, 0);
	if (here == NULL)
		return own_strdup(path);
	return own_printf("%s/%s", here, path);
}

static int make_path(const char *path, struct err *err)
{
	autofree char *copy = own_strdup(path);

	for (char *p = copy + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return err_set(err, errno, "make directory '%s'", copy);
		*p = '/';
	}
	if (mkdir(copy, 0700) < 0 && errno != EEXIST)
		return err_set(err, errno, "make store '%s'", path);
	return 0;
}

static bool holds_seals(int fd)
{
	struct stat st;

	return fstatat(fd, "seals.jsonl", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
}

/* Two processes may come here at once: fileat_put_once lets one of them win. A store that has seals but
 * no id lost it: making another would hide that. */
static int make_id(int fd, struct err *err)
{
	uint8_t random[16];
	char text[STORE_ID_SIZE + 1];
	int r;

	if (fileat_exists(fd, "id") || holds_seals(fd))
		return 0;
	rand_bytes(random, sizeof(random));
	str_hex(random, sizeof(random), text);
	text[STORE_ID_SIZE - 1] = '\n';
	r = fileat_put_once(fd, "id", text, STORE_ID_SIZE, 0444, err);
	return r == -EEXIST ? 0 : r;
}

static int lay_out(int fd, struct err *err)
{
	int r;

	for (size_t i = 0; i < array_count(directories); i++) {
		r = dirat_make(fd, directories[i], err);
		if (r < 0)
			return r;
	}
	if (!fileat_exists(fd, ".gitignore")) {
		r = fileat_put_once(fd, ".gitignore", "*\n", 2, 0644, err);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	return make_id(fd, err);
}

static void read_id(int fd, char id[STORE_ID_SIZE])
{
	autodone(buf_done) struct buf text = {.max = 65536};
	uint8_t raw[16];

	id[0] = '\0';
	if (fileat_read(fd, "id", 64, &text, NULL) < 0 || text.len != STORE_ID_SIZE ||
		text.data[STORE_ID_SIZE - 1] != '\n')
		return;
	text.data[STORE_ID_SIZE - 1] = '\0';
	if (str_unhex(text.data, sizeof(raw), raw) == 0)
		(void)memcpy(id, text.data, STORE_ID_SIZE);
}

/* What root writes into another user's store is root's: its owner could neither read nor remove it. */
static int check_owner(const char *path, int fd, unsigned flags, struct stat *st, struct err *err)
{
	if (fstat(fd, st) < 0)
		return err_set(err, errno, "stat store '%s'", path);
	if ((flags & STORE_READ) == 0 && st->st_uid != geteuid())
		return err_say(err, EPERM,
			"store '%s' belongs to user %u and you are user %u: what you write there its"
			" owner could not use; become that user, or name a store of your own",
			path, (unsigned)st->st_uid, (unsigned)geteuid());
	return 0;
}

int store_may_write(const struct store *s, struct err *err)
{
	return s->reads_only ? err_say(err, EROFS, "store '%s' is open for reading only", s->path)
			     : 0;
}

int store_open(const char *path, unsigned flags, struct store **ret, struct err *err)
{
	autofree char *full = absolute(path);
	autoclose int fd = -1;
	struct store *s;
	struct stat st;
	int r;

	assert((flags & STORE_CREATE) == 0 || (flags & STORE_READ) == 0);
	if (flags & STORE_CREATE) {
		r = make_path(full, err);
		if (r < 0)
			return r;
	}
	fd = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "open store '%s'", full);
	r = check_owner(full, fd, flags, &st, err);
	if (r < 0)
		return r;
	if (flags & STORE_CREATE) {
		r = lay_out(fd, err);
		if (r < 0)
			return err_add_to(r, err, "lay out store '%s'", full);
	} else if (!fileat_exists(fd, "events")) {
		return err_say(err, ENOENT,
			"'%s' is not a hemra store: it has no directory 'events'", full);
	}
	s = own_alloc(sizeof(*s));
	s->path = realpath(full, NULL);
	if (s->path == NULL)
		s->path = take_ptr(&full);
	s->fd = take_fd(&fd);
	s->loose = (st.st_mode & 077) != 0;
	s->reads_only = (flags & STORE_READ) != 0;
	read_id(s->fd, s->id);
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	if (s == NULL)
		return;
	witness_free(s->witness);
	(void)close(s->fd); /* O_PATH: nothing is lost */
	free(s->path);
	free(s);
}

const char *store_path(const struct store *s)
{
	return s->path;
}

int store_fd(const struct store *s)
{
	return s->fd;
}

bool store_is_loose(const struct store *s)
{
	return s->loose;
}

const char *store_id(const struct store *s)
{
	return s->id;
}

/* A name that stays beneath the store: ours are made of words and ids, so anything else is refused. */
static bool name_is_beneath(const char *name)
{
	if (name[0] == '/' || name[0] == '\0')
		return false;
	for (const char *p = name; p != NULL; p = strchr(p, '/')) {
		if (*p == '/')
			p++;
		if (str_starts(p, "../") || strcmp(p, "..") == 0)
			return false;
	}
	return true;
}

static int make_parents(int fd, const char *name, struct err *err)
{
	autofree char *copy = own_strdup(name);
	int r;

	for (char *p = strchr(copy, '/'); p != NULL; p = strchr(p + 1, '/')) {
		*p = '\0';
		r = dirat_make(fd, copy, err);
		*p = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

int store_put_once(
	struct store *s, const char *name, const void *bytes, size_t size, struct err *err)
{
	int r;

	if (!name_is_beneath(name))
		return err_set(err, EINVAL, "write '%s' into the store", name);
	r = store_may_write(s, err);
	if (r == 0)
		r = make_parents(s->fd, name, err);
	if (r == 0)
		r = fileat_put_once(s->fd, name, bytes, size, 0444, err);
	return r < 0 ? err_add_to(r, err, "store '%s'", s->path) : 0;
}

int store_put(struct store *s, const char *name, const void *bytes, size_t size, struct err *err)
{
	int r;

	if (!name_is_beneath(name))
		return err_set(err, EINVAL, "write '%s' into the store", name);
	r = store_may_write(s, err);
	if (r == 0)
		r = make_parents(s->fd, name, err);
	if (r == 0)
		r = fileat_put(s->fd, name, bytes, size, 0600, err);
	return r < 0 ? err_add_to(r, err, "store '%s'", s->path) : 0;
}

int store_lock(struct store *s, enum store_lock_kind kind, int *ret_fd, struct err *err)
{
	autoclose int fd = -1;
	int r = store_may_write(s, err);

	if (r == 0)
		r = fileat_open(s->fd, "lock", O_RDWR | O_CREAT, &fd, err);
	if (r < 0)
		return err_add_to(r, err, "lock store '%s'", s->path);
	while (flock(fd, kind == STORE_LOCK_SHARED ? LOCK_SH : LOCK_EX) < 0)
		if (errno != EINTR)
			return err_set(err, errno, "lock '%s/lock'", s->path);
	*ret_fd = take_fd(&fd);
	return 0;
}

void events_name(const struct id *attempt, char out[EVENTS_NAME_SIZE])
{
	(void)snprintf(out, EVENTS_NAME_SIZE, "events/%s.jsonl", attempt->text);
}

bool events_name_parse(const char *name, struct id *ret)
{
	if (strlen(name) != ID_LENGTH + 6 || strcmp(name + ID_LENGTH, ".jsonl") != 0)
		return false;
	(void)memcpy(ret->text, name, ID_LENGTH);
	ret->text[ID_LENGTH] = '\0';
	return id_is_valid(ret->text);
}

/* Whether somebody holds a lock (flock) on this file. */
static bool is_held(int dir, const char *name)
{
	autoclose int fd = -1;

	/* the lock is given back when fd is closed, at once */
	return fileat_open(dir, name, O_RDONLY, &fd, /* err= */ NULL) == 0 &&
	       flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

bool events_are_held(int store_dir, const struct id *attempt)
{
	char name[EVENTS_NAME_SIZE];

	events_name(attempt, name);
	return is_held(store_dir, name);
}

char **runs_living(int store_dir)
{
	autodone(strv_done) char **names = NULL;
	char **living = own_alloc(sizeof(*living));

	if (dirat_list(store_dir, "live", &names, /* err= */ NULL) < 0)
		return living;
	for (char **name = names; *name != NULL; name++) {
		autofree char *path = own_printf("live/%s", *name);
		autofree char *run = own_strndup(*name, ID_LENGTH);

		if (str_ends(*name, ".run") && strlen(*name) == ID_LENGTH + 4 && id_is_valid(run) &&
			is_held(store_dir, path))
			strv_add(&living, run);
	}
	return living;
}
