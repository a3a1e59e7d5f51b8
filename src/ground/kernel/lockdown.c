/* SPDX-License-Identifier: Apache-2.0 */
/* Locks a warden or a reader down.
 *
 * How it works: what is irreversible and cheap comes first, Landlock next, the filter last, because
 * the filter forbids the calls that all the others are made of. The filter alone upholds every
 * promise of the header but "beneath the directories"; Landlock says most of it again, in other
 * words and at another place in the kernel. */

#include "ground/kernel/lockdown.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/landlock.h"
#include "ground/kernel/process.h"
#include "ground/kernel/seccomp.h"

/* clang-format off */
static const struct seccomp_rule both_may[] = {
	/* bytes, over descriptors that are there */
	SECCOMP_ALLOW(read),
	SECCOMP_ALLOW(write),
	SECCOMP_ALLOW(readv),
	SECCOMP_ALLOW(writev),
	SECCOMP_ALLOW(pread64),
	SECCOMP_ALLOW(close),
	SECCOMP_ALLOW(splice),
	SECCOMP_ALLOW(tee),
	SECCOMP_ALLOW(pipe2),
#ifdef __NR_dup2
	SECCOMP_ALLOW(dup2),
#endif
	SECCOMP_ALLOW(dup3),
	SECCOMP_ALLOW(recvfrom),
	SECCOMP_ALLOW(sendto),
	SECCOMP_ALLOW(recvmsg),
	SECCOMP_ALLOW(sendmsg),
	SECCOMP_ALLOW(shutdown),
	SECCOMP_ALLOW(fstat),
	/* by command: F_SETOWN and F_SETSIG would send signals */
	SECCOMP_ALLOW_IF(fcntl, 1, SECCOMP_INT, F_GETFD),
	SECCOMP_ALLOW_IF(fcntl, 1, SECCOMP_INT, F_SETFD),
	SECCOMP_ALLOW_IF(fcntl, 1, SECCOMP_INT, F_GETFL),
	SECCOMP_ALLOW_IF(fcntl, 1, SECCOMP_INT, F_SETFL),
	SECCOMP_ALLOW_IF(fcntl, 1, SECCOMP_INT, F_DUPFD_CLOEXEC),
	SECCOMP_ALLOW_IF(fcntl, 1, SECCOMP_INT, F_GETPIPE_SZ),
	SECCOMP_ALLOW_IF(fcntl, 1, SECCOMP_INT, F_SETPIPE_SZ),
	SECCOMP_ALLOW_IF(ioctl, 1, SECCOMP_INT, FIONREAD),
	SECCOMP_ALLOW_IF(ioctl, 1, SECCOMP_INT, TIOCGWINSZ),
	SECCOMP_ALLOW_IF(ioctl, 1, SECCOMP_INT, TCGETS),
	/* waiting */
#ifdef __NR_poll
	SECCOMP_ALLOW(poll),
#endif
#ifdef __NR_epoll_wait
	SECCOMP_ALLOW(epoll_wait),
#endif
	SECCOMP_ALLOW(ppoll),
	SECCOMP_ALLOW(epoll_pwait),
	SECCOMP_ALLOW(epoll_pwait2),
	SECCOMP_ALLOW(epoll_ctl),
	SECCOMP_ALLOW(epoll_create1),
	SECCOMP_ALLOW(timerfd_create),
	SECCOMP_ALLOW(timerfd_settime),
	SECCOMP_ALLOW(timerfd_gettime),
	SECCOMP_ALLOW(nanosleep),
	SECCOMP_ALLOW(clock_nanosleep),
	SECCOMP_ALLOW(futex),
	SECCOMP_ALLOW(restart_syscall),
	SECCOMP_ALLOW(sched_yield),
	/* memory, never executable */
	SECCOMP_DENY_IF(mmap, 2, PROT_EXEC, PROT_EXEC, EPERM),
	SECCOMP_ALLOW(mmap),
	SECCOMP_DENY_IF(mprotect, 2, PROT_EXEC, PROT_EXEC, EPERM),
	SECCOMP_ALLOW(mprotect),
	SECCOMP_ALLOW(munmap),
	SECCOMP_ALLOW(mremap),
	SECCOMP_ALLOW(madvise),
	SECCOMP_ALLOW(brk),
	SECCOMP_ALLOW(mlock),
	SECCOMP_ALLOW(munlock),
	/* itself */
	SECCOMP_ALLOW(rt_sigaction),
	SECCOMP_ALLOW(rt_sigprocmask),
	SECCOMP_ALLOW(rt_sigreturn),
	SECCOMP_ALLOW(sigaltstack),
	SECCOMP_ALLOW(getpid),
	SECCOMP_ALLOW(gettid),
	SECCOMP_ALLOW(getppid),
	SECCOMP_ALLOW(getuid),
	SECCOMP_ALLOW(geteuid),
	SECCOMP_ALLOW(clock_gettime),
	SECCOMP_ALLOW(clock_getres),
	SECCOMP_ALLOW(gettimeofday),
	SECCOMP_ALLOW(getrandom),
	SECCOMP_ALLOW(exit),
	SECCOMP_ALLOW(exit_group),
};

/* Every bit of open's flags that could write; of O_TMPFILE the one not shared with O_DIRECTORY. */
#define OPEN_WRITES (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

static const struct seccomp_rule reader_may[] = {
	SECCOMP_ALLOW_IF(openat, 2, OPEN_WRITES, 0),
	SECCOMP_ALLOW(getdents64),
	SECCOMP_ALLOW(readlinkat),
	SECCOMP_ALLOW(newfstatat),
	SECCOMP_ALLOW(statx),
	SECCOMP_ALLOW(fstatfs),
	SECCOMP_ALLOW(lseek),
	SECCOMP_ALLOW(preadv),
	SECCOMP_ALLOW(pwrite64),
	SECCOMP_ALLOW(pwritev),
	SECCOMP_ALLOW(ftruncate),
	SECCOMP_ALLOW(fallocate),
	SECCOMP_ALLOW(fadvise64),
	SECCOMP_ALLOW(fsync),
	SECCOMP_ALLOW(fdatasync),
	SECCOMP_ALLOW(copy_file_range),
	SECCOMP_ALLOW(sendfile),
	SECCOMP_ALLOW(flock),
};
/* clang-format on */

#define RULES_MAX (array_count(both_may) + array_count(reader_may) + 2)

static const struct landlock_spec nothing = {
	.fs = LANDLOCK_FS_ALL,
	.net = LANDLOCK_NET_ALL,
	.scope = LANDLOCK_SCOPE_ALL,
};

/* From every set. Only who has CAP_SETPCAP can empty the bounding set. */
static int drop_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}};

	if (process_has_capabilities(1ULL << CAP_SETPCAP))
		return process_drop_capabilities(keep);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		sets[i].permitted = sets[i].effective = (uint32_t)(keep >> (32 * i));
	return syscall(__NR_capset, &header, sets) < 0 ? -errno : 0;
}

static int give_up(uint64_t keep, const struct landlock_spec *spec, struct err *err)
{
	int r = process_no_new_privs();

	if (r < 0)
		return err_set(err, -r, "set no_new_privs");
	r = process_limit(RLIMIT_CORE, 0);
	if (r < 0)
		return err_set(err, -r, "forbid core files");
	r = drop_capabilities(keep);
	if (r < 0)
		return err_set(err, -r, "drop capabilities");
	r = process_set_dumpable(/* on= */ false);
	if (r < 0)
		return err_set(err, -r, "make this process unreadable");
	r = landlock_abi() < 0 ? 0 : landlock_restrict(spec);
	if (r < 0)
		return err_set(err, -r, "set Landlock");
	return 0;
}

static size_t add_rules(
	struct seccomp_rule *rules, size_t used, const struct seccomp_rule *more, size_t count)
{
	assert(used + count <= RULES_MAX);
	memcpy(rules + used, more, count * sizeof(*more));
	return used + count;
}

static int install(const struct seccomp_rule *rules, size_t count, struct err *err)
{
	struct seccomp_program program;
	int r = seccomp_build(&program, rules, count, EPERM);

	assert(r == 0); /* the tables are ours */
	r = seccomp_install(&program);
	return r < 0 ? err_set(err, -r, "install the system call filter") : 0;
}

int lockdown_warden(struct err *err)
{
	const struct seccomp_rule own[] = {
		SECCOMP_ALLOW_IF(tgkill, 0, SECCOMP_INT, (uint32_t)getpid()),
	};
	struct seccomp_rule rules[RULES_MAX];
	size_t count = add_rules(rules, 0, both_may, array_count(both_may));
	int r = give_up(0, &nothing, err);

	count = add_rules(rules, count, own, array_count(own));
	return r < 0 ? r : install(rules, count, err);
}

int lockdown_reader(const int *directory_fds, size_t count, unsigned flags, struct err *err)
{
	const struct seccomp_rule own[] = {
		SECCOMP_ALLOW_IF(tgkill, 0, SECCOMP_INT, (uint32_t)getpid()),
		{.nr = __NR_openat2, .error = landlock_abi() >= 3 ? 0 : ENOSYS},
	};
	struct landlock_path paths[LOCKDOWN_DIRECTORIES_MAX];
	struct landlock_spec spec = nothing;
	struct seccomp_rule rules[RULES_MAX];
	uint64_t keep = 1ULL << CAP_DAC_READ_SEARCH;
	size_t rule_count = add_rules(rules, 0, both_may, array_count(both_may));
	int r;

	assert(count <= LOCKDOWN_DIRECTORIES_MAX);
	for (size_t i = 0; i < count; i++)
		paths[i] = (struct landlock_path){directory_fds[i],
			LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR};
	spec.paths = paths;
	spec.path_count = count;
	if ((flags & LOCKDOWN_NO_CAPABILITY) != 0 || !process_has_capabilities(keep))
		keep = 0;
	r = give_up(keep, &spec, err);
	rule_count = add_rules(rules, rule_count, reader_may, array_count(reader_may));
	rule_count = add_rules(rules, rule_count, own, array_count(own));
	return r < 0 ? r : install(rules, rule_count, err);
}
