/* SPDX-License-Identifier: Apache-2.0 */
/* From pid 1's fork to the command: every step takes something away, in an order that the kernel
 * dictates. Capabilities go after the change of user, which needs them; no_new_privs before
 * Landlock and seccomp, which want it; Landlock before seccomp; nothing after seccomp but the
 * probe. */

#include "programs/init/payload.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "ground/kernel/idmap.h"
#include "ground/kernel/landlock.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/process.h"
#include "ground/kernel/seccomp.h"
#include "ground/kernel/sock.h"
#include "programs/init/probe.h"
#include "sandbox/sandbox.h"

#define WRITABLE_MAX 256
#define EXIT_FAILED  125 /* before the command; as a shell's 126 and 127 are */

static void send_link(uint32_t type, uint32_t value, const void *body, size_t bytes)
{
	struct init_packet head = {.type = type, .value = value};

	/* The steward may be gone; pid 1 sees that and ends us all. */
	(void)sock_send(INIT_FD_LINK, &head, sizeof(head), body, bytes, NULL);
}

static noreturn void fail(uint32_t type, const struct err *err)
{
	send_link(type, 0, err, sizeof(*err));
	_exit(EXIT_FAILED);
}

/* An ordinary user's box: the command lives in one more user namespace, so that it holds no
 * capability in the one that owns its mounts and cannot trace pid 1. */
static int enter_nested_user(const struct start *s, struct err *err)
{
	struct idmap uids = {s->head.uid, 0, 1}, gids = {s->head.gid, 0, 1};
	int r = ns_leave(CLONE_NEWUSER);

	if (r < 0)
		return err_set(err, -r, "make the command's own user namespace");
	r = idmap_write(0, &uids, &gids, /* deny_setgroups= */ true);
	return r < 0 ? err_set(err, -r, "map the command's user") : 0;
}

static int drop_rights(const struct start *s, struct err *err)
{
	unsigned without = s->head.without;
	int r = 0;

	if ((without & BOX_WITHOUT_USER) == 0 && (s->head.flags & INIT_NESTED) != 0) {
		r = enter_nested_user(s, err);
		if (r < 0)
			return r;
	}
	if ((without & BOX_WITHOUT_CAPABILITIES) == 0) {
		r = process_lock_securebits(); /* a change of user now keeps them … */
		if (r < 0)
			return err_set(err, -r, "lock the securebits");
	}
	if ((without & BOX_WITHOUT_USER) == 0 && (s->head.flags & INIT_NESTED) == 0)
		r = process_become(s->head.uid, s->head.gid, /* keep_groups= */ false);
	if (r < 0)
		return err_set(err, -r, "become the box's user");
	if ((without & BOX_WITHOUT_CAPABILITIES) == 0)
		r = process_drop_capabilities(0); /* … and here they all go */
	if (r < 0)
		return err_set(err, -r, "drop the capabilities");
	if ((without & BOX_WITHOUT_NO_NEW_PRIVS) == 0)
		r = process_no_new_privs();
	return r < 0 ? err_set(err, -r, "set no_new_privs") : 0;
}

static int set_limits(const struct start *s, struct err *err)
{
	int r = 0;

	/* 1 byte, not 0: it also keeps a core_pattern that pipes to a helper of the host from
	 * being run */
	if ((s->head.without & BOX_WITHOUT_CORE_LIMIT) == 0)
		r = process_limit(RLIMIT_CORE, 1);
	if (r == -EPERM) /* the operator's own hard limit is 0 already */
		r = 0;
	if (r == 0 && s->head.process_limit > 0)
		r = process_limit(RLIMIT_NPROC, s->head.process_limit);
	return r < 0 ? err_set(err, -r, "set the limits of the command") : 0;
}

static int enter_landlock(const struct start *s, struct err *err)
{
	struct landlock_path paths[WRITABLE_MAX + 1];
	struct landlock_spec spec = {
		.fs = LANDLOCK_FS_ALL, .scope = LANDLOCK_SCOPE_ALL, .paths = paths};
	char *const *writable = s->lists[INIT_WRITABLE];
	int r;

	if (s->head.counts[INIT_WRITABLE] > WRITABLE_MAX)
		return err_say(err, E2BIG, "more than %d writable mounts", WRITABLE_MAX);
	paths[spec.path_count++] =
		(struct landlock_path){open("/", O_PATH | O_CLOEXEC), LANDLOCK_READ};
	for (; *writable != NULL; writable++) {
		int fd = open(*writable, O_PATH | O_CLOEXEC);

		if (fd < 0)
			return err_set(err, errno, "open '%s' in the box", *writable);
		paths[spec.path_count++] =
			(struct landlock_path){fd, LANDLOCK_READ | LANDLOCK_WRITE};
	}
	r = landlock_restrict(&spec);
	for (size_t i = 0; i < spec.path_count; i++)
		(void)close(paths[i].fd);
	if (r == -ENOSYS || r == -EOPNOTSUPP)
		return 0; /* this kernel has none; the mounts stand alone, and doctor says so */
	return r < 0 ? err_set(err, -r, "enter the Landlock domain") : 0;
}

static int enter_seccomp(const struct start *s, struct err *err)
{
	static struct seccomp_program program;
	int r;

	if (s->head.filter_count > SECCOMP_CODE_MAX)
		return err_say(err, E2BIG, "the system call filter is too long");
	program.count = (unsigned short)s->head.filter_count;
	(void)memcpy(program.code, s->filter, s->head.filter_count * sizeof(program.code[0]));
	r = seccomp_install(&program);
	return r < 0 ? err_set(err, -r, "install the system call filter") : 0;
}

static int enter_cwd(const struct start *s, struct err *err)
{
	const char *cwd = s->lists[INIT_CWD][0];

	return chdir(cwd) < 0
		       ? err_set(err, errno, "enter the working directory '%s' in the box", cwd)
		       : 0;
}

static int lock_down(const struct start *s, struct err *err)
{
	int r = set_limits(s, err);

	if (r == 0)
		r = drop_rights(s, err);
	if (r == 0)
		r = enter_cwd(
			s, err); /* as the box's user, with no right to pass where it may not */
	if (r == 0 && (s->head.flags & INIT_LANDLOCK) != 0)
		r = enter_landlock(s, err);
	if (r == 0 && (s->head.flags & INIT_SECCOMP) != 0)
		r = enter_seccomp(s, err);
	return r;
}

static void wait_for_go(void)
{
	struct init_packet head;
	ssize_t n;

	do {
		(void)sock_wait(INIT_FD_LINK, POLLIN, /* timeout_ms= */ -1);
		n = recv(INIT_FD_LINK, &head, sizeof(head), 0);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	if (n != sizeof(head) || head.type != INIT_GO)
		_exit(EXIT_FAILED);
}

/* A command that is not there is told before the box is armed: that is no broken promise. */
static void find_command(const struct start *s, char *path, size_t room)
{
	struct err err;

	if (s->lists[INIT_ARGV][0] != NULL &&
		(command_find(s, path, room, &err) < 0 || command_check(path, &err) < 0))
		fail(INIT_EXEC_FAILED, &err);
}

noreturn void payload_run(const struct start *s)
{
	static struct claim_result results[CLAIM_COUNT];
	static char path[4096];
	const int keep[] = {INIT_FD_LINK};
	size_t count = 0;
	struct err err;
	int r;

	(void)setsid(); /* we are not a group's leader: it cannot fail */
	(void)umask(022);
	if ((s->head.flags & INIT_NATIVE) ==
		0) /* a local pid 1 that is killed takes no namespace along */
		(void)process_die_with_parent();
	r = process_close_fds(keep, array_count(keep));
	if (r < 0) {
		(void)err_set(&err, -r, "close inherited descriptors");
		fail(INIT_FAILED, &err);
	}
	if ((s->head.without & BOX_WITHOUT_CLOSING) != 0)
		(void)fcntl(STDIN_FILENO, F_DUPFD, 10);
	r = (s->head.flags & INIT_NATIVE) != 0 ? lock_down(s, &err) : enter_cwd(s, &err);
	if (r < 0)
		fail(INIT_FAILED, &err);
	find_command(s, path, sizeof(path));
	if ((s->head.flags & INIT_PROBE) != 0)
		count = probe_run(s, results);
	send_link(INIT_ARMED, (uint32_t)count, results, count * sizeof(results[0]));
	wait_for_go();
	(void)execve(path, s->lists[INIT_ARGV], s->lists[INIT_ENVP]);
	(void)err_set(&err, errno, "execute '%s' in the box", path);
	fail(INIT_EXEC_FAILED, &err);
}
