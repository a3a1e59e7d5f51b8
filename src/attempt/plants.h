/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTEMPT_PLANTS_H
#define ATTEMPT_PLANTS_H

#include <stdbool.h>

/* Would some ordinary program of the operator's execute, or be configured by, this file when it is
 * used in the workspace? path is relative to the workspace. The list is of kinds that were abused in
 * practice (git hooks and configuration, editors' tasks, package scripts, start-up files …); a name
 * that is not on it is not thereby harmless. */
bool plants_is_one(const char *path, bool executable);

#endif
