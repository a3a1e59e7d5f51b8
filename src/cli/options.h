/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "ground/base/err.h"

/* Verbs and options are two tables: parsing, help, the man page and completion all read them. A new
 * option is one row in options.c; a new verb one row in verbs.c and one function in cli.c. */

enum verb {
	VERB_RUN,
	VERB_EXEC,
	VERB_CHECK,
	VERB_RUNS,
	VERB_SHOW,
	VERB_CANCEL,
	VERB_EXPORT,
	VERB_VERIFY,
	VERB_RM,
	VERB_GC,
	VERB_DOCTOR,
	VERB_HELP,
	VERB_VERSION,
	VERB_COUNT,
};

struct verb_row {
	const char *name;     /* as typed: "run", "harness check" */
	const char *operands; /* "FILE...", "" for none */
	unsigned operands_min, operands_max;
	const char *about; /* one line for the list */
	const char *text;  /* what it does, in paragraphs */
	const char *example, *example_about;
	bool stops; /* options end at the first operand: what follows is somebody else's */
};
extern const struct verb_row verb_rows[VERB_COUNT];
/* Verbs that a later version will know; NULL-terminated. */
extern const char *const verbs_later[];

/* What one command line says. */
struct options {
	enum verb verb;
	struct settings settings; /* flags that a run file could also say */
	char *cwd;                /* owned; flags' relative paths stand against it */
	bool help, json, quiet;
	bool print_config;         /* run */
	bool events, follow, diff; /* show */
	bool dry_run;              /* gc */
	bool reap, reindex;        /* doctor */
	bool man;                  /* help */
	const char *completion;    /* help; borrowed from argv, as all of these */
	const char *why;           /* rm */
	int64_t older_than_ms;     /* gc */
	uint64_t keep_work_bytes;  /* gc */
	bool keep_work_said;
	char **operands; /* borrowed from argv, permuted in place where options may follow */
	int operand_count;
	const char *topic; /* a verb's name that --help or `help VERB` asked about */
};

struct option_row;
typedef int option_set_fn(
	struct options *o, const struct option_row *row, const char *value, struct err *err);

struct option_row {
	unsigned verbs;       /* bits of 1 << enum verb */
	const char *name;     /* without the dashes */
	char letter;          /* 0: no short form */
	const char *argument; /* NULL: a switch */
	const char *help;
	option_set_fn *set; /* NULL: known and not built yet; refused, not shown */
	size_t at;          /* offset in struct options that set_switch and set_text write */
};
extern const struct option_row option_rows[];
extern const size_t option_count;

/* Fills o from argv, which must outlive it. -EINVAL with a sentence for the user (did-you-mean
 * included), -ENOTSUP for what is known and not built yet. On failure o->json still says whether
 * --json was among the words, and o->verb which verb it was (VERB_COUNT: none). options_done() in
 * any case. */
int options_parse(struct options *o, int argc, char **argv, struct err *err);
void options_done(struct options *o);

/* The verb that the first words of argv name; *ret_words is 1 or 2. -EINVAL, -ENOTSUP. */
int verb_find(int argc, char *const *argv, enum verb *ret, int *ret_words, struct err *err);

#endif
