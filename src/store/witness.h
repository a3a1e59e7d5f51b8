/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_WITNESS_H
#define STORE_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/err.h"
#include "store/key.h"
#include "store/sets.h"

/* What verify compares the store with, loaded before the process is locked. */
struct witness {
	uint8_t (*signers)[32]; /* owned: public keys this user trusts */
	size_t signer_count;
	struct seal_note note;
	uint64_t
		seal_bytes; /* of seals.jsonl before the rows were read: later seals may lack rows here */
	char **living;           /* owned: runs whose engine lives */
	bool has_index;          /* something has its name */
	bool index_is_no_file;   /* … and is no regular file */
	bool has_rows;           /* its tables are hemra's */
	char index_foreign[128]; /* how its schema differs from hemra's; "" when it does not */
	char index_broken[256];  /* why its rows could not be read; "" when they could */
	struct row_set rows;     /* sorted */
};

void witness_free(struct witness *w); /* accepts NULL */

#endif
