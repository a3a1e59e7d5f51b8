/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NEEDLE_VEC_H
#define NEEDLE_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "ground/base/vault.h"

/* A growing array of plain items in vault memory. Items move when it grows: keep indices. */
struct vec {
	void *items;           /* owned, vault, may be NULL while nothing was added */
	size_t used, capacity; /* bytes */
};

#define VEC_FIRST 16384u /* bytes */

/* Adds size zeroed bytes and returns them, NULL without memory. */
static inline void *vec_add(struct vec *v, size_t size)
{
	void *added;

	if (v->used + size > v->capacity) {
		size_t capacity = v->capacity > 0 ? v->capacity * 2 : VEC_FIRST;
		void *grown;

		while (capacity < v->used + size)
			capacity *= 2;
		grown = vault_grow(v->items, v->capacity, capacity);
		if (grown == NULL)
			return NULL;
		v->items = grown;
		v->capacity = capacity;
	}
	added = (char *)v->items + v->used;
	v->used += size;
	__builtin_memset(added, 0, size);
	return added;
}

static inline void vec_done(struct vec *v)
{
	vault_free(v->items, v->capacity);
	*v = (struct vec){0};
}

#define vec_at(v, type, index) (&((type *)(v)->items)[index])
#define vec_count(v, type)     ((uint32_t)((v)->used / sizeof(type)))

#endif
