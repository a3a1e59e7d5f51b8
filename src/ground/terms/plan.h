/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_TERMS_PLAN_H
#define GROUND_TERMS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ground/terms/id.h"

/* A plan is everything in force for one attempt, as plain data: config/ makes it, the engine hands
 * it to the steward, every other part reads it. The public half, the manifest, is what the record
 * keeps and hashes; fields marked [private] are paths of this machine that only the steward needs
 * and are left out of it. No field ever holds a secret's value. Strings are owned by the plan;
 * "may be NULL" is said where it is so. */

enum harness_kind {
	HARNESS_PROGRAM, /* speaks hemra/1 on its standard input and output */
	HARNESS_COMMAND, /* gets the instruction, its exit status is the result */
	HARNESS_ORACLE,  /* built in: runs the task's solution/solve.sh */
	HARNESS_NOP,     /* built in: does nothing */
	HARNESS_EXEC,    /* one command of the operator's: hemra exec */
	HARNESS_KIND_COUNT,
};

enum instruction_via {
	INSTRUCTION_ARGUMENT, /* every {instruction} in command is replaced */
	INSTRUCTION_STDIN,
	INSTRUCTION_FILE, /* {instruction_file} is replaced by a path in the box */
	INSTRUCTION_VIA_COUNT,
};

enum sandbox_kind {
	SANDBOX_NATIVE,
	SANDBOX_LOCAL,
	SANDBOX_KIND_COUNT,
};

enum workspace_mode {
	WORKSPACE_COPY, /* the box works on a copy */
	WORKSPACE_BIND, /* the box works on the directory itself */
	WORKSPACE_MODE_COUNT,
};

enum keep {
	KEEP_FAILED, /* keep a workspace when the attempt did not complete or scored below 1 */
	KEEP_ALL,
	KEEP_NONE,
	KEEP_COUNT,
};

/* What an operator may require (--require); a provider offers them as configured. */
enum isolation {
	ISOLATION_NETWORK_BLOCK = 1 << 0,  /* "network_block" */
	ISOLATION_RESOURCE_LIMIT = 1 << 1, /* "resource_limit" */
	ISOLATION_FILE_SYSTEM = 1 << 2,    /* "file_system" */
};

/* Shortfalls that an operator may name (--weaker); each is shown wherever the attempt is shown. */
enum weaker {
	WEAKER_PROBE = 1 << 0,          /* "probe": do not try the box before the harness starts */
	WEAKER_RESOURCE_LIMIT = 1 << 1, /* "resource_limit": go on though it is not enforced */
	WEAKER_SECCOMP = 1 << 2,        /* "seccomp": no system call filter */
	WEAKER_LANDLOCK = 1 << 3, /* "landlock": no Landlock domain although the kernel has it */
};

struct plan_mount {
	char *source; /* absolute path on the host */
	char *target; /* absolute path in the box */
	bool writable;
};

struct plan_secret {
	char *name;      /* the variable's name in the box */
	char *reference; /* "env:NAME", "file:/path", "credential:NAME" */
};

struct plan_variable {
	char *name, *value; /* literal values, written down in the task or run file: not secret */
};

/* 0 means: no limit asked for. */
struct plan_limits {
	uint64_t memory_bytes;
	uint64_t pids;
	uint64_t cpu_millis; /* thousandths of a processor */
	uint64_t disk_bytes;
};

/* How long and how much one session with a harness may be. */
struct plan_bounds {
	int64_t deadline_ms; /* 0: none (exec) */
	int64_t handshake_ms;
	int64_t cancel_grace_ms; /* run.cancel to SIGTERM */
	int64_t term_grace_ms;   /* SIGTERM to SIGKILL */
	uint64_t line_bytes;
	uint64_t events_bytes;
	uint64_t stderr_bytes; /* how much of it is kept */
	uint64_t artifact_files;
	uint64_t artifact_bytes;  /* of one */
	uint64_t artifacts_bytes; /* of all together */
};

struct plan {
	struct id run, attempt;
	unsigned index, of; /* index counts from 1 */
	char *created;      /* wall_format() */

	struct {
		char *name;
		char digest[65]; /* SHA-256 of the harness's definition, hex */
		enum harness_kind kind;
		char **command; /* NULL for oracle and nop; as written, placeholders and all */
		/* names whose values come from hemra's environment or [secrets]; may be NULL */
		char **env;
		enum instruction_via instruction;
		struct plan_mount *mounts;
		size_t mount_count;
		char *model; /* a label for comparison; may be NULL */
	} harness;

	struct {
		char *name;        /* "org/name" or the directory's; "exec" for hemra exec */
		char digest[65];   /* Harbor's content digest, hex; empty for exec */
		char *directory;   /* [private] may be NULL (exec) */
		char *instruction; /* may be NULL (exec) */
		char *workdir;     /* absolute path in the box */
		char *environment; /* [private] the task's environment/ directory, may be NULL */
		char *tests;       /* [private] may be NULL: then nothing is graded */
		char *solution;    /* [private] may be NULL */
		struct plan_variable *env; /* [environment.env] of the task, resolved */
		size_t env_count;
		struct plan_variable *solution_env;
		size_t solution_env_count;
		/* what the task asked for and the operator's policy overrode; may be NULL */
		char **differences;
	} task;

	struct {
		enum sandbox_kind kind;
		struct plan_limits limits;
		enum workspace_mode workspace;
		char *workspace_source; /* [private] directory copied or bound; NULL: starts empty */
		char *workspace_target; /* absolute path in the box */
		struct plan_mount *mounts;
		size_t mount_count;
		bool git_config_writable;
		unsigned require; /* enum isolation */
		unsigned weaker;  /* enum weaker */
	} sandbox;

	struct plan_bounds limits;

	struct plan_secret *secrets;
	size_t secret_count;

	struct {
		bool present;
		int64_t timeout_ms;
		unsigned repeat;
		struct plan_variable *env; /* literal */
		size_t env_count;
		char **env_names; /* host variables the operator opened; may be NULL */
	} verifier;

	enum keep keep;
	bool redact;        /* true but for --no-redact */
	bool record;        /* false: hemra exec --no-record */
	bool record_output; /* exec: keep the streams' content */

	char *store; /* [private] absolute path; may be NULL without a record */
	char *work;  /* [private] this attempt's work directory, made by prepare, absolute */
	/* [private] absolute host paths absent in every box: store, keys, secret files; may be NULL */
	char **covered;
	/* [private] absolute host paths read-only in every box: run file, harness file; may be NULL */
	char **readonly;
};

void plan_done(struct plan *p); /* frees what it owns; accepts a zeroed plan */
void plan_mounts_add(struct plan_mount **mounts, size_t *count, const char *source,
	const char *target, bool writable);
void plan_variables_add(
	struct plan_variable **v, size_t *count, const char *name, const char *value);

/* Names of the enums above, as files and flags spell them; parse gives -EINVAL. */
const char *harness_kind_name(enum harness_kind value);
const char *instruction_via_name(enum instruction_via value);
const char *sandbox_kind_name(enum sandbox_kind value);
const char *workspace_mode_name(enum workspace_mode value);
const char *keep_name(enum keep value);
int harness_kind_parse(const char *text, enum harness_kind *ret);
int instruction_via_parse(const char *text, enum instruction_via *ret);
int sandbox_kind_parse(const char *text, enum sandbox_kind *ret);
int workspace_mode_parse(const char *text, enum workspace_mode *ret);
int keep_parse(const char *text, enum keep *ret);

struct flag_name {
	unsigned flag;
	const char *name, *about;
};
/* Both end with a row whose name is NULL. */
extern const struct flag_name isolation_names[];
extern const struct flag_name weaker_names[];
int flag_parse(const struct flag_name *names, const char *text, unsigned *ret_flag); /* -EINVAL */

#endif
