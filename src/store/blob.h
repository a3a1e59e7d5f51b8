/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include <stdint.h>

#define BLOB_NAME_SIZE (sizeof("blobs/sha256/ab/") + 62)

void blob_name(const uint8_t sha256[32], char out[BLOB_NAME_SIZE]);

#endif
