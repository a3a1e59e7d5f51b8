/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a task: what may be among them, and Harbor's content digest over them.
 *
 * Digest: SHA-256 over one line per file, "PATH\0HEX\n", sorted by path, of what Harbor packs. Links
 * to files count as what they lead to, links to directories not at all. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "task/parts.h"
#include "task/rows.h"

#define FILES_MAX 100000
#define DEPTH_MAX 64

struct tree {
	const struct task *task;
	const char *named; /* the directory as the operator named it */
	char **paths;      /* owned; relative, of files that count */
	size_t count, capacity;
	char *part; /* owned; real path that links of the part being walked must stay beneath */
};

static void add_path(struct tree *tree, const char *path)
{
	if (tree->count == tree->capacity) {
		tree->capacity = tree->capacity > 0 ? 2 * tree->capacity : 64;
		tree->paths = reallocarray(tree->paths, tree->capacity, sizeof(*tree->paths));
		if (tree->paths == NULL)
			abort();
	}
	tree->paths[tree->count++] = own_strdup(path);
}

/* What Harbor leaves out when a task has no .gitignore. */
static bool is_ignored(const char *name, bool is_directory)
{
	static const char *const patterns[] = {"*.pyc", ".DS_Store", "*.swp", "*.swo", "*~", NULL};

	if (is_directory && strcmp(name, "__pycache__") == 0)
		return true;
	for (const char *const *p = patterns; *p != NULL; p++)
		if (fnmatch(*p, name, 0) == 0)
			return true;
	return false;
}

static bool is_beneath(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Parts are given to different boxes, so a link that leaves its part would dangle there or show one
 * box what belongs to another. */
static int check_link(const struct tree *tree, const char *path, struct stat *st, struct err *err)
{
	autofree char *whole = own_printf("%s/%s", tree->task->directory, path);
	autofree char *target = realpath(whole, NULL);

	if (target == NULL || stat(target, st) < 0)
		return err_set(err, errno, "%s/%s: the link leads nowhere", tree->named, path);
	if (!is_beneath(target, tree->part))
		return err_say(err, EXDEV, "%s/%s: the link leaves its directory, to '%s'",
			tree->named, path, target);
	return 0;
}

static int walk(struct tree *tree, const char *path, unsigned depth, struct err *err);

static int visit(
	struct tree *tree, const char *path, const char *name, unsigned depth, struct err *err)
{
	autofree char *whole = own_printf("%s/%s", tree->task->directory, path);
	bool is_link;
	struct stat st;

	if (!str_is_utf8(name, strlen(name)))
		return err_say(err, EILSEQ, "%s: the name of a file in '%s' is not UTF-8",
			tree->named, tree->part);
	if (lstat(whole, &st) < 0)
		return err_set(err, errno, "%s/%s", tree->named, path);
	is_link = S_ISLNK(st.st_mode);
	if (is_link) {
		int e = check_link(tree, path, &st, err);

		if (e < 0)
			return e;
	}
	if (S_ISDIR(st.st_mode)) {
		/* even what is not counted is looked at, for it may be copied */
		return is_link ? 0 : walk(tree, path, depth + 1, err);
	}
	if (!S_ISREG(st.st_mode))
		return err_say(
			err, EINVAL, "%s/%s: neither a file nor a directory", tree->named, path);
	if (tree->count >= FILES_MAX)
		return err_say(err, E2BIG, "%s: more than %d files", tree->named, FILES_MAX);
	add_path(tree, path);
	return 0;
}

static int walk(struct tree *tree, const char *path, unsigned depth, struct err *err)
{
	autofree char *whole = own_printf("%s/%s", tree->task->directory, path);
	autoclosedir DIR *d = opendir(whole);
	const struct dirent *entry;

	if (d == NULL)
		return err_set(err, errno, "%s/%s", tree->named, path);
	if (depth > DEPTH_MAX)
		return err_say(err, E2BIG, "%s/%s: more than %d directories deep", tree->named,
			path, DEPTH_MAX);
	while ((errno = 0, entry = readdir(d)) != NULL) {
		autofree char *below = own_printf("%s/%s", path, entry->d_name);
		int e;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		e = visit(tree, below, entry->d_name, depth, err);
		if (e < 0)
			return e;
	}
	return errno == 0 ? 0 : err_set(err, errno, "%s/%s", tree->named, path);
}

/* One of the things at the top that Harbor packs; absent is fine. */
static int visit_part(struct tree *tree, const char *name, bool is_directory, struct err *err)
{
	autofree char *whole = own_printf("%s/%s", tree->task->directory, name);
	struct stat st;

	if (lstat(whole, &st) < 0)
		return errno == ENOENT ? 0 : err_set(err, errno, "%s/%s", tree->named, name);
	if (is_directory && !S_ISDIR(st.st_mode))
		return err_say(err, ENOTDIR, "%s/%s: not a directory", tree->named, name);
	free(tree->part);
	tree->part = own_strdup(is_directory ? whole : tree->task->directory);
	if (is_directory)
		return walk(tree, name, 1, err);
	if (S_ISDIR(st.st_mode))
		return err_say(err, EISDIR, "%s/%s: not a file", tree->named, name);
	return visit(tree, name, name, 0, err);
}

/* ---- digest ----------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Is any part of the path left out? */
static bool is_path_ignored(const char *path)
{
	autofree char *copy = own_strdup(path);
	char *rest = copy, *name;

	while ((name = strsep(&rest, "/")) != NULL)
		if (is_ignored(name, /* is_directory= */ rest != NULL))
			return true;
	return false;
}

static int hash_file(const struct tree *tree, const char *path, char ret[65], struct err *err)
{
	autofree char *whole = own_printf("%s/%s", tree->task->directory, path);
	autoclose int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char raw[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;

	if (fd < 0)
		return err_set(err, errno, "%s/%s", tree->named, path);
	(void)crypto_hash_sha256_init(&state); /* cannot fail, nor can the two below */
	for (;;) {
		unsigned char piece[65536];
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "%s/%s", tree->named, path);
		if (n == 0)
			break;
		(void)crypto_hash_sha256_update(&state, piece, (unsigned long long)n);
	}
	(void)crypto_hash_sha256_final(&state, raw);
	str_hex(raw, sizeof(raw), ret);
	return 0;
}

static int hash_tree(struct tree *tree, char ret[65], struct err *err)
{
	unsigned char raw[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;

	if (tree->count > 0)
		qsort(tree->paths, tree->count, sizeof(*tree->paths), by_bytes);
	(void)crypto_hash_sha256_init(&state); /* cannot fail, nor can the others below */
	for (size_t i = 0; i < tree->count; i++) {
		const char *path = tree->paths[i];
		char hex[65];
		int e;

		if (is_path_ignored(path))
			continue;
		e = hash_file(tree, path, hex, err);
		if (e < 0)
			return e;
		(void)crypto_hash_sha256_update(
			&state, (const unsigned char *)path, strlen(path) + 1);
		hex[64] = '\n'; /* in the terminator's place: the line needs none */
		(void)crypto_hash_sha256_update(&state, (const unsigned char *)hex, sizeof(hex));
	}
	(void)crypto_hash_sha256_final(&state, raw);
	str_hex(raw, sizeof(raw), ret);
	return 0;
}

int task_read_tree(struct task *t, const char *directory, struct err *err)
{
	static const struct {
		const char *name;
		bool is_directory;
	} parts[] = {{"task.toml", false}, {"instruction.md", false}, {"README.md", false},
		{"trajectory.json", false}, {"environment", true}, {"tests", true},
		{"solution", true}, {"steps", true}};
	autofree char *gitignore = own_printf("%s/.gitignore", t->directory);
	struct tree tree = {.task = t, .named = directory};
	int e = 0;

	for (size_t i = 0; e == 0 && i < array_count(parts); i++)
		e = visit_part(&tree, parts[i].name, parts[i].is_directory, err);
	if (e == 0)
		e = hash_tree(&tree, t->digest, err);
	if (e == 0 && access(gitignore, F_OK) == 0)
		task_note(t,
			"%s/.gitignore: not applied: files that it names count in the task's digest, "
			"which then differs from Harbor's",
			directory);
	for (size_t i = 0; i < tree.count; i++)
		free(tree.paths[i]);
	free(tree.paths);
	free(tree.part);
	return e;
}
