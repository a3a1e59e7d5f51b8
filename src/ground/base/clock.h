/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_CLOCK_H
#define GROUND_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Two clocks that do not mix. struct mono measures spans: CLOCK_BOOTTIME, which also runs while the
 * machine sleeps. struct wall names moments: UTC, microseconds since 1970. */
struct mono {
	int64_t ns;
};

struct wall {
	int64_t us;
};

struct mono mono_now(void);
struct mono mono_add_ms(struct mono t, int64_t ms);
int64_t mono_ms_between(struct mono from, struct mono to); /* negative when to is earlier */

struct wall wall_now(void);
struct wall wall_add_ms(struct wall t, int64_t ms);

/* RFC 3339 in UTC with microseconds, "2026-11-29T13:00:00.123456Z". */
#define WALL_TEXT_SIZE 28
void wall_format(struct wall t, char out[WALL_TEXT_SIZE]);
int wall_parse(const char *text, struct wall *ret); /* exactly that form; -EINVAL */

#endif
