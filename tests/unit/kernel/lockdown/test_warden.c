/* SPDX-License-Identifier: Apache-2.0 */
/* What a locked warden can and cannot do. */

#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/lockdown.h"
#include "ground/kernel/process.h"

static int lock(void)
{
	return lockdown_warden(NULL);
}

/* As a system call's result. */
static int result(long r)
{
	return r < 0 ? -errno : 0;
}

static int try_openat(void)
{
	return result(openat(stage.inside, "file", O_RDONLY | O_CLOEXEC));
}

static int try_openat2(void)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};

	return result(syscall(SYS_openat2, stage.inside, "file", &how, sizeof(how)));
}

static int try_reopen(void)
{
	return result(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

#ifdef SYS_open
static int try_open(void)
{
	return result(syscall(SYS_open, "/proc/self/exe", O_RDONLY));
}
#endif

static int try_memfd(void)
{
	return result(memfd_create("x", MFD_CLOEXEC));
}

static int try_stat(void)
{
	struct stat st;

	return result(fstatat(stage.inside, "file", &st, 0));
}

static int try_access(void)
{
	return result(faccessat(stage.inside, "file", R_OK, 0));
}

static int try_mkdir_rmdir(void)
{
	int r = result(mkdirat(stage.inside, "made", 0700));

	return r < 0 ? r : result(unlinkat(stage.inside, "made", AT_REMOVEDIR));
}

static int try_symlink_unlink(void)
{
	int r = result(symlinkat("x", stage.inside, "made"));

	return r < 0 ? r : result(unlinkat(stage.inside, "made", 0));
}

static int try_rename(void)
{
	return result(renameat(stage.inside, "link", stage.inside, "link"));
}

static int try_fchmod(void)
{
	return result(fchmod(stage.writable, 0666));
}

static int try_ftruncate(void)
{
	return result(ftruncate(stage.writable, 4));
}

static int try_chdir(void)
{
	return result(fchdir(stage.inside));
}

static int try_chroot(void)
{
	return result(chroot("/"));
}

static int try_inotify(void)
{
	return result(inotify_init1(IN_CLOEXEC));
}

/* The program ends with 0, as the attempt would. */
static int try_execve(void)
{
	return result(execl("/bin/true", "true", NULL));
}

static int try_execveat(void)
{
	char *const argv[] = {NULL};

	return result(syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0));
}

static int try_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int try_clone3(void)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, rest[6];
	} args = {.exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int try_socket_inet(void)
{
	return result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int try_socket_unix(void)
{
	return result(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int try_socket_netlink(void)
{
	return result(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int try_socketpair(void)
{
	int fds[2];

	return result(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
}

static int try_bind(void)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};

	return result(bind(stage.socket, (const struct sockaddr *)&any, sizeof(sa_family_t)));
}

static int try_listen(void)
{
	return result(listen(stage.pair[0], 1)) == -EPERM ? -EPERM : 0;
}

/* Nobody listens there: refused by the peer's absence, not by us, is what works means here. */
static int try_connect(void)
{
	const struct sockaddr_un nobody = {
		.sun_family = AF_UNIX, .sun_path = "\0unit-lockdown-nobody"};
	int r = result(connect(stage.socket, (const struct sockaddr *)&nobody, sizeof(nobody)));

	return r == -ECONNREFUSED ? 0 : r;
}

static int try_setsockopt(void)
{
	int on = 1;

	return result(setsockopt(stage.socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
}

static int try_kill(void)
{
	return result(kill(stage.victim, 0));
}

static int try_tgkill(void)
{
	return result(syscall(SYS_tgkill, stage.victim, stage.victim, 0));
}

static int try_tkill(void)
{
	return result(syscall(SYS_tkill, stage.victim, 0));
}

static int try_sigqueue(void)
{
	siginfo_t info = {.si_code = SI_QUEUE};

	return result(syscall(SYS_rt_sigqueueinfo, stage.victim, 0, &info));
}

static int try_pidfd(void)
{
	return result(syscall(SYS_pidfd_open, stage.victim, 0));
}

static int try_setown(void)
{
	return result(fcntl(stage.pair[0], F_SETOWN, stage.victim));
}

static int try_setsig(void)
{
	return result(fcntl(stage.pair[0], F_SETSIG, SIGKILL));
}

static int try_fiosetown(void)
{
	int pid = stage.victim;

	return result(ioctl(stage.socket, 0x8901 /* FIOSETOWN */, &pid));
}

static int try_ptrace(void)
{
	return result(ptrace(PTRACE_SEIZE, stage.victim, NULL, NULL));
}

static int try_read_memory(void)
{
	char byte;
	struct iovec mine = {&byte, 1}, theirs = {&stage, 1};

	return result(process_vm_readv(stage.victim, &mine, 1, &theirs, 1, 0));
}

static int try_prlimit(void)
{
	struct rlimit limit;

	return result(prlimit(stage.victim, RLIMIT_NOFILE, NULL, &limit));
}

static int try_priority(void)
{
	return result(setpriority(PRIO_PROCESS, (id_t)stage.victim, 19));
}

static int try_unshare_user(void)
{
	return result(unshare(CLONE_NEWUSER));
}

static int try_unshare_files(void)
{
	return result(unshare(CLONE_FS));
}

static int try_setns(void)
{
	return result(setns(stage.namespace, CLONE_NEWNET));
}

static int try_mount(void)
{
	return result(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static int try_fsopen(void)
{
	return result(syscall(SYS_fsopen, "tmpfs", 0));
}

static int try_umount(void)
{
	return result(umount2("/proc/nowhere", 0)) == -EPERM ? -EPERM : 0;
}

static int try_mmap_exec(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

static int try_mprotect_exec(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -ENOMEM : result(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int try_dumpable(void)
{
	return result(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int try_setuid(void)
{
	return result(syscall(SYS_setuid, getuid()));
}

static int try_personality(void)
{
	return result(syscall(SYS_personality, 0xffffffffu));
}

static int try_seccomp(void)
{
	return result(prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
}

static int try_keyctl(void)
{
	return result(syscall(SYS_keyctl, 0, -3, 0));
}

static int try_bpf(void)
{
	return result(syscall(SYS_bpf, 0, NULL, 0));
}

static int try_io_uring(void)
{
	return result(syscall(SYS_io_uring_setup, 1, NULL));
}

static int try_userfaultfd(void)
{
	return result(syscall(SYS_userfaultfd, 0));
}

static int try_perf(void)
{
	return result(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int work_bytes(void)
{
	char bytes[4];

	if (write(stage.pipe[1], "byte", 4) != 4 || read(stage.pipe[0], bytes, 4) != 4)
		return -errno;
	return memcmp(bytes, "byte", 4) == 0 ? 0 : -EIO;
}

static int work_files(void)
{
	char bytes[4];

	return pread(stage.writable, bytes, 4, 0) == 4 ? 0 : -errno;
}

/* A descriptor to ourselves through the socket pair, and a byte through the copy. */
static int work_descriptors(void)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.room = {0}};
	char byte = 'x';
	struct iovec part = {&byte, 1};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &stage.pipe[1], sizeof(int));
	if (sendmsg(stage.pair[0], &m, MSG_NOSIGNAL) != 1 ||
		recvmsg(stage.pair[1], &m, MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	c = CMSG_FIRSTHDR(&m);
	if (c == NULL || c->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	if (write(fd, "x", 1) != 1 || read(stage.pipe[0], &byte, 1) != 1)
		return -errno;
	return result(close(fd));
}

static int work_waiting(void)
{
	autoclose int epoll = epoll_create1(EPOLL_CLOEXEC);
	autoclose int timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	const struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
	struct epoll_event event = {.events = EPOLLIN};

	if (epoll < 0 || timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) < 0 ||
		timerfd_settime(timer, 0, &soon, NULL) < 0)
		return -errno;
	return epoll_wait(epoll, &event, 1, 10000) == 1 ? 0 : -errno;
}

static int work_memory(void)
{
	size_t size = 8 << 20;
	char *p = malloc(size);

	if (p == NULL)
		return -ENOMEM;
	memset(p, 1, size);
	free(p);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	return result(mlock(p, 4096));
}

static int work_time(void)
{
	struct timespec now, short_time = {0, 1000};
	char bytes[8];

	if (getentropy(bytes, sizeof(bytes)) < 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return -errno;
	return result(nanosleep(&short_time, NULL));
}

static volatile sig_atomic_t signalled;

static void on_signal(int signal)
{
	signalled = signal;
}

static int work_signals(void)
{
	const struct sigaction action = {.sa_handler = on_signal};

	if (sigaction(SIGUSR1, &action, NULL) < 0)
		return -errno;
	if (syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1) < 0)
		return -errno;
	return signalled == SIGUSR1 ? 0 : -EIO;
}

static int work_flags(void)
{
	return result(fcntl(stage.pair[0], F_SETFL, fcntl(stage.pair[0], F_GETFL)));
}

static const struct attempt attempts[] = {
	{"openat", try_openat, EPERM, 0},
	{"openat2", try_openat2, EPERM, 0},
	{"open /proc/self/exe", try_reopen, EPERM, 0},
#ifdef SYS_open
	{"open", try_open, EPERM, 0},
#endif
	{"memfd_create", try_memfd, EPERM, 0},
	{"stat", try_stat, EPERM, 0},
	{"access", try_access, EPERM, 0},
	{"mkdir", try_mkdir_rmdir, EPERM, 0},
	{"symlink", try_symlink_unlink, EPERM, 0},
	{"rename", try_rename, EPERM, 0},
	{"fchmod", try_fchmod, EPERM, 0},
	{"ftruncate", try_ftruncate, EPERM, 0},
	{"fchdir", try_chdir, EPERM, 0},
	{"chroot", try_chroot, EPERM, ATTEMPT_OPTIONAL},
	{"inotify", try_inotify, EPERM, 0},
	{"execve", try_execve, EPERM, 0},
	{"execveat", try_execveat, EPERM, 0},
	{"fork", try_fork, EPERM, 0},
	{"clone3", try_clone3, EPERM, 0},
	{"socket AF_INET", try_socket_inet, EPERM, 0},
	{"socket AF_UNIX", try_socket_unix, EPERM, 0},
	{"socket AF_NETLINK", try_socket_netlink, EPERM, 0},
	{"socketpair", try_socketpair, EPERM, 0},
	{"bind", try_bind, EPERM, 0},
	{"listen", try_listen, EPERM, 0},
	{"connect", try_connect, EPERM, 0},
	{"setsockopt", try_setsockopt, EPERM, 0},
	{"kill", try_kill, EPERM, 0},
	{"tgkill", try_tgkill, EPERM, 0},
	{"tkill", try_tkill, EPERM, 0},
	{"rt_sigqueueinfo", try_sigqueue, EPERM, ATTEMPT_MAY_LACK},
	{"pidfd_open", try_pidfd, EPERM, 0},
	{"F_SETOWN", try_setown, EPERM, 0},
	{"F_SETSIG", try_setsig, EPERM, 0},
	{"FIOSETOWN", try_fiosetown, EPERM, 0},
	{"ptrace", try_ptrace, EPERM, 0},
	{"process_vm_readv", try_read_memory, EPERM, 0},
	{"prlimit", try_prlimit, EPERM, 0},
	{"setpriority", try_priority, EPERM, 0},
	{"unshare user", try_unshare_user, EPERM, 0},
	{"unshare files", try_unshare_files, EPERM, 0},
	{"setns", try_setns, EPERM, ATTEMPT_OPTIONAL},
	{"mount", try_mount, EPERM, ATTEMPT_IN_USERNS},
	{"fsopen", try_fsopen, EPERM, ATTEMPT_IN_USERNS},
	{"umount", try_umount, EPERM, ATTEMPT_IN_USERNS},
	{"executable memory", try_mmap_exec, EPERM, 0},
	{"memory made executable", try_mprotect_exec, EPERM, 0},
	{"PR_SET_DUMPABLE", try_dumpable, EPERM, 0},
	{"setuid", try_setuid, EPERM, 0},
	{"personality", try_personality, EPERM, 0},
	{"PR_GET_SECCOMP", try_seccomp, EPERM, 0},
	{"keyctl", try_keyctl, EPERM, ATTEMPT_MAY_LACK},
	{"bpf", try_bpf, EPERM, ATTEMPT_MAY_LACK},
	{"io_uring_setup", try_io_uring, EPERM, ATTEMPT_MAY_LACK},
	{"userfaultfd", try_userfaultfd, EPERM, ATTEMPT_MAY_LACK},
	{"perf_event_open", try_perf, EPERM, ATTEMPT_MAY_LACK},
	{"bytes", work_bytes, 0, 0},
	{"files held", work_files, 0, 0},
	{"descriptors", work_descriptors, 0, 0},
	{"waiting", work_waiting, 0, 0},
	{"memory", work_memory, 0, 0},
	{"time", work_time, 0, 0},
	{"signals", work_signals, 0, 0},
	{"flags", work_flags, 0, 0},
};

static void as_root(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	stage_run(attempts, array_count(attempts), lock);
}

static void as_user(void **state)
{
	(void)state;
	stage_run(attempts, array_count(attempts), lock);
}

/* abort() ends a locked process as it does any other. */
static void aborts(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		if (lock() < 0)
			_exit(1);
		abort();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* What the kernel says of a locked process, seen from outside. */
static void status_of_locked(void **state)
{
	static const struct {
		const char *wanted;
		bool root_only;
	} lines[] = {{"\nNoNewPrivs:\t1\n", false}, {"\nSeccomp:\t2\n", false},
		{"\nCapInh:\t0000000000000000\n", false}, {"\nCapPrm:\t0000000000000000\n", false},
		{"\nCapEff:\t0000000000000000\n", false}, {"\nCapAmb:\t0000000000000000\n", false},
		{"\nCapBnd:\t0000000000000000\n", true}};
	char path[64], text[8192];
	int ready[2];
	pid_t pid;
	ssize_t n;

	(void)state;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (lock() < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)poll(NULL, 0, -1);
	}
	assert_int_equal(read(ready[0], text, 1), 1);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	{
		autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		n = read(fd, text, sizeof(text) - 1);
	}
	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (size_t i = 0; i < array_count(lines); i++)
		if (!lines[i].root_only || geteuid() == 0)
			assert_non_null(strstr(text, lines[i].wanted));
	(void)close(ready[0]);
	(void)close(ready[1]);
}

int test_warden(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_root, stage_as_root, stage_clear),
		cmocka_unit_test_setup_teardown(as_user, stage_as_user, stage_clear),
		cmocka_unit_test(aborts),
		cmocka_unit_test(status_of_locked),
	};

	return cmocka_run_group_tests_name("warden", tests, NULL, NULL);
}
