/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "ground/base/buf.h"
#include "ground/base/err.h"
#include "ground/terms/plan.h"

/* The files an operator writes: harness files, run files, the user's own config.toml; and plans as
 * JSON. Unknown keys are errors with a did-you-mean; keys that a later version will know are errors
 * that say so; every error names file:line and the key. Formats: docs/files.md. */

/* What flags, run file, user file and environment may each say. A field that was not said is NULL,
 * 0 or the enum's COUNT value, so that layers can be laid over one another: flag over run file over
 * ~/.config/hemra/config.toml over HEMRA_* variables. */
struct settings {
	char **harnesses, **tasks; /* run file or HARNESS/TASK flags; may be NULL */
	unsigned attempts, concurrency;
	int64_t deadline_ms; /* -1 not said */
	enum sandbox_kind kind;
	enum workspace_mode workspace;
	char *workspace_source; /* absolute */
	struct plan_limits limits;
	struct plan_bounds bounds; /* [limits]; 0 not said; deadline_ms is not used */
	bool limit_said_memory, limit_said_pids, limit_said_cpus,
		limit_said_disk; /* "0" is a loosening, not silence */
	struct plan_mount *mounts;
	size_t mount_count;
	int git_config_writable; /* -1 not said */
	struct plan_secret *secrets;
	size_t secret_count;
	unsigned require, weaker;
	enum keep keep;
	int redact, record, record_output; /* -1 not said */
	char *store, *work_dir;            /* absolute, may be NULL */
	char **verifier_env_names;
	unsigned verifier_repeat;
	char **env;   /* names that enter the box (--env) */
	char **files; /* absolute paths of the files these settings came from */
};

void settings_init(struct settings *s);
void settings_done(struct settings *s);
/* Lays upper over lower: what upper says holds, lists that narrow intersect, mounts, secrets, env, require
 * and weaker are united. lower is changed into the result. */
void settings_lay_over(struct settings *lower, const struct settings *upper);

int settings_read_file(const char *path, struct settings *ret, struct err *err); /* run file */
int settings_read_user(struct settings *ret, struct err *err); /* config.toml; absent is empty */
int settings_read_environment(struct settings *ret, struct err *err); /* HEMRA_* */

/* One --mount or mounts entry: "PATH", "PATH:ro", "PATH:rw", "PATH:TARGET:ro". Relative paths stand
 * against base; the source is resolved. -EINVAL with a sentence, -ENOENT and the like when the source
 * is not there. */
int settings_parse_mount(
	const char *text, const char *base, struct plan_mount *ret, struct err *err);

/* A harness: a name ("oracle", "nop", or NAME for harnesses/NAME.toml beside the run file, then
 * ~/.config/hemra/harnesses/NAME.toml) or a path to a file (it holds a '/' or ends in .toml). Fills
 * plan->harness and adds its [secrets], unless plan has that name already; base is the directory that
 * relative names stand against. plan->sandbox.kind and .mounts decide how a relative program is seen
 * in the box. The file's path is appended to *files. After a failure plan_done() the plan. */
int harness_read(const char *name_or_path, const char *base, struct plan *plan, char ***files,
	struct err *err);

/* Fills a plan from settings for one harness: everything but ids, store, work, covered, index and the
 * task half, which are the engine's to fill in. readonly begins with every file that was read, the
 * harness's too. harness NULL is hemra exec: the engine adds harness.command and calls
 * harness_digest(); the workspace is then bound and there is no deadline unless settings say so.
 * Applies the defaults (docs/files.md). Where a harness or run file asks for what is not built or
 * cannot be, the error names file:line and key. ret is written on success only. */
int plan_build(const struct settings *s, const char *harness, const char *base, struct plan *ret,
	struct err *err);

/* plan->harness.digest from the rest of plan->harness: for harnesses that no file defines. */
int harness_digest(struct plan *plan);

/* The manifest: canonical JSON (keys sorted, no spaces) of the public half of the plan and its SHA-256, raw.
 * Of variables it holds the names only. Ids, index and time are not in it, so attempts in which the
 * same is in force share one manifest. Here and below: -EILSEQ when a string is not UTF-8, else
 * buf_status(out). */
int manifest_encode(const struct plan *plan, struct buf *out, unsigned char ret_digest[32]);

/* The whole plan, private half and values of variables included: the engine's message to a steward. */
int plan_encode(const struct plan *plan, struct buf *out);
/* The same for a person's eyes (--print-config): of variables the names only, because values may
 * come from hemra's environment. plan_decode() does not read it. */
int plan_show(const struct plan *plan, struct buf *out);
int plan_decode(const char *json, size_t size, struct plan *ret, struct err *err);

#endif
