/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_LOG_H
#define STORE_LOG_H

#include <sys/types.h>

/* How a log reaches its file: tests replace these to make the n-th write fail. */
struct log_io {
	ssize_t (*pwrite)(int fd, const void *bytes, size_t size, off_t at);
	int (*fdatasync)(int fd);
};
extern struct log_io log_io;

#endif
