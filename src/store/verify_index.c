/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying the index's rows against the rows that the record stands for. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "store/verify.h"

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct attempt_seen *)a)->id.text,
		((const struct attempt_seen *)b)->id.text);
}

static const struct attempt_seen *seen_of(const struct verify *v, const char *key)
{
	struct attempt_seen wanted = {0};

	if (strlen(key) < ID_LENGTH)
		return NULL;
	(void)memcpy(wanted.id.text, key, ID_LENGTH);
	return v->attempt_count > 0
		       ? bsearch(&wanted, v->attempts, v->attempt_count, sizeof(wanted), by_id)
		       : NULL;
}

/* Rows that cannot be compared: of a living attempt, of one whose events do not hold or are gone (both
 * told already), and all but the tombstone of a removed one. */
static bool is_skipped(const struct verify *v, const char *key)
{
	const struct attempt_seen *seen = seen_of(v, key);
	const char *what = strlen(key) > ID_LENGTH ? key + ID_LENGTH + 1 : "";
	struct id id = {0};

	if (strcmp(what, "run") == 0)
		return v->only != NULL || v->no_runs;
	(void)memcpy(id.text, key, strlen(key) < ID_LENGTH ? strlen(key) : ID_LENGTH);
	if (v->only != NULL && strcmp(v->only->text, id.text) != 0)
		return true;
	if (seen != NULL)
		return seen->broken || seen->held;
	if (verify_seal_of(v, SEAL_TOMBSTONE, &id) != NULL)
		return strcmp(what, "removed") != 0;
	return verify_seal_of(v, SEAL_ATTEMPT, &id) != NULL;
}

/* The engine of this attempt's run lives, or lived when the rows were read: it seals first. */
static bool is_on_its_way(const struct verify *v, const struct id *attempt)
{
	const struct seal_seen *seal = verify_seal_of(v, SEAL_ATTEMPT, attempt);

	for (char **run = v->w->living; seal != NULL && *run != NULL; run++)
		if (!seal->line.has_run || strcmp(*run, seal->line.run.text) == 0)
			return true;
	return false;
}

static void tell_missing(struct verify *v, const struct row *row)
{
	const struct attempt_seen *seen = seen_of(v, row->key);
	const char *what = row->key + ID_LENGTH + 1;

	if (seen != NULL && !seen->sealed)
		verify_remark(v, "index.behind", row->key, 0,
			"the index lacks a row of an attempt that is not sealed");
	else if (seen != NULL && strcmp(what, "outcome") == 0 && is_on_its_way(v, &seen->id))
		verify_remark(v, "index.behind", row->key, 0,
			"it was sealed just now, and its run goes on");
	else if (seen != NULL && strcmp(what, "outcome") == 0)
		verify_find(v, "index.unsettled", row->key, 0,
			"it is sealed, and the index lacks its outcome: the row was taken away, or hemra"
			" died before it came (doctor --reindex makes it again)");
	else if (strcmp(what, "removed") == 0)
		verify_remark(v, "index.behind", row->key, 0,
			"the index lacks a tombstone; doctor --reindex mends it");
	else
		verify_find(v, "index.row_missing", row->key, 0,
			"the record stands for this row, and the index lacks it");
}

/* Two changed rows of one key come in pairs. */
static void compare(struct verify *v, const struct row_set *index)
{
	size_t i = 0, j = 0;

	while (i < v->rows.count || j < index->count) {
		const struct row *record = i < v->rows.count ? &v->rows.rows[i] : NULL;
		const struct row *have = j < index->count ? &index->rows[j] : NULL;
		int order;

		assert(record != NULL || have != NULL);
		if (record != NULL && have != NULL)
			order = strcmp(record->key, have->key);
		else
			order = record != NULL ? -1 : 1;

		if (order == 0 && strcmp(record->text, have->text) != 0 &&
			!is_skipped(v, record->key))
			verify_find(v, "index.row_changed", record->key, 0,
				"the index says otherwise than the record");
		if (order < 0 && !is_skipped(v, record->key))
			tell_missing(v, record);
		if (order > 0 && !is_skipped(v, have->key))
			verify_find(v, "index.row_extra", have->key, 0,
				"the index holds a row that the record does not stand for");
		i += order <= 0;
		j += order >= 0;
	}
}

static int derive_rest(struct verify *v, struct err *err)
{
	autodone(seal_list_done) struct seal_list tombstones = {0};
	struct index_sink sink;
	int r;

	row_set_sink(&v->rows, &sink);
	r = derive_runs(v->dir, &sink, err);
	if (r < 0) {
		verify_find(v, "directory.unreadable", "runs", 0,
			"this directory of the store cannot be listed: %s", strerror(-r));
		v->no_runs = true;
	}
	tombstones.lines = own_alloc((v->seal_count + 1) * sizeof(*tombstones.lines));
	for (size_t i = 0; i < v->seal_count; i++)
		if (v->seals[i].is_signed && v->seals[i].line.kind == SEAL_TOMBSTONE)
			tombstones.lines[tombstones.count++] = v->seals[i].line;
	return derive_removed(v->dir, &tombstones, v->only, &sink, err);
}

int verify_index(struct verify *v, struct err *err)
{
	int r;

	if (v->w->index_foreign[0] != '\0')
		verify_find(v, "index.schema", "index.sqlite", 0,
			"it is not as hemra made it: %s; doctor --reindex makes it anew",
			v->w->index_foreign);
	if (v->w->index_broken[0] != '\0')
		verify_find(v, v->w->index_is_no_file ? "index.not_a_file" : "index.unreadable",
			"index.sqlite", 0, "%s", v->w->index_broken);
	if (v->w->index_broken[0] != '\0' || (v->w->has_index && !v->w->has_rows))
		return 0;
	if (!v->w->has_index) {
		if (v->attempt_count > 0)
			verify_remark(v, "index.missing", "index.sqlite", 0,
				"there is no index; doctor --reindex makes one");
		return 0;
	}
	r = derive_rest(v, err);
	if (r < 0)
		return r;
	row_set_sort(&v->rows);
	compare(v, &v->w->rows);
	return 0;
}
