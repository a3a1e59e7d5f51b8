/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFIG_VALUES_H
#define CONFIG_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "ground/base/err.h"
#include "ground/terms/plan.h"
#include "ground/wire/fields.h"

/* Values that several files know. The take_ functions belong to rows of struct field. */

/* An array of variable names, each once; appended to *names. */
int take_names(const struct reader *r, const struct toml *value, char ***names, struct err *err);
/* An array of mounts. words (may be NULL) collects their targets as the file spells them: a target
 * that was not given stands there as the source was written, so that it does not depend on where
 * the file lies. */
int take_mounts(const struct reader *r, const struct toml *value, struct plan_mount **mounts,
	size_t *count, char ***words, struct err *err);
/* A table NAME = "scheme:reference". A value that is no reference is never printed. */
int take_secrets(const struct reader *r, const struct toml *value, struct plan_secret **secrets,
	size_t *count, struct err *err);
/* An array of words of a table of flags, or'ed into *flags. */
int take_flags(const struct reader *r, const struct toml *value, const struct flag_name *names,
	unsigned *flags, struct err *err);

/* Adds a secret, or replaces the reference of the one with this name. */
void secrets_put(
	struct plan_secret **secrets, size_t *count, const char *name, const char *reference);
/* Adds a mount, or replaces the one with this target. */
void mounts_put(struct plan_mount **mounts, size_t *count, const struct plan_mount *mount);
void names_put(char ***names, const char *name); /* unless it is there */
void mounts_free(struct plan_mount *mounts, size_t count);
void secrets_free(struct plan_secret *secrets, size_t count);

/* path against base (absolute), as text: no "." or "..", no double or trailing slash. Owned. */
char *path_against(const char *base, const char *path);
/* Is path this directory or beneath it? Returns what follows directory ("" or "/…"), else NULL. */
const char *path_beneath(const char *path, const char *directory);
/* $XDG_CONFIG_HOME/hemra, else ~/.config/hemra; owned; NULL without a home. */
char *path_user_config(void);

/* A whole file as TOML; toml_free() it. -ENOENT when it is not there. Its real path and the
 * directory of that are owned by the caller. */
int config_parse(const char *path, struct toml **ret, char **ret_real, char **ret_directory,
	struct err *err);

#endif
