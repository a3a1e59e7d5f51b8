/* SPDX-License-Identifier: Apache-2.0 */
/* What a reference means, and opening what it names. */

#include "secret/reference.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/base/variable.h"
#include "secret/secret.h"

static const struct {
	const char *prefix;
	enum reference_source source;
	bool built;
} sources[] = {
	{"env:", REFERENCE_ENV, true},
	{"file:", REFERENCE_FILE, true},
	{"credential:", REFERENCE_CREDENTIAL, true},
	{"keyring:", REFERENCE_FILE, false},
	{"command:", REFERENCE_FILE, false},
};

static bool is_credential_name(const char *name)
{
	return *name != '\0' && strlen(name) <= 255 && strchr(name, '/') == NULL &&
	       strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* What has no right form is not shown: it may be a value put there by mistake. */
static int check_name(const struct reference *r, struct err *err)
{
	switch (r->source) {
	case REFERENCE_ENV:
		if (!variable_is_name(r->name))
			return err_say(err, EINVAL, "what follows 'env:' is not a variable's name");
		return 0;
	case REFERENCE_FILE:
		if (r->name[0] != '/')
			return err_say(err, EINVAL, "what follows 'file:' is not an absolute path");
		return 0;
	case REFERENCE_CREDENTIAL:
		if (!is_credential_name(r->name))
			return err_say(err, EINVAL,
				"what follows 'credential:' is not a credential's name");
		return 0;
	}
	return -EINVAL;
}

int reference_parse(const char *text, struct reference *ret, struct err *err)
{
	struct reference r;
	int result;

	for (size_t i = 0; i < array_count(sources); i++) {
		if (!str_starts(text, sources[i].prefix))
			continue;
		if (!sources[i].built)
			return err_say(err, ENOTSUP,
				"a secret from '%s' is not built yet; use env:, file: "
				"or credential:",
				sources[i].prefix);
		r = (struct reference){sources[i].source, text + strlen(sources[i].prefix)};
		result = check_name(&r, err);
		if (result == 0)
			*ret = r;
		return result;
	}
	return err_say(err, EINVAL, "a secret is named by env:NAME, file:/path or credential:NAME");
}

static int open_env(const struct reference *r, struct source *ret, struct err *err)
{
	const char *value = getenv(r->name);

	if (value == NULL)
		return err_say(err, ENOENT, "variable '%s' is not set", r->name);
	if (*value == '\0')
		return err_say(err, ENOENT, "variable '%s' is empty", r->name);
	*ret = (struct source){-1, value, NULL, strnlen(value, REFERENCE_VALUE_MAX + 1)};
	if (ret->bytes > REFERENCE_VALUE_MAX)
		return err_say(err, E2BIG, "variable '%s' is longer than %d bytes", r->name,
			REFERENCE_VALUE_MAX);
	return 0;
}

int reference_refuse_size(const char *path, size_t bytes, struct err *err)
{
	if (bytes == 0)
		return err_say(err, ENOENT, "'%s' is empty", path);
	return err_say(err, E2BIG, "'%s' is longer than %d bytes", path, REFERENCE_VALUE_MAX);
}

static int check_file(const struct stat *st, const char *path, bool is_credential, struct err *err)
{
	mode_t others = is_credential ? S_IRWXO : S_IRGRP | S_IWGRP | S_IRWXO;

	if (!S_ISREG(st->st_mode))
		return err_say(err, EINVAL, "'%s' is not a regular file", path);
	if (!is_credential && st->st_uid != geteuid() && st->st_uid != 0)
		return err_say(err, EACCES,
			"'%s' belongs to user %u: a secret's file must be your own or root's", path,
			st->st_uid);
	if ((st->st_mode & others) != 0)
		return err_say(err, EACCES,
			"'%s' has mode %04o, so others can reach it: chmod 600 it first", path,
			st->st_mode & 07777);
	/* one more, for the final newline */
	if (st->st_size == 0 || st->st_size > REFERENCE_VALUE_MAX + 1)
		return reference_refuse_size(path, (size_t)st->st_size, err);
	return 0;
}

static int open_file(const char *path, bool is_credential, struct source *ret, struct err *err)
{
	/* neither a link nor a pipe or terminal that would make us wait */
	autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 && errno == ELOOP)
		return err_say(err, EINVAL, "'%s' is a symbolic link: name the file itself", path);
	if (fd < 0)
		return err_set(err, errno, "open '%s'", path);
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat '%s'", path);
	r = check_file(&st, path, is_credential, err);
	if (r < 0)
		return r;
	*ret = (struct source){take_fd(&fd), NULL, own_strdup(path), (size_t)st.st_size};
	return 0;
}

static int open_credential(const struct reference *r, struct source *ret, struct err *err)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY");
	autofree char *path = NULL;

	if (directory == NULL || directory[0] != '/')
		return err_say(err, ENOENT,
			"'credential:%s' needs CREDENTIALS_DIRECTORY, which systemd sets for services "
			"with LoadCredential=",
			r->name);
	path = own_printf("%s/%s", directory, r->name);
	return open_file(path, /* is_credential= */ true, ret, err);
}

int source_open(const struct reference *r, struct source *ret, struct err *err)
{
	switch (r->source) {
	case REFERENCE_ENV:
		return open_env(r, ret, err);
	case REFERENCE_FILE:
		return open_file(r->name, /* is_credential= */ false, ret, err);
	case REFERENCE_CREDENTIAL:
		return open_credential(r, ret, err);
	}
	return -EINVAL;
}

void source_close(struct source *s)
{
	own_close(&s->fd);
	free(s->path);
	*s = (struct source){.fd = -1};
}

/* The final newline of a file is no part of its value; of the value nothing else is read here. */
static size_t value_bytes(const struct source *s)
{
	char last;

	if (s->fd >= 0 && pread(s->fd, &last, 1, (off_t)s->bytes - 1) == 1 && last == '\n')
		return s->bytes - 1;
	return s->bytes;
}

static int check_size(const struct source *s, size_t least_bytes, struct err *err)
{
	size_t bytes = value_bytes(s);

	if (bytes == 0 || bytes > REFERENCE_VALUE_MAX)
		return reference_refuse_size(s->path, bytes, err);
	if (bytes < least_bytes)
		return err_say(err, EINVAL,
			"it is shorter than %zu bytes: it would be found by chance", least_bytes);
	return 0;
}

int secret_check(const char *reference, size_t least_bytes, struct err *err)
{
	struct reference r;
	struct source s;
	int result = reference_parse(reference, &r, err);

	if (result == 0)
		result = source_open(&r, &s, err);
	if (result != 0)
		return result;
	result = check_size(&s, least_bytes, err);
	source_close(&s);
	return result;
}
