/* SPDX-License-Identifier: Apache-2.0 */
/* Claims about processes, system calls and rights. Calls are made so that they would work, or fail
 * in another way, where the rule that refuses them is missing. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#ifndef OPEN_TREE_CLONE
#include <linux/mount.h> /* not every C library has them; both would contradict */
#endif

#include "ground/base/own.h"
#include "ground/kernel/process.h"
#include "programs/init/probe.h"

#define CALL(...)                                                                                  \
	({                                                                                         \
		long value_ = syscall(__VA_ARGS__);                                                \
		value_ < 0 ? -(long)errno : value_;                                                \
	})

/* A call that gives a descriptor when it works. */
static long closing(long fd)
{
	if (fd >= 0)
		(void)close((int)fd);
	return fd;
}

static long try_open(const char *path, int flags)
{
	return closing(CALL(__NR_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0));
}

void probe_proc_outside(const struct start *s, struct claim_result *r)
{
	char name[32] = "";
	DIR *proc = opendir("/proc");
	const struct dirent *e;
	autoclose int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);

	(void)s;
	r->verdict = CLAIM_HELD;
	if (proc == NULL || fd < 0 || read(fd, name, sizeof(name) - 1) <= 0 ||
		strcmp(name, "hemra-init\n") != 0) {
		r->verdict = CLAIM_BROKEN;
		r->part = 0;
	}
	while (proc != NULL && (e = readdir(proc)) != NULL) {
		int pid = (int)strtol(e->d_name, NULL, 10); /* 0 for what is no process */

		if (pid > 0 && pid != 1 && pid != getpid() && pid != getppid()) {
			r->verdict = CLAIM_BROKEN;
			r->part = 1;
			r->detail = pid;
		}
	}
	if (proc != NULL)
		(void)closedir(proc);
}

void probe_proc_ptrace(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {EPERM, EACCES, 0};
	char byte, link[64];
	struct iovec here = {&byte, 1}, there = {(void *)probe_proc_ptrace, 1};

	(void)s;
	if (probe_refused(r, 0, CALL(__NR_ptrace, PTRACE_SEIZE, 1, NULL, NULL), refused) &&
		probe_refused(r, 1, try_open("/proc/1/mem", O_RDONLY), refused) &&
		probe_refused(r, 2, try_open("/proc/1/environ", O_RDONLY), refused) &&
		probe_refused(r, 3,
			CALL(__NR_readlinkat, AT_FDCWD, "/proc/1/root", link, sizeof(link)),
			refused) &&
		probe_refused(r, 4, try_open("/proc/1/fd/3", O_RDONLY), refused))
		(void)probe_refused(r, 5,
			CALL(__NR_process_vm_readv, 1, &here, 1UL, &there, 1UL, 0UL), refused);
}

void probe_proc_signal(const struct start *s, struct claim_result *r)
{
	(void)s;
	/* refused, or swallowed as the kernel does for the first process of a namespace */
	r->detail = kill(1, SIGKILL) < 0 ? errno : 0;
	r->verdict = getpgid(1) >= 0 ? CLAIM_HELD : CLAIM_BROKEN;
}

void probe_sys_mount(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {EPERM, 0};

	(void)s;
	if (probe_refused(r, 0, CALL(__NR_mount, "none", "/tmp", "tmpfs", 0UL, NULL), refused) &&
		probe_refused(r, 1,
			CALL(__NR_mount, NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL),
			refused) &&
		probe_refused(r, 2, CALL(__NR_umount2, "/usr", MNT_DETACH), refused) &&
		probe_refused(r, 3, CALL(__NR_pivot_root, "/tmp", "/tmp"), refused) &&
		probe_refused(r, 4, closing(CALL(__NR_fsopen, "tmpfs", FSOPEN_CLOEXEC)), refused) &&
		probe_refused(r, 5,
			closing(CALL(__NR_open_tree, AT_FDCWD, "/usr",
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)),
			refused) &&
		probe_refused(r, 6, CALL(__NR_chroot, "/tmp"), refused))
		(void)probe_refused(r, 7,
			CALL(__NR_mount_setattr, AT_FDCWD, "/usr", 0, &(struct mount_attr){0},
				sizeof(struct mount_attr)),
			refused);
}

void probe_sys_namespace(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {EPERM, 0};
	static const int flags[] = {CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER};
	autoclose int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	long pid;

	(void)s;
	if (!probe_refused(r, 0, own < 0 ? -EPERM : CALL(__NR_setns, own, CLONE_NEWNET), refused))
		return;
	pid = CALL(__NR_clone, (unsigned long)(CLONE_NEWUSER | SIGCHLD), 0UL, NULL, 0UL, 0UL);
	if (pid == 0)
		_exit(0);
	if (!probe_refused(r, 1, pid, refused))
		return;
	for (size_t i = 0; i < array_count(flags); i++)
		if (!probe_refused(r, 2 + i, CALL(__NR_unshare, flags[i]), refused))
			return;
}

void probe_sys_kernel(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {EPERM, ENOSYS, 0};
	char params[120] = {0}; /* struct io_uring_params */
	struct perf_event_attr perf = {.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER0,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1};
	union bpf_attr bpf = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	(void)s;
	if (probe_refused(r, 0, closing(CALL(__NR_io_uring_setup, 1, params)), refused) &&
		/* the session keyring's id; the keyring is made when there is none */
		probe_refused(r, 1, CALL(__NR_keyctl, 0 /* GET_KEYRING_ID */, -3, 1), refused) &&
		probe_refused(
			r, 2, CALL(__NR_add_key, "user", "hemra-probe", "x", 1UL, -2), refused) &&
		probe_refused(r, 3,
			closing(CALL(__NR_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)),
			refused) &&
		probe_refused(
			r, 4, closing(CALL(__NR_bpf, BPF_MAP_CREATE, &bpf, sizeof(bpf))), refused))
		(void)probe_refused(
			r, 5, closing(CALL(__NR_perf_event_open, &perf, 0, -1, -1, 0UL)), refused);
}

void probe_sys_abi(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {ENOSYS, 0};

	(void)s;
#ifdef __x86_64__
	long value;

	if (!probe_refused(r, 0, CALL(0x40000000L | __NR_getpid), refused))
		return;
	r->part = 1;
	__asm__ volatile("int $0x80"
			 : "=a"(value)
			 : "a"(20L /* getpid */)
			 : "memory", "cc", "r8", "r9", "r10", "r11");
	(void)probe_refused(r, 1, (int)value, refused);
#else
	/* There are no foreign calls from 64-bit code; a 32-bit program is refused by the
	 * filter. */
	(void)refused;
	r->verdict = CLAIM_UNTRIED;
	r->detail = EOPNOTSUPP;
#endif
}

void probe_sys_clone3(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {ENOSYS, 0};

	(void)s;
	(void)probe_refused(r, 0, CALL(__NR_clone3, NULL, 0UL), refused);
}

void probe_priv_capabilities(const struct start *s, struct claim_result *r)
{
	autoclose int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	static char text[8192];
	const char *p = text;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint8_t sets = 0;

	(void)s;
	r->verdict = CLAIM_HELD;
	text[n > 0 ? n : 0] = '\0';
	/* "CapInh:\t0000000000000000" and four more */
	for (; (p = strstr(p, "\nCap")) != NULL; sets++) {
		p += 9;
		if (strtoull(p, NULL, 16) != 0) {
			r->verdict = CLAIM_BROKEN;
			r->part = sets;
		}
	}
	if (sets != 5)
		r->verdict = CLAIM_BROKEN;
	r->detail = sets;
}

void probe_priv_no_new(const struct start *s, struct claim_result *r)
{
	(void)s;
	r->detail = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	r->verdict = r->detail == 1 ? CLAIM_HELD : CLAIM_BROKEN;
}

void probe_priv_core(const struct start *s, struct claim_result *r)
{
	struct rlimit limit, more = {4096, 4096};

	(void)s;
	if (getrlimit(RLIMIT_CORE, &limit) < 0 || limit.rlim_max > 1) {
		r->verdict = CLAIM_BROKEN;
		r->detail = 0;
		return;
	}
	(void)probe_refused(
		r, 1, setrlimit(RLIMIT_CORE, &more) < 0 ? -errno : 0, (const int[]){EPERM, 0});
}

void probe_priv_fds(const struct start *s, struct claim_result *r)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;

	(void)s;
	r->verdict = dir != NULL ? CLAIM_HELD : CLAIM_BROKEN;
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		int fd = (int)strtol(e->d_name, NULL, 10);

		/* our own link, closed by exec, and the directory itself are not the command's */
		if (e->d_name[0] == '.' || fd <= STDERR_FILENO || fd == INIT_FD_LINK ||
			fd == dirfd(dir))
			continue;
		r->verdict = CLAIM_BROKEN;
		r->detail = fd;
	}
	if (dir != NULL)
		(void)closedir(dir);
	if ((fcntl(INIT_FD_LINK, F_GETFD) & FD_CLOEXEC) == 0)
		r->verdict = CLAIM_BROKEN;
}

void probe_priv_sysctl(const struct start *s, struct claim_result *r)
{
	static const int refused[] = {EACCES, EROFS, EPERM, ENOENT, 0};
	static const char *const settings[] = {"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/shmmax", "/proc/sys/vm/swappiness",
		"/proc/sys/net/ipv4/ip_unprivileged_port_start",
		"/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger"};

	(void)s;
	for (size_t i = 0; i < array_count(settings); i++)
		if (!probe_refused(r, i, try_open(settings[i], O_WRONLY), refused))
			return;
}
