/* SPDX-License-Identifier: Apache-2.0 */
/* Run files and the user's config.toml. */

#include "config/config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/bounds.h"
#include "config/limits.h"
#include "config/values.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/wire/fields.h"

static int take_count(
	const struct reader *r, const struct toml *v, unsigned max, unsigned *ret, struct err *err)
{
	if (v->integer < 1 || v->integer > max)
		return field_unexpected(r, v, err);
	*ret = (unsigned)v->integer;
	return 0;
}

/* ---- the top of the file ---------------------------------------------------------------------- */

/* A name stays a name; a path stands against the file, whoever reads it later. */
static int take_harnesses(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;

	for (size_t i = 0; i < v->count; i++) {
		const char *text = v->children[i]->string;
		autofree char *path = NULL;
		int e = field_text(r, v->children[i], err);

		if (e < 0)
			return e;
		if (strchr(text, '/') != NULL || str_ends(text, ".toml"))
			path = path_against(r->base, text);
		strv_add(&s->harnesses, path != NULL ? path : text);
	}
	return v->count > 0 ? 0 : field_say(r, v, err, "the list is empty");
}

static int take_tasks(const struct reader *r, const struct toml *v, struct err *err)
{
	static const char *const sources[] = {"dataset:", "harbor:", "swebench:", "hf:", NULL};
	struct settings *s = r->target;

	for (size_t i = 0; i < v->count; i++) {
		const struct toml *element = v->children[i];
		autofree char *path = NULL;
		int e = field_text(r, element, err);

		if (e < 0)
			return e;
		for (const char *const *p = sources; *p != NULL; p++)
			if (str_starts(element->string, *p))
				return field_say(
					r, element, err, "tasks by %s are not built yet", *p);
		path = path_against(r->base, element->string);
		strv_add(&s->tasks, path);
	}
	return v->count > 0 ? 0 : field_say(r, v, err, "the list is empty");
}

static int take_attempts(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_count(r, v, ATTEMPTS_MAX, &((struct settings *)r->target)->attempts, err);
}

static int take_concurrency(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_count(r, v, CONCURRENCY_MAX, &((struct settings *)r->target)->concurrency, err);
}

static int take_deadline(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;
	int64_t ms;

	if (str_parse_duration(v->string, &ms) < 0 || ms == 0)
		return field_unexpected(r, v, err);
	s->deadline_ms = ms;
	return 0;
}

static int take_env(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_names(r, v, &((struct settings *)r->target)->env, err);
}

static int take_secret_table(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;

	return take_secrets(r, v, &s->secrets, &s->secret_count, err);
}

static int take_keep(const struct reader *r, const struct toml *v, struct err *err)
{
	if (keep_parse(v->string, &((struct settings *)r->target)->keep) == 0)
		return 0;
	return field_unexpected(r, v, err);
}

static int take_redact(const struct reader *r, const struct toml *v, struct err *err)
{
	(void)err; /* nothing can go wrong */
	((struct settings *)r->target)->redact = v->boolean;
	return 0;
}

static int take_path(const struct reader *r, const struct toml *v, char **ret, struct err *err)
{
	if (v->string[0] == '~')
		return field_say(r, v, err, "~ is not expanded, write the path out");
	*ret = path_against(r->base, v->string);
	return 0;
}

static int take_store(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_path(r, v, &((struct settings *)r->target)->store, err);
}

static int take_work_dir(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_path(r, v, &((struct settings *)r->target)->work_dir, err);
}

/* ---- [sandbox] -------------------------------------------------------------------------------- */

static int take_kind(const struct reader *r, const struct toml *v, struct err *err)
{
	static const char *const later[] = {"docker", "modal", "fly", "sprites", NULL};

	if (sandbox_kind_parse(v->string, &((struct settings *)r->target)->kind) == 0)
		return 0;
	return field_word(r, v, later, err);
}

static int take_network(const struct reader *r, const struct toml *v, struct err *err)
{
	static const char *const later[] = {"allow", "open", NULL};

	if (strcmp(v->string, "none") == 0)
		return 0; /* what every box has */
	return field_word(r, v, later, err);
}

static int take_memory(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;

	if (str_parse_bytes(v->string, &s->limits.memory_bytes) < 0)
		return field_unexpected(r, v, err);
	s->limit_said_memory = true;
	return 0;
}

static int take_disk(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;

	if (str_parse_bytes(v->string, &s->limits.disk_bytes) < 0)
		return field_unexpected(r, v, err);
	s->limit_said_disk = true;
	return 0;
}

static int take_pids(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;

	if (v->integer < 0 || v->integer > PIDS_MAX)
		return field_unexpected(r, v, err);
	s->limits.pids = (uint64_t)v->integer;
	s->limit_said_pids = true;
	return 0;
}

static int take_cpus(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;
	double cpus = v->type == TOML_INTEGER ? (double)v->integer : v->number;

	/* in this order, because a NaN answers no to every comparison */
	if (!(cpus >= 0 && cpus <= CPUS_MAX) || (cpus > 0 && cpus < 0.001))
		return field_unexpected(r, v, err);
	s->limits.cpu_millis = (uint64_t)(cpus * 1000 + 0.5);
	s->limit_said_cpus = true;
	return 0;
}

static int take_workspace(const struct reader *r, const struct toml *v, struct err *err)
{
	static const char *const later[] = {"overlay", NULL};

	if (workspace_mode_parse(v->string, &((struct settings *)r->target)->workspace) == 0)
		return 0;
	return field_word(r, v, later, err);
}

static int take_mount_list(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;

	return take_mounts(r, v, &s->mounts, &s->mount_count, /* words= */ NULL, err);
}

static int take_git_config(const struct reader *r, const struct toml *v, struct err *err)
{
	struct settings *s = r->target;

	if (strcmp(v->string, "ro") != 0 && strcmp(v->string, "rw") != 0)
		return field_unexpected(r, v, err);
	s->git_config_writable = v->string[1] == 'w';
	return 0;
}

static int take_weaker(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_flags(r, v, weaker_names, &((struct settings *)r->target)->weaker, err);
}

static int take_sandbox(const struct reader *r, const struct toml *v, struct err *err)
{
	static const char *const later[] = {"image", "nested", NULL};
	static const struct field rows[] = {
		{"kind", FIELD_TYPE(STRING), "\"native\" or \"local\"", take_kind},
		{"network", FIELD_TYPE(STRING), "\"none\"", take_network},
		{"memory", FIELD_TYPE(STRING), "a size such as \"4G\"", take_memory},
		{"pids", FIELD_TYPE(INTEGER), "a whole number from 0 to 4194304", take_pids},
		{"cpus", FIELD_TYPE(INTEGER) | FIELD_TYPE(FLOAT),
			"a number from 0 to 4096, such as 1.5", take_cpus},
		{"disk", FIELD_TYPE(STRING), "a size such as \"8G\"", take_disk},
		{"workspace", FIELD_TYPE(STRING), "\"copy\" or \"bind\"", take_workspace},
		{"mounts", FIELD_TYPE(ARRAY), "an array of strings such as \"/data:ro\"",
			take_mount_list},
		{"git_config", FIELD_TYPE(STRING), "\"ro\" or \"rw\"", take_git_config},
		{"weaker", FIELD_TYPE(ARRAY),
			"an array of \"probe\", \"resource_limit\", \"seccomp\", \"landlock\"",
			take_weaker},
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "sandbox";
	return fields_read(&at, v, rows, later, err);
}

/* ---- [verifier], [require] -------------------------------------------------------------------- */

static int take_verifier_env(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_names(r, v, &((struct settings *)r->target)->verifier_env_names, err);
}

static int take_repeat(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_count(r, v, REPEAT_MAX, &((struct settings *)r->target)->verifier_repeat, err);
}

static int take_verifier(const struct reader *r, const struct toml *v, struct err *err)
{
	static const char *const later[] = {"verifier_root", "grader_uid", NULL};
	static const struct field rows[] = {
		{"network", FIELD_TYPE(STRING), "\"none\"", take_network},
		{"env", FIELD_TYPE(ARRAY), "an array of names of environment variables",
			take_verifier_env},
		{"repeat", FIELD_TYPE(INTEGER), "a whole number from 1 to 100", take_repeat},
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "verifier";
	return fields_read(&at, v, rows, later, err);
}

static int take_isolation(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_flags(r, v, isolation_names, &((struct settings *)r->target)->require, err);
}

static int take_require(const struct reader *r, const struct toml *v, struct err *err)
{
	static const struct field rows[] = {
		{"isolation", FIELD_TYPE(ARRAY),
			"an array of \"network_block\", \"resource_limit\", \"file_system\"",
			take_isolation},
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "require";
	return fields_read(&at, v, rows, /* later= */ NULL, err);
}

static int refuse_in_user_file(const struct reader *r, const struct toml *v, struct err *err)
{
	return field_say(r, v, err, "belongs in a run file");
}

#define ROWS_OF_BOTH_FILES                                                                         \
	{"attempts", FIELD_TYPE(INTEGER), "a whole number from 1 to 100000", take_attempts},       \
		{"concurrency", FIELD_TYPE(INTEGER), "a whole number from 1 to 1024",              \
			take_concurrency},                                                         \
		{"deadline", FIELD_TYPE(STRING), "a time such as \"15m\"", take_deadline},         \
		{"env", FIELD_TYPE(ARRAY), "an array of names of environment variables",           \
			take_env},                                                                 \
		{"limits", FIELD_TYPE(TABLE), "a table", limits_take},                             \
		{"sandbox", FIELD_TYPE(TABLE), "a table", take_sandbox},                           \
		{"secrets", FIELD_TYPE(TABLE), "a table", take_secret_table},                      \
		{"verifier", FIELD_TYPE(TABLE), "a table", take_verifier},                         \
		{"require", FIELD_TYPE(TABLE), "a table", take_require},                           \
		{"keep", FIELD_TYPE(STRING), "\"failed\", \"all\" or \"none\"", take_keep},        \
		{"redact", FIELD_TYPE(BOOLEAN), "true or false", take_redact},                     \
		{"store", FIELD_TYPE(STRING), "a path", take_store},                               \
		{"work_dir", FIELD_TYPE(STRING), "a path", take_work_dir}, {NULL, 0, NULL, NULL},

static const struct field run_file_rows[] = {
	{"harnesses", FIELD_TYPE(ARRAY), "an array of harness names or files", take_harnesses},
	{"tasks", FIELD_TYPE(ARRAY), "an array of task directories", take_tasks},
	ROWS_OF_BOTH_FILES};

static const struct field user_file_rows[] = {{"harnesses", FIELD_ANY, "", refuse_in_user_file},
	{"tasks", FIELD_ANY, "", refuse_in_user_file}, ROWS_OF_BOTH_FILES};

static int read_file(
	const char *path, const struct field *rows, struct settings *ret, struct err *err)
{
	static const char *const later[] = {"allow", "tripwire", "judge", NULL};
	struct toml *root = NULL;
	autofree char *real = NULL, *base = NULL;
	struct reader r = {.file = path, .where = "", .key = "", .target = ret};
	int e = config_parse(path, &root, &real, &base, err);

	if (e < 0)
		return e;
	settings_init(ret);
	r.base = base;
	e = fields_read(&r, root, rows, later, err);
	toml_free(root);
	if (e < 0) {
		settings_done(ret);
		return e;
	}
	strv_add(&ret->files, real);
	return 0;
}

int settings_read_file(const char *path, struct settings *ret, struct err *err)
{
	return read_file(path, run_file_rows, ret, err);
}

int settings_read_user(struct settings *ret, struct err *err)
{
	autofree char *directory = path_user_config(), *path = NULL;
	int e = -ENOENT;

	if (directory != NULL) {
		path = own_printf("%s/config.toml", directory);
		e = access(path, F_OK) < 0 ? -errno : 0;
		if (e == -ENOTDIR)
			e = -ENOENT;
	}
	if (e == -ENOENT) {
		settings_init(ret);
		return 0;
	}
	if (e < 0)
		return err_set(err, -e, "read '%s'", path);
	return read_file(path, user_file_rows, ret, err);
}
