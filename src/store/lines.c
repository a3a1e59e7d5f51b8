/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a file, the frame of an event line, the hash chain. */

#include "store/lines.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES ((size_t)256 * 1024)

void line_reader_init(struct line_reader *r, int fd)
{
	*r = (struct line_reader){.fd = fd};
	buf_init(&r->buf, LINE_BYTES_MAX + READ_BYTES);
}

void line_reader_done(struct line_reader *r)
{
	buf_done(&r->buf);
}

/* 1 when bytes came, 0 at the end. */
static int read_more(struct line_reader *r)
{
	size_t wanted = READ_BYTES;
	char *room;
	ssize_t n;

	buf_drop(&r->buf, r->at);
	r->at = 0;
	if (r->buf.len > LINE_BYTES_MAX)
		return -EMSGSIZE;
	if (r->limit > 0 && r->limit < r->read + wanted)
		wanted = r->limit > r->read ? (size_t)(r->limit - r->read) : 0;
	room = buf_room(&r->buf, READ_BYTES);
	if (room == NULL)
		return r->buf.status;
	do
		n = pread(r->fd, room, wanted, (off_t)r->read);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	buf_grow(&r->buf, (size_t)n);
	r->read += (uint64_t)n;
	return n > 0;
}

int line_reader_next(struct line_reader *r, struct str *ret)
{
	size_t seen = 0;

	for (;;) {
		const char *start = buf_text(&r->buf) + r->at;
		size_t left = r->buf.len - r->at;
		const char *end = left > seen ? memchr(start + seen, '\n', left - seen) : NULL;
		int n;

		if (end != NULL) {
			*ret = (struct str){start, (size_t)(end - start)};
			r->at += ret->n + 1;
			r->offset += ret->n + 1;
			return ret->n > LINE_BYTES_MAX ? -EMSGSIZE : 1;
		}
		seen = left;
		n = read_more(r);
		if (n < 0)
			return n;
		if (n == 0) {
			r->torn = left;
			return 0;
		}
	}
}

/* Moves *p behind text if it is there. */
static bool skip(struct str *p, const char *text)
{
	size_t n = strlen(text);

	if (p->n < n || memcmp(p->p, text, n) != 0)
		return false;
	p->p += n;
	p->n -= n;
	return true;
}

/* A word of lower-case letters, digits, '.', '_' up to a quote. */
static bool skip_word(struct str *p, struct str *ret)
{
	size_t n = 0;

	while (n < p->n && n < 64 &&
		((p->p[n] >= 'a' && p->p[n] <= 'z') || p->p[n] == '.' || p->p[n] == '_' ||
			(p->p[n] >= '0' && p->p[n] <= '9')))
		n++;
	*ret = (struct str){p->p, n};
	p->p += n;
	p->n -= n;
	return n > 0;
}

static bool skip_number(struct str *p, uint64_t *ret)
{
	uint64_t value = 0;
	size_t n = 0;

	while (n < p->n && n < 19 && p->p[n] >= '0' && p->p[n] <= '9')
		value = value * 10 + (uint64_t)(p->p[n++] - '0');
	if (n == 0 || (n > 1 && p->p[0] == '0'))
		return false;
	p->p += n;
	p->n -= n;
	*ret = value;
	return true;
}

int event_line_parse(struct str line, struct event_line *ret)
{
	const size_t tail = sizeof(",\"h\":\"") - 1 + EVENT_HASH_DIGITS + sizeof("\"}") - 1;
	struct wall unused;
	struct str p = line;

	if (line.n < tail + 2)
		return -EINVAL;
	ret->hashed = (struct str){line.p, line.n - tail};
	p.n -= tail;
	if (!skip(&p, "{\"seq\":") || !skip_number(&p, &ret->seq) || !skip(&p, ",\"ts\":\"") ||
		p.n < WALL_TEXT_SIZE - 1)
		return -EINVAL;
	(void)memcpy(ret->ts, p.p, WALL_TEXT_SIZE - 1);
	ret->ts[WALL_TEXT_SIZE - 1] = '\0';
	if (strlen(ret->ts) != WALL_TEXT_SIZE - 1 || wall_parse(ret->ts, &unused) < 0)
		return -EINVAL;
	p.p += WALL_TEXT_SIZE - 1;
	p.n -= WALL_TEXT_SIZE - 1;
	if (!skip(&p, "\",\"src\":\"") || !skip_word(&p, &ret->src) ||
		!skip(&p, "\",\"type\":\"") || !skip_word(&p, &ret->type) ||
		!skip(&p, "\",\"data\":"))
		return -EINVAL;
	if (p.n < 2 || p.p[0] != '{' || p.p[p.n - 1] != '}')
		return -EINVAL;
	ret->data = p;
	p.p += p.n;
	p.n = tail;
	if (!skip(&p, ",\"h\":\""))
		return -EINVAL;
	(void)memcpy(ret->h, p.p, EVENT_HASH_DIGITS);
	ret->h[EVENT_HASH_DIGITS] = '\0';
	if (strspn(ret->h, "0123456789abcdef") != EVENT_HASH_DIGITS)
		return -EINVAL;
	p.p += EVENT_HASH_DIGITS;
	p.n -= EVENT_HASH_DIGITS;
	return skip(&p, "\"}") ? 0 : -EINVAL;
}

bool event_line_is_trusted(const struct event_line *l)
{
	return !str_is(l->src, "harness") && !str_is(l->src, "stderr");
}

/* Inside a JSON string every quote has a backslash before it, so `"key":` only ever matches a key. */
static const char *behind_key(struct str data, const char *key, const char *quote)
{
	char mark[64];
	int n = snprintf(mark, sizeof(mark), "\"%s\":%s", key, quote);
	const char *at;

	assert(n > 0 && (size_t)n < sizeof(mark)); /* keys are ours */
	at = memmem(data.p, data.n, mark, (size_t)n);
	return at != NULL ? at + n : NULL;
}

static const char *value_of(struct str data, const char *key, size_t size)
{
	const char *at = behind_key(data, key, "\"");

	if (at == NULL)
		return NULL;
	if ((size_t)(data.p + data.n - at) <= size || at[size] != '"')
		return NULL;
	return at;
}

bool data_digest(struct str data, const char *key, uint8_t ret[32])
{
	const char *at = value_of(data, key, 64);
	char hex[65];

	if (at == NULL)
		return false;
	(void)memcpy(hex, at, 64);
	hex[64] = '\0';
	return str_unhex(hex, 32, ret) == 0;
}

bool data_id(struct str data, const char *key, struct id *ret)
{
	const char *at = value_of(data, key, ID_LENGTH);

	if (at == NULL)
		return false;
	(void)memcpy(ret->text, at, ID_LENGTH);
	ret->text[ID_LENGTH] = '\0';
	return id_is_valid(ret->text);
}

bool data_number(struct str data, const char *key, uint64_t *ret)
{
	const char *at = behind_key(data, key, "");
	struct str rest = {at, at != NULL ? (size_t)(data.p + data.n - at) : 0};

	return at != NULL && skip_number(&rest, ret);
}

void chain_start(const struct id *attempt, const uint8_t manifest[32], uint8_t ret[32])
{
	crypto_hash_sha256_state state;

	(void)crypto_hash_sha256_init(&state); /* these three cannot fail */
	(void)crypto_hash_sha256_update(&state, (const unsigned char *)attempt->text, ID_LENGTH);
	(void)crypto_hash_sha256_update(&state, manifest, 32);
	(void)crypto_hash_sha256_final(&state, ret);
}

void chain_step(uint8_t hash[32], const void *bytes, size_t size)
{
	crypto_hash_sha256_state state;

	(void)crypto_hash_sha256_init(&state); /* these three cannot fail */
	(void)crypto_hash_sha256_update(&state, hash, 32);
	(void)crypto_hash_sha256_update(&state, bytes, size);
	(void)crypto_hash_sha256_final(&state, hash);
}

bool chain_fits(const uint8_t hash[32], const char *h)
{
	char hex[EVENT_HASH_DIGITS + 1];

	str_hex(hash, EVENT_HASH_DIGITS / 2, hex);
	return memcmp(hex, h, EVENT_HASH_DIGITS) == 0;
}
