/* SPDX-License-Identifier: Apache-2.0 */
/* From flags, files and environment to one request for the engine. */

#include "cli/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/out.h"
#include "cli/where.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define PLANS_MAX ((size_t)256 * 1024 * 1024)

/* The layers below the flags. */
static int read_layers(const char *path, struct settings *ret, struct err *err)
{
	autodone(settings_done) struct settings user, file;
	int r;

	settings_init(&user);
	settings_init(&file);
	r = settings_read_environment(ret, err);
	if (r < 0)
		return r;
	r = settings_read_user(&user, err);
	if (r < 0)
		return r;
	settings_lay_over(ret, &user);
	if (path == NULL)
		return 0;
	r = settings_read_file(path, &file, err);
	if (r < 0)
		return r;
	settings_lay_over(ret, &file);
	return 0;
}

static int put_store(const struct options *o, struct settings *s, struct err *err)
{
	char *path;
	int r = where_store(o, s->store, &path, err);

	if (r < 0)
		return r;
	free(s->store);
	s->store = path;
	return 0;
}

static void directory_of(struct request *r, const struct options *o, const char *path)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	autofree char *directory =
		slash == NULL ? own_strdup("") : own_strndup(path, (size_t)(slash - path));

	if (slash == path && slash != NULL)
		r->base = own_strdup("/");
	else if (directory[0] == '/')
		r->base = own_strdup(directory);
	else
		r->base = own_printf("%s%s%s", o->cwd, *directory != '\0' ? "/" : "", directory);
	r->run.base = r->base;
}

static int fill_for_run(
	const struct options *o, const char *path, struct request *r, struct err *err)
{
	struct settings *s = &r->run.settings;
	int result = read_layers(path, s, err);

	if (result < 0)
		return result;
	settings_lay_over(s, &o->settings);
	directory_of(r, o, path);
	r->run.file = path != NULL ? path : "flags";
	if (s->harnesses == NULL || s->harnesses[0] == NULL)
		return err_say(err, EINVAL,
			"no harness: the run file's 'harnesses' or --harness names one");
	if (s->tasks == NULL || s->tasks[0] == NULL)
		return err_say(err, EINVAL, "no task: the run file's 'tasks' or --task names one");
	return put_store(o, s, err);
}

static void print_notice(const char *text)
{
	autofree char *line = out_line(text);

	(void)fprintf(stderr, "hemra: notice: %s\n", line);
}

int request_for_run(const struct options *o, const char *path, struct request *ret, struct err *err)
{
	int r;

	*ret = (struct request){0};
	settings_init(&ret->run.settings);
	ret->run.notice = o->quiet ? NULL : print_notice;
	r = fill_for_run(o, path, ret, err);
	if (r < 0)
		request_done(ret);
	return r;
}

int request_for_exec(const struct options *o, struct request *ret, struct err *err)
{
	struct settings *s = &ret->run.settings;
	int r;

	*ret = (struct request){0};
	settings_init(s);
	r = read_layers(/* path= */ NULL, s, err);
	if (r < 0) {
		request_done(ret);
		return r;
	}
	/* a run's own habits, said in the user's file, are not meant for a command typed here */
	s->deadline_ms = 0;
	s->workspace = WORKSPACE_BIND;
	free(s->workspace_source);
	s->workspace_source = own_strdup(o->cwd);
	settings_lay_over(s, &o->settings);
	directory_of(ret, o, /* path= */ NULL);
	ret->run.file = "exec";
	ret->run.exec_argv = o->operands;
	if (s->record == 0) {
		free(s->store);
		s->store = NULL;
		return 0;
	}
	r = put_store(o, s, err);
	if (r < 0)
		request_done(ret);
	return r;
}

int request_for_check(const struct options *o, const char *directory, const char *store,
	struct request *ret, struct err *err)
{
	static const char *const tasks[] = {"echo", "cancel"};
	struct settings *s = &ret->run.settings;
	const char *harness = o->operands[0];
	bool is_path = strchr(harness, '/') != NULL || str_ends(harness, ".toml");
	autofree char *path =
		harness[0] == '/' ? own_strdup(harness) : own_printf("%s/%s", o->cwd, harness);
	int r;

	*ret = (struct request){0};
	settings_init(s);
	r = read_layers(/* path= */ NULL, s, err);
	if (r < 0) {
		request_done(ret);
		return r;
	}
	settings_lay_over(s, &o->settings);
	strv_done(&s->harnesses);
	strv_done(&s->tasks);
	strv_add(&s->harnesses, is_path ? path : harness);
	for (size_t i = 0; i < array_count(tasks); i++) {
		autofree char *task = own_printf("%s/tasks/%s", directory, tasks[i]);

		strv_add(&s->tasks, task);
	}
	s->attempts = 1;
	s->concurrency = 1;
	s->keep = KEEP_NONE;
	s->deadline_ms = -1; /* each of the two tasks has its own */
	free(s->store);
	s->store = own_strdup(store);
	directory_of(ret, o, /* path= */ NULL);
	ret->run.file = "check";
	ret->run.throw_away = o->settings.store == NULL;
	return 0;
}

const char *request_hint(int code)
{
	switch (code) {
	case EPERM:
		return "hemra doctor says what holds here; --weaker NAME accepts a shortfall";
	case ENOENT:
	case EINVAL:
		return NULL;
	default:
		return "hemra doctor looks at this machine and its store";
	}
}

static bool plans_can_be_made(struct request *r)
{
	autodone(buf_done) struct buf unused = {.max = PLANS_MAX};
	struct err err;

	r->run.notice = NULL; /* all was said the first time */
	return run_print_config(&r->run, &unused, &err) == 0;
}

int request_failure(const struct options *o, struct request *r, const struct err *err)
{
	if (plans_can_be_made(r))
		return out_machine_failure(o, err, request_hint(EIO));
	return out_failure(o, err, request_hint(err->code));
}

void request_done(struct request *r)
{
	settings_done(&r->run.settings);
	free(r->base);
	*r = (struct request){0};
	settings_init(&r->run.settings);
}
