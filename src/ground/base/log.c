/* SPDX-License-Identifier: Apache-2.0 */
/* Debugging lines. */

#include "ground/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void log_line(const char *file, int line, const char *format, ...)
{
	static int on = -1;
	const char *base = strrchr(file, '/');
	char text[512];
	va_list args;
	int n, m;

	if (on < 0)
		on = getenv("HEMRA_DEBUG") != NULL;
	if (!on)
		return;
	n = snprintf(text, sizeof(text), "hemra[%d] %s:%d: ", (int)getpid(), base ? base + 1 : file,
		line);
	if (n < 0 || (size_t)n >= sizeof(text) - 1)
		return;
	va_start(args, format);
	m = vsnprintf(text + n, sizeof(text) - (size_t)n - 1, format, args);
	va_end(args);
	if (m < 0)
		return;
	n += m;
	if ((size_t)n > sizeof(text) - 2)
		n = sizeof(text) - 2;
	text[n++] = '\n';
	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		return; /* a debugging line that cannot be written is dropped */
}
