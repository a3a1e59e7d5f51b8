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
	name = strerrordesc_np(code);
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
	char before[sizeof(e->text)];
	char after[sizeof(e->text)];
	va_list args;
	int n;

	if (e == NULL)
		return -EIO;
	(void)memcpy(after, e->text, sizeof(after));
	va_start(args, format);
	(void)vsnprintf(before, sizeof(before), format, args);
	va_end(args);
	n = snprintf(e->text, sizeof(e->text), "%s: ", before);
	if (n > 0 && (size_t)n < sizeof(e->text))
		(void)snprintf(e->text + n, sizeof(e->text) - (size_t)n, "%s", after);
	return -e->code;
}
