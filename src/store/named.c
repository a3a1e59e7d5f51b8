/* SPDX-License-Identifier: Apache-2.0 */
/* Which blobs and manifests are named. */

#include "store/named.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/dir.h"
#include "store/lines.h"

#define DAY_US (INT64_C(86400) * 1000000)

/* Every quoted run of 64 hex digits. */
static void add_digests(struct str data, struct digest_set *set)
{
	const char *p = data.p, *end = data.p + data.n;

	while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
		uint8_t digest[32];
		char hex[65];

		p++;
		if (end - p < 65)
			return;
		if (p[64] != '"')
			continue;
		(void)memcpy(hex, p, 64);
		hex[64] = '\0';
		if (str_unhex(hex, 32, digest) == 0)
			digest_set_add(set, digest);
	}
}

int named_add_events(
	struct store *s, const struct id *attempt, struct digest_set *set, struct err *err)
{
	autodone(line_reader_done) struct line_reader reader;
	char name[EVENTS_NAME_SIZE];
	autoclose int fd = -1;
	struct event_line parsed;
	struct str line;
	int r;

	line_reader_init(&reader, -1);
	events_name(attempt, name);
	r = fileat_open(s->fd, name, O_RDONLY, &fd, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	reader.fd = fd;
	while ((r = line_reader_next(&reader, &line)) == 1)
		/* a line that is damaged still names what it names */
		if (event_line_parse(line, &parsed) < 0)
			add_digests(line, set);
		else if (event_line_is_trusted(&parsed))
			add_digests(parsed.data, set);
	return r < 0 ? err_set(err, -r, "read '%s/%s'", s->path, name) : 0;
}

struct index_names {
	struct digest_set *set;
	const struct id *but;
};

static int add_artifact(void *context, const struct index_artifact *row)
{
	struct index_names *names = context;

	digest_set_add(names->set, row->sha256);
	return 0;
}

struct attempt_list {
	struct index *index;
	struct index_names names;
	struct err err;
};

static int add_attempt(void *context, const struct index_attempt *row)
{
	struct attempt_list *list = context;

	if (row->removed ||
		(list->names.but != NULL && strcmp(row->attempt.text, list->names.but->text) == 0))
		return 0;
	return index_each_artifact(
		list->index, &row->attempt, add_artifact, &list->names, &list->err);
}

int named_add_all(struct store *s, struct index *x, const struct id *but, struct digest_set *set,
	struct err *err)
{
	struct attempt_list list = {.index = x, .names = {set, but}};
	autodone(strv_done) char **names = NULL;
	int r = dirat_list(s->fd, "events", &names, err);

	for (char **name = names; r == 0 && *name != NULL; name++) {
		struct id attempt;

		if (events_name_parse(*name, &attempt) &&
			(but == NULL || strcmp(attempt.text, but->text) != 0))
			r = named_add_events(s, &attempt, set, err);
	}
	if (r == 0 && x != NULL) {
		r = index_each_attempt(x, /* run= */ NULL, add_attempt, &list, err);
		if (r < 0 && list.err.code != 0 && err != NULL)
			*err = list.err;
	}
	digest_set_unique(set);
	return r;
}

struct wall id_time(const struct id *id)
{
	static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
	int64_t ms = 0;

	/* the first ten digits are milliseconds */
	for (int i = 0; i < 10; i++) {
		const char *at = strchr(alphabet, id->text[i]);

		ms = ms << 5 | (at != NULL ? at - alphabet : 0);
	}
	return (struct wall){ms * 1000};
}

int oldest_living(struct store *s, const struct id *but, struct wall *ret, struct err *err)
{
	autodone(strv_done) char **names = NULL;
	int r = dirat_list(s->fd, "events", &names, err);

	if (r < 0)
		return r;
	ret->us = 0;
	/* names sort by age */
	for (char **name = names; *name != NULL && ret->us == 0; name++) {
		struct id attempt;

		if (events_name_parse(*name, &attempt) &&
			(but == NULL || strcmp(but->text, attempt.text) != 0) &&
			events_are_held(s->fd, &attempt)) {
			ret->us = id_time(&attempt).us - DAY_US;
			if (ret->us < 1)
				ret->us = 1;
		}
	}
	return 0;
}
