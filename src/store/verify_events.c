/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying events/: every file against its seal, every seal against its file. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/dir.h"
#include "store/verify.h"

static bool is_wanted(const struct verify *v, const struct id *attempt)
{
	return v->only == NULL || strcmp(v->only->text, attempt->text) == 0;
}

static void check_file(struct verify *v, const struct id *attempt)
{
	const struct seal_seen *seal = verify_seal_of(v, SEAL_ATTEMPT, attempt);
	struct attempt_seen *seen = &v->attempts[v->attempt_count];
	char name[EVENTS_NAME_SIZE];

	events_name(attempt, name);
	*seen = (struct attempt_seen){.id = *attempt};
	if (verify_seal_of(v, SEAL_TOMBSTONE, attempt) != NULL)
		verify_find(v, "tombstone.not_removed", attempt->text, 0,
			"a tombstone says that it was removed, and its events are there");
	seen->sealed = seal != NULL && (v->w == NULL || seal->end <= v->w->seal_bytes);
	seen->held = seal == NULL && events_are_held(v->dir, attempt);
	v->attempt_count++;
	verify_events_file(v, name, seal != NULL ? &seal->line : NULL, seen);
}

static void check_stray(struct verify *v, const char *name)
{
	autofree char *where = own_printf("events/%s", name);

	if (str_ends(name, ".torn"))
		verify_remark(v, "events.torn_kept", where, 0,
			"the torn end of a line, kept when the log went on");
	else
		verify_remark(
			v, "events.stray", where, 0, "this is not the events file of an attempt");
}

static void check_missing(struct verify *v)
{
	for (size_t i = 0; i < v->seal_count; i++) {
		const struct seal_seen *s = &v->seals[i];
		char name[EVENTS_NAME_SIZE];

		if (!s->is_signed || s->line.kind != SEAL_ATTEMPT ||
			!is_wanted(v, &s->line.attempt) ||
			verify_seal_of(v, SEAL_ATTEMPT, &s->line.attempt) != s ||
			verify_seal_of(v, SEAL_TOMBSTONE, &s->line.attempt) != NULL)
			continue;
		events_name(&s->line.attempt, name);
		if (!fileat_exists(v->dir, name))
			verify_find(v, "events.missing", s->line.attempt.text, 0,
				"it was sealed with %llu events, and they are gone without a tombstone",
				(unsigned long long)s->line.count);
	}
}

void verify_events(struct verify *v)
{
	autodone(strv_done) char **names = verify_list(v, "events");

	v->attempts = own_alloc((strv_count(names) + 1) * sizeof(*v->attempts));
	for (char **name = names; *name != NULL; name++) {
		struct id attempt;

		if (!events_name_parse(*name, &attempt)) {
			if (v->only == NULL)
				check_stray(v, *name);
			continue;
		}
		if (is_wanted(v, &attempt))
			check_file(v, &attempt);
	}
	check_missing(v);
}
