/* SPDX-License-Identifier: Apache-2.0 */
/* What every provider shares: the sealed pid 1, the table of providers. */

#include "sandbox/sandbox.h"

#include <assert.h>
#include <stddef.h>

#include "ground/base/own.h"
#include "ground/kernel/memfd.h"
#include "sandbox/box.h"
#include "sandbox/native/native.h"

/* The built hemra-init, made part of this library (init_image.S.in). */
extern const char hemra_init_image[], hemra_init_image_end[];

static int image = -1; /* for the life of the process; children inherit it */

int sandbox_init(struct err *err)
{
	int r;

	if (image >= 0)
		return 0;
	r = memfd_sealed("hemra-init", hemra_init_image,
		(size_t)(hemra_init_image_end - hemra_init_image),
		/* executable= */ true, &image);
	if (r < 0)
		return err_set(err, -r, "make the sealed pid 1 of boxes");
	(void)native_filter();
	(void)layout_common();
	return 0;
}

void sandbox_warm(void)
{
	struct err unused;

	if (sandbox_init(&unused) == 0)
		native_warm();
}

void sandbox_warm_drop(void)
{
	native_warm_drop();
}

int sandbox_image_fd(void)
{
	return image;
}

const struct sandbox_provider *sandbox_provider_find(enum sandbox_kind kind)
{
	static const struct sandbox_provider *const providers[] = {
		[SANDBOX_NATIVE] = &sandbox_native,
		[SANDBOX_LOCAL] = &sandbox_local,
	};

	static_assert(array_count(providers) == SANDBOX_KIND_COUNT, "a kind has no provider");
	assert((size_t)kind < array_count(providers));
	return providers[kind];
}

void sandbox_owner(enum sandbox_kind kind, uid_t *ret_uid, gid_t *ret_gid)
{
	struct native_ids ids;

	*ret_uid = geteuid();
	*ret_gid = getegid();
	if (kind == SANDBOX_NATIVE) {
		native_ids_find(&ids);
		*ret_uid = ids.owner_uid;
		*ret_gid = ids.owner_gid;
	}
}
