/* SPDX-License-Identifier: Apache-2.0 */
/* Harness files: which one a name means, what it says, and the digest that identifies it.
 *
 * The digest covers the definition, not where it lies: a mount counts by its target as written, a
 * relative program as written, so that the same repository cloned elsewhere has the same agents. */

#include "config/config.h"

#include <assert.h>
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "config/values.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/base/variable.h"
#include "ground/wire/fields.h"
#include "ground/wire/json.h"

#define NAME_MAX_BYTES  64
#define DIGEST_TEXT_MAX ((size_t)4 * 1024 * 1024)

/* What a file says, on its way into the plan. */
struct definition {
	struct plan *plan;
	char **mount_words;
	char **secret_names;
};

static int digest_of(
	const struct plan *plan, char *const *mount_words, char *const *secret_names, char ret[65]);

/* ---- rows ------------------------------------------------------------------------------------- */

static const char *name_fault(const char *name)
{
	static const char *const kept[] = {"oracle", "nop", "exec", NULL};
	size_t n = strlen(name);

	for (const char *const *p = kept; *p != NULL; p++)
		if (strcmp(name, *p) == 0)
			return "is the name of a built-in agent";
	if (n == 0 || n > NAME_MAX_BYTES || name[0] == '.' || name[0] == '-')
		return "is no name for a harness: 1 to 64 letters, digits, '.', '_', '-'";
	if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != n)
		return "is no name for a harness: 1 to 64 letters, digits, '.', '_', '-'";
	return NULL;
}

static int take_name(const struct reader *r, const struct toml *v, struct err *err)
{
	struct definition *d = r->target;
	const char *fault = name_fault(v->string);

	if (fault != NULL)
		return field_say(r, v, err, "\"%.80s\" %s", v->string, fault);
	d->plan->harness.name = own_strdup(v->string);
	return 0;
}

static int take_kind(const struct reader *r, const struct toml *v, struct err *err)
{
	static const char *const later[] = {"acp", "driver", NULL};
	struct definition *d = r->target;
	enum harness_kind kind = HARNESS_KIND_COUNT;

	(void)harness_kind_parse(v->string, &kind); /* an unknown word leaves COUNT */
	if (kind != HARNESS_PROGRAM && kind != HARNESS_COMMAND)
		return field_word(r, v, later, err);
	d->plan->harness.kind = kind;
	return 0;
}

static int take_command(const struct reader *r, const struct toml *v, struct err *err)
{
	struct definition *d = r->target;

	if (v->count == 0)
		return field_say(r, v, err, "the list is empty; its first element is the program");
	for (size_t i = 0; i < v->count; i++) {
		const struct toml *element = v->children[i];

		/* an argument may be empty, the program may not */
		if (i == 0 || element->type != TOML_STRING || element->string_bytes > 0) {
			int e = field_text(r, element, err);

			if (e < 0)
				return e;
		}
		strv_add(&d->plan->harness.command, element->string);
	}
	return 0;
}

static int take_env(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_names(r, v, &((struct definition *)r->target)->plan->harness.env, err);
}

static int take_mount_list(const struct reader *r, const struct toml *v, struct err *err)
{
	struct definition *d = r->target;

	return take_mounts(r, v, &d->plan->harness.mounts, &d->plan->harness.mount_count,
		&d->mount_words, err);
}

static int take_instruction(const struct reader *r, const struct toml *v, struct err *err)
{
	struct definition *d = r->target;

	if (instruction_via_parse(v->string, &d->plan->harness.instruction) < 0)
		return field_unexpected(r, v, err);
	return 0;
}

static int take_model(const struct reader *r, const struct toml *v, struct err *err)
{
	(void)err; /* any text is a label */
	((struct definition *)r->target)->plan->harness.model = own_strdup(v->string);
	return 0;
}

/* What the run file or a flag says about the same name holds over the harness file. */
static int take_secret_table(const struct reader *r, const struct toml *v, struct err *err)
{
	struct definition *d = r->target;
	struct plan *plan = d->plan;
	struct plan_secret *own = NULL;
	size_t count = 0;
	int e = take_secrets(r, v, &own, &count, err);

	for (size_t i = 0; e == 0 && i < count; i++) {
		bool said = false;

		strv_add(&d->secret_names, own[i].name);
		for (size_t k = 0; k < plan->secret_count; k++)
			said = said || strcmp(plan->secrets[k].name, own[i].name) == 0;
		if (!said)
			secrets_put(
				&plan->secrets, &plan->secret_count, own[i].name, own[i].reference);
	}
	secrets_free(own, count);
	return e;
}

static const struct field harness_rows[] = {
	{"name", FIELD_TYPE(STRING), "a name", take_name},
	{"kind", FIELD_TYPE(STRING), "\"program\" or \"command\"", take_kind},
	{"command", FIELD_TYPE(ARRAY), "an array of strings, the program first", take_command},
	{"env", FIELD_TYPE(ARRAY), "an array of names of environment variables", take_env},
	{"mounts", FIELD_TYPE(ARRAY), "an array of strings such as \"/opt/agents:ro\"",
		take_mount_list},
	{"instruction", FIELD_TYPE(STRING), "\"argument\", \"stdin\" or \"file\"",
		take_instruction},
	{"model", FIELD_TYPE(STRING), "a model's name", take_model},
	{"secrets", FIELD_TYPE(TABLE), "a table", take_secret_table},
	{NULL, 0, NULL, NULL},
};

static const char *const harness_later[] = {"gateway", "mcp", "via", "transcript", NULL};

/* ---- what keys mean together ------------------------------------------------------------------ */

static bool mentions(char *const *command, const char *placeholder)
{
	for (; *command != NULL; command++)
		if (strstr(*command, placeholder) != NULL)
			return true;
	return false;
}

static int check_instruction(
	struct reader *r, const struct toml *root, const struct plan *plan, struct err *err)
{
	const struct toml *via = toml_get(root, "instruction"),
			  *command = toml_get(root, "command");
	enum instruction_via said = plan->harness.instruction;
	bool argument = mentions(plan->harness.command, "{instruction}");
	bool file = mentions(plan->harness.command, "{instruction_file}");

	if (plan->harness.kind == HARNESS_PROGRAM && via != NULL) {
		r->key = "instruction";
		return field_say(
			r, via, err, "a program is told in run.start; only commands have this key");
	}
	r->key = "command";
	if (plan->harness.kind == HARNESS_PROGRAM && (argument || file))
		return field_say(r, command, err,
			"a program is told in run.start; only commands have "
			"{instruction} and {instruction_file}");
	if (plan->harness.kind == HARNESS_PROGRAM)
		return 0;
	if (argument != (said == INSTRUCTION_ARGUMENT))
		return field_say(r, command, err,
			argument
				? "{instruction} stands here, but instruction is not \"argument\""
				: "nothing holds {instruction}; or say instruction = \"stdin\" or \"file\"");
	if (file != (said == INSTRUCTION_FILE))
		return field_say(r, command, err,
			file ? "{instruction_file} stands here, but instruction is not \"file\""
			     : "nothing holds {instruction_file}, and instruction is \"file\"");
	if (strchr(plan->harness.command[0], '{') != NULL &&
		(strstr(plan->harness.command[0], "{instruction}") != NULL ||
			strstr(plan->harness.command[0], "{instruction_file}") != NULL))
		return field_say(r, command, err, "the program's own name holds a placeholder");
	return 0;
}

/* Every name in env must have a value somewhere. */
static int check_env(
	struct reader *r, const struct toml *root, const struct plan *plan, struct err *err)
{
	r->key = "env";
	for (char **name = plan->harness.env; name != NULL && *name != NULL; name++) {
		bool found = getenv(*name) != NULL;

		for (size_t i = 0; !found && i < plan->secret_count; i++)
			found = strcmp(plan->secrets[i].name, *name) == 0;
		if (!found)
			return field_say(r, toml_get(root, "env"), err,
				"%s is not set in hemra's environment and not named in [secrets]",
				*name);
	}
	return 0;
}

/* ---- the program ------------------------------------------------------------------------------ */

static char *seen_through(const char *path, const struct plan_mount *mounts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *rest = path_beneath(path, mounts[i].source);

		if (rest != NULL)
			return own_printf("%s%s", mounts[i].target, rest);
	}
	return NULL;
}

/* Where the box of this plan has the host's file, owned; NULL when it has it nowhere. */
static char *seen_in_box(const struct plan *plan, const char *path)
{
	static const char *const system[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", NULL};
	char *seen = seen_through(path, plan->harness.mounts, plan->harness.mount_count);

	if (seen == NULL)
		seen = seen_through(path, plan->sandbox.mounts, plan->sandbox.mount_count);
	for (const char *const *p = system; seen == NULL && *p != NULL; p++)
		if (path_beneath(path, *p) != NULL)
			seen = own_strdup(path);
	return seen;
}

/* A relative program stands against the harness file; the plan gets its path in the box. */
static int place_program(
	struct reader *r, const struct toml *root, struct plan *plan, struct err *err)
{
	const struct toml *command = toml_get(root, "command");
	char **program = &plan->harness.command[0];
	autofree char *whole = NULL, *copy = NULL, *directory = NULL, *path = NULL, *real = NULL;
	char *seen = NULL;
	struct stat st;

	assert(*program != NULL); /* require_keys and take_command saw to it */
	if ((*program)[0] == '/' || strchr(*program, '/') == NULL)
		return 0;
	if (str_starts(*program, "{workspace}/")) /* a file of the task's: only the box will tell */
		return 0;
	r->key = "command";
	whole = path_against(r->base, *program);
	real = realpath(whole, NULL);
	if (real == NULL || stat(real, &st) < 0)
		return field_say(r, command, err, "'%s': %s", whole, strerror(errno));
	if (!S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)
		return field_say(r, command, err, "'%s' is not an executable file", whole);
	/* a link is kept as the program's name, since programs look at the name they are called by */
	copy = own_strdup(whole);
	directory = realpath(dirname(copy), NULL);
	if (directory == NULL)
		return field_say(r, command, err, "'%s': %s", whole, strerror(errno));
	path = own_printf(
		"%s%s", strcmp(directory, "/") == 0 ? "" : directory, strrchr(whole, '/'));
	if (plan->sandbox.kind == SANDBOX_LOCAL) {
		seen = take_ptr(&path);
	} else {
		seen = seen_in_box(plan, path);
		if (seen == NULL)
			seen = seen_in_box(plan, real);
	}
	if (seen == NULL)
		return field_say(r, command, err,
			"'%s' is '%s', which no mount brings into the box; add mounts = [\"%s\"]",
			*program, whole, *program);
	free(*program);
	*program = seen;
	return 0;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static int require_keys(const char *file, const struct toml *root, struct err *err)
{
	static const char *const keys[] = {"kind", "command", NULL};

	for (const char *const *p = keys; *p != NULL; p++)
		if (toml_get(root, *p) == NULL)
			return err_say(err, EINVAL, "%s:1: key '%s' is missing", file, *p);
	return 0;
}

/* "dir/claude-code.toml" is called claude-code unless it says otherwise. */
static int name_after_file(const char *file, struct plan *plan, struct err *err)
{
	const char *last = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
	size_t n = strlen(last) - (str_ends(last, ".toml") ? 5 : 0);
	autofree char *name = own_strndup(last, n);
	const char *fault = name_fault(name);

	if (fault != NULL)
		return err_say(err, EINVAL,
			"%s:1: name: \"%.80s\", after the file, %s; add the key 'name'", file, name,
			fault);
	plan->harness.name = take_ptr(&name);
	return 0;
}

static int read_definition(struct reader *r, const struct toml *root, struct err *err)
{
	struct definition *d = r->target;
	struct plan *plan = d->plan;
	int e = fields_read(r, root, harness_rows, harness_later, err);

	if (e == 0)
		e = require_keys(r->file, root, err);
	if (e == 0 && plan->harness.name == NULL)
		e = name_after_file(r->file, plan, err);
	if (e == 0)
		e = check_instruction(r, root, plan, err);
	if (e == 0)
		e = check_env(r, root, plan, err);
	if (e != 0)
		return e;
	e = digest_of(plan, d->mount_words, d->secret_names, plan->harness.digest);
	if (e < 0)
		return err_set(err, -e, "%s: digest", r->file);
	return place_program(r, root, plan, err);
}

static int read_from_file(const char *path, struct plan *plan, char ***files, struct err *err)
{
	struct definition d = {.plan = plan};
	struct reader r = {.file = path, .where = "", .key = "", .target = &d};
	autofree char *real = NULL, *base = NULL;
	struct toml *root = NULL;
	int e = config_parse(path, &root, &real, &base, err);

	if (e < 0)
		return e;
	r.base = base;
	e = read_definition(&r, root, err);
	toml_free(root);
	strv_free(d.mount_words);
	strv_free(d.secret_names);
	if (e == 0)
		strv_add(files, real);
	return e;
}

static int read_builtin(const char *name, enum harness_kind kind, struct plan *plan)
{
	plan->harness.name = own_strdup(name);
	plan->harness.kind = kind;
	return harness_digest(plan);
}

int harness_read(const char *name_or_path, const char *base, struct plan *plan, char ***files,
	struct err *err)
{
	autofree char *beside = NULL, *user = NULL, *directory = path_user_config();

	if (strcmp(name_or_path, "oracle") == 0)
		return read_builtin("oracle", HARNESS_ORACLE, plan);
	if (strcmp(name_or_path, "nop") == 0)
		return read_builtin("nop", HARNESS_NOP, plan);
	if (strchr(name_or_path, '/') != NULL || str_ends(name_or_path, ".toml")) {
		beside = path_against(base, name_or_path);
		return read_from_file(beside, plan, files, err);
	}
	beside = own_printf("%s/harnesses/%s.toml", base, name_or_path);
	if (access(beside, F_OK) == 0)
		return read_from_file(beside, plan, files, err);
	if (directory == NULL)
		return err_say(
			err, ENOENT, "no harness '%s': '%s' is not there", name_or_path, beside);
	user = own_printf("%s/harnesses/%s.toml", directory, name_or_path);
	if (access(user, F_OK) == 0)
		return read_from_file(user, plan, files, err);
	return err_say(err, ENOENT, "no harness '%s': neither '%s' nor '%s' is there", name_or_path,
		beside, user);
}

/* ---- digest ----------------------------------------------------------------------------------- */

static void put_words(struct json_writer *w, const char *key, char *const *words)
{
	json_key(w, key);
	json_array_open(w);
	for (; words != NULL && *words != NULL; words++)
		json_put_string(w, *words);
	json_array_close(w);
}

static int digest_of(
	const struct plan *plan, char *const *mount_words, char *const *secret_names, char ret[65])
{
	autodone(buf_done) struct buf text;
	unsigned char raw[crypto_hash_sha256_BYTES];
	struct json_writer w;

	buf_init(&text, DIGEST_TEXT_MAX);
	json_writer_init(&w, &text);
	json_object_open(&w);
	put_words(&w, "command", plan->harness.command);
	put_words(&w, "env", plan->harness.env);
	json_pair_string(&w, "instruction", instruction_via_name(plan->harness.instruction));
	json_pair_string(&w, "kind", harness_kind_name(plan->harness.kind));
	json_pair_string(&w, "model", plan->harness.model);
	put_words(&w, "mounts", mount_words);
	json_pair_string(&w, "name", plan->harness.name);
	put_words(&w, "secrets", secret_names);
	json_object_close(&w);
	if (buf_status(&text) < 0)
		return buf_status(&text);
	(void)crypto_hash_sha256(raw, (const unsigned char *)text.data, text.len); /* cannot fail */
	str_hex(raw, sizeof(raw), ret);
	return 0;
}

int harness_digest(struct plan *plan)
{
	char **words = NULL, **names = NULL;
	int e;

	for (size_t i = 0; i < plan->harness.mount_count; i++) {
		const struct plan_mount *m = &plan->harness.mounts[i];
		autofree char *word = own_printf("%s:%s", m->target, m->writable ? "rw" : "ro");

		strv_add(&words, word);
	}
	e = digest_of(plan, words, names, plan->harness.digest);
	strv_free(words);
	return e;
}
