/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_LOG_H
#define GROUND_BASE_LOG_H

/* Debugging lines on stderr when HEMRA_DEBUG is set in the environment; nothing else is ever logged
 * below cli/. A line never holds a secret's value nor bytes that an agent wrote. */
#define log_debug(...) log_line(__FILE__, __LINE__, __VA_ARGS__)
void log_line(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
