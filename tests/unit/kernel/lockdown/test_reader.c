/* SPDX-License-Identifier: Apache-2.0 */
/* What a locked reader can and cannot do, with Landlock and without. */

#include "stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/landlock.h"
#include "ground/kernel/lockdown.h"
#include "ground/kernel/process.h"
#include "ground/kernel/seccomp.h"

static int lock(void)
{
	return lockdown_reader(&stage.inside, 1, 0, NULL);
}

static int lock_without_capability(void)
{
	return lockdown_reader(&stage.inside, 1, LOCKDOWN_NO_CAPABILITY, NULL);
}

/* A kernel without Landlock, as far as the process can tell. */
static int lock_without_landlock(void)
{
	static const struct seccomp_rule rules[] = {
		SECCOMP_DENY(landlock_create_ruleset, ENOSYS),
	};
	struct seccomp_program program;
	int r = process_no_new_privs();

	if (r == 0)
		r = seccomp_build(&program, rules, array_count(rules), 0);
	if (r == 0)
		r = seccomp_install(&program);
	return r < 0 ? r : lockdown_reader(&stage.inside, 1, 0, NULL);
}

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

static int open_in(const char *name, int flags)
{
	return result(openat(stage.inside, name, flags | O_CLOEXEC, 0600));
}

static int open2_in(const char *name, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC,
		.mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? 0600 : 0};

	return result(syscall(SYS_openat2, stage.inside, name, &how, sizeof(how)));
}

static int try_write_only(void)
{
	return open_in("file", O_WRONLY);
}

static int try_read_write(void)
{
	return open_in("file", O_RDWR);
}

static int try_create(void)
{
	return open_in("file", O_RDONLY | O_CREAT);
}

static int try_truncate(void)
{
	return open_in("empty", O_RDONLY | O_TRUNC);
}

static int try_unnamed(void)
{
	return open_in(".", O_RDWR | O_TMPFILE);
}

static int try_path_truncate(void)
{
	autofree char *path = own_printf("%s/in/file", stage.directory);

	return result(truncate(path, 4));
}

static int try_write_only_2(void)
{
	return open2_in("file", O_WRONLY);
}

static int try_create_2(void)
{
	int r = open2_in("made", O_RDONLY | O_CREAT);

	return r < 0 ? r : result(unlinkat(stage.inside, "made", 0));
}

static int try_truncate_2(void)
{
	return open2_in("empty", O_RDONLY | O_TRUNC);
}

static int try_outside(void)
{
	return result(openat(stage.outside, "out", O_RDONLY | O_CLOEXEC));
}

static int try_dotdot(void)
{
	return open_in("../out", O_RDONLY);
}

static int try_dotdot_2(void)
{
	return open2_in("../out", O_RDONLY);
}

static int try_list_outside(void)
{
	return open_in("..", O_RDONLY | O_DIRECTORY);
}

static int try_passwd(void)
{
	return result(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int try_unlink(void)
{
	int r = result(symlinkat("x", stage.inside, "made"));

	return r < 0 ? r : result(unlinkat(stage.inside, "made", 0));
}

static int try_rename(void)
{
	return result(renameat(stage.inside, "link", stage.inside, "link"));
}

static int try_link(void)
{
	int r = result(linkat(stage.inside, "file", stage.inside, "made", 0));

	return r < 0 ? r : result(unlinkat(stage.inside, "made", 0));
}

static int try_chmod(void)
{
	return result(fchmodat(stage.inside, "file", 0666, 0));
}

static int try_times(void)
{
	return result(utimensat(stage.inside, "file", NULL, 0));
}

static int try_xattr(void)
{
	return result(fsetxattr(stage.writable, "user.x", "x", 1, 0));
}

static int try_memfd(void)
{
	return result(memfd_create("x", MFD_CLOEXEC));
}

static int try_socket(void)
{
	return result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int try_execve(void)
{
	return result(execl("/bin/true", "true", NULL));
}

static int try_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return result(pid);
}

static int try_kill(void)
{
	return result(kill(stage.victim, 0));
}

static int try_mount(void)
{
	return result(syscall(SYS_fsopen, "tmpfs", 0));
}

static int try_unshare(void)
{
	return result(unshare(CLONE_NEWUSER));
}

/* As root: a file of another user that nobody else may read. */
static int work_private(void)
{
	return open_in("private", O_RDONLY);
}

static int work_read(void)
{
	autoclose int fd = openat(stage.inside, "file", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char bytes[4];

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return read(fd, bytes, 4) == 4 && memcmp(bytes, "text", 4) == 0 ? 0 : -EIO;
}

static int work_openat2(void)
{
	return open2_in("file", O_RDONLY);
}

static int work_list(void)
{
	int fd = openat(stage.inside, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	int count = 0;

	if (d == NULL)
		return -errno;
	while (readdir(d) != NULL)
		count++;
	(void)closedir(d);
	return count == 7 ? 0 : -EIO; /* five, and . and .. */
}

static int work_readlink(void)
{
	char text[16];

	return readlinkat(stage.inside, "link", text, sizeof(text)) == 4 ? 0 : -errno;
}

static int work_write_held(void)
{
	if (pwrite(stage.writable, "text", 4, 0) != 4 || ftruncate(stage.writable, 4) < 0 ||
		fdatasync(stage.writable) < 0 || lseek(stage.writable, 0, SEEK_SET) < 0)
		return -errno;
	return 0;
}

static int work_lock(void)
{
	return result(flock(stage.writable, LOCK_SH | LOCK_NB));
}

static const struct attempt always[] = {
	{"O_WRONLY", try_write_only, EPERM, 0},
	{"O_RDWR", try_read_write, EPERM, 0},
	{"O_CREAT", try_create, EPERM, 0},
	{"O_TRUNC", try_truncate, EPERM, 0},
	{"O_TMPFILE", try_unnamed, EPERM, 0},
	{"truncate", try_path_truncate, EPERM, 0},
	{"unlink", try_unlink, EPERM, 0},
	{"rename", try_rename, EPERM, 0},
	{"link", try_link, EPERM, 0},
	{"chmod", try_chmod, EPERM, 0},
	{"utimensat", try_times, EPERM, 0},
	{"fsetxattr", try_xattr, EPERM, ATTEMPT_MAY_LACK},
	{"memfd_create", try_memfd, EPERM, 0},
	{"socket", try_socket, EPERM, 0},
	{"execve", try_execve, EPERM, 0},
	{"fork", try_fork, EPERM, 0},
	{"kill", try_kill, EPERM, 0},
	{"fsopen", try_mount, EPERM, ATTEMPT_IN_USERNS},
	{"unshare", try_unshare, EPERM, 0},
	{"read", work_read, 0, 0},
	{"list", work_list, 0, 0},
	{"readlink", work_readlink, 0, 0},
	{"write to what is held", work_write_held, 0, 0},
	{"flock", work_lock, 0, 0},
	{"another user's file", work_private, 0, ATTEMPT_OPTIONAL},
};

static const struct attempt with_landlock[] = {
	{"openat2", work_openat2, 0, 0},
	{"openat2 O_WRONLY", try_write_only_2, EACCES, 0},
	{"openat2 O_CREAT", try_create_2, EACCES, 0},
	{"openat2 O_TRUNC", try_truncate_2, EACCES, 0},
	{"outside", try_outside, EACCES, 0},
	{"..", try_dotdot, EACCES, 0},
	{".. by openat2", try_dotdot_2, EACCES, 0},
	{"list ..", try_list_outside, EACCES, 0},
	{"/etc/passwd", try_passwd, EACCES, 0},
};

static const struct attempt without_landlock[] = {
	{"openat2", work_openat2, ENOSYS, 0}, {"openat2 O_WRONLY", try_write_only_2, ENOSYS, 0},
	{"outside", try_outside, 0, 0}, /* as the header says */
};

static const struct attempt without_capability[] = {
	{"read", work_read, 0, 0},
	{"another user's file", work_private, EACCES, ATTEMPT_OPTIONAL},
};

static void run_all(void)
{
	stage_run(always, array_count(always), lock);
	if (landlock_abi() >= 3)
		stage_run(with_landlock, array_count(with_landlock), lock);
	stage_run(always, array_count(always), lock_without_landlock);
	stage_run(without_landlock, array_count(without_landlock), lock_without_landlock);
	stage_run(without_capability, array_count(without_capability), lock_without_capability);
}

static void as_root(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	run_all();
}

static void as_user(void **state)
{
	(void)state;
	run_all();
}

int test_reader(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_root, stage_as_root, stage_clear),
		cmocka_unit_test_setup_teardown(as_user, stage_as_user, stage_clear),
	};

	return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
