/* SPDX-License-Identifier: Apache-2.0 */
/* Data of the events that rows are derived from. derive.c reads what this file writes. */

#include "ground/base/str.h"
#include "ground/terms/plan.h"
#include "ground/wire/json.h"
#include "store/store.h"

void store_put_weaker(struct json_writer *w, unsigned weaker)
{
	json_key(w, "weaker");
	json_array_open(w);
	for (const struct flag_name *f = weaker_names; f->name != NULL; f++)
		if (weaker & f->flag)
			json_put_string(w, f->name);
	json_array_close(w);
}

void event_encode_planned(const struct index_attempt *a, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_object_open(&w);
	json_pair_string(&w, "run", a->run.text);
	json_pair_string(&w, "attempt", a->attempt.text);
	json_pair_uint(&w, "index", a->index);
	json_pair_uint(&w, "of", a->of);
	json_pair_string(&w, "harness", a->harness);
	json_pair_string(&w, "task", a->task);
	json_pair_string(&w, "manifest", a->manifest);
	json_pair_string(&w, "sandbox", a->sandbox);
	store_put_weaker(&w, a->weaker);
	json_pair_string(&w, "hemra", HEMRA_VERSION);
	json_object_close(&w);
}

void event_encode_state(enum state s, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_object_open(&w);
	json_pair_string(&w, "state", state_name(s));
	json_object_close(&w);
}

/* What nobody reported is null. */
static void put_count(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	if (value < 0)
		json_put_null(w);
	else
		json_put_int(w, value);
}

void store_put_usage(struct json_writer *w, const struct usage *u)
{
	json_key(w, "usage");
	json_object_open(w);
	put_count(w, "input", u->input);
	put_count(w, "output", u->output);
	put_count(w, "cache_read", u->cache_read);
	put_count(w, "cache_write", u->cache_write);
	put_count(w, "reasoning", u->reasoning);
	json_key(w, "cost_usd");
	if (u->cost_usd < 0)
		json_put_null(w);
	else
		json_put_double(w, u->cost_usd);
	json_object_close(w);
}

void event_encode_settled(const struct index_attempt *a, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_object_open(&w);
	json_pair_string(&w, "outcome", outcome_name(a->outcome));
	json_pair_string(&w, "reason", a->reason != NULL ? a->reason : "");
	json_pair_bool(&w, "graded", a->graded);
	json_key(&w, "score");
	if (a->graded)
		json_put_double(&w, a->score);
	else
		json_put_null(&w);
	store_put_usage(&w, &a->usage);
	json_pair_int(&w, "duration_ms", a->duration_ms);
	store_put_weaker(&w, a->weaker);
	json_object_close(&w);
}

static void put_digest(struct json_writer *w, const char *key, const uint8_t digest[32])
{
	char hex[65];

	str_hex(digest, 32, hex);
	json_pair_string(w, key, hex);
}

void event_encode_artifact(const struct index_artifact *a, const char *media_type,
	const char *refused, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_object_open(&w);
	json_pair_string(&w, "path", a->path);
	json_pair_string(&w, "role", a->role);
	if (media_type != NULL)
		json_pair_string(&w, "media_type", media_type);
	json_pair_uint(&w, "bytes", a->bytes);
	if (refused == NULL) {
		put_digest(&w, "sha256", a->sha256);
		put_digest(&w, "raw_sha256", a->raw_sha256);
	}
	json_pair_bool(&w, "declared", a->declared);
	if (refused != NULL)
		json_pair_string(&w, "refused", refused);
	json_object_close(&w);
}
