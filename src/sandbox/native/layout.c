/* SPDX-License-Identifier: Apache-2.0 */
/* The root file system of a box, planned as a list of steps. Nothing here changes anything but for
 * root, whose mounts are opened here already: the box's own root could not pass the directories of
 * other users, and only the host's root may map a mount's owners. */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/files.h"
#include "ground/kernel/mount.h"
#include "sandbox/box.h"
#include "sandbox/native/native.h"

#define PLAIN  (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define FIXED  (PLAIN | MOUNT_ATTR_RDONLY)
#define DEVICE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

static void *grow(void *array, size_t *room, size_t item)
{
	*room = *room > 0 ? *room * 2 : 64;
	array = reallocarray(array, *room, item);
	if (array == NULL)
		abort();
	return array;
}

const char *layout_keep(struct layout *l, char *text)
{
	if (l->string_count == l->string_room)
		l->strings = grow(l->strings, &l->string_room, sizeof(*l->strings));
	l->strings[l->string_count++] = text;
	return text;
}

struct step *layout_add(struct layout *l, enum step_kind kind, const char *target)
{
	if (l->count == l->room)
		l->steps = grow(l->steps, &l->room, sizeof(*l->steps));
	l->steps[l->count] = (struct step){.kind = kind, .target = target, .fd = -1};
	return &l->steps[l->count++];
}

static void add_bind(struct layout *l, const char *path, unsigned attributes)
{
	struct step *s = layout_add(l, STEP_BIND, path);

	s->source = path;
	s->attributes = attributes;
	s->optional = true;
}

static void add_dir(struct layout *l, const char *path, mode_t mode)
{
	layout_add(l, STEP_DIR, path)->mode = mode;
}

/* Programs: /usr, and what lies beside it as links or directories, as the host has it. */
static void add_programs(struct layout *l)
{
	static const char *const beside[] = {
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	char link[256];

	add_bind(l, "/usr", FIXED);
	for (size_t i = 0; i < array_count(beside); i++) {
		ssize_t n = readlink(beside[i], link, sizeof(link) - 1);

		if (n >= 0)
			layout_add(l, STEP_LINK, beside[i])->text =
				layout_keep(l, own_strndup(link, (size_t)n));
		else if (errno == EINVAL)
			add_bind(l, beside[i], FIXED);
	}
}

static struct step *add_tmpfs(struct layout *l, const char *path, mode_t mode)
{
	struct step *s = layout_add(l, STEP_TMPFS, path);

	s->mode = mode;
	return s;
}

static void add_devices(struct layout *l)
{
	static const char *const nodes[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};
	static const char *const links[][2] = {{"/dev/ptmx", "pts/ptmx"},
		{"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"},
		{"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"}};

	add_dir(l, "/dev", 0755);
	for (size_t i = 0; i < array_count(nodes); i++)
		add_bind(l, nodes[i], DEVICE);
	for (size_t i = 0; i < array_count(links); i++)
		layout_add(l, STEP_LINK, links[i][0])->text = links[i][1];
	layout_add(l, STEP_DEVPTS, "/dev/pts");
	add_tmpfs(l, "/dev/shm", 01777)->text = "50%";
}

static void add_own(struct layout *l)
{
	struct step *run;

	add_tmpfs(l, "/tmp", 01777);
	run = add_tmpfs(l, "/run", 0755);
	run->text = "16m";
	run->user_owned = true;
	add_tmpfs(l, "/home", 0755);
	layout_add(l, STEP_USER_DIR, NATIVE_HOME)->mode = 0750;
	add_dir(l, "/var", 0755);
	layout_add(l, STEP_LINK, "/var/tmp")->text = "/tmp";
	layout_add(l, STEP_LINK, "/var/run")->text = "/run";
	layout_add(l, STEP_LINK, "/var/lock")->text = "/run";
	layout_add(l, STEP_PROC, "/proc");
}

const struct layout *layout_common(void)
{
	static struct layout common;

	if (common.count == 0) {
		add_programs(&common);
		add_devices(&common);
		layout_add_etc(&common);
		add_own(&common);
	}
	return &common;
}

/* One user namespace per pair of owners serves every box of this process. */
static int mapping_for(const struct stat *st, const struct native_ids *ids, int *ret_fd)
{
	static struct {
		uid_t uid, owner_uid;
		gid_t gid;
		int fd;
	} known[8];
	static size_t known_count;
	struct idmap uids = {st->st_uid, ids->owner_uid, 1}, gids = {st->st_gid, ids->owner_gid, 1};
	int r;

	for (size_t i = 0; i < known_count; i++)
		if (known[i].uid == st->st_uid && known[i].gid == st->st_gid &&
			known[i].owner_uid == ids->owner_uid) {
			*ret_fd = known[i].fd;
			return 0;
		}
	if (known_count == array_count(known))
		(void)close(known[--known_count].fd);
	r = idmap_open(&uids, &gids, ret_fd);
	if (r == 0) {
		known[known_count].uid = st->st_uid;
		known[known_count].gid = st->st_gid;
		known[known_count].owner_uid = ids->owner_uid;
		known[known_count++].fd = *ret_fd;
	}
	return r;
}

void layout_prepare_mapping(const struct native_ids *ids)
{
	const struct stat roots = {0};
	int unused;

	if (ids->is_root)
		(void)mapping_for(&roots, ids, &unused);
}

/* Root's mount: whoever owns the source on the disk is the box's user inside, and back. */
static int map_owner(
	int fd, const struct plan_mount *m, const struct native_ids *ids, struct err *err)
{
	struct stat st;
	int mapping, r;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat '%s'", m->source);
	if (st.st_uid == ids->owner_uid && st.st_gid == ids->owner_gid)
		return 0;
	r = mapping_for(&st, ids, &mapping);
	if (r == 0)
		r = mount_map_ids(fd, mapping);
	if (r == 0 || !m->writable)
		return 0; /* what is only read may also show its real owner */
	return err_say(err, -r,
		"the file system of '%s' cannot show its files under another owner; copy the "
		"workspace instead of binding it, or give the files to user %u",
		m->source, (unsigned)ids->owner_uid);
}

static int add_mount(
	struct layout *l, const struct plan_mount *m, const struct native_ids *ids, struct err *err)
{
	unsigned attributes = m->writable ? PLAIN : FIXED;
	struct step *s;
	int r;

	if (m->target[0] != '/' || m->target[1] == '\0')
		return err_say(err, EINVAL,
			"a mount's target must be an absolute path, and not '%s'", m->target);
	s = layout_add(l, STEP_BIND, m->target);
	s->source = m->source;
	s->attributes = attributes;
	if (!ids->is_root)
		return faccessat(AT_FDCWD, m->source, F_OK, AT_EACCESS) < 0
			       ? err_set(err, errno, "mount '%s'", m->source)
			       : 0;
	r = mount_copy(AT_FDCWD, m->source, &s->fd);
	if (r < 0)
		return err_set(err, -r, "mount '%s'", m->source);
	r = mount_change(s->fd, attributes, 0);
	if (r < 0)
		return err_set(err, -r, "set the attributes of '%s'", m->source);
	return map_owner(s->fd, m, ids, err);
}

/* Tests only: what would be there if the root were the host's. */
static int add_presence(struct layout *l, const struct native_ids *ids, struct err *err)
{
	static char run[] = "/run";
	char *home = getenv("HOME");
	const struct plan_mount mounts[] = {
		{.source = run, .target = run, .writable = true},
		{.source = home, .target = home, .writable = true},
	};
	int r = 0;

	for (size_t i = 0; i < array_count(mounts) && r == 0; i++)
		if (mounts[i].source != NULL && access(mounts[i].source, F_OK) == 0)
			r = add_mount(l, &mounts[i], ids, err);
	return r;
}

int layout_make(struct layout *l, const struct box_spec *spec, const struct native_ids *ids,
	struct err *err)
{
	int r = 0;

	*l = (struct layout){0};
	if ((spec->without & BOX_WITHOUT_ABSENCE) != 0)
		r = add_presence(l, ids, err);
	for (size_t i = 0; i < spec->mount_count && r == 0; i++)
		r = add_mount(l, &spec->mounts[i], ids, err);
	if (r == 0)
		layout_protect(l, spec);
	if ((spec->without & BOX_WITHOUT_PROC_SYS) == 0)
		(void)layout_add(l, STEP_LOCK, "/proc/sys");
	if ((spec->without & BOX_WITHOUT_READONLY) == 0)
		layout_add(l, STEP_SEAL, "/")->attributes = FIXED;
	if (r < 0)
		layout_done(l);
	return r;
}

void layout_done(struct layout *l)
{
	for (size_t i = 0; i < l->count; i++)
		own_close(&l->steps[i].fd);
	for (size_t i = 0; i < l->string_count; i++)
		free(l->strings[i]);
	free(l->strings);
	free(l->steps);
	*l = (struct layout){0};
}
