/* SPDX-License-Identifier: Apache-2.0 */
/* An attempt's event log: numbers, stamps, chains and writes lines.
 *
 * How it works: a line is put together in one buffer, behind those that wait, and hashed there.
 * What is the same for every line of a type (source, type, the keys between) is prepared when the log
 * opens, and the text of the current second is kept, so a line costs a few copies and its SHA-256.
 * Writing goes to a remembered offset: when a write stops half way (a full disk), the rest
 * waits in the buffer and the next flush goes on at the very byte, so the file never holds a gap. */

#include "store/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "store/dir.h"
#include "store/lines.h"
#include "store/store.h"

struct log_io log_io = {.pwrite = pwrite, .fdatasync = fdatasync};

#define PREFIX_MAX  80
#define FRAME_MAX   (7 + 20 + 7 + WALL_TEXT_SIZE + PREFIX_MAX + 32)
#define FIRST_BYTES ((size_t)64 * 1024)

struct event_log {
	int fd;     /* -1: a memory log */
	int dir_fd; /* the directory whose new entry is not synced yet, or -1 */
	struct id attempt;
	uint8_t hash[32];
	uint64_t count, bytes; /* pending ones included */
	uint64_t flushed;      /* bytes in the file */
	uint64_t torn;
	struct buf pending;
	struct wall at;         /* of the last line */
	int64_t stamped_second; /* which second stamp holds, -1 none */
	char stamp[WALL_TEXT_SIZE];
	struct {
		char text[PREFIX_MAX]; /* `","src":"…","type":"…","data":` */
		size_t size;
	} prefix[EVENT_TYPE_COUNT];
};

static struct event_log *log_new(const struct id *attempt, const uint8_t manifest[32])
{
	struct event_log *l = own_alloc(sizeof(*l));

	l->fd = -1;
	l->dir_fd = -1;
	l->attempt = *attempt;
	l->stamped_second = -1;
	buf_init(&l->pending, EVENT_PENDING_MAX + EVENT_DATA_MAX + FRAME_MAX);
	chain_start(attempt, manifest, l->hash);
	for (int i = 0; i < EVENT_TYPE_COUNT; i++) {
		int n = snprintf(l->prefix[i].text, PREFIX_MAX,
			"\",\"src\":\"%s\",\"type\":\"%s\",\"data\":",
			event_type_source((enum event_type)i), event_type_name((enum event_type)i));

		assert(n > 0 && n < PREFIX_MAX);
		l->prefix[i].size = (size_t)n;
	}
	return l;
}

static void log_free(struct event_log *l)
{
	if (l->fd >= 0)
		(void)close(l->fd); /* what was not synced was not promised */
	if (l->dir_fd >= 0)
		(void)close(l->dir_fd); /* only read from */
	buf_done(&l->pending);
	free(l);
}

static void log_free_p(struct event_log **l)
{
	if (*l != NULL)
		log_free(*l);
}

int event_log_create(struct store *s, const struct id *attempt, const uint8_t manifest[32],
	struct event_log **ret, struct err *err)
{
	autoclose int fd = -1, dir_fd = -1;
	char name[EVENTS_NAME_SIZE];
	struct event_log *l;
	int r = store_may_write(s, err);

	if (r < 0)
		return r;
	events_name(attempt, name);
	dir_fd = openat(s->fd, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return err_set(err, errno, "open '%s/events'", s->path);
	fd = openat(s->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set(err, errno, "make '%s/%s'", s->path, name);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, errno, "lock '%s/%s'", s->path, name);
	l = log_new(attempt, manifest);
	l->fd = take_fd(&fd);
	l->dir_fd = take_fd(&dir_fd);
	*ret = l;
	return 0;
}

struct event_log *event_log_memory(const struct id *attempt, const uint8_t manifest[32])
{
	return log_new(attempt, manifest);
}

/* The directory of an open events file and its name there. */
static int find_place(int fd, int *ret_dir, char name[NAME_MAX + 1], struct err *err)
{
	char link[64], path[PATH_MAX];
	ssize_t n;
	char *slash;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return err_set(err, errno, "find the place of an events file");
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL || slash == path || strlen(slash + 1) > NAME_MAX)
		return err_say(err, EINVAL, "events file '%s' has no directory", path);
	*slash = '\0';
	(void)memcpy(name, slash + 1, strlen(slash + 1) + 1); /* measured just above */
	*ret_dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_dir < 0 ? err_set(err, errno, "open '%s'", path) : 0;
}

/* Saves what lies behind the last whole line in a file of its own, then cuts it off. */
static int keep_torn(int fd, uint64_t offset, uint64_t size, struct err *err)
{
	autofree char *torn_name = NULL, *bytes = malloc(size);
	autoclose int dir = -1, torn = -1;
	char name[NAME_MAX + 1];
	int r;

	if (bytes == NULL)
		return err_set(err, ENOMEM, "keep a torn line");
	r = find_place(fd, &dir, name, err);
	if (r < 0)
		return r;
	if (pread(fd, bytes, size, (off_t)offset) != (ssize_t)size)
		return err_set(err, EIO, "read the torn line of '%s'", name);
	torn_name = own_printf("%s.%llu.torn", name, (unsigned long long)offset);
	r = fileat_open(dir, torn_name, O_WRONLY | O_CREAT | O_APPEND, &torn, err);
	if (r < 0)
		return r;
	r = fd_write(torn, bytes, size, err);
	if (r < 0)
		return err_add_to(r, err, "write '%s'", torn_name);
	if (fdatasync(torn) < 0 || fsync(dir) < 0)
		return err_set(err, errno, "sync '%s'", torn_name);
	if (ftruncate(fd, (off_t)offset) < 0)
		return err_set(err, errno, "cut the torn line off '%s'", name);
	return 0;
}

/* Follows the chain through what the file holds. */
static int replay(struct event_log *l, int fd, struct err *err)
{
	autodone(line_reader_done) struct line_reader reader;
	struct event_line parsed = {0};
	struct str line;
	int r;

	line_reader_init(&reader, fd);
	while ((r = line_reader_next(&reader, &line)) == 1) {
		if (event_line_parse(line, &parsed) < 0 || parsed.seq != l->count + 1)
			return err_say(err, EBADMSG, "line %llu of attempt %s is not an event line",
				(unsigned long long)l->count + 1, l->attempt.text);
		chain_step(l->hash, parsed.hashed.p, parsed.hashed.n);
		if (!chain_fits(l->hash, parsed.h))
			return err_say(err, EBADMSG,
				"line %llu of attempt %s does not fit the chain",
				(unsigned long long)parsed.seq, l->attempt.text);
		l->count++;
		l->bytes += line.n + 1;
	}
	if (r < 0)
		return err_set(err, -r, "read the events of attempt %s", l->attempt.text);
	if (l->count == 0)
		return err_say(err, ENODATA, "the events of attempt %s hold no whole line",
			l->attempt.text);
	(void)wall_parse(parsed.ts, &l->at); /* checked with the line's frame */
	l->torn = reader.torn;
	l->flushed = l->bytes;
	return 0;
}

static int note_loss(struct event_log *l, struct err *err)
{
	char data[96];
	int n = snprintf(data, sizeof(data),
		"{\"what\":\"torn line\",\"count\":1,\"bytes\":%llu,\"offset\":%llu}",
		(unsigned long long)l->torn, (unsigned long long)l->flushed);
	int r = event_log_append(l, EVENT_LOSS, data, (size_t)n, err);

	return r < 0 ? r : event_log_sync(l, err);
}

int event_log_adopt(int fd, const struct id *attempt, const uint8_t manifest[32],
	struct event_log **ret, struct err *err)
{
	autodone(log_free_p) struct event_log *l = log_new(attempt, manifest);
	int r = replay(l, fd, err);

	if (r < 0)
		return r;
	if (l->torn > 0) {
		r = keep_torn(fd, l->bytes, l->torn, err);
		if (r < 0)
			return r;
		l->fd = fd;
		r = note_loss(l, err);
		l->fd = -1; /* the caller's until we succeed */
		if (r < 0)
			return r;
	}
	l->fd = fd;
	*ret = take_ptr(&l);
	return 0;
}

/* The manifest's digest stands in the first line, which hemra itself wrote. */
static int first_manifest(int fd, uint8_t ret[32], struct err *err)
{
	autodone(line_reader_done) struct line_reader reader;
	struct event_line parsed;
	struct str line;
	int r;

	line_reader_init(&reader, fd);
	r = line_reader_next(&reader, &line);
	if (r < 0)
		return err_set(err, -r, "read the first event");
	if (r == 0)
		return err_say(err, ENODATA, "there is no whole line");
	if (event_line_parse(line, &parsed) < 0 || !str_is(parsed.type, "attempt.planned") ||
		!data_digest(parsed.data, "manifest", ret))
		return err_say(err, EBADMSG, "the first event does not name a manifest");
	return 0;
}

int event_log_claim(
	struct store *s, const struct id *attempt, struct event_log **ret, struct err *err)
{
	char name[EVENTS_NAME_SIZE];
	autoclose int fd = -1;
	uint8_t manifest[32];
	int r = store_may_write(s, err);

	events_name(attempt, name);
	if (r == 0)
		r = fileat_open(s->fd, name, O_RDWR, &fd, err);
	if (r < 0)
		return err_add_to(r, err, "claim attempt %s", attempt->text);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return err_say(err, EWOULDBLOCK, "attempt %s still runs", attempt->text);
		return err_set(err, errno, "lock '%s/%s'", s->path, name);
	}
	r = first_manifest(fd, manifest, err);
	if (r < 0)
		return err_add_to(r, err, "claim attempt %s", attempt->text);
	r = event_log_adopt(fd, attempt, manifest, ret, err);
	if (r < 0)
		return err_add_to(r, err, "claim attempt %s", attempt->text);
	(void)take_fd(&fd); /* the log's */
	return 0;
}

void event_log_close(struct event_log *l)
{
	if (l == NULL)
		return;
	if (l->fd >= 0)
		(void)event_log_flush(
			l, NULL); /* what the disk does not take is lost with the log */
	log_free(l);
}

int event_log_fd(const struct event_log *l)
{
	return l->fd;
}

/* Eight bytes at a time; the borrow trick is exact for "is any byte below 0x20". */
static bool has_control(const char *p, size_t n)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	uint64_t seen = 0;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t word;

		(void)memcpy(&word, p + i, 8);
		seen |= (word - each * 0x20) & ~word & each * 0x80;
	}
	for (; i < n; i++)
		if ((unsigned char)p[i] < 0x20)
			return true;
	return seen != 0;
}

static char *put(char *to, const char *text, size_t size)
{
	(void)memcpy(to, text, size);
	return to + size;
}

static char *put_number(char *to, uint64_t value)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return put(to, digits + n, sizeof(digits) - n);
}

static char *put_time(struct event_log *l, char *to)
{
	int64_t second = l->at.us / 1000000;
	unsigned us = (unsigned)(l->at.us % 1000000);

	if (second != l->stamped_second) {
		wall_format(l->at, l->stamp);
		l->stamped_second = second;
	}
	for (int i = 25; i >= 20; i--, us /= 10)
		l->stamp[i] = (char)('0' + us % 10);
	return put(to, l->stamp, WALL_TEXT_SIZE - 1);
}

int event_log_append(
	struct event_log *l, enum event_type type, const void *data, size_t size, struct err *err)
{
	static const char before_hash[] = ",\"h\":\"";
	const char *text = data;
	char *start, *p;

	assert((unsigned)type < EVENT_TYPE_COUNT);
	if (size < 2 || text[0] != '{' || text[size - 1] != '}' || has_control(text, size))
		return err_say(err, EINVAL, "data of event %s is not one object on one line",
			event_type_name(type));
	if (size > EVENT_DATA_MAX)
		return err_say(err, EMSGSIZE, "event %s holds more than %d bytes",
			event_type_name(type), EVENT_DATA_MAX);
	if (l->pending.len > EVENT_PENDING_MAX)
		return err_say(
			err, ENOBUFS, "%zu bytes of events wait to be written", l->pending.len);
	/* born with room for many lines, so that lines do not reallocate */
	start = buf_room(&l->pending,
		l->pending.data == NULL && l->fd >= 0 && size < FIRST_BYTES / 2 ? FIRST_BYTES
										: FRAME_MAX + size);
	if (start == NULL) {
		l->pending.status = 0; /* this line is refused, the next may fit */
		return err_set(err, ENOMEM, "append event %s", event_type_name(type));
	}
	l->at = wall_now();
	p = put(start, "{\"seq\":", 7);
	p = put_number(p, l->count + 1);
	p = put(p, ",\"ts\":\"", 7);
	p = put_time(l, p);
	p = put(p, l->prefix[type].text, l->prefix[type].size);
	p = put(p, text, size);
	chain_step(l->hash, start, (size_t)(p - start));
	p = put(p, before_hash, sizeof(before_hash) - 1);
	str_hex(l->hash, EVENT_HASH_DIGITS / 2, p);
	p = put(p + EVENT_HASH_DIGITS, "\"}\n", 3);
	l->count++;
	l->bytes += (uint64_t)(p - start);
	if (l->fd >= 0)
		buf_grow(&l->pending, (size_t)(p - start));
	return 0;
}

int event_log_flush(struct event_log *l, struct err *err)
{
	size_t done = 0;
	int r = 0;

	while (l->fd >= 0 && done < l->pending.len) {
		ssize_t n = log_io.pwrite(
			l->fd, l->pending.data + done, l->pending.len - done, (off_t)l->flushed);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = err_set(err, n < 0 ? errno : EIO, "write events of attempt %s",
				l->attempt.text);
			break;
		}
		done += (size_t)n;
		l->flushed += (uint64_t)n;
	}
	buf_drop(&l->pending, done);
	return r;
}

int event_log_sync(struct event_log *l, struct err *err)
{
	int r = event_log_flush(l, err);

	if (r < 0 || l->fd < 0)
		return r;
	if (log_io.fdatasync(l->fd) < 0)
		return err_set(err, errno, "sync events of attempt %s", l->attempt.text);
	if (l->dir_fd >= 0) {
		if (fsync(l->dir_fd) < 0)
			return err_set(err, errno, "sync the directory of events");
		(void)close(take_fd(&l->dir_fd)); /* only read from */
	}
	return 0;
}

size_t event_log_pending(const struct event_log *l)
{
	return l->pending.len;
}

struct wall event_log_at(const struct event_log *l)
{
	return l->at;
}

uint64_t event_log_torn(const struct event_log *l)
{
	return l->torn;
}

void event_log_head(const struct event_log *l, struct event_head *ret)
{
	(void)memcpy(ret->hash, l->hash, sizeof(ret->hash));
	ret->count = l->count;
	ret->bytes = l->bytes;
}
