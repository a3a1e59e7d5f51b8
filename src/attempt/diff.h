/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTEMPT_DIFF_H
#define ATTEMPT_DIFF_H

#include "ground/base/buf.h"
#include "ground/base/str.h"

/* Appends the unified difference (three lines of context) of two texts to out, headers not included.
 * Texts that differ in too many lines are shown as one replaced block. Errors stick in out. */
void diff_unified(struct str before, struct str after, struct buf *out);

#endif
