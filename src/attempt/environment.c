/* SPDX-License-Identifier: Apache-2.0 */
/* What the command in the box is told: its environment, its arguments, and the secrets it was given
 * by name. */

#include "attempt/state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/base/variable.h"

struct needle_list {
	struct needle_secret *secrets;
	size_t count;
};

/* One variable may be named in several places; what is counted is counted once. */
static void needle_list_add(
	struct needle_list *list, const char *name, const char *value, size_t size)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct needle_secret *s = &list->secrets[i];

		if (strcmp(s->name, name) == 0 && s->value_bytes == size &&
			memcmp(s->value, value, size) == 0)
			return;
	}
	list->secrets = reallocarray(list->secrets, list->count + 1, sizeof(*list->secrets));
	if (list->secrets == NULL)
		abort();
	list->secrets[list->count++] = (struct needle_secret){name, value, size};
}

static void list_variables(struct needle_list *list, char *const *names)
{
	for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && strlen(value) >= NEEDLE_SECRET_MIN &&
			!variable_is_plain(names[i]))
			needle_list_add(list, names[i], value, strlen(value));
	}
}

static bool is_in_environment(const char *value)
{
	for (char **e = environ; *e != NULL; e++) {
		const char *equals = strchr(*e, '=');

		if (equals != NULL && strcmp(equals + 1, value) == 0)
			return true;
	}
	return false;
}

/* A task's ${NAME} was resolved from the operator's environment when it was loaded. */
static void list_resolved(struct needle_list *list, const struct plan_variable *v, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(v[i].value) >= NEEDLE_SECRET_MIN && !variable_is_plain(v[i].name) &&
			is_in_environment(v[i].value))
			needle_list_add(list, v[i].name, v[i].value, strlen(v[i].value));
}

int attempt_read_secrets(struct attempt *a, struct err *err)
{
	const struct plan *p = &a->plan;
	struct needle_list list = {0};
	int r = secret_harden_process(err);

	if (r < 0)
		return r;
	a->secrets = secret_set_new();
	for (size_t i = 0; i < p->secret_count; i++)
		if (secret_set_read(a->secrets, p->secrets[i].name, p->secrets[i].reference, err) <
			0)
			return err_add(err, "read secret '%s'", p->secrets[i].name);
	if (!p->redact)
		return 0;
	for (size_t i = 0; i < secret_set_count(a->secrets); i++) {
		const char *name = secret_set_name(a->secrets, i);
		size_t size = 0;
		const char *value = secret_set_value(a->secrets, name, &size);

		needle_list_add(&list, name, value, size);
	}
	list_variables(&list, p->harness.env);
	list_variables(&list, p->verifier.env_names);
	list_resolved(&list, p->task.env, p->task.env_count);
	list_resolved(&list, p->task.solution_env, p->task.solution_env_count);
	list_resolved(&list, p->verifier.env, p->verifier.env_count);
	r = needle_new(list.secrets, list.count, &a->needle, err);
	free(list.secrets);
	if (r < 0)
		return r;
	a->redactions = own_alloc((list.count + 1) * sizeof(*a->redactions));
	a->seam = needle_seam_new(a->needle);
	return 0;
}

static void set(char ***envp, const char *name, const char *value)
{
	autofree char *entry = own_printf("%s=%s", name, value);
	size_t n = strlen(name) + 1;

	for (size_t i = 0; *envp != NULL && (*envp)[i] != NULL; i++)
		if (strncmp((*envp)[i], entry, n) == 0) {
			free((*envp)[i]);
			(*envp)[i] = take_ptr(&entry);
			return;
		}
	strv_add(envp, entry);
	explicit_bzero(entry, strlen(entry)); /* it may hold a secret's value */
}

int attempt_environment(struct attempt *a, const struct plan_variable *extra, size_t extra_count,
	char *const *names, char ***ret_envp, struct err *err)
{
	const struct plan *p = &a->plan;
	bool local = p->sandbox.kind == SANDBOX_LOCAL;
	char **envp = NULL;

	set(&envp, "PATH",
		local && getenv("PATH") != NULL
			? getenv("PATH")
			: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	if (local) {
		autofree char *home =
			own_printf("%s/home", p->work != NULL ? p->work : "/nonexistent");

		set(&envp, "HOME", home);
	} else {
		set(&envp, "HOME", "/home/agent");
		set(&envp, "USER", "agent");
		set(&envp, "LOGNAME", "agent");
	}
	set(&envp, "LANG", "C.UTF-8");
	set(&envp, "TMPDIR", "/tmp");
	set(&envp, "HEMRA_ATTEMPT", p->attempt.text);
	if (a->artifacts != NULL)
		set(&envp, "HEMRA_ARTIFACTS", local ? a->artifacts : "/hemra/artifacts");
	for (size_t i = 0; i < extra_count; i++)
		set(&envp, extra[i].name, extra[i].value);
	for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
		const char *value = getenv(names[i]);

		if (secret_set_value(a->secrets, names[i], /* ret_bytes= */ NULL) != NULL)
			continue; /* [secrets] supplies it, to the harness alone */
		if (value == NULL) {
			strv_free(envp);
			return err_say(err, ENOENT, "variable '%s' is named in env but is not set",
				names[i]);
		}
		set(&envp, names[i], value);
	}
	*ret_envp = envp;
	return 0;
}

/* Replaces every "{key}" in an argument. */
static char *substitute(const char *argument, const char *key, const char *value)
{
	struct buf out;
	const char *at;

	buf_init(&out, 64 * 1024 * 1024);
	while ((at = strstr(argument, key)) != NULL) {
		(void)buf_add(
			&out, argument, (size_t)(at - argument)); /* checked as a whole below */
		(void)buf_add_text(&out, value);
		argument = at + strlen(key);
	}
	(void)buf_add_text(&out, argument);
	if (buf_status(&out) < 0)
		abort(); /* the plan's own strings are far smaller */
	return buf_take(&out);
}

static char *command_argument(const struct attempt *a, const char *argument)
{
	bool local = a->plan.sandbox.kind == SANDBOX_LOCAL;
	autofree char *file = local ? own_printf("%s/instruction.md", a->plan.work)
				    : own_strdup("/hemra/instruction.md");
	autofree char *one = substitute(argument, "{instruction_file}", file);
	autofree char *two = substitute(one, "{workspace}", a->plan.task.workdir);

	return substitute(two, "{instruction}",
		a->plan.task.instruction != NULL ? a->plan.task.instruction : "");
}

int attempt_prepare_command(struct attempt *a, struct err *err)
{
	const struct plan *p = &a->plan;
	bool local = p->sandbox.kind == SANDBOX_LOCAL;

	if (p->harness.kind == HARNESS_ORACLE) {
		autofree char *script =
			own_printf("%s/solve.sh", local ? p->task.solution : "/solution");

		strv_add(&a->argv, "/bin/bash");
		strv_add(&a->argv, script);
	} else if (p->harness.kind == HARNESS_NOP) {
		strv_add(&a->argv, "/bin/true");
	} else if (p->harness.kind == HARNESS_EXEC) {
		a->argv = strv_copy(p->harness.command);
	} else {
		for (size_t i = 0; p->harness.command[i] != NULL; i++) {
			autofree char *argument = command_argument(a, p->harness.command[i]);

			strv_add(&a->argv, argument);
		}
	}
	assert(a->argv != NULL);
	if (attempt_environment(a, p->task.env, p->task.env_count, p->harness.env, &a->envp, err) <
		0)
		return -err->code;
	if (p->harness.kind == HARNESS_ORACLE)
		for (size_t i = 0; i < p->task.solution_env_count; i++)
			set(&a->envp, p->task.solution_env[i].name, p->task.solution_env[i].value);
	for (size_t i = 0; i < p->secret_count; i++)
		set(&a->envp, p->secrets[i].name,
			secret_set_value(a->secrets, p->secrets[i].name, /* ret_bytes= */ NULL));
	return 0;
}

/* The steward needs them no longer, and its memory is where a stray core file or a debugger would look. */
void attempt_forget_environment(struct attempt *a)
{
	const struct plan *p = &a->plan;
	const char **references = own_alloc((p->secret_count + 1) * sizeof(*references));
	size_t count = 0;

	for (size_t i = 0; i < p->secret_count; i++) {
		const char *reference = p->secrets[i].reference;
		bool needed = false;

		for (size_t n = 0;
			p->verifier.env_names != NULL && p->verifier.env_names[n] != NULL; n++)
			needed |= str_starts(reference, "env:") &&
				  strcmp(reference + strlen("env:"), p->verifier.env_names[n]) == 0;
		if (!needed)
			references[count++] = reference;
	}
	secret_forget_environment(references, count);
	free(references);
}
