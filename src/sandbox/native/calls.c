/* SPDX-License-Identifier: Apache-2.0 */
/* Which system calls a command may not make.
 *
 * Everything is allowed but this: what makes or joins namespaces and mounts, what opens a large
 * part of the kernel to somebody who needs none of it, what reaches past a descriptor that was
 * given, and ways to leave a set-user-id or set-group-id file behind. Tracing, filters and
 * Landlock of the box's own are allowed: debuggers and agents that sandbox their tools need them.
 * ENOSYS where programs fall back on it, EPERM elsewhere. */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "ground/base/own.h"
#include "ground/kernel/seccomp.h"
#include "sandbox/native/native.h"

#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
		CLONE_NEWPID | CLONE_NEWNET)
#define NO_NETLINK_ROUTE 0
#define SET_UID          (uint64_t) S_ISUID
#define SET_GID          (uint64_t) S_ISGID

/* A call that one of our architectures does not have is left out there. */
static const struct seccomp_rule rules[] = {
	/* namespaces; clone3 hides its flags in memory, so programs are sent back to clone */
	SECCOMP_DENY(clone3, ENOSYS),
	SECCOMP_ALLOW_IF(clone, 0, NEW_NAMESPACES, 0),
	SECCOMP_DENY(clone, EPERM),
	SECCOMP_DENY(unshare, EPERM),
	SECCOMP_DENY(setns, EPERM),
	/* mounts */
	SECCOMP_DENY(mount, EPERM),
	SECCOMP_DENY(umount2, EPERM),
	SECCOMP_DENY(pivot_root, EPERM),
	SECCOMP_DENY(chroot, EPERM),
	SECCOMP_DENY(fsopen, EPERM),
	SECCOMP_DENY(fsconfig, EPERM),
	SECCOMP_DENY(fsmount, EPERM),
	SECCOMP_DENY(fspick, EPERM),
	SECCOMP_DENY(open_tree, EPERM),
	SECCOMP_DENY(open_tree_attr, EPERM),
	SECCOMP_DENY(move_mount, EPERM),
	SECCOMP_DENY(mount_setattr, EPERM),
	/* sockets: local, IP and routing questions; nothing else, vsock least of all */
	SECCOMP_ALLOW_IF(socket, 0, SECCOMP_INT, AF_UNIX),
	SECCOMP_ALLOW_IF(socket, 0, SECCOMP_INT, AF_INET),
	SECCOMP_ALLOW_IF(socket, 0, SECCOMP_INT, AF_INET6),
	SECCOMP_ALLOW_IF_BOTH(socket, 0, SECCOMP_INT, AF_NETLINK, 2, SECCOMP_INT, NO_NETLINK_ROUTE),
	SECCOMP_DENY(socket, EAFNOSUPPORT),
	SECCOMP_ALLOW_IF(socketpair, 0, SECCOMP_INT, AF_UNIX),
	SECCOMP_DENY(socketpair, EAFNOSUPPORT),
	/* large doors into the kernel */
	SECCOMP_DENY(io_uring_setup, ENOSYS),
	SECCOMP_DENY(io_uring_enter, ENOSYS),
	SECCOMP_DENY(io_uring_register, ENOSYS),
	SECCOMP_DENY(bpf, EPERM),
	SECCOMP_DENY(perf_event_open, EPERM),
	SECCOMP_DENY(userfaultfd, EPERM),
	SECCOMP_DENY(add_key, EPERM),
	SECCOMP_DENY(request_key, EPERM),
	SECCOMP_DENY(keyctl, EPERM),
	SECCOMP_DENY(fanotify_init, EPERM),
	SECCOMP_DENY(name_to_handle_at, EPERM),
	SECCOMP_DENY(open_by_handle_at, EPERM),
	SECCOMP_DENY(quotactl, EPERM),
	SECCOMP_DENY(quotactl_fd, EPERM),
	SECCOMP_DENY(lookup_dcookie, EPERM),
	SECCOMP_DENY(nfsservctl, ENOSYS),
	SECCOMP_DENY(vhangup, EPERM),
	SECCOMP_DENY(syslog, EPERM),
	SECCOMP_DENY(acct, EPERM),
	SECCOMP_DENY(swapon, EPERM),
	SECCOMP_DENY(swapoff, EPERM),
	SECCOMP_DENY(reboot, EPERM),
	SECCOMP_DENY(kexec_load, EPERM),
	SECCOMP_DENY(kexec_file_load, EPERM),
	SECCOMP_DENY(init_module, EPERM),
	SECCOMP_DENY(finit_module, EPERM),
	SECCOMP_DENY(delete_module, EPERM),
	SECCOMP_DENY(settimeofday, EPERM),
	SECCOMP_DENY(clock_settime, EPERM),
	/* the plain personality, asking for it, and none of address space layout randomisation
	 * (gdb) */
	SECCOMP_ALLOW_IF(personality, 0, SECCOMP_INT, 0),
	SECCOMP_ALLOW_IF(personality, 0, SECCOMP_INT, 0xffffffff),
	SECCOMP_ALLOW_IF(personality, 0, SECCOMP_INT, 0x0040000),
	SECCOMP_DENY(personality, EPERM),
	/* putting input into a terminal, and the console's selection */
	SECCOMP_DENY_IF(ioctl, 1, SECCOMP_INT, TIOCSTI, EPERM),
	SECCOMP_DENY_IF(ioctl, 1, SECCOMP_INT, TIOCLINUX, EPERM),
	/* device nodes; pipes, sockets and plain files may be made with mknod */
	SECCOMP_DENY_IF(mknodat, 2, S_IFMT, S_IFCHR, EPERM),
	SECCOMP_DENY_IF(mknodat, 2, S_IFMT, S_IFBLK, EPERM),
	SECCOMP_DENY_IF(mknodat, 2, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF(mknodat, 2, SET_GID, SET_GID, EPERM),
	/* set-user-id and set-group-id files: in a bound workspace they would belong to the
	 * operator, or to a group of theirs. A filter cannot tell a directory from a file, so a
	 * directory's set-group-id bit, harmless in itself, can only be inherited; mkdir needs no
	 * row, since the kernel drops these bits there. openat2 keeps its mode in memory; programs
	 * fall back to openat */
	SECCOMP_DENY_IF(fchmod, 1, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF(fchmod, 1, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY_IF(fchmodat, 2, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF(fchmodat, 2, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY_IF(fchmodat2, 2, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF(fchmodat2, 2, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY_IF_BOTH(openat, 2, O_CREAT, O_CREAT, 3, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF_BOTH(openat, 2, O_CREAT, O_CREAT, 3, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY_IF_BOTH(openat, 2, __O_TMPFILE, __O_TMPFILE, 3, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF_BOTH(openat, 2, __O_TMPFILE, __O_TMPFILE, 3, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY(openat2, ENOSYS),
#ifdef __x86_64__
	SECCOMP_DENY_IF(mknod, 1, S_IFMT, S_IFCHR, EPERM),
	SECCOMP_DENY_IF(mknod, 1, S_IFMT, S_IFBLK, EPERM),
	SECCOMP_DENY_IF(mknod, 1, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF(mknod, 1, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY_IF(chmod, 1, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF(chmod, 1, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY_IF(creat, 1, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF(creat, 1, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY_IF_BOTH(open, 1, O_CREAT, O_CREAT, 2, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF_BOTH(open, 1, O_CREAT, O_CREAT, 2, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY_IF_BOTH(open, 1, __O_TMPFILE, __O_TMPFILE, 2, SET_UID, SET_UID, EPERM),
	SECCOMP_DENY_IF_BOTH(open, 1, __O_TMPFILE, __O_TMPFILE, 2, SET_GID, SET_GID, EPERM),
	SECCOMP_DENY(iopl, EPERM),
	SECCOMP_DENY(ioperm, EPERM),
	SECCOMP_DENY(uselib, ENOSYS),
	SECCOMP_DENY(_sysctl, ENOSYS),
	SECCOMP_DENY(ustat, ENOSYS),
	SECCOMP_DENY(sysfs, ENOSYS),
#endif
};

const struct seccomp_program *native_filter(void)
{
	static struct seccomp_program program;

	if (program.count == 0) {
		int r = seccomp_build(&program, rules, array_count(rules), /* otherwise= */ 0);

		assert(r == 0); /* the table is ours */
	}
	return &program;
}
