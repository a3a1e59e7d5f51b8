/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_RAND_H
#define GROUND_BASE_RAND_H

#include <stddef.h>

/* Fills out from the kernel's generator; aborts if the kernel cannot (it always can after boot). */
void rand_bytes(void *out, size_t size);

#endif
