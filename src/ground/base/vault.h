/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_VAULT_H
#define GROUND_BASE_VAULT_H

#include <stddef.h>

/* Pages for bytes that must not leak: locked into memory where RLIMIT_MEMLOCK allows it (otherwise
 * a debugging line and nothing else), left out of core files, wiped when they are given back.
 * A child made by fork() shares the content; locks are not inherited. */

void *vault_alloc(size_t size); /* zeroed, page aligned; NULL when there is no memory */
/* Moves size bytes into a vault of grown bytes and wipes the old one. NULL: nothing changed. */
void *vault_grow(void *p, size_t size, size_t grown); /* p may be NULL with size 0 */
void vault_free(void *p, size_t size);                /* wipes; accepts NULL */

#endif
