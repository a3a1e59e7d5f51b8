/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a session, by rows. */

#include "config/limits.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "config/config.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define KIB  UINT64_C(1024)
#define MIB  (1024 * KIB)
#define HOUR UINT64_C(3600000)

/* Times, sizes and counts are all 64 bits wide, so one pair of hands serves them. */
struct limit_row {
	const char *key;
	size_t at; /* in struct plan_bounds */
	uint64_t least, most, unsaid;
};

/* clang-format off */
static const struct limit_row times[] = {
	{"handshake", offsetof(struct plan_bounds, handshake_ms), 1, 24 * HOUR, 30000},
	{"cancel_grace", offsetof(struct plan_bounds, cancel_grace_ms), 1, 24 * HOUR, 10000},
	{"term_grace", offsetof(struct plan_bounds, term_grace_ms), 1, 24 * HOUR, 5000},
};

/* A line must have room for a ready and a result. */
static const struct limit_row sizes[] = {
	{"line", offsetof(struct plan_bounds, line_bytes), KIB, MIB, MIB},
	{"events", offsetof(struct plan_bounds, events_bytes), KIB, UINT64_C(1) << 50, 64 * MIB},
	{"stderr", offsetof(struct plan_bounds, stderr_bytes), KIB, 64 * MIB, 64 * KIB},
	{"artifact_bytes", offsetof(struct plan_bounds, artifact_bytes), 1, UINT64_C(1) << 50, 64 * MIB},
	{"artifacts_bytes", offsetof(struct plan_bounds, artifacts_bytes), 1, UINT64_C(1) << 50, 256 * MIB},
};

static const struct limit_row counts[] = {
	{"artifact_files", offsetof(struct plan_bounds, artifact_files), 1, 100000, 1000},
};
/* clang-format on */

static const struct {
	const struct limit_row *rows;
	size_t count;
} all[] = {{times, array_count(times)}, {sizes, array_count(sizes)}, {counts, array_count(counts)}};

static uint64_t *value_at(struct plan_bounds *bounds, const struct limit_row *row)
{
	/* signed and unsigned of one width may stand for each other */
	return (uint64_t *)(void *)((char *)bounds + row->at);
}

static int put(const struct limit_row *rows, size_t count, const struct reader *r,
	const struct toml *v, uint64_t value, struct err *err)
{
	struct settings *s = r->target;

	while (count > 0 && strcmp(rows->key, r->key) != 0) {
		rows++;
		count--;
	}
	assert(count > 0); /* every field below has its row */
	if (value < rows->least || value > rows->most)
		return field_unexpected(r, v, err);
	*value_at(&s->bounds, rows) = value;
	return 0;
}

static int take_time(const struct reader *r, const struct toml *v, struct err *err)
{
	int64_t ms;

	if (str_parse_duration(v->string, &ms) < 0 || ms < 0)
		return field_unexpected(r, v, err);
	return put(times, array_count(times), r, v, (uint64_t)ms, err);
}

static int take_size(const struct reader *r, const struct toml *v, struct err *err)
{
	uint64_t bytes;

	if (str_parse_bytes(v->string, &bytes) < 0)
		return field_unexpected(r, v, err);
	return put(sizes, array_count(sizes), r, v, bytes, err);
}

static int take_count(const struct reader *r, const struct toml *v, struct err *err)
{
	if (v->integer < 0)
		return field_unexpected(r, v, err);
	return put(counts, array_count(counts), r, v, (uint64_t)v->integer, err);
}

int limits_take(const struct reader *r, const struct toml *value, struct err *err)
{
	static const char a_time[] = "a time from \"1ms\" to \"24h\"";
	static const char a_size[] = "a size from \"1\" to \"1024T\"";
	static const struct field rows[] = {
		{"handshake", FIELD_TYPE(STRING), a_time, take_time},
		{"cancel_grace", FIELD_TYPE(STRING), a_time, take_time},
		{"term_grace", FIELD_TYPE(STRING), a_time, take_time},
		{"line", FIELD_TYPE(STRING), "a size from \"1K\" to \"1M\"", take_size},
		{"events", FIELD_TYPE(STRING), "a size from \"1K\" to \"1024T\"", take_size},
		{"stderr", FIELD_TYPE(STRING), "a size from \"1K\" to \"64M\"", take_size},
		{"artifact_bytes", FIELD_TYPE(STRING), a_size, take_size},
		{"artifacts_bytes", FIELD_TYPE(STRING), a_size, take_size},
		{"artifact_files", FIELD_TYPE(INTEGER), "a whole number from 1 to 100000",
			take_count},
		{NULL, 0, NULL, NULL},
	};
	struct reader at = *r;

	at.where = "limits";
	return fields_read(&at, value, rows, /* later= */ NULL, err);
}

void limits_lay_over(struct plan_bounds *lower, const struct plan_bounds *upper)
{
	struct plan_bounds said = *upper;

	for (size_t i = 0; i < array_count(all); i++)
		for (size_t k = 0; k < all[i].count; k++)
			if (*value_at(&said, &all[i].rows[k]) != 0)
				*value_at(lower, &all[i].rows[k]) =
					*value_at(&said, &all[i].rows[k]);
}

void limits_fill(struct plan_bounds *bounds)
{
	for (size_t i = 0; i < array_count(all); i++)
		for (size_t k = 0; k < all[i].count; k++)
			if (*value_at(bounds, &all[i].rows[k]) == 0)
				*value_at(bounds, &all[i].rows[k]) = all[i].rows[k].unsaid;
}
