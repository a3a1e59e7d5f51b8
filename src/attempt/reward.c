/* SPDX-License-Identifier: Apache-2.0 */
/* Reward files, read strictly: what is not exactly a reward is "ungraded", never 0. */

#include "attempt/reward.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/wire/json.h"

#define REWARD_BYTES_MAX (1024 * 1024)

static bool ungraded(struct reward *r, const char *why)
{
	r->graded = 0;
	(void)snprintf(r->reason, sizeof(r->reason), "%s", why);
	return false;
}

/* 1 read, 0 not there, -1 there but not acceptable (reason is set). */
static int slurp(int directory, const char *name, struct buf *out, struct reward *r)
{
	autoclose int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	buf_init(out, REWARD_BYTES_MAX);
	if (fd < 0 && errno == ENOENT)
		return 0;
	(void)snprintf(r->source, sizeof(r->source), "%s", name);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return ungraded(r, "the reward file is not a regular file of one name") - 1;
	do {
		char *room = buf_room(out, st.st_size > 4096 ? 65536 : 4096);

		if (room == NULL)
			return ungraded(r, "the reward file is larger than 1 MiB") - 1;
		n = read(fd, room, st.st_size > 4096 ? 65536 : 4096);
		if (n > 0)
			buf_grow(out, (size_t)n);
	} while (n > 0);
	return n < 0 ? ungraded(r, "the reward file cannot be read") - 1 : 1;
}

static bool take_value(struct reward *r, double value)
{
	if (!isfinite(value))
		return ungraded(r, "the reward is not a finite number");
	r->graded = 1;
	r->value = value;
	return true;
}

static bool read_text(struct reward *r, struct buf *text)
{
	const char *p = buf_text(text);
	char *end;
	double value;

	if (strlen(p) != text->len)
		return ungraded(r, "reward.txt holds a NUL byte");
	errno = 0;
	value = strtod(p, &end);
	if (end == p)
		return ungraded(r, "reward.txt holds no number");
	if (strspn(end, " \t\r\n") != strlen(end))
		return ungraded(r, "reward.txt holds more than one number");
	if (strspn(p, " \t\r\n+-.0123456789eE") < (size_t)(end - p))
		return ungraded(r, "the reward is not a finite decimal number");
	return take_value(r, value);
}

static bool read_object(struct reward *r, const struct json_doc *d)
{
	uint32_t primary = json_get(d, 0, "reward");
	struct str raw = json_raw(d, 0);
	double value;

	for (uint32_t n = json_first(d, 0); n != JSON_NONE; n = json_next(d, 0, n))
		if (json_double(d, json_value_of(d, n), &value) < 0 || !isfinite(value))
			return ungraded(r, "reward.json holds a value that is not a finite number");
	if (primary == JSON_NONE && d->nodes[0].count == 1)
		primary = json_value_of(d, json_first(d, 0));
	if (primary == JSON_NONE)
		return ungraded(r, "reward.json has several keys and none is \"reward\"");
	if (raw.n < sizeof(r->rewards)) {
		(void)memcpy(r->rewards, raw.p, raw.n);
		for (char *p = r->rewards; *p != '\0'; p++)
			if (*p < 0x20)
				*p = ' '; /* white space between tokens: strings hold no such byte */
	}
	return json_double(d, primary, &value) == 0 && take_value(r, value);
}

static bool read_json(struct reward *r, struct buf *text)
{
	struct json_fault fault;
	struct json_doc d;
	double value;
	bool ok;

	json_doc_init(&d, 10000, 8);
	if (json_parse(&d, buf_text(text), text->len, &fault) < 0)
		ok = ungraded(r, "reward.json is not strict JSON");
	else if (d.nodes[0].type == JSON_NUMBER)
		ok = json_double(&d, 0, &value) == 0
			     ? take_value(r, value)
			     : ungraded(r, "the reward is not a finite number");
	else if (d.nodes[0].type == JSON_OBJECT && d.nodes[0].count > 0)
		ok = read_object(r, &d);
	else
		ok = ungraded(r, "reward.json is neither a number nor an object of numbers");
	json_doc_done(&d);
	return ok;
}

void reward_read(int directory, struct reward *ret)
{
	struct buf json, text;
	struct reward other = {0};
	int has_json = slurp(directory, "reward.json", &json, ret);
	int has_text = slurp(directory, "reward.txt", &text, has_json != 0 ? &other : ret);

	ret->both = has_json != 0 && has_text != 0;
	if (has_json == 1)
		(void)read_json(ret, &json); /* the reason is in ret */
	else if (has_json == 0 && has_text == 1)
		(void)read_text(ret, &text);
	else if (has_json == 0 && has_text == 0)
		(void)ungraded(ret, "the verifier wrote neither reward.json nor reward.txt");
	buf_done(&json);
	buf_done(&text);
}
