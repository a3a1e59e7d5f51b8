/* SPDX-License-Identifier: Apache-2.0 */
/* Which attempts no seal vouches for: names of files against seals.jsonl, and nothing that agents wrote. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/dir.h"
#include "store/lines.h"
#include "store/store.h"

struct id_list {
	struct id *ids; /* owned */
	size_t count, room;
};

static void id_list_done(struct id_list *l)
{
	free(l->ids);
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct id *)a)->text, ((const struct id *)b)->text);
}

/* Seals and tombstones name an attempt, in a frame of fixed form that needs no parser. */
static int read_named(int dir, struct id_list *ret, struct err *err)
{
	autodone(line_reader_done) struct line_reader reader;
	autoclose int fd = -1;
	struct str line;
	int r = fileat_open(dir, "seals.jsonl", O_RDONLY, &fd, err);

	line_reader_init(&reader, fd);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	while ((r = line_reader_next(&reader, &line)) == 1) {
		struct id attempt;

		if (!data_id(line, "attempt", &attempt))
			continue;
		if (ret->count == ret->room) {
			struct id *grown = reallocarray(
				ret->ids, ret->room = ret->room * 2 + 64, sizeof(*grown));

			if (grown == NULL)
				return err_set(err, ENOMEM, "read 'seals.jsonl'");
			ret->ids = grown;
		}
		ret->ids[ret->count++] = attempt;
	}
	return r < 0 ? err_set(err, -r, "read 'seals.jsonl'") : 0;
}

int store_each_unsealed(struct store *s, store_attempt_fn *fn, void *context, struct err *err)
{
	autodone(id_list_done) struct id_list sealed = {0};
	autodone(strv_done) char **names = NULL;
	int r = dirat_list(s->fd, "events", &names, err);

	/* seals are read after the names: one that is made meanwhile is seen */
	if (r == 0)
		r = read_named(s->fd, &sealed, err);
	if (r < 0)
		return err_add_to(r, err, "look for unsealed attempts in '%s'", s->path);
	if (sealed.count > 0)
		qsort(sealed.ids, sealed.count, sizeof(*sealed.ids), by_id);
	for (char **name = names; r == 0 && *name != NULL; name++) {
		struct id attempt;

		if (!events_name_parse(*name, &attempt) ||
			(sealed.count > 0 && bsearch(&attempt, sealed.ids, sealed.count,
						     sizeof(attempt), by_id) != NULL) ||
			events_are_held(s->fd, &attempt))
			continue;
		r = fn(context, &attempt);
	}
	return r;
}
