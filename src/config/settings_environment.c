/* SPDX-License-Identifier: Apache-2.0 */
/* HEMRA_* variables: the lowest layer of settings. */

#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/bounds.h"
#include "config/values.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define PREFIX        "HEMRA_"
#define HEARTH_PREFIX "HEARTH_"

/* Takers return 0 or -EINVAL; the caller makes the sentence from the row. */

static int take_path(struct settings *s, const char *text, char **ret)
{
	autofree char *here = text[0] == '/' ? own_strdup("/") : getcwd(NULL, 0);

	(void)s; /* the path is the setting */
	if (here == NULL)
		return -errno;
	free(*ret);
	*ret = path_against(here, text);
	return 0;
}

static int take_store(struct settings *s, const char *text)
{
	return take_path(s, text, &s->store);
}

static int take_work_dir(struct settings *s, const char *text)
{
	return take_path(s, text, &s->work_dir);
}

static int take_count(const char *text, unsigned max, unsigned *ret)
{
	uint64_t value;

	if (str_parse_u64(text, max, &value) < 0 || value == 0)
		return -EINVAL;
	*ret = (unsigned)value;
	return 0;
}

static int take_attempts(struct settings *s, const char *text)
{
	return take_count(text, ATTEMPTS_MAX, &s->attempts);
}

static int take_concurrency(struct settings *s, const char *text)
{
	return take_count(text, CONCURRENCY_MAX, &s->concurrency);
}

static int take_deadline(struct settings *s, const char *text)
{
	int64_t ms;

	if (str_parse_duration(text, &ms) < 0 || ms == 0)
		return -EINVAL;
	s->deadline_ms = ms;
	return 0;
}

static int take_sandbox(struct settings *s, const char *text)
{
	return sandbox_kind_parse(text, &s->kind);
}

static int take_workspace(struct settings *s, const char *text)
{
	return workspace_mode_parse(text, &s->workspace);
}

static int take_keep(struct settings *s, const char *text)
{
	return keep_parse(text, &s->keep);
}

static int take_memory(struct settings *s, const char *text)
{
	s->limit_said_memory = true;
	return str_parse_bytes(text, &s->limits.memory_bytes);
}

static int take_disk(struct settings *s, const char *text)
{
	s->limit_said_disk = true;
	return str_parse_bytes(text, &s->limits.disk_bytes);
}

static int take_pids(struct settings *s, const char *text)
{
	s->limit_said_pids = true;
	return str_parse_u64(text, PIDS_MAX, &s->limits.pids);
}

static int take_cpus(struct settings *s, const char *text)
{
	char *end;
	double cpus = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || strspn(text, "0123456789.") != strlen(text) ||
		*end != '\0' || cpus > CPUS_MAX || (cpus > 0 && cpus < 0.001))
		return -EINVAL;
	s->limit_said_cpus = true;
	s->limits.cpu_millis = (uint64_t)(cpus * 1000 + 0.5);
	return 0;
}

static int take_flags_of(const struct flag_name *names, const char *text, unsigned *flags)
{
	autofree char *copy = own_strdup(text);
	char *rest = copy, *word;

	while ((word = strsep(&rest, ",")) != NULL) {
		unsigned flag = 0;
		int e = flag_parse(names, word, &flag);

		if (e < 0)
			return e;
		*flags |= flag;
	}
	return 0;
}

static int take_require(struct settings *s, const char *text)
{
	return take_flags_of(isolation_names, text, &s->require);
}

static int take_weaker(struct settings *s, const char *text)
{
	return take_flags_of(weaker_names, text, &s->weaker);
}

static int take_nothing(struct settings *s, const char *text)
{
	(void)s, (void)text; /* no setting: read elsewhere, or told to programs in a box */
	return 0;
}

static int take_network(struct settings *s, const char *text)
{
	(void)s; /* what every box has */
	return strcmp(text, "none") == 0 ? 0 : -EINVAL;
}

/* Every HEMRA_ variable that hemra knows; docs/files.md has the same list. */
static const struct variable {
	const char *name;
	const char *expected;
	const char *later; /* values of a later version, between commas; may be NULL */
	int (*take)(struct settings *s, const char *text);
} variables[] = {
	{"HEMRA_ARTIFACTS", "", NULL, take_nothing},
	{"HEMRA_ATTEMPT", "", NULL, take_nothing},
	{"HEMRA_ATTEMPTS", "a whole number from 1 to 100000", NULL, take_attempts},
	{"HEMRA_CONCURRENCY", "a whole number from 1 to 1024", NULL, take_concurrency},
	{"HEMRA_CPUS", "a number from 0 to 4096, such as 1.5", NULL, take_cpus},
	{"HEMRA_DEADLINE", "a time such as 15m", NULL, take_deadline},
	{"HEMRA_DEBUG", "", NULL, take_nothing},
	{"HEMRA_DISK", "a size such as 8G", NULL, take_disk},
	{"HEMRA_KEEP", "failed, all or none", NULL, take_keep},
	{"HEMRA_MEMORY", "a size such as 4G", NULL, take_memory},
	{"HEMRA_NETWORK", "none", ",allow,open,", take_network},
	{"HEMRA_PIDS", "a whole number from 0 to 4194304", NULL, take_pids},
	{"HEMRA_REQUIRE", "network_block, resource_limit, file_system, with commas", NULL,
		take_require},
	{"HEMRA_SANDBOX", "native or local", ",docker,modal,fly,sprites,", take_sandbox},
	{"HEMRA_STORE", "a path", NULL, take_store},
	{"HEMRA_WEAKER", "probe, resource_limit, seccomp, landlock, with commas", NULL,
		take_weaker},
	{"HEMRA_WORK_DIR", "a path", NULL, take_work_dir},
	{"HEMRA_WORKSPACE_MODE", "copy or bind", ",overlay,", take_workspace},
};

static int take_variable(
	struct settings *s, const struct variable *v, const char *text, struct err *err)
{
	autofree char *between = own_printf(",%s,", text);

	/* set to nothing is how scripts say not set */
	if (text[0] == '\0' || v->take(s, text) == 0)
		return 0;
	if (v->later != NULL && strstr(v->later, between) != NULL)
		return err_say(err, EINVAL, "%s: \"%s\" is not built yet", v->name, text);
	return err_say(err, EINVAL, "%s: expected %s, found \"%s\"", v->name, v->expected, text);
}

static int refuse_unknown(const char *name, struct err *err)
{
	const char *known[array_count(variables) + 1];
	const char *near;

	for (size_t i = 0; i < array_count(variables); i++)
		known[i] = variables[i].name + strlen(PREFIX);
	known[array_count(variables)] = NULL;
	near = str_nearest(name + strlen(PREFIX), known);
	if (near != NULL)
		return err_say(err, EINVAL,
			"unknown environment variable %s (did you mean " PREFIX "%s?)", name, near);
	return err_say(err, EINVAL,
		"unknown environment variable %s; hemra's are listed in docs/files.md", name);
}

/* hearth's variables ask for containment; to go on without it would be weaker than what was asked. */
static int refuse_hearth(const char *name, struct err *err)
{
	static const char *const names[] = {
		"ALLOWED_TOOLS", "ALLOWED_HOSTS", "TRIPWIRE", "DECOYS", NULL};
	const char *near = str_nearest(name + strlen(HEARTH_PREFIX), names);

	if (near == NULL)
		return 0;
	if (strcmp(near, name + strlen(HEARTH_PREFIX)) == 0)
		return err_say(err, EINVAL,
			"environment variable %s: what it asks for is not built yet; unset it to go on without",
			name);
	return err_say(err, EINVAL,
		"unknown environment variable %s (did you mean " HEARTH_PREFIX "%s?)", name, near);
}

static int read_one(struct settings *s, const char *name, const char *text, struct err *err)
{
	if (str_starts(name, HEARTH_PREFIX))
		return refuse_hearth(name, err);
	if (!str_starts(name, PREFIX))
		return 0;
	for (size_t i = 0; i < array_count(variables); i++)
		if (strcmp(name, variables[i].name) == 0)
			return take_variable(s, &variables[i], text, err);
	return refuse_unknown(name, err);
}

int settings_read_environment(struct settings *ret, struct err *err)
{
	settings_init(ret);
	for (char **p = environ; *p != NULL; p++) {
		const char *equals = strchr(*p, '=');
		autofree char *name = NULL;
		int e;

		if (equals == NULL)
			continue;
		name = own_strndup(*p, (size_t)(equals - *p));
		e = read_one(ret, name, equals + 1, err);
		if (e < 0) {
			settings_done(ret);
			return e;
		}
	}
	return 0;
}
