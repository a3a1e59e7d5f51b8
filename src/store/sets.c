/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of digests and of rows. */

#include "store/sets.h"

#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/base/str.h"

static void *grow(void *items, size_t *room, size_t size)
{
	void *grown = reallocarray(items, *room = *room * 2 + 64, size);

	if (grown == NULL)
		abort();
	return grown;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

void digest_set_add(struct digest_set *s, const uint8_t digest[32])
{
	if (s->count == s->room)
		s->digests = grow(s->digests, &s->room, sizeof(*s->digests));
	(void)memcpy(s->digests[s->count++], digest, 32);
	s->sorted = false;
}

void digest_set_unique(struct digest_set *s)
{
	size_t kept = 0;

	if (s->count > 0)
		qsort(s->digests, s->count, sizeof(*s->digests), by_bytes);
	for (size_t i = 0; i < s->count; i++) {
		if (kept > 0 && memcmp(s->digests[kept - 1], s->digests[i], 32) == 0)
			continue;
		if (kept != i)
			(void)memcpy(s->digests[kept], s->digests[i], 32);
		kept++;
	}
	s->count = kept;
	s->sorted = true;
}

bool digest_set_has(struct digest_set *s, const uint8_t digest[32])
{
	if (!s->sorted)
		digest_set_unique(s);
	return s->count > 0 &&
	       bsearch(digest, s->digests, s->count, sizeof(*s->digests), by_bytes) != NULL;
}

void digest_set_done(struct digest_set *s)
{
	free(s->digests);
	*s = (struct digest_set){0};
}

/* Takes both texts. */
static int add_row(struct row_set *s, char *key, char *text)
{
	if (s->count == s->room)
		s->rows = grow(s->rows, &s->room, sizeof(*s->rows));
	s->rows[s->count++] = (struct row){key, text};
	return 0;
}

static int add_run(void *context, const struct id *run, struct wall created, const char *file)
{
	return add_row(context, own_printf("%s run", run->text),
		own_printf("created %lld file %s", (long long)created.us, file));
}

static int add_planned(void *context, const struct index_attempt *a)
{
	return add_row(context, own_printf("%s attempt", a->attempt.text),
		own_printf(
			/* a length before each text: two rows that differ never read the same */
			"run %s number %u of %u harness %zu %s task %zu %s manifest %zu %s sandbox %zu %s"
			" weaker %u planned %lld",
			a->run.text, a->index, a->of, strlen(a->harness), a->harness,
			strlen(a->task), a->task, strlen(a->manifest), a->manifest,
			strlen(a->sandbox), a->sandbox, a->weaker, (long long)a->planned.us));
}

/* A state that was entered twice stands once. */
static int add_state(void *context, const struct id *attempt, enum state state, struct wall at)
{
	struct row_set *s = context;
	autofree char *key = own_printf("%s state %s", attempt->text, state_name(state));

	for (size_t i = s->count; i > 0 && strncmp(s->rows[i - 1].key, key, ID_LENGTH) == 0; i--)
		if (strcmp(s->rows[i - 1].key, key) == 0)
			return 0;
	return add_row(s, take_ptr(&key), own_printf("at %lld", (long long)at.us));
}

static int add_artifact(void *context, const struct index_artifact *a)
{
	char stored[65], raw[65];

	str_hex(a->sha256, 32, stored);
	str_hex(a->raw_sha256, 32, raw);
	return add_row(context, own_printf("%s artifact %s", a->attempt.text, a->path),
		own_printf("role %s bytes %llu sha256 %s raw %s declared %d", a->role,
			(unsigned long long)a->bytes, stored, raw, a->declared));
}

static int add_settled(void *context, const struct index_attempt *a)
{
	const struct usage *u = &a->usage;

	return add_row(context, own_printf("%s outcome", a->attempt.text),
		own_printf(
			"%s reason %s settled %lld took %lld weaker %u tokens %lld %lld %lld %lld %lld"
			" cost %.17g events %llu bytes %llu artifacts %llu graded %d score %.17g",
			outcome_name(a->outcome), a->reason != NULL ? a->reason : "",
			(long long)a->settled.us, (long long)a->duration_ms, a->weaker,
			(long long)u->input, (long long)u->output, (long long)u->cache_read,
			(long long)u->cache_write, (long long)u->reasoning, u->cost_usd,
			(unsigned long long)a->events, (unsigned long long)a->event_bytes,
			(unsigned long long)a->artifact_bytes, a->graded, a->score));
}

static int add_removed(void *context, const struct id *attempt, struct wall at, const char *why)
{
	return add_row(context, own_printf("%s removed", attempt->text),
		own_printf("at %lld why %s", (long long)at.us, why));
}

int row_set_add_odd(void *context, const char *attempt, const char *what)
{
	return add_row(context, own_printf("%s odd %s", attempt, what), own_strdup(""));
}

void row_set_sink(struct row_set *s, struct index_sink *ret)
{
	*ret = (struct index_sink){.context = s,
		.run = add_run,
		.planned = add_planned,
		.state = add_state,
		.artifact = add_artifact,
		.settled = add_settled,
		.removed = add_removed};
}

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int r = strcmp(x->key, y->key);

	return r != 0 ? r : strcmp(x->text, y->text);
}

void row_set_sort(struct row_set *s)
{
	if (s->count > 0)
		qsort(s->rows, s->count, sizeof(*s->rows), by_key);
}

void row_set_done(struct row_set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->rows[i].key);
		free(s->rows[i].text);
	}
	free(s->rows);
	*s = (struct row_set){0};
}
