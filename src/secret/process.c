/* SPDX-License-Identifier: Apache-2.0 */
/* What this process shows of itself: its environment, its memory. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "secret/reference.h"
#include "secret/secret.h"

/* The strings that the kernel put on the stack at exec, which /proc/self/environ shows: they stay
 * there when the C library replaces a variable. */
static void initial_environment(char **ret_start, char **ret_end)
{
	autofree char *line = NULL;
	size_t room = 0;
	FILE *f = fopen("/proc/self/stat", "re");
	unsigned long long start, end;
	char *p;

	*ret_start = *ret_end = NULL;
	if (f == NULL)
		return;
	p = getline(&line, &room, f) > 0 ? strrchr(line, ')') : NULL;
	(void)fclose(f); /* it was only read */
	/* env_start and env_end are fields 50 and 51; the blank behind ')' leads to field 3 */
	for (int field = 2; p != NULL && field < 50; field++) {
		p = strchr(p, ' ');
		p = p != NULL ? p + 1 : NULL;
	}
	if (p == NULL)
		return;
	start = strtoull(p, &p, 10);
	end = strtoull(p, NULL, 10);
	if (start > end)
		return;
	*ret_start = (char *)(uintptr_t)start;
	*ret_end = (char *)(uintptr_t)end;
}

static bool sets(const char *entry, const char *name, size_t name_bytes)
{
	return strncmp(entry, name, name_bytes) == 0 && entry[name_bytes] == '=';
}

/* unsetenv() moves the pointers together, so the entry is looked up again after each. */
static void forget(const char *name, char *start, char *end)
{
	size_t name_bytes = strlen(name);

	for (char **e = environ; e != NULL && *e != NULL; e++)
		if (sets(*e, name, name_bytes))
			explicit_bzero(*e + name_bytes + 1, strlen(*e + name_bytes + 1));
	(void)unsetenv(name); /* fails only for what is no name */
	for (char *p = start; p < end; p += strnlen(p, (size_t)(end - p)) + 1) {
		size_t left = (size_t)(end - p), size = strnlen(p, left);

		if (size > name_bytes && sets(p, name, name_bytes))
			explicit_bzero(p + name_bytes + 1, size - name_bytes - 1);
	}
}

void secret_forget_environment(const char *const *references, size_t count)
{
	char *start, *end;

	initial_environment(&start, &end);
	for (size_t i = 0; i < count; i++) {
		struct reference r;

		if (reference_parse(references[i], &r, NULL) == 0 && r.source == REFERENCE_ENV)
			forget(r.name, start, end);
	}
}

int secret_harden_process(struct err *err)
{
	/* 1 byte, not 0: the kernel then also leaves alone a core_pattern that pipes to a helper. An
	 * operator's own hard limit of 0 cannot be raised and stays. */
	static const struct rlimit one = {1, 1};

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(err, errno, "make this process unreadable");
	if (setrlimit(RLIMIT_CORE, &one) < 0 && errno != EPERM)
		return err_set(err, errno, "forbid core files");
	return 0;
}
