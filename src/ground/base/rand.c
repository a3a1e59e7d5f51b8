/* SPDX-License-Identifier: Apache-2.0 */
/* Randomness from the kernel; no state of our own, so a fork needs no re-seeding. */

#include "ground/base/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void rand_bytes(void *out, size_t size)
{
	char *p = out;

	while (size > 0) {
		ssize_t n = getrandom(p, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			abort();
		p += n;
		size -= (size_t)n;
	}
}
