/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_KERNEL_LANDLOCK_H
#define GROUND_KERNEL_LANDLOCK_H

#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>

/* Landlock domains: what a process may do with files beneath given directories, with TCP ports, and
 * (ABI 6) with abstract sockets and processes outside. A domain is inherited and never widened. One
 * with file rights refuses every mount call with EPERM as well.
 *
 * It does not see: stat, O_PATH, chmod, chdir, UDP, sockets with a path. */

/* The headers of our oldest build machine stop at ABI 2. */
#define LANDLOCK_FS_TRUNCATE         (1ULL << 14) /* ABI 3 */
#define LANDLOCK_FS_IOCTL_DEV        (1ULL << 15) /* ABI 5 */
#define LANDLOCK_NET_BIND_TCP        (1ULL << 0)  /* ABI 4 */
#define LANDLOCK_NET_CONNECT_TCP     (1ULL << 1)  /* ABI 4 */
#define LANDLOCK_SCOPE_ABSTRACT_UNIX (1ULL << 0)  /* ABI 6 */
#define LANDLOCK_SCOPE_SIGNALS       (1ULL << 1)  /* ABI 6 */

#define LANDLOCK_READ                                                                              \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define LANDLOCK_WRITE                                                                             \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |                     \
		LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                       \
		LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |                       \
		LANDLOCK_ACCESS_FS_REFER | LANDLOCK_FS_TRUNCATE | LANDLOCK_FS_IOCTL_DEV)
/* Device nodes are nobody's to make. */
#define LANDLOCK_FS_ALL                                                                            \
	(LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                           \
		LANDLOCK_ACCESS_FS_MAKE_BLOCK)
#define LANDLOCK_NET_ALL   (LANDLOCK_NET_BIND_TCP | LANDLOCK_NET_CONNECT_TCP)
#define LANDLOCK_SCOPE_ALL (LANDLOCK_SCOPE_ABSTRACT_UNIX | LANDLOCK_SCOPE_SIGNALS)

/* What is allowed at and beneath the open file or directory (O_PATH is enough; -1: the row is
 * skipped). For a file, rights that only directories have are left out. */
struct landlock_path {
	int fd;
	uint64_t access;
};

struct landlock_port {
	uint16_t port;
	uint64_t access; /* LANDLOCK_NET_… */
};

struct landlock_spec {
	uint64_t fs;    /* rights refused but where a row allows them; 0: files are left alone */
	uint64_t net;   /* likewise */
	uint64_t scope; /* LANDLOCK_SCOPE_… */
	const struct landlock_path *paths;
	size_t path_count;
	const struct landlock_port *ports;
	size_t port_count;
};

int landlock_abi(void); /* 1 or more; -ENOSYS, -EOPNOTSUPP when the kernel has no Landlock */

/* Rights that this kernel's ABI does not know are masked out; the caller says with landlock_abi()
 * what is then missing. landlock_open makes the ruleset, landlock_enforce locks the calling thread
 * (needs no_new_privs). All -errno; no memory is allocated, so both may run after a clone. */
int landlock_open(const struct landlock_spec *spec, int *ret_fd);
int landlock_enforce(int ruleset_fd);
int landlock_restrict(const struct landlock_spec *spec); /* both at once */

#endif
