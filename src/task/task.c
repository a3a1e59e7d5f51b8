/* SPDX-License-Identifier: Apache-2.0 */
/* A task from its directory: what must be there, what must not, and the instruction. */

#include "task/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ground/base/buf.h"
#include "ground/base/file.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "task/parts.h"
#include "task/rows.h"

#define INSTRUCTION_BYTES_MAX                                                                      \
	((size_t)256 * 1024) /* escaped, it still fits into one line of the protocol */
#define VERIFIER_TIMEOUT_MS 600000

/* ---- instruction ------------------------------------------------------------------------------ */

static bool is_canary(const char *line, size_t size)
{
	autofree char *copy = NULL;

	while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL)
		size--;
	while (size > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		size--;
	}
	copy = own_strndup(line, size);
	return (copy[0] == '#' || (str_starts(copy, "<!--") && str_ends(copy, "-->"))) &&
	       strcasestr(copy, "canary") != NULL;
}

const char *task_skip_canary(const char *text)
{
	const char *p = text;

	while (*p != '\0') {
		size_t n = strcspn(p, "\n");

		if (!is_canary(p, n))
			break;
		p += n + (p[n] == '\n');
	}
	while (p != text && *p != '\0') {
		size_t blank = strspn(p, " \t\r");

		if (p[blank] != '\n' && p[blank] != '\0')
			break;
		p += blank + (p[blank] == '\n');
	}
	return p;
}

static int read_instruction(struct task *t, const char *directory, struct err *err)
{
	autofree char *path = own_printf("%s/instruction.md", directory);
	autodone(buf_done) struct buf text;
	int e;

	buf_init(&text, INSTRUCTION_BYTES_MAX);
	e = file_read(path, &text, err);
	if (e < 0)
		return e;
	if (!str_is_utf8(buf_text(&text), text.len) || strlen(buf_text(&text)) != text.len)
		return err_say(err, EILSEQ, "%s: not text in UTF-8", path);
	t->instruction = own_strdup(task_skip_canary(buf_text(&text)));
	return 0;
}

/* ---- parts ------------------------------------------------------------------------------------ */

enum there {
	THERE_NOT,
	THERE_FILE,
	THERE_DIRECTORY,
};

static enum there what_is(const struct task *t, const char *name)
{
	autofree char *path = own_printf("%s/%s", t->directory, name);
	struct stat st;

	if (stat(path, &st) < 0)
		return THERE_NOT;
	return S_ISDIR(st.st_mode) ? THERE_DIRECTORY : THERE_FILE;
}

static int refuse_files(const struct task *t, const char *directory, struct err *err)
{
	static const struct {
		const char *name, *why;
	} refused[] = {
		{"environment/Dockerfile", "images are not built yet: tasks run on the host root"},
		{"environment/docker-compose.yaml",
			"images are not built yet: tasks run on the host root"},
		{"environment/docker-compose.yml",
			"images are not built yet: tasks run on the host root"},
		{"steps", "tasks of several steps are not built yet"},
	};

	for (size_t i = 0; i < array_count(refused); i++)
		if (what_is(t, refused[i].name) != THERE_NOT)
			return err_say(err, ENOTSUP, "%s/%s: %s", directory, refused[i].name,
				refused[i].why);
	return 0;
}

static int find_parts(struct task *t, const char *directory, struct err *err)
{
	if (what_is(t, "environment") != THERE_DIRECTORY)
		return err_say(err, ENOENT,
			"%s/environment: every task has this directory, it may be empty",
			directory);
	t->environment = own_printf("%s/environment", t->directory);
	if (what_is(t, "tests") == THERE_DIRECTORY) {
		if (what_is(t, "tests/test.sh") != THERE_FILE)
			return err_say(err, ENOENT, "%s/tests/test.sh: not there", directory);
		t->tests = own_printf("%s/tests", t->directory);
	} else {
		task_note(
			t, "%s/tests: not there: attempts at this task are not graded", directory);
	}
	if (what_is(t, "solution/solve.sh") == THERE_FILE)
		t->solution = own_printf("%s/solution", t->directory);
	else if (what_is(t, "solution") == THERE_DIRECTORY)
		task_note(t, "%s/solution/solve.sh: not there: the oracle cannot solve this task",
			directory);
	if (what_is(t, "trajectory.json") != THERE_NOT)
		task_note(
			t, "%s/trajectory.json: agents are not shown what came before", directory);
	return 0;
}

static int name_after_directory(struct task *t, struct err *err)
{
	const char *name = strrchr(t->directory, '/') + 1;

	if (*name == '\0')
		return err_say(err, EINVAL, "the root directory is no task");
	if (!str_is_utf8(t->directory, strlen(t->directory)))
		return err_say(
			err, EILSEQ, "the task's path is not UTF-8 and could not be recorded");
	t->name = own_strdup(name);
	return 0;
}

static int load(struct task *t, const char *directory, struct err *err)
{
	int e;

	t->directory = realpath(directory, NULL);
	if (t->directory == NULL)
		return err_set(err, errno, "task '%s'", directory);
	t->workdir = own_strdup("/workspace");
	t->verifier_timeout_ms = VERIFIER_TIMEOUT_MS;
	e = name_after_directory(t, err);
	/* first of all, so that no link leads a reader out of the task */
	if (e == 0)
		e = task_read_tree(t, directory, err);
	if (e == 0)
		e = task_read_file(t, directory, err);
	if (e == 0)
		e = refuse_files(t, directory, err);
	if (e == 0)
		e = read_instruction(t, directory, err);
	if (e == 0)
		e = find_parts(t, directory, err);
	return e;
}

int task_load(const char *directory, struct task *ret, struct err *err)
{
	struct task t = {0};
	int e = load(&t, directory, err);

	if (e < 0) {
		task_done(&t);
		return e;
	}
	*ret = t;
	return 0;
}

static void variables_free(struct plan_variable *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(v[i].name);
		free(v[i].value);
	}
	free(v);
}

void task_done(struct task *t)
{
	free(t->directory);
	free(t->name);
	free(t->instruction);
	free(t->workdir);
	free(t->environment);
	free(t->tests);
	free(t->solution);
	variables_free(t->env, t->env_count);
	variables_free(t->verifier_env, t->verifier_env_count);
	variables_free(t->solution_env, t->solution_env_count);
	for (size_t i = 0; i < t->warning_count; i++)
		free(t->warnings[i].text);
	free(t->warnings);
	strv_free(t->differences);
	*t = (struct task){0};
}

int task_digest(const char *directory, char ret[65], struct err *err)
{
	struct task t = {.directory = own_strdup(directory)};
	int r = task_read_tree(&t, directory, err);

	if (r == 0)
		(void)memcpy(ret, t.digest, sizeof(t.digest));
	task_done(&t);
	return r;
}
