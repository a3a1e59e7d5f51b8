/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the stage, and runs attempts on it in children. */

#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"

#define STATUS_NO_STAGE 250

struct stage stage;

static const char *const names[] = {
	"in/open", "in/file", "in/private", "in/link", "in/empty", "out"};

static void put_file(const char *name, mode_t mode, uid_t owner)
{
	autofree char *path = own_printf("%s/%s", stage.directory, name);
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(fchmod(fd, mode), 0);
	if (geteuid() == 0)
		assert_int_equal(fchown(fd, owner, (gid_t)-1), 0);
}

static void become_user(void)
{
	if (geteuid() == 0 && stage.user != 0 &&
		(setgroups(0, NULL) < 0 || setresgid(stage.user, stage.user, stage.user) < 0 ||
			setresuid(stage.user, stage.user, stage.user) < 0))
		_exit(STATUS_NO_STAGE);
	/* a change of user leaves a process that others may not look at */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		_exit(STATUS_NO_STAGE);
}

/* A child that does nothing, and is the user by the time this returns. */
static pid_t start_victim(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		become_user();
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || write(ready[1], "x", 1) != 1)
			_exit(STATUS_NO_STAGE);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void set_up(uid_t user)
{
	autofree char *in = NULL, *open_path = NULL, *link_path = NULL;

	stage = (struct stage){.user = user, .parent = getpid()};
	(void)snprintf(stage.directory, sizeof(stage.directory), "/tmp/unit-lockdown-XXXXXX");
	assert_non_null(mkdtemp(stage.directory));
	in = own_printf("%s/in", stage.directory);
	open_path = own_printf("%s/in/open", stage.directory);
	link_path = own_printf("%s/in/link", stage.directory);
	assert_int_equal(mkdir(in, 0777), 0);
	assert_int_equal(chmod(in, 0777), 0);
	assert_int_equal(chmod(stage.directory, 0777), 0);
	put_file("in/open", 0666, user);
	put_file("in/file", 0666, user);
	put_file("in/empty", 0666, user);
	put_file("in/private", 0600, 12345);
	put_file("out", 0666, user);
	assert_int_equal(symlink("file", link_path), 0);
	stage.inside = open(in, O_PATH | O_DIRECTORY | O_CLOEXEC);
	stage.outside = open(stage.directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	stage.writable = open(open_path, O_RDWR | O_CLOEXEC);
	stage.namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	stage.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(stage.inside >= 0 && stage.outside >= 0 && stage.writable >= 0);
	assert_true(stage.namespace >= 0 && stage.socket >= 0);
	assert_int_equal(pipe2(stage.pipe, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, stage.pair), 0);
	stage.victim = start_victim();
}

int stage_as_root(void **state)
{
	(void)state;
	set_up(geteuid());
	return 0;
}

int stage_as_user(void **state)
{
	(void)state;
	set_up(geteuid() == 0 ? 65534 : geteuid());
	return 0;
}

int stage_clear(void **state)
{
	autofree char *in = own_printf("%s/in", stage.directory);
	int status;

	(void)state;
	assert_int_equal(kill(stage.victim, SIGKILL), 0);
	assert_int_equal(waitpid(stage.victim, &status, 0), stage.victim);
	for (size_t i = 0; i < array_count(names); i++) {
		autofree char *path = own_printf("%s/%s", stage.directory, names[i]);

		assert_int_equal(unlink(path), 0);
	}
	(void)close(stage.inside);
	(void)close(stage.outside);
	(void)close(stage.writable);
	(void)close(stage.namespace);
	(void)close(stage.socket);
	(void)close(stage.pipe[0]);
	(void)close(stage.pipe[1]);
	(void)close(stage.pair[0]);
	(void)close(stage.pair[1]);
	assert_int_equal(rmdir(in), 0);
	assert_int_equal(rmdir(stage.directory), 0);
	return 0;
}

/* The errno an attempt gives in a child, 0 when it works. */
static int outcome_of(const struct attempt *a, stage_lock lock)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		int r;

		become_user();
		if ((a->flags & ATTEMPT_IN_USERNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			_exit(STATUS_NO_STAGE);
		if (lock != NULL && lock() < 0)
			_exit(STATUS_NO_STAGE + 1);
		r = a->act();
		_exit(-r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status)) {
		print_message("# %s: ended by signal %d\n", a->name, WTERMSIG(status));
		fail();
	}
	return WEXITSTATUS(status);
}

void stage_run(const struct attempt *attempts, size_t count, stage_lock lock)
{
	for (size_t i = 0; i < count; i++) {
		const struct attempt *a = &attempts[i];
		int control, locked;

		if ((a->flags & ATTEMPT_OPTIONAL) != 0 && stage.user != 0)
			continue;
		control = (a->flags & ATTEMPT_MAY_LACK) != 0 ? 0 : outcome_of(a, NULL);
		locked = outcome_of(a, lock);
		if (control != 0 || locked != a->locked)
			print_message("# %s: unlocked %d, locked %d instead of %d\n", a->name,
				control, locked, a->locked);
		assert_int_equal(control, 0);
		assert_int_equal(locked, a->locked);
	}
}
