/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SECRET_SECRET_H
#define SECRET_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "ground/base/err.h"

/* References to secrets and their values.
 *
 *   env:NAME         a variable of hemra's own environment
 *   file:/path       a regular file (no symbolic link) that belongs to the operator or to root and
 *                    that neither group nor others may read; one final newline is cut
 *   credential:NAME  $CREDENTIALS_DIRECTORY/NAME, as systemd's LoadCredential= lays it out: a
 *                    regular file that others may not read; one final newline is cut
 *   keyring: and command: are not built yet and are refused by that name
 *
 * The engine only checks that a reference exists; a steward reads values, into locked memory. */

/* Is the reference well formed and is a value there, of least_bytes to 16 KiB? Of it only the
 * size and a final newline are looked at; nothing of it is kept. Errors name the variable or path,
 * never a value: -EINVAL the form, no regular file, or too short a value; -ENOENT nothing there, or
 * it is empty; -EACCES readable by others or another user's; -E2BIG over 16 KiB; -ENOTSUP a source
 * that is not built yet; whatever open(2) says. What is refused for its size here would later be
 * refused with the same words, by secret_set_read() or needle_new(). */
int secret_check(const char *reference, size_t least_bytes, struct err *err);

/* A set of named values in memory that is locked and left out of core files. */
struct secret_set;

struct secret_set *secret_set_new(void);
void secret_set_free(struct secret_set *s); /* wipes; accepts NULL */
/* Reads reference now and files its value under name. Errors as secret_check, -EINVAL also when
 * the value holds a NUL byte, -E2BIG over 16 KiB. The same name twice: -EEXIST. */
int secret_set_read(struct secret_set *s, const char *name, const char *reference, struct err *err);
size_t secret_set_count(const struct secret_set *s);
const char *secret_set_name(const struct secret_set *s, size_t index);
/* The value, NUL-terminated, borrowed from the set; NULL when there is no such name. */
const char *secret_set_value(const struct secret_set *s, const char *name, size_t *ret_bytes);

/* Removes every variable that an env: reference names from this process's environment, and wipes
 * the bytes where they stood, so that /proc/self/environ no longer shows them. Other references are
 * passed over. For single-threaded processes, as all of environ(7). */
void secret_forget_environment(const char *const *references, size_t count);

/* Makes this process unreadable: not dumpable, no core file. -errno. */
int secret_harden_process(struct err *err);

#endif
