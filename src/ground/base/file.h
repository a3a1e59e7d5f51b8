/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_FILE_H
#define GROUND_BASE_FILE_H

#include "ground/base/buf.h"
#include "ground/base/err.h"

/* Appends a whole regular file to out, whose maximum bounds it. Never waits on a FIFO or a device.
 * path is used in the sentence; -EFBIG over the maximum, -EINVAL when it is no regular file, else
 * the errno of open or read. */
int file_read(const char *path, struct buf *out, struct err *err);

/* Writes all of it, however many calls that takes. -errno. */
int file_write(int fd, const void *bytes, size_t size);

#endif
