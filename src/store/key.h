/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_KEY_H
#define STORE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/base/err.h"

/* The signing key and what lies beside it. */

struct seal_key {
	int directory;
	uint8_t public_key[32];
	uint8_t secret_key[64]; /* in locked memory, with the rest of this struct */
};

/* What this user knows of a store: the number and the digest of the last line it put into seals.jsonl. */
struct seal_note {
	bool present;
	uint64_t n;
	uint8_t digest[32];
};

int seal_note_read(int key_directory, const char *store_id, struct seal_note *ret, struct err *err);
int seal_note_write(
	int key_directory, const char *store_id, const struct seal_note *note, struct err *err);

/* The public keys this user trusts: its own, if there is one, then those in the file "signers". Opens no
 * secret. *ret_keys is owned by the caller. */
int seal_signers_read(uint8_t (**ret_keys)[32], size_t *ret_count, struct err *err);
/* -1 and 0 when there is no key directory. */
int seal_key_directory_open(int *ret_fd, struct err *err);

#endif
