/* SPDX-License-Identifier: Apache-2.0 */
/* From clone to pid 1's program: builds the root from its plan, in the box's namespaces.
 *
 * This runs in a copy of the steward: one thread, no allocation, no loop, no log. What fails is
 * told to the steward as a sentence on the control socket, and ends the child.
 *
 * The order is the kernel's: sources are opened before the new root hides them; the death signal
 * is set after the change of user, which would clear it; the cgroup namespace is made after the
 * parent moved us, or it would show the path. */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/mount.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/pidfd.h"
#include "ground/kernel/process.h"
#include "ground/kernel/sock.h"
#include "ground/terms/init.h"
#include "sandbox/arrange.h"
#include "sandbox/native/native.h"

#define NOTHING "/.nothing"
#define HARD    (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static __attribute__((noreturn, format(printf, 3, 4))) void fail(
	const struct child *c, int r, const char *format, ...)
{
	struct init_packet head = {.type = INIT_FAILED};
	char step[256];
	struct err err;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(step, sizeof(step), format, args);
	va_end(args);
	(void)err_set(&err, r < 0 ? -r : EIO, "%s", step);
	(void)sock_send(c->control, &head, sizeof(head), &err, sizeof(err), NULL, 0);
	_exit(125);
}

static void wait_for_maps(const struct child *c)
{
	struct pollfd polls[] = {
		{.fd = c->control, .events = POLLIN}, {.fd = c->steward, .events = POLLIN}};
	struct init_packet head;
	ssize_t n;

	(void)close(c->others[0]); /* or the sockets would never end for us */
	(void)close(c->others[1]);
	do {
		if (poll(polls, array_count(polls), -1) > 0 && polls[1].revents != 0)
			_exit(125);
		n = recv(c->control, &head, sizeof(head), 0);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	if (n != sizeof(head) || head.type != INIT_BUILD)
		_exit(125); /* the steward is gone */
}

/* An ordinary user's child maps its one id itself. It must be dumpable for that, which the steward,
 * whose copy it is, may not be; as short as can be. */
static void map_own_id(const struct child *c)
{
	int r = process_set_dumpable(true);

	if (r == 0)
		r = idmap_write(0, &c->ids->uids, &c->ids->gids, /* deny_setgroups= */ true);
	if (r < 0)
		fail(c, r, "map the id of the box");
	(void)process_set_dumpable(false); /* until exec */
}

static void enter(const struct child *c)
{
	int r;

	if (!c->ids->is_root)
		map_own_id(c);
	r = process_become(0, 0, /* keep_groups= */ !c->ids->is_root);
	if (r < 0)
		fail(c, r, "become the first user of the box");
	r = process_die_with_parent();
	if (r < 0)
		fail(c, r, "ask for the death signal");
	if (pidfd_wait(c->steward, 0) == 0)
		_exit(125); /* it died before we asked */
	r = ns_leave(CLONE_NEWCGROUP);
	if (r < 0)
		fail(c, r, "make the cgroup namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fail(c, -errno, "make the mounts private");
}

/* Opens what root's steward has not opened; the plan is our own copy. A /proc may only be had while
 * the host's is still in sight. */
static void open_sources(const struct child *c)
{
	for (size_t i = 0; i < c->layout->count; i++) {
		struct step *s = &c->layout->steps[i];
		int r = 0;

		if (s->kind == STEP_PROC)
			r = mount_new("proc", NULL, HARD, &s->fd);
		if (r < 0)
			fail(c, r, "mount the box's /proc");
		if (s->kind != STEP_BIND || s->fd >= 0)
			continue;
		r = mount_copy(AT_FDCWD, s->source, &s->fd);
		if (r == -ENOENT && s->optional)
			continue;
		if (r == 0)
			r = mount_change(s->fd, s->attributes, 0);
		if (r < 0)
			fail(c, r, "mount '%s'", s->source);
	}
}

static void enter_root(const struct child *c)
{
	bool is_open = (c->without & BOX_WITHOUT_READONLY) != 0;
	struct mount_option options[] = {
		{"mode", is_open ? "0777" : "0755"}, {"size", "4m"}, {NULL, NULL}};
	int root = -1;
	int r = mount_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &root);

	if (r == 0)
		r = mount_attach(root, AT_FDCWD, "/tmp");
	if (r < 0)
		fail(c, r, "mount the box's root");
	if (fchdir(root) < 0 || syscall(__NR_pivot_root, ".", ".") < 0)
		fail(c, -errno, "enter the box's root");
	/* The old root now lies over the new one at the same place. */
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		fail(c, -errno, "leave the host's root");
	(void)close(root);
}

static void own_by_user(const struct child *c, const char *path)
{
	if (chown(path, c->ids->inner_uid, c->ids->inner_uid) < 0)
		fail(c, -errno, "give '%s' to the box's user", path);
}

static void make_dir(const struct child *c, const char *path, mode_t mode)
{
	if (mkdir(path, mode) == 0) {
		if (strncmp(path, NATIVE_HOME "/", sizeof(NATIVE_HOME)) == 0)
			own_by_user(c, path);
		return;
	}
	if (errno != EEXIST)
		fail(c, -errno, "make '%s' in the box", path);
}

static void make_parents(const struct child *c, const char *path)
{
	char part[4096];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL;
		slash = strchr(slash + 1, '/')) {
		if ((size_t)(slash - path) >= sizeof(part))
			fail(c, -ENAMETOOLONG, "make '%.80s…' in the box", path);
		(void)memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		make_dir(c, part, 0755);
	}
}

static void make_file(const struct child *c, const char *path, mode_t mode, const char *text)
{
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, mode);
	size_t size = text != NULL ? strlen(text) : 0;

	if (fd < 0 || (size > 0 && write(fd, text, size) != (ssize_t)size))
		fail(c, -errno, "make '%s' in the box", path);
}

static void attach(const struct child *c, int fd, const char *target)
{
	int r = mount_attach(fd, AT_FDCWD, target);

	if (r < 0)
		fail(c, r, "mount at '%s' in the box", target);
	(void)close(fd);
}

static void bind_at(const struct child *c, int fd, const char *target)
{
	struct stat st, there;

	if (fd < 0)
		return; /* an optional source that is not on this host */
	if (fstat(fd, &st) < 0)
		fail(c, -errno, "stat what belongs at '%s'", target);
	if (stat(target, &there) < 0) {
		make_parents(c, target);
		if (S_ISDIR(st.st_mode))
			make_dir(c, target, 0755);
		else
			make_file(c, target, 0644, NULL);
	}
	attach(c, fd, target);
}

static void mount_fs(const struct child *c, const struct step *s, const char *type,
	const struct mount_option *options, unsigned attributes)
{
	int fd = -1;
	int r = mount_new(type, options, attributes, &fd);

	if (r < 0)
		fail(c, r, "mount %s at '%s'", type, s->target);
	make_dir(c, s->target, 0755);
	attach(c, fd, s->target);
	if (s->user_owned)
		own_by_user(c, s->target);
}

static void mount_tmpfs(const struct child *c, const struct step *s)
{
	char mode[8];
	struct mount_option options[] = {
		{"mode", mode}, {s->text != NULL ? "size" : NULL, s->text}, {NULL, NULL}};

	(void)snprintf(mode, sizeof(mode), "%04o", s->mode);
	mount_fs(c, s, "tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static void hide(const struct child *c, const char *target)
{
	static const struct mount_option empty[] = {{"mode", "0000"}, {"size", "4k"}, {NULL, NULL}};
	struct stat st;
	int fd = -1, r;

	if (lstat(target, &st) < 0)
		return; /* nothing there */
	if (S_ISDIR(st.st_mode)) {
		r = mount_new("tmpfs", empty, HARD | MOUNT_ATTR_RDONLY, &fd);
	} else {
		make_file(c, NOTHING, 0, NULL);
		r = mount_copy(AT_FDCWD, NOTHING, &fd);
		if (r == 0)
			r = mount_change(fd, HARD | MOUNT_ATTR_RDONLY, 0);
	}
	if (r < 0)
		fail(c, r, "hide '%s' in the box", target);
	attach(c, fd, target);
	(void)unlink(NOTHING); /* the mount keeps it */
}

/* Mounts what is at the target once more on itself. */
static void remount(const struct child *c, const char *target, unsigned attributes)
{
	struct stat st;
	int fd = -1, r;

	if (lstat(target, &st) < 0)
		return;
	r = mount_copy(AT_FDCWD, target, &fd);
	if (r == 0)
		r = mount_change(fd, attributes, 0);
	if (r < 0)
		fail(c, r, "protect '%s' in the box", target);
	attach(c, fd, target);
}

static void do_step(const struct child *c, const struct step *s)
{
	static const struct mount_option pts[] = {
		{"newinstance", NULL}, {"ptmxmode", "0666"}, {"mode", "0620"}, {NULL, NULL}};
	int r;

	switch (s->kind) {
	case STEP_DIR:
	case STEP_USER_DIR:
		make_dir(c, s->target, s->mode);
		if (s->kind == STEP_USER_DIR)
			own_by_user(c, s->target);
		break;
	case STEP_FILE:
		make_parents(c, s->target);
		make_file(c, s->target, s->mode, s->text);
		break;
	case STEP_LINK:
		make_parents(c, s->target);
		if (symlink(s->text, s->target) < 0 && errno != EEXIST)
			fail(c, -errno, "make the link '%s' in the box", s->target);
		break;
	case STEP_TMPFS:
		mount_tmpfs(c, s);
		break;
	case STEP_DEVPTS:
		mount_fs(c, s, "devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
		break;
	case STEP_PROC:
		make_dir(c, s->target, 0755);
		attach(c, s->fd, s->target);
		break;
	case STEP_BIND:
		bind_at(c, s->fd, s->target);
		break;
	case STEP_HIDE:
		hide(c, s->target);
		break;
	case STEP_LOCK:
	case STEP_PIN:
		remount(c, s->target, s->kind == STEP_LOCK ? MOUNT_ATTR_RDONLY : 0);
		break;
	case STEP_SEAL:
		r = mount_change_at(s->target, s->attributes, 0);
		if (r < 0)
			fail(c, r, "make '%s' of the box read-only", s->target);
		break;
	}
}

static void set_names(const struct child *c)
{
	int r = 0;

	if (sethostname("hemra", 5) < 0)
		fail(c, -errno, "set the box's host name");
	if ((c->without & (BOX_WITHOUT_LOOPBACK | BOX_WITHOUT_NETWORK)) == 0)
		r = ns_loopback_up();
	if (r < 0)
		fail(c, r, "bring up the box's loopback");
}

void native_child_run(const struct child *c)
{
	(void)umask(0);
	wait_for_maps(c);
	enter(c);
	open_sources(c);
	enter_root(c);
	for (size_t i = 0; i < c->layout->count; i++)
		do_step(c, &c->layout->steps[i]);
	set_names(c);
	fail(c, arrange_and_exec(c->stdio, c->control, c->steward, c->link, c->image),
		"execute the box's pid 1");
}
