/* SPDX-License-Identifier: Apache-2.0 */
/* From words to a verb, from a verb to an exit status. */

#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/begin.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/out.h"
#include "ground/base/own.h"
#include "ground/wire/json.h"

static command_fn *const commands[VERB_COUNT] = {
	[VERB_RUN] = command_run,
	[VERB_EXEC] = command_exec,
	[VERB_CHECK] = command_check,
	[VERB_RUNS] = command_runs,
	[VERB_SHOW] = command_show,
	[VERB_CANCEL] = command_cancel,
	[VERB_EXPORT] = command_export,
	[VERB_VERIFY] = command_verify,
	[VERB_RM] = command_rm,
	[VERB_GC] = command_gc,
	[VERB_DOCTOR] = command_doctor,
	[VERB_HELP] = command_help,
	[VERB_VERSION] = command_version,
};

static int print_page(struct buf *page)
{
	(void)fputs(buf_text(page), stdout); /* out_finish() sees failure */
	return EXIT_DONE;
}

static int help_topic(const struct options *o, int argc, char *const *argv, struct buf *page)
{
	struct err err;
	enum verb verb;
	int words;

	if (verb_find(argc, argv, &verb, &words, &err) < 0)
		return out_failure(o, &err, "hemra help lists the verbs");
	help_verb(verb, page);
	return print_page(page);
}

int command_help(const struct options *o)
{
	autodone(buf_done) struct buf page = {.max = 1024 * 1024};

	if (o->completion != NULL && strcmp(o->completion, "bash") != 0) {
		struct err err;

		(void)err_say(&err, EINVAL, "--completion '%s': only bash is known", o->completion);
		return out_failure(o, &err, /* hint= */ NULL);
	}
	if (o->operand_count > 0)
		return help_topic(o, o->operand_count, o->operands, &page);
	if (o->man)
		help_man(&page);
	else if (o->completion != NULL)
		help_bash(&page);
	else
		help_list(&page);
	return print_page(&page);
}

int command_version(const struct options *o)
{
	if (o->json)
		(void)puts("{\"version\":\"" HEMRA_VERSION "\"}"); /* out_finish() sees failure */
	else
		(void)puts("hemra " HEMRA_VERSION);
	return EXIT_DONE;
}

static int refuse_words(const struct options *o, const struct err *err)
{
	autofree char *hint =
		o->verb == VERB_COUNT
			? own_strdup("hemra help lists the verbs")
			: own_printf("hemra %s --help shows its options", verb_rows[o->verb].name);

	(void)out_failure(o, err, hint); /* whatever the errno: it is the words that are wrong */
	return exit_of_error(o->verb, EINVAL);
}

/* A mistyped variable must not be passed over, also by verbs that no setting concerns. */
static int check_environment(struct err *err)
{
	autodone(settings_done) struct settings unused = {0};

	return settings_read_environment(&unused, err);
}

static int dispatch(struct options *o, int argc, char **argv)
{
	autodone(buf_done) struct buf page = {.max = 1024 * 1024};
	struct err err;

	if (options_parse(o, argc, argv, &err) < 0)
		return refuse_words(o, &err);
	if (argc < 2) {
		help_list(&page);
		(void)fputs(buf_text(&page), stderr);
		return EXIT_USAGE;
	}
	if (o->help) {
		help_verb(o->verb, &page);
		return print_page(&page);
	}
	if (o->verb != VERB_HELP && o->verb != VERB_VERSION && check_environment(&err) < 0)
		return out_failure(o, &err, /* hint= */ NULL);
	return commands[o->verb](o);
}

int cli_main(int argc, char **argv)
{
	autodone(options_done) struct options o = {0};
	int status;

	if (argc < 1)
		return EXIT_USAGE; /* execve() without even a name */
	if (!begin_process()) {
		(void)fprintf(stderr, "hemra: open '/dev/null' for a standard stream: %s\n",
			strerror(errno));
		return argc > 1 && strcmp(argv[1], verb_rows[VERB_EXEC].name) == 0 ? EXIT_HEMRA
										   : EXIT_UNGRADED;
	}
	status = dispatch(&o, argc, argv);
	if (!out_finish()) {
		if (errno == EPIPE)
			out_reader_gone();
		(void)fprintf(stderr, "hemra: write to standard output: %s\n", strerror(errno));
		return exit_worse(status, exit_of_error(o.verb, EIO));
	}
	return status;
}
