/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the command in the box and saying why it cannot be executed. */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "programs/init/payload.h"

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

static const char *search_path(const struct start *s)
{
	for (char *const *e = s->lists[INIT_ENVP]; *e != NULL; e++)
		if (strncmp(*e, "PATH=", 5) == 0)
			return *e + 5;
	return PATH_DEFAULT;
}

/* 0, or why this file cannot be what is executed. */
static int may_execute(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static int find_in_path(const char *name, const char *path, char *out, size_t room)
{
	int found = -ENOENT;

	for (const char *p = path; p != NULL; p = *p == ':' ? p + 1 : NULL) {
		size_t n = strcspn(p, ":");
		int r;

		/* an empty element means the current directory */
		(void)snprintf(out, room, "%.*s/%s", n > 0 ? (int)n : 1, n > 0 ? p : ".", name);
		r = may_execute(out);
		if (r == 0)
			return 0;
		if (r == -EACCES)
			found = r;
		p += n;
	}
	return found;
}

int command_find(const struct start *s, char *out, size_t room, struct err *err)
{
	const char *name = s->lists[INIT_ARGV][0];
	const char *path = search_path(s);
	int r;

	if (strchr(name, '/') != NULL) {
		(void)snprintf(out, room, "%s", name);
		r = strlen(name) >= room ? -ENAMETOOLONG : may_execute(out);
		return r < 0 ? err_set(err, -r, "the command '%s' cannot be executed in the box",
				       name)
			     : 0;
	}
	r = name[0] == '\0' ? -ENOENT : find_in_path(name, path, out, room);
	if (r == -ENOENT)
		return err_say(err, ENOENT, "the command '%s' is not in the box's PATH (%.200s)",
			name, path);
	return r < 0 ? err_set(err, -r,
			       "the command '%s' is in the box's PATH but cannot be executed", name)
		     : 0;
}

/* "#! interpreter argument": the interpreter, terminated in place; NULL when it is no script. */
static char *script_interpreter(char *head)
{
	char *p = head;

	if (p[0] != '#' || p[1] != '!')
		return NULL;
	p += 2 + strspn(p + 2, " \t");
	p[strcspn(p, " \t\r\n")] = '\0';
	return p;
}

/* The dynamic loader that a 64-bit ELF file names; "" for a static one, NULL when it is none. */
static char *elf_interpreter(int fd, const char *head, char *out, size_t room)
{
	Elf64_Ehdr e;
	Elf64_Phdr ph;

	(void)memcpy(&e, head, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	out[0] = '\0';
	for (unsigned i = 0; i < e.e_phnum && i < 64; i++) {
		off_t at = (off_t)(e.e_phoff + i * sizeof(ph));
		ssize_t n;

		if (pread(fd, &ph, sizeof(ph), at) != sizeof(ph))
			return NULL;
		if (ph.p_type != PT_INTERP)
			continue;
		n = pread(fd, out, room - 1, (off_t)ph.p_offset);
		out[n > 0 ? n : 0] = '\0';
		return out;
	}
	return out;
}

int command_check(const char *path, struct err *err)
{
	char head[256] __attribute__((aligned(8))) = "", loader[256];
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *interpreter;
	int r;

	if (fd < 0) /* a program may be executable without being readable */
		return errno == EACCES ? 0 : err_set(err, errno, "open '%s' in the box", path);
	if (read(fd, head, sizeof(head) - 1) < 0)
		return err_set(err, errno, "read '%s' in the box", path);
	interpreter = script_interpreter(head);
	if (interpreter == NULL)
		interpreter = elf_interpreter(fd, head, loader, sizeof(loader));
	if (interpreter == NULL || interpreter[0] == '\0')
		return 0;
	r = may_execute(interpreter);
	if (r < 0)
		return err_set(err, -r,
			"'%s' needs the interpreter '%s', which the box cannot execute", path,
			interpreter);
	return 0;
}
