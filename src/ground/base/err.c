/* SPDX-License-Identifier: Apache-2.0 */
/* Error sentences. No allocation and no locale: this also runs between clone() and exec. */

#include "ground/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* what err.h puts in front of them for the analyzer */
#undef err_set
#undef err_say
#undef err_add

/* Never translated, NULL for a number that is none. */
static const char *describe(int code)
{
#ifdef __GLIBC__
	return strerrordesc_np(code);
#else
	return strerror(code); /* pid 1 may be built with musl, whose texts stand in a table */
#endif
}

int err_set(struct err *e, int code, const char *format, ...)
{
	va_list args;
	const char *name;
	size_t used;

	if (e == NULL)
		return -code;
	e->code = code;
	va_start(args, format);
	/* a cut sentence is still a sentence */
	(void)vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	name = describe(code);
	used = strlen(e->text);
	if (name == NULL)
		name = "unknown error";
	(void)snprintf(e->text + used, sizeof(e->text) - used, ": %s", name);
	return -code;
}

int err_say(struct err *e, int code, const char *format, ...)
{
	va_list args;

	if (e == NULL)
		return -code;
	e->code = code;
	va_start(args, format);
	(void)vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	return -code;
}

int err_add(struct err *e, const char *format, ...)
{
	char after[sizeof(e->text)];
	va_list args;
	size_t used, left;

	if (e == NULL)
		return -EIO;
	(void)memcpy(after, e->text, sizeof(after));
	va_start(args, format);
	(void)vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	used = strlen(e->text);
	left = sizeof(e->text) - 1 - used;
	if (left > 2) {
		size_t rest = strnlen(after, left - 2);

		(void)memcpy(e->text + used, ": ", 2);
		(void)memcpy(e->text + used + 2, after, rest);
		e->text[used + 2 + rest] = '\0';
	}
	return -e->code;
}
