/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed files in memory. */

#include "ground/kernel/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ground/base/file.h"
#include "ground/base/own.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static int create(const char *name, bool executable)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | (executable ? MFD_EXEC : MFD_NOEXEC_SEAL));

	if (fd < 0 && errno == EINVAL) /* before 6.3 the question did not exist */
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

int memfd_sealed(const char *name, const void *bytes, size_t size, bool executable, int *ret_fd)
{
	autoclose int fd = create(name, executable);
	int r;

	if (fd < 0)
		return fd;
	r = file_write(fd, bytes, size);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}
