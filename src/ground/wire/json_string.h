/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_WIRE_JSON_STRING_H
#define GROUND_WIRE_JSON_STRING_H

/* What is within the quotes of a JSON string, for the parser and the readers; private to this folder. */

#include "ground/wire/json.h"

/* The first byte from p on that is a quote, a backslash or below 0x20; end when there is none. */
const char *json_plain_end(const char *p, const char *end);

/* The length of the escape at p, a backslash. 0 when it is none or half of a surrogate pair;
 * *ret_what says which. */
size_t json_escape_size(const char *p, const char *end, const char **ret_what);

/* Decodes an escape that json_escape_size() has accepted and moves *p behind it; gives its length
 * in UTF-8. */
uint8_t json_escape_decode(const char **p, const char *end, char out[4]);

/* The decoded bytes of a string, one at a time. */
struct letters {
	const char *p, *end;
	char utf8[4];
	uint8_t have, used;
};

struct letters letters_of(const char *text, const struct json_node *node);
int letters_next(struct letters *l); /* -1 at the end */

#endif
