/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_UNIT_H
#define NEEDLE_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Units of text that a replacement must not cut: a UTF-8 character, a backslash escape, a \uXXXX
 * escape, a pair of \uXXXX that makes one character. Every other byte is a unit of its own. */

#define UNIT_MAX 12 /* bytes */

/* Where the unit begins that lies across offset pos: floor <= result <= pos. floor is the border of
 * a unit. pos may be size: then the unit that the end cuts, if there is one. */
size_t unit_start(const uint8_t *bytes, size_t floor, size_t pos, size_t size);

/* Walks units from the border from until pos is reached or passed. *ret_cut: the last unit is not
 * complete, and *ret_last is where it begins. */
size_t unit_end(const uint8_t *bytes, size_t from, size_t pos, size_t size, size_t *ret_last,
	bool *ret_cut);

#endif
