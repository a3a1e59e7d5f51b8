/* SPDX-License-Identifier: Apache-2.0 */
/* /etc of a box: written by us where it names people and hosts, the host's own files where programs
 * need them to run at all, nothing else. */

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "sandbox/native/native.h"

#define COPY_MAX 8192

static const struct {
	const char *name, *text;
} written[] = {
	{"passwd", "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n" NATIVE_USER
		   ":x:1000:1000:" NATIVE_USER ":" NATIVE_HOME ":/bin/sh\n"
		   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
	{"group", "root:x:0:\ntty:x:5:\n" NATIVE_USER ":x:1000:\nnogroup:x:65534:\n"},
	{"hosts", "127.0.0.1 localhost hemra\n::1 localhost ip6-localhost ip6-loopback\n"},
	{"resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"},
	{"nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
			  "networks: files\nprotocols: files\nservices: files\nethers: files\n"
			  "rpc: files\n"},
	{"hostname", "hemra\n"},
	{"host.conf", "multi on\n"},
	{"shells", "/bin/sh\n/bin/bash\n"},
};

/* Patterns of names in the host's /etc. ssl and pki are taken in part: their other halves are
 * keys. */
static const char *const taken[] = {"ld.so.cache", "ld.so.conf", "localtime", "timezone",
	"ca-certificates", "ca-certificates.conf", "alternatives", "java", "java-*", "python3*",
	"profile", "bash.bashrc", "bashrc", "inputrc", "gitconfig", "services", "protocols",
	"os-release", "debian_version", "lsb-release", "mime.types", "magic", "fonts", "terminfo",
	"xdg", "perl", "chromium.d", "crypto-policies", "locale.conf", "locale.alias", NULL};
static const char *const taken_deep[] = {"ssl/certs", "ssl/openssl.cnf", "pki/tls/certs",
	"pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust", "pki/java", NULL};

static bool is_taken(const char *name)
{
	for (size_t i = 0; taken[i] != NULL; i++)
		if (fnmatch(taken[i], name, FNM_PERIOD) == 0)
			return true;
	return false;
}

/* A link stays a link; a small text is copied, which costs less than a mount; the rest is bound. */
static void add_host(struct layout *l, const char *name)
{
	char text[COPY_MAX];
	const char *path = layout_keep(l, own_printf("/etc/%s", name));
	ssize_t n = readlink(path, text, sizeof(text) - 1);
	struct step *s;

	if (n < 0 && errno != EINVAL)
		return; /* not there */
	if (n >= 0) {
		s = layout_add(l, STEP_LINK, path);
		s->text = layout_keep(l, own_strndup(text, (size_t)n));
		return;
	}
	n = file_read_small(AT_FDCWD, path, text, sizeof(text));
	if (n >= 0 && strlen(text) == (size_t)n) {
		s = layout_add(l, STEP_FILE, path);
		s->text = layout_keep(l, own_strdup(text));
		s->mode = 0644;
		return;
	}
	s = layout_add(l, STEP_BIND, path);
	s->source = path;
	s->optional = true;
	s->attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
}

static void add_hosts(struct layout *l)
{
	DIR *etc = opendir("/etc");
	const struct dirent *e;

	while (etc != NULL && (e = readdir(etc)) != NULL)
		if (is_taken(e->d_name))
			add_host(l, e->d_name);
	if (etc != NULL)
		(void)closedir(etc);
	for (size_t i = 0; taken_deep[i] != NULL; i++)
		add_host(l, taken_deep[i]);
}

void layout_add_etc(struct layout *l)
{
	struct step *s;

	layout_add(l, STEP_DIR, "/etc")->mode = 0755;
	for (size_t i = 0; i < array_count(written); i++) {
		s = layout_add(
			l, STEP_FILE, layout_keep(l, own_printf("/etc/%s", written[i].name)));
		s->text = written[i].text;
		s->mode = 0644;
	}
	add_hosts(l);
	layout_add(l, STEP_LINK, "/etc/mtab")->text = "/proc/self/mounts";
}
