/* SPDX-License-Identifier: Apache-2.0 */
/* Which environment variables may be given to a box. */

#include "ground/base/variable.h"

#include <stddef.h>
#include <string.h>

#include "ground/base/str.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"

bool variable_is_name(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= 255 && (name[0] < '0' || name[0] > '9') &&
	       strspn(name, NAME_CHARACTERS) == n;
}

const char *variable_refusal(const char *name)
{
	static const char *const ours[] = {
		"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "PWD", NULL};

	for (const char *const *p = ours; *p != NULL; p++)
		if (strcmp(name, *p) == 0)
			return "is set by hemra in every box";
	if (str_starts(name, "HEMRA_"))
		return "begins with HEMRA_, which is kept for hemra";
	/* these change what every program of the box loads, hemra's own among them */
	if (str_starts(name, "LD_") || strcmp(name, "GLIBC_TUNABLES") == 0)
		return "changes the loader of every program in the box; set it inside the command";
	return NULL;
}

bool variable_is_plain(const char *name)
{
	static const char *const plain[] = {"LANG", "LANGUAGE", "TERM", "COLORTERM", "TZ",
		"NO_COLOR", "COLUMNS", "LINES", "PATH", "HOME", "USER", "SHELL", "TMPDIR", NULL};

	for (size_t i = 0; plain[i] != NULL; i++)
		if (strcmp(plain[i], name) == 0)
			return true;
	return str_starts(name, "LC_");
}
