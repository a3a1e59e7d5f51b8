/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_WHERE_H
#define CLI_WHERE_H

#include "cli/options.h"
#include "ground/base/err.h"
#include "store/store.h"

/* Which store a command means: --store, else $HEMRA_STORE, else the nearest .hemra upwards, else
 * where the verb makes one: `run` here, `exec` (and every verb that only looks, when it is there)
 * in $XDG_STATE_HOME/hemra/store. */

/* The path, absolute, owned by the caller. said is what flags, files or environment named (may be
 * NULL). -ENOENT: a verb that only looks found none. -EACCES: the nearest .hemra is another
 * user's. */
int where_store(const struct options *o, const char *said, char **ret, struct err *err);

/* Opens that store, and its index (write: to change it). */
struct place {
	struct store *store; /* owned */
	struct index *index; /* owned; NULL until where_index() */
};
int where_open(const struct options *o, struct place *ret, struct err *err);
int where_index(struct place *p, bool write, struct err *err);
void where_done(struct place *p);

/* The run or attempt that a person meant by the beginning of its id. Errors are whole sentences. */
int where_find(
	struct place *p, const char *prefix, struct id *ret, bool *ret_is_run, struct err *err);
/* All of the above at once, the index for reading, the id being the first operand. */
int where_open_find(const struct options *o, struct place *ret, struct id *ret_id, bool *ret_is_run,
	struct err *err);
/* What helps after one of these failed, by how far it came; and out_failure() with it. An index that
 * cannot be used is the machine's failure. */
const char *where_hint(const struct place *p);
int where_failure(const struct options *o, const struct place *p, const struct err *err);

/* The shortest beginning that is unique in this store. */
#define WHERE_SHORT_SIZE (ID_LENGTH + 1)
void where_short(struct place *p, const struct id *id, char out[WHERE_SHORT_SIZE]);

#endif
