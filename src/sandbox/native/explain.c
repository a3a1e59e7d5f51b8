/* SPDX-License-Identifier: Apache-2.0 */
/* Why this machine does not let hemra make a box, in words, with what to do about it. */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "ground/kernel/idmap.h"
#include "ground/kernel/mount.h"
#include "ground/kernel/process.h"
#include "sandbox/native/native.h"

static long setting(const char *path, long otherwise)
{
	char text[64];

	return file_read_small(AT_FDCWD, path, text, sizeof(text)) > 0 ? strtol(text, NULL, 10)
								       : otherwise;
}

static bool is_filtered(void)
{
	char text[4096];
	const char *p;

	if (file_read_small(AT_FDCWD, "/proc/self/status", text, sizeof(text)) <= 0)
		return false;
	p = strstr(text, "\nSeccomp:");
	return p != NULL && strtol(p + 9, NULL, 10) == 2;
}

static const char *cause_of_limit(void)
{
	if (setting("/proc/sys/user/max_user_namespaces", 1) == 0)
		return "user namespaces are turned off; turn them on with: "
		       "sysctl -w user.max_user_namespaces=15000";
	return "the number of namespaces is used up; raise it with: "
	       "sysctl -w user.max_user_namespaces=15000 "
	       "(and max_net_namespaces, max_mnt_namespaces, max_pid_namespaces likewise)";
}

static const char *cause_of_refusal(void)
{
	bool is_user = geteuid() != 0;

	if (is_user && setting("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
		return "this system lets only root make user namespaces; allow it with: "
		       "sysctl -w kernel.unprivileged_userns_clone=1";
	if (is_user && setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1)
		return "AppArmor keeps programs without a profile from using user namespaces; "
		       "install hemra's profile as /etc/apparmor.d/hemra and load it with: "
		       "apparmor_parser -r /etc/apparmor.d/hemra";
	if (is_filtered())
		return "a system call filter of the container that hemra runs in refuses it; "
		       "start the container with --security-opt seccomp=unconfined "
		       "--security-opt systempaths=unconfined";
	if (!is_user && idmap_is_whole() && !process_has_capabilities(1ULL << CAP_SYS_ADMIN))
		return "this root has no CAP_SYS_ADMIN, as in a container; start the container "
		       "with --privileged, or run hemra as an ordinary user";
	return "a part of /proc is hidden, or a security module refuses it, as in a container; "
	       "start the container with --security-opt systempaths=unconfined";
}

int native_explain(struct err *err)
{
	const char *cause = NULL;
	size_t used;

	if (err == NULL)
		return -EPERM;
	if (err->code == ENOSPC || err->code == EUSERS)
		cause = cause_of_limit();
	else if (err->code == EPERM || err->code == EACCES)
		cause = cause_of_refusal();
	else if (err->code == EINVAL && access("/proc/self/ns/user", F_OK) < 0)
		cause = "this kernel was built without user namespaces";
	else if (err->code == ENOSYS)
		cause = is_filtered() ? cause_of_refusal() : "this kernel is older than Linux 5.14";
	used = strlen(err->text);
	if (cause != NULL)
		(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", cause);
	return -err->code;
}
