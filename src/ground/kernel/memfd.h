/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_MEMFD_H
#define GROUND_KERNEL_MEMFD_H

#include <stdbool.h>
#include <stddef.h>

/* A file in memory with this content that nobody can ever change, sealed against that too. CLOEXEC.
 * executable asks for the exec bit where the kernel (6.3) makes that a question. -errno. */
int memfd_sealed(const char *name, const void *bytes, size_t size, bool executable, int *ret_fd);

#endif
