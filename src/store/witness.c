/* SPDX-License-Identifier: Apache-2.0 */
/* What lies outside of the record and speaks for it. */

#include "store/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "store/dir.h"
#include "store/index_db.h"

void witness_free(struct witness *w)
{
	if (w == NULL)
		return;
	free(w->signers);
	strv_free(w->living);
	row_set_done(&w->rows);
	free(w);
}

/* An index that cannot be read is a finding, not an error. */
static void load_rows(struct store *s, struct witness *w)
{
	struct index_sink sink;
	struct index *x = NULL;
	struct err err = {0};
	int r;

	if (!fileat_exists(s->fd, "index.sqlite"))
		return;
	w->has_index = true;
	row_set_sink(&w->rows, &sink);
	r = index_open_mode(s, INDEX_WITNESS, &x, &err);
	if (r == 0)
		(void)snprintf(w->index_foreign, sizeof(w->index_foreign), "%s", x->foreign);
	w->has_rows = r == 0 && !x->is_unreadable;
	if (w->has_rows)
		r = index_check(x, &err);
	if (w->has_rows && r == 0)
		r = index_emit(x, &sink, row_set_add_odd, &err);
	if (r != 0)
		(void)snprintf(w->index_broken, sizeof(w->index_broken), "%.250s", err.text);
	w->index_is_no_file = r == -EINVAL;
	index_close(x);
	row_set_sort(&w->rows);
}

int store_witness_load(struct store *s, struct err *err)
{
	struct witness *w = own_alloc(sizeof(*w));
	autoclose int keys = -1;
	struct stat st;
	int r;

	r = seal_key_directory_open(&keys, err);
	if (r == 0)
		r = seal_signers_read(&w->signers, &w->signer_count, err);
	if (r == 0)
		r = seal_note_read(keys, s->id, &w->note, err);
	if (r < 0) {
		witness_free(w);
		return err_add_to(r, err, "load what speaks for store '%s'", s->path);
	}
	if (fstatat(s->fd, "seals.jsonl", &st, AT_SYMLINK_NOFOLLOW) == 0)
		w->seal_bytes = (uint64_t)st.st_size;
	/* in this order: a seal that is counted here either has its row, or an engine that lives is about to
	 * put it, or died before it did */
	w->living = runs_living(s->fd);
	load_rows(s, w);
	witness_free(s->witness);
	s->witness = w;
	return 0;
}
