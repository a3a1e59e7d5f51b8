/* SPDX-License-Identifier: Apache-2.0 */
/* record.json: one settled attempt, for readers who want no events. */

#include "store/record.h"

#include "ground/base/str.h"

static void put_time(struct json_writer *w, const char *key, struct wall at)
{
	char text[WALL_TEXT_SIZE];

	wall_format(at, text);
	json_pair_string(w, key, text);
}

void record_open(struct record *r, struct buf *out, const struct index_attempt *a)
{
	struct json_writer *w = &r->writer;

	json_writer_init(w, out);
	json_object_open(w);
	json_pair_string(w, "format", "hemra-record/1");
	json_pair_string(w, "attempt", a->attempt.text);
	json_pair_string(w, "run", a->run.text);
	json_pair_uint(w, "index", a->index);
	json_pair_uint(w, "of", a->of);
	json_pair_string(w, "harness", a->harness);
	json_pair_string(w, "task", a->task);
	json_pair_string(w, "manifest", a->manifest);
	json_pair_string(w, "sandbox", a->sandbox);
	json_pair_uint(w, "weaker", a->weaker);
	put_time(w, "planned", a->planned);
	put_time(w, "settled", a->settled);
	json_pair_string(w, "outcome", outcome_name(a->outcome));
	json_pair_string(w, "reason", a->reason != NULL ? a->reason : "");
	json_pair_bool(w, "graded", a->graded);
	json_key(w, "score");
	if (a->graded)
		json_put_double(w, a->score);
	else
		json_put_null(w);
	store_put_usage(w, &a->usage);
	json_pair_int(w, "duration_ms", a->duration_ms);
	json_pair_uint(w, "events", a->events);
	json_pair_uint(w, "event_bytes", a->event_bytes);
	json_pair_uint(w, "artifact_bytes", a->artifact_bytes);
	json_key(w, "artifacts");
	json_array_open(w);
}

void record_add_artifact(struct record *r, const struct index_artifact *a)
{
	struct json_writer *w = &r->writer;
	char hex[65];

	json_object_open(w);
	json_pair_string(w, "path", a->path);
	json_pair_string(w, "role", a->role);
	json_pair_uint(w, "bytes", a->bytes);
	str_hex(a->sha256, 32, hex);
	json_pair_string(w, "sha256", hex);
	str_hex(a->raw_sha256, 32, hex);
	json_pair_string(w, "raw_sha256", hex);
	json_pair_bool(w, "declared", a->declared);
	json_object_close(w);
}

void record_close(struct record *r)
{
	json_array_close(&r->writer);
	json_object_close(&r->writer);
	(void)buf_add_char(r->writer.out, '\n'); /* failure sticks in the buffer */
}
