/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for secrets: locked, not dumped, wiped. */

#include "ground/base/vault.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "ground/base/log.h"

void *vault_alloc(size_t size)
{
	void *p;

	assert(size > 0);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (madvise(p, size, MADV_DONTDUMP) < 0)
		log_debug("secrets stay in core files: %s", strerrordesc_np(errno));
	if (mlock(p, size) < 0)
		log_debug("%zu bytes of secrets are not locked: %s", size, strerrordesc_np(errno));
	return p;
}

void *vault_grow(void *p, size_t size, size_t grown)
{
	void *q;

	assert(grown >= size);
	q = vault_alloc(grown);
	if (q == NULL)
		return NULL;
	if (size > 0)
		(void)memcpy(q, p, size);
	vault_free(p, size);
	return q;
}

void vault_free(void *p, size_t size)
{
	if (p == NULL)
		return;
	explicit_bzero(p, size);
	(void)munmap(p, size); /* fails only for what we did not map */
}
