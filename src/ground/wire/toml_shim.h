/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_WIRE_TOML_SHIM_H
#define GROUND_WIRE_TOML_SHIM_H

/* The one function of libhemra-toml.so, private to this folder. Also read as C++. */

#include <stddef.h>

#include "ground/wire/toml.h"

struct toml_fault {
	unsigned line;
	char what[256]; /* a sentence about the text, terminated */
};

/* 0 and a tree from malloc() in *ret; -EINVAL and -E2BIG with *ret_fault; -ENOMEM. */
typedef int toml_shim_parse(
	const char *text, size_t size, struct toml **ret, struct toml_fault *ret_fault);

#define TOML_SHIM_FILE     "libhemra-toml.so"
#define TOML_SHIM_FUNCTION "hemra_toml_parse"

#endif
