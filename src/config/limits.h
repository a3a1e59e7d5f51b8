/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFIG_LIMITS_H
#define CONFIG_LIMITS_H

#include "ground/terms/plan.h"
#include "ground/wire/fields.h"

/* [limits]: how long and how much a session with a harness may be. One row per key serves the file,
 * the layers and the defaults; docs/files.md has the same rows. */

/* A taker for struct field whose target is a struct settings. */
int limits_take(const struct reader *r, const struct toml *value, struct err *err);

/* What upper says holds; 0 is silence. The deadline is a key of its own and is left alone. */
void limits_lay_over(struct plan_bounds *lower, const struct plan_bounds *upper);

/* Every limit that was not said gets its default. */
void limits_fill(struct plan_bounds *bounds);

#endif
