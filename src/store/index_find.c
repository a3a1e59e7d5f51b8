/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms of ids. */

#include <errno.h>
#include <string.h>

#include "ground/base/buf.h"
#include "ground/base/own.h"
#include "store/index_db.h"

#define SHORTEST 4

static int refuse_ambiguous(sqlite3_stmt *s, const char *prefix, const char *first, struct err *err)
{
	autodone(buf_done) struct buf list = {.max = 400};
	int code = SQLITE_ROW;

	(void)buf_add_text(&list, first); /* a list cut short is still a help */
	while (code == SQLITE_ROW) {
		(void)buf_addf(
			&list, ", %s", (const char *)sqlite3_column_text(s, 0)); /* likewise */
		code = sqlite3_step(s);
	}
	return err_say(
		err, EEXIST, "'%s' is the beginning of several ids: %s", prefix, buf_text(&list));
}

static int find(struct index *x, sqlite3_stmt *s, const char *prefix, struct id *ret,
	bool *ret_is_run, struct err *err)
{
	struct id id = {0};
	const char *text;
	bool is_run;
	int code;

	(void)sqlite3_bind_text(s, 1, prefix, -1, SQLITE_STATIC); /* fails at the step */
	code = sqlite3_step(s);
	if (code == SQLITE_DONE)
		return err_say(err, ENOENT, "no run or attempt begins with '%s'", prefix);
	if (code != SQLITE_ROW)
		return index_error(x, code, "read", err);
	text = (const char *)sqlite3_column_text(s, 0);
	if (text == NULL || !id_is_valid(text))
		return err_say(
			err, EBADMSG, "'%s' names a row of the index that is not an id", prefix);
	(void)memcpy(id.text, text, ID_LENGTH);
	is_run = sqlite3_column_int(s, 1) != 0;
	code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		return refuse_ambiguous(s, prefix, id.text, err);
	if (code != SQLITE_DONE)
		return index_error(x, code, "read", err);
	*ret = id;
	*ret_is_run = is_run;
	return 0;
}

int index_find(
	struct index *x, const char *prefix, struct id *ret, bool *ret_is_run, struct err *err)
{
	sqlite3_stmt *s;
	int r;

	if (!id_is_prefix(prefix))
		return err_say(err, EINVAL,
			"'%s' is not an id: 4 to 26 digits and lower-case letters without i, l, o, u",
			prefix);
	r = index_statement(x, INDEX_FIND, &s, err);
	if (r < 0)
		return r;
	r = find(x, s, prefix, ret, ret_is_run, err);
	(void)sqlite3_reset(s); /* repeats an error that was told */
	return r;
}

/* How many characters set id apart from its neighbour in the order. */
static unsigned needed(struct index *x, enum index_statement which, const struct id *id)
{
	unsigned n = 0;
	const char *text;
	sqlite3_stmt *s;

	if (index_statement(x, which, &s, /* err= */ NULL) < 0)
		return ID_LENGTH;
	(void)sqlite3_bind_text(s, 1, id->text, -1, SQLITE_STATIC); /* fails at the step */
	if (sqlite3_step(s) != SQLITE_ROW) {
		n = ID_LENGTH;
	} else {
		text = (const char *)sqlite3_column_text(s, 0);
		if (text != NULL) {
			while (n < ID_LENGTH && text[n] == id->text[n])
				n++;
			n++;
		}
	}
	(void)sqlite3_reset(s); /* only the length is asked for */
	return n;
}

unsigned index_shortest(struct index *x, const struct id *id)
{
	unsigned before = needed(x, INDEX_BEFORE, id), after = needed(x, INDEX_AFTER, id);
	unsigned n = before > after ? before : after;

	if (n < SHORTEST)
		n = SHORTEST;
	return n < ID_LENGTH ? n : ID_LENGTH;
}
