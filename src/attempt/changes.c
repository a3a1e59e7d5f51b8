/* SPDX-License-Identifier: Apache-2.0 */
/* Changes: what the agent did to its copy of the workspace.
 *
 * A reader walks the directory that was copied and the copy side by side, lists what was added,
 * changed and removed, names what a host program would run, and writes the differences of texts in
 * unified form. The steward links that as an artifact with the role "workspace-diff". */

#include "attempt/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attempt/diff.h"
#include "attempt/gitwatch.h"
#include "attempt/plants.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/wire/json.h"

#define TEXT_MAX       (1024 * 1024)      /* bytes of a file that is shown line by line */
#define DIFF_MAX       (16 * 1024 * 1024) /* bytes of the whole difference */
#define EVENT_BYTES    (64 * 1024)
#define PLANTED_MAX    100
#define READER_WAIT_MS 120000

struct changes_result {
	uint64_t added, changed, removed, planted, unreadable;
	uint32_t event_bytes;
	uint32_t cut; /* 1: the difference is longer than DIFF_MAX */
	char event[EVENT_BYTES];
};

struct changes {
	const struct attempt *a;
	int before, after; /* -1: there was none */
	int out;
	struct changes_result *r;
	struct buf text;    /* the difference */
	struct buf planted; /* JSON array's elements */
};

static int names_of(int directory, char ***ret)
{
	int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	size_t count = 0, room = 0;
	struct dirent *entry;
	char **names = NULL;

	if (dir == NULL) {
		own_close(&own);
		*ret = NULL;
		return -EACCES;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (count + 1 >= room) {
			room = room > 0 ? 2 * room : 64;
			names = reallocarray(names, room, sizeof(*names));
			if (names == NULL)
				abort();
		}
		names[count++] = own_strdup(entry->d_name);
		names[count] = NULL;
	}
	(void)closedir(dir); /* only read from */
	*ret = names;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void plant(struct changes *c, const char *path, const struct stat *st)
{
	struct json_writer w;

	if (!plants_is_one(path, S_ISREG(st->st_mode) && (st->st_mode & 0111) != 0))
		return;
	if (c->r->planted++ >= PLANTED_MAX)
		return;
	json_writer_init(&w, &c->planted);
	if (c->planted.len > 0)
		(void)buf_add_char(&c->planted, ','); /* the buffer remembers failure */
	json_put_string(&w, path);
}

static bool slurp(int at, const char *name, struct buf *out)
{
	autoclose int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n;

	buf_reset(out);
	if (fd < 0)
		return false;
	for (;;) {
		char *room = buf_room(out, 64 * 1024);

		if (room == NULL)
			return false;
		n = read(fd, room, 64 * 1024);
		if (n <= 0)
			break;
		buf_grow(out, (size_t)n);
	}
	return n == 0;
}

static bool same_bytes(int before, int after, const char *name)
{
	autoclose int a = openat(before, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	autoclose int b = openat(after, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char left[16384], right[16384];
	ssize_t n, m;

	if (a < 0 || b < 0)
		return false;
	do {
		n = read(a, left, sizeof(left));
		m = read(b, right, sizeof(right));
		if (n != m || n < 0 || memcmp(left, right, (size_t)n) != 0)
			return false;
	} while (n > 0);
	return true;
}

/* The difference of one file; at either side -1 stands for "was not there". */
static void put_difference(
	struct changes *c, int before, int after, const char *name, const char *path)
{
	struct buf a, b;
	bool readable;

	buf_init(&a, TEXT_MAX + 64 * 1024);
	buf_init(&b, TEXT_MAX + 64 * 1024);
	readable = (before < 0 || slurp(before, name, &a)) && (after < 0 || slurp(after, name, &b));
	(void)buf_add_text(&c->text, before < 0 ? "--- /dev/null\n" : "--- a/");
	if (before >= 0)
		(void)buf_addf(&c->text, "%s\n", path);
	(void)buf_add_text(&c->text, after < 0 ? "+++ /dev/null\n" : "+++ b/");
	if (after >= 0)
		(void)buf_addf(&c->text, "%s\n", path);
	if (!readable || memchr(buf_text(&a), '\0', a.len) != NULL ||
		memchr(buf_text(&b), '\0', b.len) != NULL)
		(void)buf_addf(&c->text, "not text, or larger than %d bytes\n", TEXT_MAX);
	else
		diff_unified((struct str){a.data, a.len}, (struct str){b.data, b.len}, &c->text);
	buf_done(&a);
	buf_done(&b);
}

static void walk(struct changes *c, int before, int after, const char *prefix, unsigned depth);

static int open_below(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static void put_link(
	struct changes *c, int at, const char *name, const char *path, const char *verb)
{
	char target[4096];
	ssize_t n = readlinkat(at, name, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	(void)buf_addf(&c->text, "link %s: %s -> %s\n", verb, path, target);
}

static void one_side(struct changes *c, int before, int after, const char *name, const char *path,
	unsigned depth)
{
	int at = before >= 0 ? before : after;
	const char *verb = before >= 0 ? "removed" : "added";
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		autoclose int below = open_below(at, name);
		autofree char *deeper = own_printf("%s/", path);

		if (below >= 0)
			walk(c, before >= 0 ? below : -1, before >= 0 ? -1 : below, deeper,
				depth + 1);
		else
			c->r->unreadable++;
		return;
	}
	if (before >= 0)
		c->r->removed++;
	else
		c->r->added++;
	if (before < 0)
		plant(c, path, &st);
	if (S_ISLNK(st.st_mode))
		put_link(c, at, name, path, verb);
	else if (S_ISREG(st.st_mode))
		put_difference(c, before, after, name, path);
	else
		(void)buf_addf(&c->text, "special file %s: %s\n", verb, path);
}

static bool same_link(int before, int after, const char *name)
{
	char a[4096], b[4096];
	ssize_t n = readlinkat(before, name, a, sizeof(a)),
		m = readlinkat(after, name, b, sizeof(b));

	return n == m && n >= 0 && memcmp(a, b, (size_t)n) == 0;
}

static void both_sides(struct changes *c, int before, int after, const char *name, const char *path,
	unsigned depth)
{
	struct stat a, b;

	if (fstatat(before, name, &a, AT_SYMLINK_NOFOLLOW) < 0 ||
		fstatat(after, name, &b, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if ((a.st_mode & S_IFMT) != (b.st_mode & S_IFMT)) {
		one_side(c, before, -1, name, path, depth);
		one_side(c, -1, after, name, path, depth);
		return;
	}
	if (S_ISDIR(a.st_mode)) {
		autoclose int left = open_below(before, name);
		autoclose int right = open_below(after, name);
		autofree char *deeper = own_printf("%s/", path);

		if (left >= 0 && right >= 0)
			walk(c, left, right, deeper, depth + 1);
		else
			c->r->unreadable++;
		return;
	}
	if (S_ISLNK(a.st_mode)
			? same_link(before, after, name)
			: a.st_size == b.st_size && (a.st_mode & 0777) == (b.st_mode & 0777) &&
				  (!S_ISREG(a.st_mode) || same_bytes(before, after, name)))
		return;
	c->r->changed++;
	plant(c, path, &b);
	if ((a.st_mode & 0777) != (b.st_mode & 0777))
		(void)buf_addf(&c->text, "mode changed: %s %03o -> %03o\n", path, a.st_mode & 0777,
			b.st_mode & 0777);
	if (S_ISREG(b.st_mode) && (a.st_size != b.st_size || !same_bytes(before, after, name)))
		put_difference(c, before, after, name, path);
	else if (S_ISLNK(b.st_mode))
		put_link(c, after, name, path, "changed");
}

/* What no box may show was not copied, so it was not removed either; and what it holds is nobody's
 * to read. */
static size_t drop_covered(const struct changes *c, const char *prefix, char **names)
{
	size_t kept = 0;

	for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
		autofree char *path = own_printf(
			"%s/%s%s", c->a->plan.sandbox.workspace_source, prefix, names[i]);

		if (tree_leaves_out(c->a->plan.covered, path))
			free(names[i]);
		else
			names[kept++] = names[i];
	}
	if (names != NULL)
		names[kept] = NULL;
	return kept;
}

static void walk(struct changes *c, int before, int after, const char *prefix, unsigned depth)
{
	char **left = NULL, **right = NULL;
	size_t i = 0, j = 0, n, m;

	if (depth > 64)
		return;
	if ((before >= 0 && names_of(before, &left) < 0) ||
		(after >= 0 && names_of(after, &right) < 0))
		c->r->unreadable++;
	n = drop_covered(c, prefix, left);
	m = right != NULL ? strv_count(right) : 0;
	if (n > 0)
		qsort(left, n, sizeof(*left), by_name);
	if (m > 0)
		qsort(right, m, sizeof(*right), by_name);
	while (i < n || j < m) {
		int order = i >= n ? 1 : j >= m ? -1 : strcmp(left[i], right[j]);
		const char *name = order <= 0 ? left[i] : right[j];
		autofree char *path = own_printf("%s%s", prefix, name);

		if (order == 0)
			both_sides(c, before, after, name, path, depth);
		else
			one_side(c, order < 0 ? before : -1, order < 0 ? -1 : after, name, path,
				depth);
		i += order <= 0;
		j += order >= 0;
	}
	strv_free(left);
	strv_free(right);
}

static void write_event(struct changes *c)
{
	struct changes_result *r = c->r;
	int n = snprintf(r->event, sizeof(r->event),
		"{\"added\":%llu,\"changed\":%llu,\"removed\":%llu,\"unreadable\":%llu,\"planted_count\":%llu,"
		"\"planted\":[%s]}",
		(unsigned long long)r->added, (unsigned long long)r->changed,
		(unsigned long long)r->removed, (unsigned long long)r->unreadable,
		(unsigned long long)r->planted,
		buf_status(&c->planted) == 0 ? buf_text(&c->planted) : "");

	r->event_bytes = n > 0 && (size_t)n < sizeof(r->event) ? (uint32_t)n : 0;
}

/* In the reader. */
static int list_changes(void *context, void *result)
{
	struct changes *c = context;
	struct buf redacted;

	c->r = result;
	buf_init(&c->text, DIFF_MAX);
	buf_init(&c->planted, EVENT_BYTES - 512);
	buf_init(&redacted, 2 * DIFF_MAX);
	walk(c, c->before, c->after, "", 0);
	if (buf_status(&c->text) < 0) {
		c->r->cut = 1;
		c->text.status = 0;
		buf_truncate(&c->text, c->text.len > 64 ? c->text.len - 64 : 0);
		(void)buf_add_text(
			&c->text, "\n(the rest is left out)\n"); /* made room just above */
	}
	write_event(c);
	if (c->a->needle != NULL &&
		needle_redact(c->a->needle, buf_text(&c->text), c->text.len, &redacted, NULL) < 0)
		return -1;
	if (c->a->needle == NULL)
		(void)buf_add(&redacted, buf_text(&c->text), c->text.len); /* fits: same maximum */
	for (size_t at = 0; at < redacted.len;) {
		ssize_t n = write(c->out, redacted.data + at, redacted.len - at);

		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

static int digest_of(int fd, uint8_t ret[32], uint64_t *ret_bytes)
{
	crypto_hash_sha256_state hash;
	unsigned char bytes[65536];
	ssize_t n;

	(void)crypto_hash_sha256_init(&hash);
	*ret_bytes = 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		(void)crypto_hash_sha256_update(&hash, bytes, (size_t)n);
		*ret_bytes += (uint64_t)n;
	}
	(void)crypto_hash_sha256_final(&hash, ret);
	return n < 0 ? -errno : 0;
}

static void keep_difference(struct attempt *a, int fd)
{
	struct msg_artifact head = {.role = "workspace-diff"};
	struct err err = {0};
	uint64_t size;

	if (digest_of(fd, head.sha256, &size) < 0 ||
		store_blob_link(a->store, fd, head.sha256, &err) < 0) {
		note_eventf(a, EVENT_LOSS,
			"{\"what\":\"the workspace's difference could not be kept\"}");
		return;
	}
	(void)memcpy(head.raw_sha256, head.sha256, 32);
	collect_tell(a, "workspace.diff", &head, size);
}

struct git_list {
	struct attempt *a;
	struct buf shown, array;
};

static void list_git(void *context, const char *path, enum git_change change)
{
	struct git_list *l = context;
	struct json_writer w;

	if (change == GIT_CHANGE_REMOVED || buf_status(&l->shown) < 0)
		return;
	if (l->shown.len > 0)
		(void)buf_add_text(&l->shown, ", "); /* the buffers remember failure */
	str_add_visible(&l->shown, path, strlen(path), /* keep_lines= */ false);
	json_writer_init(&w, &l->array);
	if (l->array.len > 0)
		(void)buf_add_char(&l->array, ',');
	json_put_string(&w, path);
}

void collect_git(struct attempt *a)
{
	struct git_list list = {.a = a};

	if (a->git_watch == NULL)
		return;
	buf_init(&list.shown, sizeof(a->planted) - 1);
	buf_init(&list.array, EVENT_BYTES);
	if (git_watch_changed(a->git_watch, list_git, &list) > 0 && list.array.len > 0) {
		(void)snprintf(a->planted, sizeof(a->planted), "%s", buf_text(&list.shown));
		note_redact(a, a->planted, sizeof(a->planted));
		note_eventf(a, EVENT_WORKSPACE, "{\"planted\":[%s]}",
			buf_status(&list.array) == 0 ? buf_text(&list.array) : "");
	}
	buf_done(&list.shown);
	buf_done(&list.array);
	git_watch_close(a->git_watch);
	a->git_watch = NULL;
}

void collect_changes(struct attempt *a)
{
	const char *source = a->plan.sandbox.workspace_source;
	autoclose int before = -1, after = -1, out = -1;
	struct changes changes = {.a = a};
	autofree struct changes_result *result = own_alloc(sizeof(*result));
	struct err err = {0};
	int directories[2];
	struct reader_job read = {.directories = directories,
		.fn = list_changes,
		.context = &changes,
		.result = result,
		.result_size = sizeof(*result)};
	size_t count = 0;

	if (a->plan.sandbox.workspace != WORKSPACE_COPY || a->work_fd < 0)
		return;
	after = open_below(a->work_fd, "workspace");
	before = source != NULL ? open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (after < 0 || store_blob_open(a->store, &out, &err) < 0) {
		note_eventf(a, EVENT_LOSS, "{\"what\":\"the workspace cannot be read\"}");
		return;
	}
	directories[count++] = after;
	if (before >= 0)
		directories[count++] = before;
	changes.before = before;
	changes.after = after;
	changes.out = out;
	read.directory_count = count;
	if (reader_run(&read, READER_WAIT_MS, &err) < 0) {
		note_eventf(a, EVENT_LOSS,
			"{\"what\":\"the workspace's changes could not be listed\"}");
		return;
	}
	if (result->event_bytes > 0 && result->event_bytes < sizeof(result->event))
		note_event(a, EVENT_WORKSPACE, result->event, result->event_bytes);
	keep_difference(a, out);
}
