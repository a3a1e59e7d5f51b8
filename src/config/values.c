/* SPDX-License-Identifier: Apache-2.0 */
/* Names, mounts, secret references and paths as files spell them. */

#include "config/values.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "ground/base/file.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/base/variable.h"

#define FILE_BYTES_MAX ((size_t)1024 * 1024)

int config_parse(
	const char *path, struct toml **ret, char **ret_real, char **ret_directory, struct err *err)
{
	autofree char *real = NULL, *copy = NULL;
	autodone(buf_done) struct buf text;
	int r;

	buf_init(&text, FILE_BYTES_MAX);
	r = file_read(path, &text, err);
	if (r < 0)
		return r;
	real = realpath(path, NULL);
	if (real == NULL)
		return err_set(err, errno, "resolve '%s'", path);
	r = toml_parse(buf_text(&text), text.len, path, ret, err);
	if (r < 0)
		return r;
	copy = own_strdup(real);
	*ret_directory = own_strdup(dirname(copy));
	*ret_real = take_ptr(&real);
	return 0;
}

/* ---- paths ------------------------------------------------------------------------------------ */

char *path_against(const char *base, const char *path)
{
	autofree char *whole = path[0] == '/' ? own_strdup(path) : own_printf("%s/%s", base, path);
	char *clean = own_alloc(strlen(whole) + 2);
	char *rest = whole, *part;
	size_t n = 0;

	while ((part = strsep(&rest, "/")) != NULL) {
		if (part[0] == '\0' || strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			while (n > 0 && clean[--n] != '/')
				;
			continue;
		}
		clean[n++] = '/';
		(void)memcpy(clean + n, part, strlen(part));
		n += strlen(part);
	}
	if (n == 0)
		clean[n++] = '/';
	clean[n] = '\0';
	return clean;
}

const char *path_beneath(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return path;
	if (strncmp(path, directory, n) != 0 || (path[n] != '\0' && path[n] != '/'))
		return NULL;
	return path + n;
}

char *path_user_config(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	/* the XDG specification: a relative path is invalid and to be ignored */
	if (xdg != NULL && xdg[0] == '/')
		return own_printf("%s/hemra", xdg);
	if (home != NULL && home[0] == '/')
		return own_printf("%s/.config/hemra", home);
	return NULL;
}

/* ---- names ------------------------------------------------------------------------------------ */

void names_put(char ***names, const char *name)
{
	for (char **n = *names; n != NULL && *n != NULL; n++)
		if (strcmp(*n, name) == 0)
			return;
	strv_add(names, name);
}

/* The sentence is about name, a key or an element of value. */
static int check_name(
	const struct reader *r, const struct toml *value, const char *name, struct err *err)
{
	const char *refusal;

	/* not echoed: a value that was pasted where a name belongs may be a secret */
	if (!variable_is_name(name))
		return field_say(r, value, err,
			"expected names of environment variables (letters, "
			"digits and _), found something else");
	refusal = variable_refusal(name);
	if (refusal != NULL)
		return field_say(r, value, err, "%s %s", name, refusal);
	return 0;
}

int take_names(const struct reader *r, const struct toml *value, char ***names, struct err *err)
{
	for (size_t i = 0; i < value->count; i++) {
		const struct toml *element = value->children[i];
		int e = field_text(r, element, err);

		if (e == 0)
			e = check_name(r, element, element->string, err);
		if (e < 0)
			return e;
		names_put(names, element->string);
	}
	return 0;
}

int take_flags(const struct reader *r, const struct toml *value, const struct flag_name *names,
	unsigned *flags, struct err *err)
{
	for (size_t i = 0; i < value->count; i++) {
		unsigned flag = 0;
		int e = field_text(r, value->children[i], err);

		if (e < 0)
			return e;
		if (flag_parse(names, value->children[i]->string, &flag) < 0)
			return field_unexpected(r, value->children[i], err);
		*flags |= flag;
	}
	return 0;
}

/* ---- mounts ----------------------------------------------------------------------------------- */

void mounts_free(struct plan_mount *mounts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(mounts[i].source);
		free(mounts[i].target);
	}
	free(mounts);
}

void mounts_put(struct plan_mount **mounts, size_t *count, const struct plan_mount *mount)
{
	for (size_t i = 0; i < *count; i++) {
		struct plan_mount *m = &(*mounts)[i];

		if (strcmp(m->target, mount->target) != 0)
			continue;
		free(m->source);
		m->source = own_strdup(mount->source);
		m->writable = mount->writable;
		return;
	}
	plan_mounts_add(mounts, count, mount->source, mount->target, mount->writable);
}

/* Places in the box that are hemra's own. */
static bool is_reserved_target(const char *target)
{
	static const char *const reserved[] = {
		"/proc", "/sys", "/dev", "/hemra", "/logs", "/tests", "/solution", NULL};

	if (strcmp(target, "/") == 0)
		return true;
	for (const char *const *p = reserved; *p != NULL; p++)
		if (path_beneath(target, *p) != NULL)
			return true;
	return false;
}

/* Cuts text at its colons into path, target (NULL when not given) and mode; text is changed. */
static int split_mount(char *text, char **ret_path, char **ret_target, bool *ret_writable)
{
	char *mode = strrchr(text, ':');

	*ret_writable = false;
	if (mode != NULL && (strcmp(mode, ":rw") == 0 || strcmp(mode, ":ro") == 0)) {
		*ret_writable = mode[2] == 'w';
		*mode = '\0';
	}
	*ret_path = text;
	*ret_target = strchr(text, ':');
	if (*ret_target != NULL) {
		**ret_target = '\0';
		(*ret_target)++;
		if (strchr(*ret_target, ':') != NULL)
			return -EINVAL;
	}
	return text[0] != '\0' ? 0 : -EINVAL;
}

int settings_parse_mount(
	const char *text, const char *base, struct plan_mount *ret, struct err *err)
{
	autofree char *copy = own_strdup(text);
	autofree char *whole = NULL, *source = NULL, *inside = NULL;
	char *path, *target;
	bool writable;

	if (split_mount(copy, &path, &target, &writable) < 0)
		return err_say(err, EINVAL, "mount '%s': expected PATH[:TARGET][:ro|:rw]", text);
	if (path[0] == '~')
		return err_say(
			err, EINVAL, "mount '%s': ~ is not expanded, write the path out", text);
	if (target != NULL && target[0] != '/')
		return err_say(err, EINVAL,
			"mount '%s': the target must be an absolute path (modes are ro and rw)",
			text);
	whole = path_against(base, path);
	source = realpath(whole, NULL);
	if (source == NULL)
		return err_set(err, errno, "mount '%s': '%s'", text, whole);
	inside = path_against("/", target != NULL ? target : whole);
	if (is_reserved_target(inside))
		return err_say(err, EINVAL, "mount '%s': nothing can be mounted on '%s' in a box",
			text, inside);
	*ret = (struct plan_mount){take_ptr(&source), take_ptr(&inside), writable};
	return 0;
}

/* What stands for the target in a digest: as written, so not where the file happens to lie. */
static void add_target_word(char ***words, const char *text)
{
	autofree char *copy = own_strdup(text), *word = NULL;
	char *path, *target;
	bool writable;

	(void)split_mount(copy, &path, &target, &writable); /* it was parsed before */
	word = own_printf("%s:%s", target != NULL ? target : path, writable ? "rw" : "ro");
	strv_add(words, word);
}

int take_mounts(const struct reader *r, const struct toml *value, struct plan_mount **mounts,
	size_t *count, char ***words, struct err *err)
{
	for (size_t i = 0; i < value->count; i++) {
		const struct toml *element = value->children[i];
		struct plan_mount mount = {0};
		struct err why = {0};
		size_t before = *count;
		int e = field_text(r, element, err);

		if (e < 0)
			return e;
		e = settings_parse_mount(element->string, r->base, &mount, &why);
		if (e < 0) {
			(void)field_say(r, element, err, "%s", why.text); /* the code is e */
			return e;
		}
		mounts_put(mounts, count, &mount);
		free(mount.source);
		free(mount.target);
		if (*count == before)
			return field_say(r, element, err, "two mounts have the target of '%s'",
				element->string);
		if (words != NULL)
			add_target_word(words, element->string);
	}
	return 0;
}

/* ---- secrets ---------------------------------------------------------------------------------- */

void secrets_free(struct plan_secret *secrets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(secrets[i].name);
		free(secrets[i].reference);
	}
	free(secrets);
}

void secrets_put(
	struct plan_secret **secrets, size_t *count, const char *name, const char *reference)
{
	struct plan_secret *grown;

	for (size_t i = 0; i < *count; i++)
		if (strcmp((*secrets)[i].name, name) == 0) {
			free((*secrets)[i].reference);
			(*secrets)[i].reference = own_strdup(reference);
			return;
		}
	grown = reallocarray(*secrets, *count + 1, sizeof(*grown));
	if (grown == NULL)
		abort();
	*secrets = grown;
	grown[(*count)++] = (struct plan_secret){own_strdup(name), own_strdup(reference)};
}

/* Is text a reference, and to what? Makes the path of a file: absolute. No sentence of it holds
 * text: what is no reference may well be a secret. */
static int take_reference(
	const struct reader *r, const struct toml *value, char **ret, struct err *err)
{
	const char *text = value->string;

	if (str_starts(text, "keyring:") || str_starts(text, "command:"))
		return field_say(r, value, err, "secrets by %.7s: are not built yet", text);
	if (str_starts(text, "env:") && variable_is_name(text + 4)) {
		*ret = own_strdup(text);
		return 0;
	}
	if (str_starts(text, "file:") && text[5] == '~')
		return field_say(r, value, err, "~ is not expanded, write the path out");
	if (str_starts(text, "file:") && text[5] != '\0') {
		autofree char *path = path_against(r->base, text + 5);

		*ret = own_printf("file:%s", path);
		return 0;
	}
	if (str_starts(text, "credential:") && text[11] != '\0' && text[11] != '.' &&
		strchr(text + 11, '/') == NULL) {
		*ret = own_strdup(text);
		return 0;
	}
	return field_say(r, value, err,
		"expected env:NAME, file:PATH or credential:NAME; a secret itself "
		"is never written here");
}

int take_secrets(const struct reader *r, const struct toml *value, struct plan_secret **secrets,
	size_t *count, struct err *err)
{
	for (size_t i = 0; i < value->count; i++) {
		const struct toml *member = value->children[i];
		struct reader at = *r;
		autofree char *reference = NULL;
		int e;

		at.where = "secrets";
		at.key = member->key;
		if (!variable_is_name(member->key)) /* the sentence is about the table then */
			return check_name(r, member, member->key, err);
		e = check_name(&at, member, member->key, err);
		if (e < 0)
			return e;
		if (member->type != TOML_STRING || strlen(member->string) != member->string_bytes)
			return field_say(&at, member, err,
				"expected a string: env:NAME, file:PATH or credential:NAME");
		e = take_reference(&at, member, &reference, err);
		if (e < 0)
			return e;
		secrets_put(secrets, count, member->key, reference);
	}
	return 0;
}
