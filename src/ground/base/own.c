/* SPDX-License-Identifier: Apache-2.0 */
/* Small allocations that abort when memory is gone, and vectors of owned strings. */

#include "ground/base/own.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *must(void *p)
{
	if (p == NULL)
		abort();
	return p;
}

void *own_alloc(size_t size)
{
	return must(calloc(1, size > 0 ? size : 1));
}

char *own_strdup(const char *text)
{
	return must(strdup(text));
}

char *own_strndup(const char *text, size_t size)
{
	return must(strndup(text, size));
}

char *own_printf(const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n < 0 ? must(NULL) : text;
}

size_t strv_count(char *const *v)
{
	size_t n = 0;

	while (v != NULL && v[n] != NULL)
		n++;
	return n;
}

char **strv_copy(char *const *v)
{
	size_t n = strv_count(v);
	char **copy;

	if (v == NULL)
		return NULL;
	copy = own_alloc((n + 1) * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = own_strdup(v[i]);
	return copy;
}

void strv_add(char ***v, const char *text)
{
	size_t n = strv_count(*v);

	*v = must(reallocarray(*v, n + 2, sizeof(**v)));
	(*v)[n] = own_strdup(text);
	(*v)[n + 1] = NULL;
}

void strv_free(char **v)
{
	for (size_t i = 0; v != NULL && v[i] != NULL; i++)
		free(v[i]);
	free(v);
}

void strv_done(char ***v)
{
	strv_free(*v);
	*v = NULL;
}
