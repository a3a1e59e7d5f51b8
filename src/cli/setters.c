/* SPDX-License-Identifier: Apache-2.0 */
/* What each option does with its value: into the topmost layer of settings, or into options. */

#include "cli/setters.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "ground/base/own.h"
#include "ground/base/str.h"

static int refuse_value(
	const struct option_row *row, const char *value, const char *wanted, struct err *err)
{
	return err_say(err, EINVAL, "--%s '%s': %s", row->name, value, wanted);
}

/* Absolute, as named from where hemra was started. Owned by the caller. */
static char *from_here(const struct options *o, const char *path)
{
	if (path[0] == '/')
		return own_strdup(path);
	return own_printf("%s/%s", strcmp(o->cwd, "/") == 0 ? "" : o->cwd, path);
}

static int put_path(const struct options *o, const struct option_row *row, const char *value,
	char **place, struct err *err)
{
	if (*value == '\0')
		return refuse_value(row, value, "a path is needed", err);
	free(*place);
	*place = from_here(o, value);
	return 0;
}

int set_switch(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	(void)value; /* switches have none */
	(void)err;   /* nothing can go wrong */
	*(bool *)((char *)o + row->at) = true;
	return 0;
}

int set_text(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	(void)err; /* nothing can go wrong */
	*(const char **)((char *)o + row->at) = value;
	return 0;
}

/* A name stays a name; a path is made absolute: the run file's own names stand elsewhere. */
int set_harness(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	autofree char *path = from_here(o, value);
	bool is_path = strchr(value, '/') != NULL || str_ends(value, ".toml");

	if (*value == '\0')
		return refuse_value(row, value, "a name or a file is needed", err);
	strv_add(&o->settings.harnesses, is_path ? path : value);
	return 0;
}

int set_task(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	autofree char *path = from_here(o, value);

	if (*value == '\0')
		return refuse_value(row, value, "a task's directory is needed", err);
	if (str_starts(value, "dataset:"))
		return err_say(err, ENOTSUP, "--task '%s': datasets are not built yet", value);
	strv_add(&o->settings.tasks, path);
	return 0;
}

static int put_count(const struct option_row *row, const char *value, unsigned max, unsigned *place,
	struct err *err)
{
	uint64_t count;

	if (str_parse_u64(value, max, &count) < 0 || count == 0)
		return err_say(err, EINVAL, "--%s '%s': a number from 1 to %u is needed", row->name,
			value, max);
	*place = (unsigned)count;
	return 0;
}

int set_attempts(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	return put_count(row, value, 100000, &o->settings.attempts, err);
}

int set_concurrency(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	return put_count(row, value, 1024, &o->settings.concurrency, err);
}

int set_sandbox(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	static const char *const later[] = {"docker", "modal", "fly", "sprites", NULL};

	if (sandbox_kind_parse(value, &o->settings.kind) == 0)
		return 0;
	for (int i = 0; later[i] != NULL; i++)
		if (strcmp(value, later[i]) == 0)
			return err_say(
				err, ENOTSUP, "--%s '%s' is not built yet", row->name, value);
	return refuse_value(row, value, "native or local is needed", err);
}

int set_workspace(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	struct stat st;
	int r = put_path(o, row, value, &o->settings.workspace_source, err);

	if (r < 0)
		return r;
	if (stat(o->settings.workspace_source, &st) < 0)
		return err_set(err, errno, "--%s '%s'", row->name, value);
	if (!S_ISDIR(st.st_mode))
		return refuse_value(row, value, "it is not a directory", err);
	return 0;
}

int set_workspace_mode(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	if (workspace_mode_parse(value, &o->settings.workspace) == 0)
		return 0;
	if (strcmp(value, "overlay") == 0)
		return err_say(err, ENOTSUP, "--%s '%s' is not built yet", row->name, value);
	return refuse_value(row, value, "copy or bind is needed", err);
}

int set_mount(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	struct plan_mount mount = {0};
	int r = settings_parse_mount(value, o->cwd, &mount, err);

	if (r < 0)
		return err_add(err, "--%s", row->name);
	plan_mounts_add(&o->settings.mounts, &o->settings.mount_count, mount.source, mount.target,
		mount.writable);
	free(mount.source);
	free(mount.target);
	return 0;
}

static int put_variable(
	const struct option_row *row, const char *value, char ***place, struct err *err)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char rest[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	/* the value is not repeated here: it may be what must not be on a command line */
	if (strchr(value, '=') != NULL)
		return err_say(err, EINVAL,
			"--%s takes a variable's name only; its value comes from hemra's "
			"environment",
			row->name);
	if (*value == '\0' || strchr(first, *value) == NULL || value[strspn(value, rest)] != '\0')
		return refuse_value(row, value, "a variable's name is needed", err);
	strv_add(place, value);
	return 0;
}

int set_env(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	return put_variable(row, value, &o->settings.env, err);
}

int set_verifier_env(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	return put_variable(row, value, &o->settings.verifier_env_names, err);
}

int set_network(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	(void)o; /* none is what every box has */
	if (strcmp(value, "none") == 0)
		return 0;
	if (strcmp(value, "allow") == 0 || strcmp(value, "open") == 0)
		return err_say(err, ENOTSUP, "--%s '%s' is not built yet: a box has no network",
			row->name, value);
	return refuse_value(row, value, "none is needed", err);
}

/* "a,b" of one of the two name tables. */
static int put_flags(const struct option_row *row, const char *value, const struct flag_name *names,
	unsigned *place, struct err *err)
{
	autofree char *words = own_strdup(value);
	char *rest = words, *word;

	while ((word = strsep(&rest, ",")) != NULL) {
		const char *known[16];
		const char *near;
		unsigned flag;
		size_t count = 0;

		if (flag_parse(names, word, &flag) == 0) {
			*place |= flag;
			continue;
		}
		for (const struct flag_name *n = names;
			n->name != NULL && count + 1 < array_count(known); n++)
			known[count++] = n->name;
		known[count] = NULL;
		near = str_nearest(word, known);
		if (near != NULL)
			return err_say(err, EINVAL, "--%s: unknown name '%s' (did you mean '%s'?)",
				row->name, word, near);
		return err_say(err, EINVAL, "--%s: unknown name '%s'", row->name, word);
	}
	return 0;
}

int set_require(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	return put_flags(row, value, isolation_names, &o->settings.require, err);
}

int set_weaker(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	return put_flags(row, value, weaker_names, &o->settings.weaker, err);
}

int set_deadline(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	if (str_parse_duration(value, &o->settings.deadline_ms) < 0 || o->settings.deadline_ms == 0)
		return refuse_value(row, value, "a time such as 90s, 15m or 2h is needed", err);
	return 0;
}

static int put_bytes(
	const struct option_row *row, const char *value, uint64_t *place, struct err *err)
{
	if (str_parse_bytes(value, place) < 0)
		return refuse_value(row, value, "a size such as 512M or 4G is needed", err);
	return 0;
}

int set_memory(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	o->settings.limit_said_memory = true;
	return put_bytes(row, value, &o->settings.limits.memory_bytes, err);
}

int set_disk(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	o->settings.limit_said_disk = true;
	return put_bytes(row, value, &o->settings.limits.disk_bytes, err);
}

int set_pids(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	o->settings.limit_said_pids = true;
	if (str_parse_u64(value, 4 * 1024 * 1024, &o->settings.limits.pids) < 0)
		return refuse_value(row, value, "a number of processes is needed", err);
	return 0;
}

/* "2", "1.5", "0.125": thousandths of a processor. */
int set_cpus(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	autofree char *whole = own_strdup(value);
	char *fraction = strchr(whole, '.');
	uint64_t units, millis = 0;

	if (fraction != NULL) {
		char digits[4] = "000";
		size_t size;

		*fraction++ = '\0';
		size = strlen(fraction);
		if (size == 0 || size > 3)
			return refuse_value(row, value, "a number such as 2 or 1.5 is needed", err);
		(void)memcpy(digits, fraction, size);
		if (str_parse_u64(digits, 999, &millis) < 0)
			return refuse_value(row, value, "a number such as 2 or 1.5 is needed", err);
	}
	if (str_parse_u64(whole, 4096, &units) < 0)
		return refuse_value(row, value, "a number such as 2 or 1.5 is needed", err);
	o->settings.limit_said_cpus = true;
	o->settings.limits.cpu_millis = units * 1000 + millis;
	return 0;
}

int set_keep(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	if (keep_parse(value, &o->settings.keep) < 0)
		return refuse_value(row, value, "failed, all or none is needed", err);
	return 0;
}

int set_no_redact(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	(void)row, (void)value, (void)err; /* a switch */
	o->settings.redact = 0;
	return 0;
}

int set_no_record(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	(void)row, (void)value, (void)err; /* a switch */
	o->settings.record = 0;
	return 0;
}

int set_record_output(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	(void)row, (void)value, (void)err; /* a switch */
	o->settings.record_output = 1;
	return 0;
}

int set_work_dir(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	return put_path(o, row, value, &o->settings.work_dir, err);
}

int set_store(struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	return put_path(o, row, value, &o->settings.store, err);
}

int set_older_than(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	if (str_parse_duration(value, &o->older_than_ms) < 0 || o->older_than_ms == 0)
		return refuse_value(row, value, "a time such as 30d or 12h is needed", err);
	return 0;
}

int set_keep_work(
	struct options *o, const struct option_row *row, const char *value, struct err *err)
{
	o->keep_work_said = true;
	return put_bytes(row, value, &o->keep_work_bytes, err);
}
