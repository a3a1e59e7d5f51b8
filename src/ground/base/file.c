/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files whole, writes all that it is given. */

#include "ground/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"

int file_read(const char *path, struct buf *out, struct err *err)
{
	/* O_NONBLOCK: opening a FIFO that nobody writes to would wait */
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return err_set(err, errno, "open '%s'", path);
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_say(err, EINVAL, "'%s' is not a regular file", path);
	for (;;) {
		char piece[16384];
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read '%s'", path);
		if (n == 0)
			return 0;
		if (buf_add(out, piece, (size_t)n) == -EMSGSIZE)
			return err_say(err, EFBIG, "'%s' is larger than %zu bytes", path, out->max);
		if (buf_status(out) < 0)
			return err_set(err, -buf_status(out), "read '%s'", path);
	}
}

int file_write(int fd, const void *bytes, size_t size)
{
	const char *p = bytes;

	while (size > 0) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}
