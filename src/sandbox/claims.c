/* SPDX-License-Identifier: Apache-2.0 */
/* What a box of a spec promises: which claims, and on which paths they are tried. Computed from the
 * spec, never from what a provider did, so that a box is held against its own promise. */

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "sandbox/box.h"

#define NAMES_MAX 12 /* of the operator's home that are looked for */
#define BIT(c)    (1ULL << CLAIM_##c)

static_assert(CLAIM_COUNT <= 64, "claims are bits of a word");

const char *box_path_beneath(const char *path, const char *ancestor)
{
	size_t n = strlen(ancestor);

	if (strcmp(ancestor, "/") == 0)
		return path;
	return strncmp(path, ancestor, n) == 0 && (path[n] == '/' || path[n] == '\0') ? path + n
										      : NULL;
}

static void add_inside(char ***v, const char *source, const char *target, const char *path)
{
	char *real = realpath(source, NULL);
	const char *rest = real != NULL ? box_path_beneath(path, real) : NULL;

	if (rest != NULL && rest[0] != '\0') {
		char *inside = own_printf("%s%s", target, rest);

		strv_add(v, inside);
		free(inside);
	}
	free(real);
}

char **box_paths_inside(const struct box_spec *spec, const char *host_path)
{
	char *path = realpath(host_path, NULL);
	char **found = NULL;

	if (path == NULL)
		return NULL;
	add_inside(&found, "/usr", "/usr", path);
	for (size_t i = 0; i < spec->mount_count; i++)
		add_inside(&found, spec->mounts[i].source, spec->mounts[i].target, path);
	free(path);
	return found;
}

/* The operator mounted it, or something above or beneath it, at this place: no promise then. */
static bool is_mounted_at(const struct box_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->mount_count; i++)
		if (box_path_beneath(path, spec->mounts[i].target) != NULL ||
			box_path_beneath(spec->mounts[i].target, path) != NULL)
			return true;
	return false;
}

static void add_names_of(char ***v, const struct box_spec *spec, const char *home)
{
	DIR *dir = opendir(home);
	const struct dirent *e;
	unsigned count = 0;

	while (dir != NULL && count < NAMES_MAX && (e = readdir(dir)) != NULL) {
		char *path;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		path = own_printf("%s/%s", home, e->d_name);
		if (!is_mounted_at(spec, path)) {
			strv_add(v, path);
			count++;
		}
		free(path);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

/* From /etc/passwd itself: name services may ask the network. Owned by the caller, NULL for
 * none. */
static char *home_of(uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw;
	char *home = NULL;

	while (f != NULL && home == NULL && (pw = fgetpwent(f)) != NULL)
		if (pw->pw_uid == uid && pw->pw_dir[0] == '/')
			home = own_strdup(pw->pw_dir);
	if (f != NULL)
		(void)fclose(f);
	return home;
}

static char **list_home(const struct box_spec *spec)
{
	const char *variable = getenv("HOME");
	char *home = home_of(geteuid());
	char **v = NULL;

	if (home != NULL && strcmp(home, "/") != 0)
		add_names_of(&v, spec, home);
	if (variable != NULL && variable[0] == '/' && variable[1] != '\0' &&
		(home == NULL || strcmp(home, variable) != 0))
		add_names_of(&v, spec, variable);
	free(home);
	return v;
}

static char **list_store(const struct box_spec *spec)
{
	char **v = NULL;

	for (size_t i = 0; spec->covered != NULL && spec->covered[i] != NULL; i++) {
		char **inside = box_paths_inside(spec, spec->covered[i]);

		for (size_t k = 0; inside != NULL && inside[k] != NULL; k++)
			strv_add(&v, inside[k]);
		if (inside == NULL && !is_mounted_at(spec, spec->covered[i]))
			strv_add(&v, spec->covered[i]);
		strv_free(inside);
	}
	return v;
}

static void add_socket(char ***v, const struct box_spec *spec, const char *path)
{
	if (path != NULL && path[0] == '/' && !is_mounted_at(spec, path))
		strv_add(v, path);
}

static char **list_sockets(const struct box_spec *spec)
{
	static const char *const known[] = {"/var/run/docker.sock", "/run/docker.sock",
		"/run/containerd/containerd.sock", "/run/podman/podman.sock",
		"/run/dbus/system_bus_socket", "/run/systemd/private", "/run/nscd/socket",
		"/run/snapd.socket", "/tmp/.X11-unix/X0"};
	static const char *const of_user[] = {
		"bus", "systemd/private", "gnupg/S.gpg-agent", "podman/podman.sock", "docker.sock"};
	char **v = NULL;

	for (size_t i = 0; i < array_count(known); i++)
		add_socket(&v, spec, known[i]);
	for (size_t i = 0; i < array_count(of_user); i++) {
		char *path = own_printf("/run/user/%u/%s", (unsigned)geteuid(), of_user[i]);

		add_socket(&v, spec, path);
		free(path);
	}
	add_socket(&v, spec, getenv("SSH_AUTH_SOCK"));
	return v;
}

static char **list_workspace(const struct box_spec *spec)
{
	char **v = NULL;
	struct stat st;

	for (size_t i = 0; i < spec->mount_count; i++)
		if (spec->mounts[i].writable && stat(spec->mounts[i].source, &st) == 0 &&
			(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
			strv_add(&v, spec->mounts[i].target);
	return v;
}

static char **list_writable(const struct box_spec *spec)
{
	static const char *const own[] = {"/tmp", "/run", "/home", "/dev", "/proc"};
	char **v = NULL;

	for (size_t i = 0; i < array_count(own); i++)
		strv_add(&v, own[i]);
	for (size_t i = 0; i < spec->mount_count; i++)
		if (spec->mounts[i].writable)
			strv_add(&v, spec->mounts[i].target);
	return v;
}

static bool writes_outside(const struct box_spec *spec)
{
	static const char *const fixed[] = {
		"/usr", "/etc", "/etc/passwd", "/usr/bin", "/usr/bin/env"};

	for (size_t i = 0; i < spec->mount_count; i++)
		for (size_t k = 0; spec->mounts[i].writable && k < array_count(fixed); k++)
			if (strcmp(spec->mounts[i].target, fixed[k]) == 0)
				return true;
	return false;
}

uint64_t box_claims(enum sandbox_kind kind, const struct box_spec *spec, struct box_lists *ret)
{
	uint64_t claims = (1ULL << CLAIM_COUNT) - 1;

	*ret = (struct box_lists){0};
	if (kind == SANDBOX_LOCAL)
		return 0;
	*ret = (struct box_lists){
		.workspace = list_workspace(spec),
		.home = list_home(spec),
		.store = list_store(spec),
		.sockets = list_sockets(spec),
		.writable = list_writable(spec),
	};
	if ((spec->weaker & WEAKER_PROBE) != 0)
		return 0;
	if ((spec->weaker & WEAKER_SECCOMP) != 0)
		claims &= ~(BIT(NET_VSOCK) | BIT(SYS_NAMESPACE) | BIT(SYS_KERNEL) | BIT(SYS_ABI) |
			    BIT(SYS_CLONE3));
	claims &= ret->workspace != NULL ? ~0ULL : ~BIT(FILES_WORKSPACE);
	claims &= ret->home != NULL ? ~0ULL : ~BIT(FILES_HOME);
	claims &= ret->store != NULL ? ~0ULL : ~BIT(FILES_STORE);
	claims &= ret->sockets != NULL ? ~0ULL : ~BIT(FILES_SOCKETS);
	claims &= !writes_outside(spec) ? ~0ULL : ~BIT(FILES_OUTSIDE);
	claims &= spec->argv != NULL && spec->argv[0] != NULL ? ~0ULL : ~BIT(EXEC_COMMAND);
	if (spec->limits.memory_bytes == 0 || (spec->weaker & WEAKER_RESOURCE_LIMIT) != 0)
		claims &= ~BIT(LIMIT_MEMORY);
#ifndef __x86_64__
	claims &= ~BIT(SYS_ABI); /* 64-bit code has no way to make a 32-bit call there */
#endif
	return claims;
}

void box_lists_done(struct box_lists *l)
{
	strv_free(l->workspace);
	strv_free(l->home);
	strv_free(l->store);
	strv_free(l->sockets);
	strv_free(l->writable);
	*l = (struct box_lists){0};
}

size_t sandbox_expect(
	enum sandbox_kind kind, const struct box_spec *spec, struct claim_expect *out, size_t room)
{
	struct box_lists lists;
	uint64_t claims = box_claims(kind, spec, &lists);
	size_t count = 0;

	box_lists_done(&lists);
	for (unsigned c = 0; c < CLAIM_COUNT && count < room; c++)
		if ((claims >> c & 1) != 0)
			out[count++] =
				(struct claim_expect){.claim = (uint16_t)c, .verdict = CLAIM_HELD};
	return count;
}
