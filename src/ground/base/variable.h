/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_VARIABLE_H
#define GROUND_BASE_VARIABLE_H

#include <stdbool.h>

/* Names of environment variables, as files, tasks and flags may give them to a box. */

bool variable_is_name(const char *name); /* [A-Za-z_][A-Za-z0-9_]*, at most 255 characters */

/* Why nobody but hemra sets this variable in a box, as the rest of a sentence that begins with the
 * name ("is set by hemra in every box"); NULL when it may be given. */
const char *variable_refusal(const char *name);

/* Names whose values say nothing secret (LANG, TERM, TZ …); the value of any other variable that is
 * given to a box by name is treated like a secret. */
bool variable_is_plain(const char *name);

#endif
