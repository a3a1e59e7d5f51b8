/* SPDX-License-Identifier: Apache-2.0 */
/* The signing key: made at first use, kept outside of every store. */

#include "store/key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/rand.h"
#include "ground/base/str.h"
#include "store/dir.h"
#include "store/store.h"

#define SEED_TEXT_SIZE (2 * crypto_sign_SEEDBYTES + 1) /* hex digits and a newline */

const char *seal_key_directory(void)
{
	static char path[PATH_MAX];
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (state != NULL && state[0] == '/') {
		(void)snprintf(
			path, sizeof(path), "%s/hemra/keys", state); /* too long fails at open */
		return path;
	}
	if (home == NULL || home[0] != '/') {
		const struct passwd *entry = getpwuid(geteuid());

		home = entry != NULL && entry->pw_dir[0] == '/' ? entry->pw_dir : "/nonexistent";
	}
	(void)snprintf(path, sizeof(path), "%s/.local/state/hemra/keys", home);
	return path;
}

static int make_directory(int *ret_fd, struct err *err)
{
	autofree char *path = own_strdup(seal_key_directory());
	autoclose int fd = -1;

	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_set(err, errno, "make '%s' for the signing key", path);
		*p = c;
		if (c == '\0')
			break;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "open '%s' for the signing key", path);
	*ret_fd = take_fd(&fd);
	return 0;
}

int seal_key_directory_open(int *ret_fd, struct err *err)
{
	autoclose int fd = open(seal_key_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno != ENOENT)
		return err_set(err, errno, "open '%s'", seal_key_directory());
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Reads `name`, checks that it is this user's alone. -ENOENT when there is none. */
static int read_seed(int dir, uint8_t seed[crypto_sign_SEEDBYTES], struct err *err)
{
	autoclose int fd = openat(dir, "seal.key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[SEED_TEXT_SIZE + 1];
	struct stat st;
	ssize_t n;
	int r = 0;

	if (fd < 0)
		return err_set(err, errno, "open '%s/seal.key'", seal_key_directory());
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat '%s/seal.key'", seal_key_directory());
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return err_say(err, EPERM,
			"the signing key '%s/seal.key' must be yours and closed to others (mode 0600)",
			seal_key_directory());
	n = read(fd, text, sizeof(text));
	if (n == SEED_TEXT_SIZE && text[SEED_TEXT_SIZE - 1] == '\n') {
		text[SEED_TEXT_SIZE - 1] = '\0';
		r = str_unhex(text, crypto_sign_SEEDBYTES, seed);
	} else {
		r = -EINVAL;
	}
	sodium_memzero(text, sizeof(text));
	return r < 0 ? err_say(err, EINVAL, "'%s/seal.key' does not hold a key",
			       seal_key_directory())
		     : 0;
}

/* Of two processes that make the key at once, link() lets one win; the other reads what it made. */
static int make_seed(int dir, struct err *err)
{
	uint8_t seed[crypto_sign_SEEDBYTES];
	char text[SEED_TEXT_SIZE + 1];
	char temporary[64], random_hex[17];
	autoclose int fd = -1;
	int r;

	rand_bytes(seed, 8);
	str_hex(seed, 8, random_hex);
	(void)snprintf(temporary, sizeof(temporary), ".tmp-%s", random_hex);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, errno, "make a file in '%s'", seal_key_directory());
	rand_bytes(seed, sizeof(seed));
	str_hex(seed, sizeof(seed), text);
	text[SEED_TEXT_SIZE - 1] = '\n';
	r = fd_write(fd, text, SEED_TEXT_SIZE, err);
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(text, sizeof(text));
	if (r == 0 && fsync(fd) < 0)
		r = err_set(err, errno, "sync the signing key");
	if (r == 0 && linkat(dir, temporary, dir, "seal.key", 0) < 0 && errno != EEXIST)
		r = err_set(err, errno, "link '%s/seal.key'", seal_key_directory());
	(void)unlinkat(dir, temporary, 0); /* its content has its name, or failed */
	if (r == 0 && fsync(dir) < 0)
		r = err_set(err, errno, "sync '%s'", seal_key_directory());
	return r;
}

static int put_public(const struct seal_key *k, struct err *err)
{
	char text[66];

	if (fileat_exists(k->directory, "seal.pub"))
		return 0;
	str_hex(k->public_key, 32, text);
	text[64] = '\n';
	return fileat_put(k->directory, "seal.pub", text, 65, 0644, err);
}

static int open_into(struct seal_key *k, struct err *err)
{
	uint8_t seed[crypto_sign_SEEDBYTES];
	int r;

	r = make_directory(&k->directory, err);
	if (r < 0)
		return r;
	r = read_seed(k->directory, seed, err);
	if (r == -ENOENT) {
		r = make_seed(k->directory, err);
		if (r == 0)
			r = read_seed(k->directory, seed, err);
	}
	if (r < 0)
		return r;
	(void)crypto_sign_seed_keypair(k->public_key, k->secret_key, seed); /* cannot fail */
	sodium_memzero(seed, sizeof(seed));
	return put_public(k, err);
}

int seal_key_open(struct seal_key **ret, struct err *err)
{
	struct seal_key *k;
	int r;

	if (sodium_init() < 0)
		return err_say(err, EIO, "libsodium cannot start");
	k = sodium_malloc(sizeof(*k));
	if (k == NULL)
		return err_set(err, ENOMEM, "memory for the signing key");
	k->directory = -1;
	r = open_into(k, err);
	if (r < 0) {
		seal_key_close(k);
		return r;
	}
	*ret = k;
	return 0;
}

void seal_key_close(struct seal_key *k)
{
	if (k == NULL)
		return;
	if (k->directory >= 0)
		(void)close(k->directory); /* only read from */
	sodium_free(k);
}

static void note_name(const char *store_id, char out[64])
{
	(void)snprintf(out, 64, "notes/%.32s", store_id);
}

int seal_note_read(int key_directory, const char *store_id, struct seal_note *ret, struct err *err)
{
	autodone(buf_done) struct buf text = {.max = 65536};
	char name[64], *space;
	int r;

	*ret = (struct seal_note){0};
	if (key_directory < 0 || store_id[0] == '\0')
		return 0;
	note_name(store_id, name);
	r = fileat_read(key_directory, name, 256, &text, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	space = strchr(buf_text(&text), ' ');
	if (space == NULL || text.data[text.len - 1] != '\n')
		return err_say(err, EINVAL, "'%s/%s' is not a note", seal_key_directory(), name);
	*space = '\0';
	text.data[text.len - 1] = '\0';
	if (str_parse_u64(text.data, UINT64_MAX, &ret->n) < 0 ||
		str_unhex(space + 1, 32, ret->digest) < 0)
		return err_say(err, EINVAL, "'%s/%s' is not a note", seal_key_directory(), name);
	ret->present = true;
	return 0;
}

int seal_note_write(
	int key_directory, const char *store_id, const struct seal_note *note, struct err *err)
{
	char name[64], hex[65], text[128];
	int n, r;

	r = dirat_make(key_directory, "notes", err);
	if (r < 0)
		return r;
	note_name(store_id, name);
	str_hex(note->digest, 32, hex);
	n = snprintf(text, sizeof(text), "%llu %s\n", (unsigned long long)note->n, hex);
	return fileat_put(key_directory, name, text, (size_t)n, 0600, err);
}

int store_forget(struct store *s, struct err *err)
{
	autoclose int dir = -1;
	char name[64];
	int r = seal_key_directory_open(&dir, err);

	if (r < 0 || dir < 0 || s->id[0] == '\0')
		return r;
	note_name(s->id, name);
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return err_set(err, errno, "remove '%s/%s'", seal_key_directory(), name);
	return 0;
}

static int add_signer(uint8_t (**keys)[32], size_t *count, const char *hex)
{
	uint8_t key[32];
	uint8_t(*grown)[32];

	if (str_unhex(hex, 32, key) < 0)
		return -EINVAL;
	grown = reallocarray(*keys, *count + 1, 32);
	if (grown == NULL)
		return -ENOMEM;
	(void)memcpy(grown[(*count)++], key, 32);
	*keys = grown;
	return 0;
}

/* Lines of `<64 hex digits> a name`; '#' begins a remark. */
static int read_signers(
	int dir, const char *name, uint8_t (**keys)[32], size_t *count, struct err *err)
{
	autodone(buf_done) struct buf text = {.max = 1024 * 1024};
	char *rest, *line, *state = NULL;
	int r = fileat_read(dir, name, 512 * 1024, &text, err);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (text.len == 0)
		return 0;
	for (rest = text.data; (line = strtok_r(rest, "\n", &state)) != NULL; rest = NULL) {
		if (line[0] == '#' || line[strspn(line, " \t")] == '\0')
			continue;
		line[strcspn(line, " \t")] = '\0';
		r = add_signer(keys, count, line);
		if (r < 0)
			return err_say(err, -r, "'%s/%s' has a line that is not a public key",
				seal_key_directory(), name);
	}
	return 0;
}

int seal_signers_read(uint8_t (**ret_keys)[32], size_t *ret_count, struct err *err)
{
	autofree uint8_t(*keys)[32] = NULL;
	autoclose int dir = -1;
	size_t count = 0;
	int r = seal_key_directory_open(&dir, err);

	if (r == 0 && dir >= 0)
		r = read_signers(dir, "seal.pub", &keys, &count, err);
	if (r == 0 && dir >= 0)
		r = read_signers(dir, "signers", &keys, &count, err);
	if (r < 0)
		return r;
	*ret_keys = take_ptr(&keys);
	*ret_count = count;
	return 0;
}
