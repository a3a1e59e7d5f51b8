/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_TREE_H
#define STORE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "ground/base/err.h"

/* Directory trees that agents filled: no link is followed, no depth is too great, no mode in the way. */

/* Removes name beneath dir with all it holds; fine when it is not there. Adds the bytes that its files
 * took up on disk to *bytes. */
int treeat_remove(int dir, const char *name, uint64_t *bytes, struct err *err);
int treeat_size(int dir, const char *name, uint64_t *bytes, struct err *err);

#endif
