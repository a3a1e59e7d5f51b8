/* SPDX-License-Identifier: Apache-2.0 */
/* From clone to pid 1's program: builds the root from its plan, in the box's namespaces.
 *
 * This runs in a copy of the steward: one thread, no allocation, no loop, no log. What fails is
 * told to the steward as a sentence on the control socket, and ends the child.
 *
 * It goes in two halves. First what every box has, in a new root that we are only confined to with
 * chroot(), while the host's mounts are still beside it; the spec may not be known yet. Then the
 * orders come: what the spec adds. Sources that the steward has not opened are opened with the
 * host's root in sight, then that is left for good, and only then is anything done at a place
 * that the spec names: a link beneath a mount can lead nowhere but into the box.
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
#include <sys/fsuid.h>
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
	(void)sock_send(c->control, &head, sizeof(head), &err, sizeof(err), NULL);
	_exit(125);
}

/* What we hold of the steward's is closed first: others wait for the end of its sockets. */
static void close_others(const struct child *c)
{
	int keep[] = {c->control, c->link, c->steward, c->image}, r;

	for (size_t i = 1; i < array_count(keep); i++) /* they must be in order */
		for (size_t k = i; k > 0 && keep[k] < keep[k - 1]; k--) {
			int larger = keep[k - 1];

			keep[k - 1] = keep[k];
			keep[k] = larger;
		}
	r = process_close_fds(keep, array_count(keep));
	if (r < 0)
		fail(c, r, "close what the box does not get");
}

/* Waits for a packet from the steward; dies with it. */
static uint32_t receive(const struct child *c, struct sock_fds *ret_fds)
{
	struct pollfd polls[] = {
		{.fd = c->control, .events = POLLIN}, {.fd = c->steward, .events = POLLIN}};
	struct init_packet head;
	ssize_t n;

	do {
		if (poll(polls, array_count(polls), -1) > 0 && polls[1].revents != 0)
			_exit(125);
		n = sock_recv(c->control, &head, sizeof(head), NULL, 0, ret_fds);
	} while (n == -EAGAIN || n == -EINTR);
	if (n != sizeof(head))
		_exit(125); /* the steward is gone */
	return head.type;
}

static void wait_for_maps(const struct child *c)
{
	struct sock_fds fds;

	if (receive(c, &fds) != INIT_ENTER || fds.count != 0)
		_exit(125);
}

/* Puts each descriptor where the orders expect it. */
static void take_orders(const struct child *c, int stdio[3])
{
	struct orders *o = c->orders;
	struct sock_fds fds;
	size_t step = 0;
	int place = 0;
	uint32_t type;

	do {
		type = receive(c, &fds);
		if (type != INIT_FDS && type != INIT_BUILD)
			fail(c, -EPROTO, "take the orders for the box");
		for (size_t i = 0; i < fds.count; i++) {
			while (place < 3 && !o->has_stdio[place])
				stdio[place++] = -1;
			if (place < 3) {
				stdio[place++] = fds.fd[i];
				continue;
			}
			while (step < o->count && o->steps[step].fd != STEP_FD_SENT)
				step++;
			if (step == o->count)
				fail(c, -EPROTO, "take the orders for the box");
			o->steps[step].fd = fds.fd[i];
		}
	} while (type != INIT_BUILD);
	while (place < 3)
		stdio[place++] = -1;
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

static void die_with_steward(const struct child *c)
{
	int r = process_die_with_parent();

	if (r < 0)
		fail(c, r, "ask for the death signal");
	if (pidfd_wait(c->steward, 0) == 0)
		_exit(125); /* it died before we asked */
}

static void enter(const struct child *c)
{
	int r;

	if (!c->ids->is_root)
		map_own_id(c);
	r = process_become(0, 0, /* keep_groups= */ !c->ids->is_root);
	if (r < 0)
		fail(c, r, "become the first user of the box");
	die_with_steward(c);
	r = ns_leave(CLONE_NEWCGROUP);
	if (r < 0)
		fail(c, r, "make the cgroup namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fail(c, -errno, "make the mounts private");
}

/* Opens what root's steward has not opened. A /proc may only be had while the host's is still in
 * sight. */
static void open_sources(const struct child *c, struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct step *s = &steps[i];
		int r = 0;

		if (s->kind == STEP_PROC)
			r = (c->without & BOX_WITHOUT_OWN_PROC) == 0
				    ? mount_new("proc", NULL, HARD, &s->fd)
				    : mount_copy(AT_FDCWD, "/proc", &s->fd);
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

static void change_root(const struct child *c, int root)
{
	if (fchdir(root) < 0 || chroot(".") < 0)
		fail(c, -errno, "change the root");
}

/* Makes the new root and confines us to it. The host's stays mounted: both are returned. The new
 * one lies on the host's root itself, where it covers nothing for whoever has that as his root;
 * unbindable, so that a copy of the host's root is one without it. */
static void make_root(const struct child *c, int *ret_host, int *ret_root)
{
	bool is_open = (c->without & BOX_WITHOUT_READONLY) != 0;
	struct mount_option options[] = {
		{"mode", is_open ? "0777" : "0755"}, {"size", "4m"}, {NULL, NULL}};
	int r = mount_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, ret_root);

	if (r == 0)
		r = mount_attach(*ret_root, AT_FDCWD, "/");
	if (r < 0)
		fail(c, r, "mount the box's root");
	*ret_host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret_host < 0)
		fail(c, -errno, "open the host's root");
	change_root(c, *ret_root);
	if (mount(NULL, "/", NULL, MS_UNBINDABLE, NULL) < 0)
		fail(c, -errno, "keep the box's root from being copied");
}

/* For good: with its last mount goes every way to it. */
static void leave_host(const struct child *c, int host, int root)
{
	change_root(c, host);
	if (fchdir(root) < 0 || syscall(__NR_pivot_root, ".", ".") < 0)
		fail(c, -errno, "enter the box's root");
	(void)close(host);
	/* The old root now lies over the new one at the same place. */
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		fail(c, -errno, "leave the host's root");
	if (mount(NULL, "/", NULL, MS_PRIVATE, NULL) < 0)
		fail(c, -errno, "make the box's root private");
	(void)close(root);
}

static void own_by_user(const struct child *c, const char *path)
{
	if (chown(path, c->ids->inner_uid, c->ids->inner_uid) < 0)
		fail(c, -errno, "give '%s' to the box's user", path);
}

/* In root's mounts only the box's user has an owner on the disk: what is made there is made as that
 * user. Everywhere else it is ours. A change of user clears the death signal. Keeps errno. */
static void make_as_user(const struct child *c, bool is_user)
{
	int kept = errno;

	(void)setfsgid(is_user ? c->ids->inner_uid : 0); /* never fails for who may */
	(void)setfsuid(is_user ? c->ids->inner_uid : 0);
	if (!is_user)
		die_with_steward(c);
	errno = kept;
}

static void make_dir(const struct child *c, const char *path, mode_t mode)
{
	int r = mkdir(path, mode);

	if (r < 0 && errno == EOVERFLOW) {
		make_as_user(c, /* is_user= */ true);
		r = mkdir(path, mode);
		make_as_user(c, /* is_user= */ false);
	}
	if (r == 0) {
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
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	autoclose int fd = open(path, flags, mode);
	size_t size = text != NULL ? strlen(text) : 0;

	if (fd < 0 && errno == ENOENT) {
		make_parents(c, path);
		fd = open(path, flags, mode);
	}
	if (fd < 0 && errno == EOVERFLOW) {
		make_as_user(c, /* is_user= */ true);
		fd = open(path, flags, mode);
		make_as_user(c, /* is_user= */ false);
	}
	if (fd < 0 || (size > 0 && write(fd, text, size) != (ssize_t)size))
		fail(c, -errno, "make '%s' in the box", path);
}

static void make_link(const struct child *c, const char *text, const char *path)
{
	int r = symlink(text, path);

	if (r < 0 && errno == ENOENT) {
		make_parents(c, path);
		r = symlink(text, path);
	}
	if (r < 0 && errno != EEXIST)
		fail(c, -errno, "make the link '%s' in the box", path);
}

static void attached(const struct child *c, int r, int fd, const char *target)
{
	if (r < 0)
		fail(c, r, "mount at '%s' in the box", target);
	(void)close(fd);
}

static void attach(const struct child *c, int fd, const char *target)
{
	attached(c, mount_attach(fd, AT_FDCWD, target), fd, target);
}

/* A mount does not follow a link at its target. One of ours, as /var/tmp, gives way to it; one that
 * lies in a mount may be anybody's. */
static void replace_link(const struct child *c, const char *target)
{
	struct stat link, root;

	if (lstat(target, &link) < 0 || !S_ISLNK(link.st_mode))
		return;
	if (stat("/", &root) < 0 || link.st_dev != root.st_dev)
		fail(c, -ELOOP, "mount at '%s' in the box, where another mount has a link", target);
	if (unlink(target) < 0)
		fail(c, -errno, "remove the link '%s' of the box", target);
}

static void bind_at(const struct child *c, int fd, const char *target)
{
	struct stat st;
	int r;

	if (fd < 0)
		return; /* an optional source that is not on this host */
	replace_link(c, target);
	r = mount_attach(fd, AT_FDCWD, target);
	if (r != -ENOENT) {
		attached(c, r, fd, target);
		return;
	}
	if (fstat(fd, &st) < 0)
		fail(c, -errno, "stat what belongs at '%s'", target);
	if (S_ISDIR(st.st_mode)) {
		make_parents(c, target);
		make_dir(c, target, 0755);
	} else {
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
		{"mode", mode}, {"size", s->text != NULL ? s->text : c->disk}, {NULL, NULL}};

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

/* Mounts what is at the target once more on itself, a link as a link. What is not there, or where
 * the command cannot come either, is left alone. */
static void remount(const struct child *c, const char *target, unsigned attributes)
{
	autoclose int place = open(target, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int fd = -1, r;

	if (place < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return;
	r = place < 0 ? -errno : mount_copy(place, "", &fd);
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
		make_file(c, s->target, s->mode, s->text);
		break;
	case STEP_LINK:
		make_link(c, s->text, s->target);
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

static void do_steps(const struct child *c, const struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		do_step(c, &steps[i]);
}

void native_child_run(const struct child *c)
{
	struct step *common = c->common->steps; /* our own copy */
	int host = -1, root = -1, stdio[3];

	(void)umask(0);
	close_others(c);
	wait_for_maps(c);
	enter(c);
	open_sources(c, common, c->common->count);
	make_root(c, &host, &root);
	do_steps(c, common, c->common->count);
	set_names(c);
	if (c->ids->is_root) /* its steward opens every source */
		leave_host(c, host, root);
	take_orders(c, stdio);
	if (!c->ids->is_root) {
		change_root(c, host);
		open_sources(c, c->orders->steps, c->orders->count);
		leave_host(c, host, root);
	}
	do_steps(c, c->orders->steps, c->orders->count);
	fail(c, arrange_and_exec(stdio, c->control, c->steward, c->link, c->image),
		"execute the box's pid 1");
}
