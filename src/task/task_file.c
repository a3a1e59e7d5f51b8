/* SPDX-License-Identifier: Apache-2.0 */
/* task.toml, key by key: taken, passed over, or refused by name. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/file.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/base/variable.h"
#include "task/parts.h"
#include "task/rows.h"

#define FILE_BYTES_MAX  ((size_t)1024 * 1024)
#define HOSTS_BYTES_MAX ((size_t)64 * 1024)
#define SECONDS_MAX     (10.0 * 366 * 86400)
#define MIB             (UINT64_C(1024) * 1024)
#define MEBIBYTES_MAX   (1024.0 * 1024 * 1024)

/* ---- values ----------------------------------------------------------------------------------- */

/* The smallest whole number that is not below. Without libm, which nothing else here needs. */
static uint64_t round_up(double number)
{
	uint64_t whole = (uint64_t)number;

	return whole + (number > (double)whole);
}

/* A number above zero and at most max. */
static int take_number(
	const struct reader *r, const struct toml *v, double max, double *ret, struct err *err)
{
	double number = v->type == TOML_INTEGER ? (double)v->integer : v->number;

	if (!(number > 0 && number <= max)) /* in this form, because a NaN answers no */
		return field_unexpected(r, v, err);
	*ret = number;
	return 0;
}

static int take_seconds(
	const struct reader *r, const struct toml *v, int64_t *ret_ms, struct err *err)
{
	double seconds = 0;
	int e = take_number(r, v, SECONDS_MAX, &seconds, err);

	if (e == 0)
		*ret_ms = (int64_t)round_up(seconds * 1000);
	return e;
}

/* A value that is wholly ${VAR} or ${VAR:-default} comes from hemra's environment; everything else
 * is itself. Returns an owned text, NULL for a variable that is not set (*ret_variable, owned). */
static char *resolve(const char *text, char **ret_variable)
{
	size_t n = strlen(text);
	autofree char *name = NULL;
	const char *value, *or_else;

	if (n < 4 || !str_starts(text, "${") || text[n - 1] != '}')
		return own_strdup(text);
	name = own_strndup(text + 2, n - 3);
	or_else = strstr(text, ":-");
	if (or_else != NULL)
		name[or_else - text - 2] = '\0';
	if (!variable_is_name(name))
		return own_strdup(text);
	value = getenv(name);
	if (value != NULL)
		return own_strdup(value);
	if (or_else != NULL)
		return own_strndup(or_else + 2, (size_t)(text + n - 1 - or_else - 2));
	*ret_variable = take_ptr(&name);
	return NULL;
}

static int take_variable(const struct reader *r, const struct toml *v, struct plan_variable **list,
	size_t *count, struct err *err)
{
	autofree char *value = NULL, *unset = NULL;
	const char *refusal;

	if (!variable_is_name(v->key))
		return field_say(r, v, err, "no name for an environment variable");
	refusal = variable_refusal(v->key);
	if (refusal != NULL)
		return field_refuse(r, v, ENOTSUP, err, "%s %s", v->key, refusal);
	if (v->type != TOML_STRING || strlen(v->string) != v->string_bytes)
		return field_say(r, v, err, "expected a string, found %s",
			v->type == TOML_STRING ? "one that holds a NUL" : toml_type_name(v->type));
	value = resolve(v->string, &unset);
	if (value == NULL)
		return field_refuse(r, v, ENOENT, err,
			"%s is not set in hemra's environment and no default is given", unset);
	/* the value is not shown: it may be a secret of the operator's */
	if (!str_is_utf8(value, strlen(value)))
		return field_refuse(
			r, v, EILSEQ, err, "the value from hemra's environment is not UTF-8");
	plan_variables_add(list, count, v->key, value);
	return 0;
}

static int take_variables(const struct reader *r, const struct toml *table,
	struct plan_variable **list, size_t *count, struct err *err)
{
	autofree char *where = own_printf("%s.env", r->where);

	for (size_t i = 0; i < table->count; i++) {
		struct reader at = *r;
		int e;

		at.where = where;
		at.key = table->children[i]->key;
		e = take_variable(&at, table->children[i], list, count, err);
		if (e < 0)
			return e;
	}
	return 0;
}

/* ---- network: the operator's word holds, what the task wanted is written down ----------------- */

static void add_difference(const struct reader *r, const char *value)
{
	autofree char *text = own_printf("%s.%s = %s", r->where, r->key, value);

	strv_add(&row_task(r)->differences, text);
}

/* r->where is agent, verifier or environment. */
static int take_network_mode(const struct reader *r, const struct toml *v, struct err *err)
{
	bool is_environment = strcmp(r->where, "environment") == 0;

	if (strcmp(v->string, "no-network") == 0) {
		if (is_environment)
			row_task(r)->wants_network = false;
		return 0;
	}
	if (strcmp(v->string, "public") != 0 && strcmp(v->string, "allowlist") != 0)
		return field_unexpected(r, v, err);
	add_difference(r, v->string);
	if (is_environment)
		row_task(r)->wants_network = true;
	return 0;
}

static int take_allow_internet(const struct reader *r, const struct toml *v, struct err *err)
{
	(void)err; /* its type was right */
	row_task(r)->wants_network = v->boolean;
	if (v->boolean)
		add_difference(r, "true");
	return 0;
}

static int take_allowed_hosts(const struct reader *r, const struct toml *v, struct err *err)
{
	autodone(buf_done) struct buf hosts;

	buf_init(&hosts, HOSTS_BYTES_MAX);
	for (size_t i = 0; i < v->count; i++) {
		const struct toml *host = v->children[i];

		if (host->type != TOML_STRING || host->string_bytes == 0 ||
			strlen(host->string) != host->string_bytes)
			return field_unexpected(r, host, err);
		(void)buf_addf(&hosts, "%s%s", i > 0 ? ", " : "", host->string); /* asked below */
	}
	if (buf_status(&hosts) < 0)
		return field_say(r, v, err, "the list is too long");
	if (hosts.len > 0)
		add_difference(r, buf_text(&hosts));
	return 0;
}

#define NETWORK_ROWS                                                                               \
	{"network_mode", FIELD_TYPE(STRING), "\"public\", \"no-network\" or \"allowlist\"",        \
		take_network_mode},                                                                \
	{                                                                                          \
		"allowed_hosts", FIELD_TYPE(ARRAY), "an array of host names", take_allowed_hosts   \
	}

/* ---- [agent], [verifier], [solution] ---------------------------------------------------------- */

#define USER_REASON "users of a task are not built yet: a box has one user"

static int take_agent_timeout(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_seconds(r, v, &row_task(r)->agent_timeout_ms, err);
}

static int take_agent(const struct reader *r, const struct toml *v, struct err *err)
{
	static const struct field rows[] = {
		{"timeout_sec", FIELD_NUMBER, "a number of seconds above 0", take_agent_timeout},
		{"user", FIELD_ANY, USER_REASON, row_refuse},
		NETWORK_ROWS,
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "agent";
	return fields_read(&at, v, rows, /* later= */ NULL, err);
}

static int take_verifier_timeout(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_seconds(r, v, &row_task(r)->verifier_timeout_ms, err);
}

static int take_verifier_env(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_variables(
		r, v, &row_task(r)->verifier_env, &row_task(r)->verifier_env_count, err);
}

static int take_environment_mode(const struct reader *r, const struct toml *v, struct err *err)
{
	if (strcmp(v->string, "shared") == 0)
		return 0;
	if (strcmp(v->string, "separate") == 0)
		return field_refuse(
			r, v, ENOTSUP, err, "a separate verifier environment is not built yet");
	return field_unexpected(r, v, err);
}

static int take_verifier(const struct reader *r, const struct toml *v, struct err *err)
{
	static const struct field rows[] = {
		{"timeout_sec", FIELD_NUMBER, "a number of seconds above 0", take_verifier_timeout},
		{"env", FIELD_TYPE(TABLE), "a table of strings", take_verifier_env},
		{"user", FIELD_ANY, USER_REASON, row_refuse},
		{"environment_mode", FIELD_TYPE(STRING), "\"shared\" or \"separate\"",
			take_environment_mode},
		{"environment", FIELD_ANY, "a separate verifier environment is not built yet",
			row_refuse},
		{"collect", FIELD_ANY, "collect hooks are not built yet", row_refuse},
		NETWORK_ROWS,
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "verifier";
	return fields_read(&at, v, rows, /* later= */ NULL, err);
}

static int take_solution_env(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_variables(
		r, v, &row_task(r)->solution_env, &row_task(r)->solution_env_count, err);
}

static int take_solution(const struct reader *r, const struct toml *v, struct err *err)
{
	static const struct field rows[] = {
		{"env", FIELD_TYPE(TABLE), "a table of strings", take_solution_env},
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "solution";
	return fields_read(&at, v, rows, /* later= */ NULL, err);
}

/* ---- [environment] ---------------------------------------------------------------------------- */

static int take_env(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_variables(r, v, &row_task(r)->env, &row_task(r)->env_count, err);
}

static int take_os(const struct reader *r, const struct toml *v, struct err *err)
{
	if (strcmp(v->string, "linux") == 0)
		return 0;
	if (strcmp(v->string, "windows") == 0)
		return field_refuse(r, v, ENOTSUP, err, "windows tasks cannot be run on Linux");
	return field_unexpected(r, v, err);
}

static int take_gpus(const struct reader *r, const struct toml *v, struct err *err)
{
	if (v->integer < 0)
		return field_unexpected(r, v, err);
	if (v->integer > 0)
		return field_refuse(r, v, ENOTSUP, err, "GPUs cannot be given to a box");
	return 0;
}

static int take_cpus(const struct reader *r, const struct toml *v, struct err *err)
{
	double cpus = 0;
	int e = take_number(r, v, 4096, &cpus, err);

	if (e == 0)
		row_task(r)->limits.cpu_millis = round_up(cpus * 1000);
	return e;
}

static int take_mebibytes(
	const struct reader *r, const struct toml *v, uint64_t *ret, struct err *err)
{
	double count = 0;
	int e = take_number(r, v, MEBIBYTES_MAX, &count, err);

	if (e == 0)
		*ret = round_up(count) * MIB;
	return e;
}

static int take_memory_mb(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_mebibytes(r, v, &row_task(r)->limits.memory_bytes, err);
}

static int take_storage_mb(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_mebibytes(r, v, &row_task(r)->limits.disk_bytes, err);
}

static int take_size(const struct reader *r, const struct toml *v, uint64_t *place, struct err *err)
{
	uint64_t bytes;

	if (str_parse_bytes(v->string, &bytes) < 0 || bytes == 0)
		return field_unexpected(r, v, err);
	if (*place == 0) /* the newer key holds, wherever it stands */
		*place = bytes;
	return 0;
}

static int take_memory(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_size(r, v, &row_task(r)->limits.memory_bytes, err);
}

static int take_storage(const struct reader *r, const struct toml *v, struct err *err)
{
	return take_size(r, v, &row_task(r)->limits.disk_bytes, err);
}

/* Harbor makes any directory the working directory of a container of its own; in a box some of
 * them are the host's, or hemra's. */
static int take_workdir(const struct reader *r, const struct toml *v, struct err *err)
{
	static const char *const taken[] = {"/bin", "/boot", "/dev", "/etc", "/hemra", "/lib",
		"/lib32", "/lib64", "/libx32", "/logs", "/proc", "/run", "/sbin", "/solution",
		"/sys", "/tests", "/tmp", "/usr", NULL};
	autofree char *path = own_strdup(v->string);
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	if (path[0] != '/' || strstr(path, "//") != NULL || strstr(path, "/./") != NULL ||
		strstr(path, "/../") != NULL || str_ends(path, "/.") || str_ends(path, "/.."))
		return field_unexpected(r, v, err);
	for (const char *const *p = taken; *p != NULL; p++)
		if (n == 1 || (str_starts(path, *p) &&
				      (path[strlen(*p)] == '/' || path[strlen(*p)] == '\0')))
			return field_refuse(r, v, ENOTSUP, err,
				"%s cannot be the working directory on the host root", path);
	free(row_task(r)->workdir);
	row_task(r)->workdir = take_ptr(&path);
	return 0;
}

static int take_environment(const struct reader *r, const struct toml *v, struct err *err)
{
	static const struct field rows[] = {
		{"build_timeout_sec", FIELD_NUMBER, "a number of seconds", row_pass},
		{"docker_image", FIELD_ANY, "images are not built yet: tasks run on the host root",
			row_refuse},
		{"os", FIELD_TYPE(STRING), "\"linux\" or \"windows\"", take_os},
		{"cpus", FIELD_NUMBER, "a number above 0 and at most 4096", take_cpus},
		{"memory_mb", FIELD_NUMBER, "a number of MiB above 0", take_memory_mb},
		{"storage_mb", FIELD_NUMBER, "a number of MiB above 0", take_storage_mb},
		{"memory", FIELD_TYPE(STRING), "a size such as \"2G\"", take_memory},
		{"storage", FIELD_TYPE(STRING), "a size such as \"10G\"", take_storage},
		{"gpus", FIELD_TYPE(INTEGER), "a whole number", take_gpus},
		{"gpu_types", FIELD_ANY, "GPUs cannot be given to a box", row_refuse},
		{"tpu", FIELD_ANY, "TPUs cannot be given to a box", row_refuse},
		{"env", FIELD_TYPE(TABLE), "a table of strings", take_env},
		{"skills_dir", FIELD_ANY, "skills are not built yet", row_refuse},
		{"workdir", FIELD_TYPE(STRING), "an absolute path without '.' and '..'",
			take_workdir},
		{"allow_internet", FIELD_TYPE(BOOLEAN), "true or false", take_allow_internet},
		{"healthcheck", FIELD_ANY, "health checks are not built yet", row_refuse},
		{"mcp_servers", FIELD_ANY, "MCP servers are not built yet", row_refuse},
		NETWORK_ROWS,
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "environment";
	return fields_read(&at, v, rows, /* later= */ NULL, err);
}

/* ---- the top ---------------------------------------------------------------------------------- */

#define WORD_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/* org/name, as Harbor wants it. */
static bool is_task_name(const char *name)
{
	const char *slash = strchr(name, '/');
	size_t n = slash != NULL ? (size_t)(slash - name) : 0;

	return n > 0 && n < 128 && strlen(slash + 1) < 128 && slash[1] != '\0' &&
	       strspn(name, WORD_CHARACTERS) == n &&
	       slash[1 + strspn(slash + 1, WORD_CHARACTERS)] == '\0' &&
	       strchr("_.-", name[0]) == NULL && strchr("_.-", slash[1]) == NULL &&
	       strstr(name, "..") == NULL;
}

static int take_name(const struct reader *r, const struct toml *v, struct err *err)
{
	if (!is_task_name(v->string))
		return field_unexpected(r, v, err);
	free(row_task(r)->name);
	row_task(r)->name = own_strdup(v->string);
	return 0;
}

static int take_task(const struct reader *r, const struct toml *v, struct err *err)
{
	static const struct field rows[] = {
		{"name", FIELD_TYPE(STRING), "\"org/name\" of letters, digits, '.', '_', '-'",
			take_name},
		{"version", FIELD_TYPE(STRING), "a string", row_pass},
		{"description", FIELD_TYPE(STRING), "a string", row_pass},
		{"authors", FIELD_TYPE(ARRAY), "an array of tables", row_pass},
		{"keywords", FIELD_TYPE(ARRAY), "an array of strings", row_pass},
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "task";
	return fields_read(&at, v, rows, /* later= */ NULL, err);
}

static int take_schema(const struct reader *r, const struct toml *v, struct err *err)
{
	if (!str_starts(v->string, "1.") && strcmp(v->string, "1") != 0)
		return field_unexpected(r, v, err);
	return 0;
}

static int take_strategy(const struct reader *r, const struct toml *v, struct err *err)
{
	if (strcmp(v->string, "mean") != 0 && strcmp(v->string, "final") != 0)
		return field_unexpected(r, v, err);
	return 0; /* about steps, which are refused */
}

static int take_artifacts(const struct reader *r, const struct toml *v, struct err *err)
{
	(void)err; /* its type was right */
	if (v->count > 0)
		row_note(r, v, "not collected: artifacts are the files that a harness declares");
	return 0;
}

int task_read_file(struct task *t, const char *directory, struct err *err)
{
	static const struct field rows[] = {
		{"schema_version", FIELD_TYPE(STRING), "\"1.4\" or an older one", take_schema},
		{"version", FIELD_TYPE(STRING), "\"1.4\" or an older one", take_schema},
		{"source", FIELD_TYPE(STRING), "a string", row_pass},
		{"multi_step_reward_strategy", FIELD_TYPE(STRING), "\"mean\" or \"final\"",
			take_strategy},
		{"artifacts", FIELD_TYPE(ARRAY), "an array", take_artifacts},
		{"task", FIELD_TYPE(TABLE), "a table", take_task},
		{"metadata", FIELD_TYPE(TABLE), "a table", row_pass},
		{"agent", FIELD_TYPE(TABLE), "a table", take_agent},
		{"verifier", FIELD_TYPE(TABLE), "a table", take_verifier},
		{"environment", FIELD_TYPE(TABLE), "a table", take_environment},
		{"solution", FIELD_TYPE(TABLE), "a table", take_solution},
		{"steps", FIELD_ANY, "tasks of several steps are not built yet", row_refuse},
		{NULL, 0, NULL, NULL},
	};
	autofree char *path = own_printf("%s/task.toml", directory);
	struct reader r = row_reader(path, t);
	autodone(buf_done) struct buf text;
	struct toml *root = NULL;
	const struct toml *environment;
	int e;

	buf_init(&text, FILE_BYTES_MAX);
	e = file_read(path, &text, err);
	if (e == 0)
		e = toml_parse(buf_text(&text), text.len, path, &root, err);
	if (e < 0)
		return e;
	t->wants_network = true;
	e = fields_read(&r, root, rows, /* later= */ NULL, err);
	environment = toml_get(root, "environment");
	if (e == 0 && toml_get(environment, "network_mode") == NULL &&
		toml_get(environment, "allow_internet") == NULL)
		strv_add(&t->differences, "environment.network_mode = public");
	toml_free(root);
	return e;
}
