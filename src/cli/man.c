/* SPDX-License-Identifier: Apache-2.0 */
/* The man page and the completion script. */

#include "cli/help.h"

#include <string.h>

/* Text for roff: backslashes and hyphens escaped, a point or quote at a line's start kept from
 * being a request, empty lines as paragraphs. */
static void add_roff(struct buf *out, const char *text)
{
	bool start = true;

	for (; *text != '\0'; text++) {
		if (*text == '\n') {
			(void)buf_add_text(
				out, text[1] == '\n' ? "\n.PP\n" : "\n"); /* failure sticks */
			text += text[1] == '\n';
			start = true;
			continue;
		}
		if (start && (*text == '.' || *text == '\''))
			(void)buf_add_text(out, "\\&"); /* failure sticks */
		start = false;
		if (*text == '\\')
			(void)buf_add_text(out, "\\e");
		else if (*text == '-')
			(void)buf_add_text(out, "\\-");
		else if (*text == '`' || *text == '"')
			(void)buf_add_text(out, "\\(dq");
		else
			(void)buf_add_char(out, *text);
	}
}

static void add_option(struct buf *out, const struct option_row *row)
{
	(void)buf_add_text(out, ".TP\n"); /* failure sticks, here and below */
	if (row->letter != 0)
		(void)buf_addf(out, "\\fB\\-%c\\fR, ", row->letter);
	(void)buf_add_text(out, "\\fB\\-\\-");
	add_roff(out, row->name);
	(void)buf_add_text(out, "\\fR");
	if (row->argument != NULL) {
		(void)buf_add_text(out, " \\fI");
		add_roff(out, row->argument);
		(void)buf_add_text(out, "\\fR");
	}
	(void)buf_add_char(out, '\n');
	add_roff(out, row->help);
	(void)buf_add_char(out, '\n');
}

static void add_verb(struct buf *out, enum verb verb)
{
	const struct verb_row *v = &verb_rows[verb];

	(void)buf_add_text(out, ".SS hemra "); /* failure sticks, here and below */
	add_roff(out, v->name);
	(void)buf_add_text(out, " [OPTION...] ");
	add_roff(out, v->operands);
	(void)buf_add_char(out, '\n');
	add_roff(out, v->text);
	(void)buf_add_text(out, "\n.PP\n");
	add_roff(out, v->example_about);
	(void)buf_addf(out, "%s\n.PP\n.RS 4\n.EX\n", strchr(v->example_about, '?') ? "" : ":");
	add_roff(out, v->example);
	(void)buf_add_text(out, "\n.EE\n.RE\n");
	for (size_t i = 0; i < option_count; i++)
		if ((option_rows[i].verbs & (1u << verb)) != 0 && option_rows[i].set != NULL &&
			strcmp(option_rows[i].name, "help") != 0 &&
			strcmp(option_rows[i].name, "json") != 0)
			add_option(out, &option_rows[i]);
}

static const char man_head[] =
	".\\\" written by `hemra help --man` from its tables of verbs and options\n"
	".TH HEMRA 1 \"\" \"hemra " HEMRA_VERSION "\" \"User Commands\"\n"
	".nh\n"
	".ad l\n"
	".SH NAME\n"
	"hemra \\- run agents that nobody has reason to trust, and keep a record\n"
	".SH SYNOPSIS\n"
	".B hemra\n"
	".I VERB\n"
	"[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
	".SH DESCRIPTION\n"
	"hemra runs an agent on a task in a box that is tried before the agent starts, grades "
	"the result in\n"
	"a second box that the agent never saw, and records every event so that a later change "
	"is seen.\n"
	".PP\n"
	"With \\fB\\-\\-json\\fR every verb prints one JSON object on standard output and its "
	"remarks on\n"
	"standard error; a failure is {\"error\":{\"kind\",\"message\",\"hint\"}}.\n"
	".SH VERBS\n";

static const char man_tail[] =
	".SH \"EXIT STATUS\"\n"
	".TP\n"
	"0\n"
	"done\n"
	".TP\n"
	"1\n"
	"a gate failed: a record does not verify, a harness failed its check\n"
	".TP\n"
	"2\n"
	"usage or configuration, an id that is not there\n"
	".TP\n"
	"3\n"
	"some attempts are ungraded, or the machine failed: a full disk, a store that cannot be used\n"
	".TP\n"
	"4\n"
	"a required isolation is not met\n"
	".TP\n"
	"5\n"
	"a tripwire was touched\n"
	".TP\n"
	"130, 143\n"
	"ended by SIGINT, SIGTERM\n"
	".PP\n"
	"Of several, 4 goes before 5, 1 and 3.\n"
	"When the reader of standard output is gone (hemra verify | head), hemra ends by SIGPIPE "
	"without a word.\n"
	".PP\n"
	"\\fBhemra exec\\fR ends with the command's own status; 124 means that the deadline "
	"passed, 125 that\n"
	"hemra failed or the box did not hold, 126 that the command cannot be executed, 127 that "
	"it was not found.\n"
	".SH ENVIRONMENT\n"
	".TP\n"
	"HEMRA_STORE\n"
	"the store, when \\-\\-store does not say\n"
	".TP\n"
	"HEMRA_*\n"
	"settings of a run file, such as HEMRA_MEMORY; docs/files.md lists them. One that hemra "
	"does not know is an error.\n"
	".TP\n"
	"HEMRA_DEBUG\n"
	"remarks for debugging on standard error\n"
	".TP\n"
	"NO_COLOR\n"
	"no colours\n"
	".TP\n"
	"XDG_STATE_HOME\n"
	"keys, and the store of \\fBhemra exec\\fR outside a project\n"
	".TP\n"
	"TMPDIR\n"
	"where \\fBhemra harness check\\fR works\n"
	".SH FILES\n"
	".TP\n"
	".I .hemra\n"
	"the store: the nearest one upwards from the current directory\n"
	".TP\n"
	".I ~/.config/hemra/config.toml\n"
	"settings for every run\n"
	".TP\n"
	".I ~/.config/hemra/harnesses/NAME.toml\n"
	"harnesses that every run file can name\n"
	".TP\n"
	".I ~/.local/state/hemra/keys\n"
	"the key that seals records\n";

void help_man(struct buf *out)
{
	(void)buf_add_text(out, man_head); /* failure sticks */
	for (int i = 0; i < VERB_COUNT; i++)
		add_verb(out, (enum verb)i);
	(void)buf_add_text(out, man_tail); /* failure sticks */
}

static const char bash_head[] =
	"# bash completion for hemra; written by `hemra help --completion bash`\n"
	"_hemra() {\n"
	"\tlocal word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} "
	"verb=${COMP_WORDS[1]} options=\n"
	"\tlocal values=\n"
	"\tCOMPREPLY=()\n"
	"\tif ((COMP_CWORD == 1)); then\n";

static const char bash_tail[] =
	"\tcase $previous in\n"
	"\t--sandbox) values='native local' ;;\n"
	"\t--workspace-mode) values='copy bind' ;;\n"
	"\t--keep) values='failed all none' ;;\n"
	"\t--network) values=none ;;\n"
	"\t--completion) values=bash ;;\n"
	"\tesac\n"
	"\tif [[ -n $values ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$word\")\n"
	"\telif [[ $word == -* ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
	"\telse\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
	"\tfi\n"
	"}\n"
	"complete -o filenames -F _hemra hemra\n";

void help_bash(struct buf *out)
{
	(void)buf_add_text(out, bash_head); /* failure sticks, here and below */
	(void)buf_add_text(out, "\t\tmapfile -t COMPREPLY < <(compgen -W '");
	for (int i = 0; i < VERB_COUNT; i++)
		(void)buf_addf(out, "%s%.*s", i == 0 ? "" : " ",
			(int)strcspn(verb_rows[i].name, " "), verb_rows[i].name);
	(void)buf_add_text(out, "' -- \"$word\")\n\t\treturn\n\tfi\n\tcase $verb in\n");
	for (int i = 0; i < VERB_COUNT; i++) {
		(void)buf_addf(out, "\t%.*s) options='", (int)strcspn(verb_rows[i].name, " "),
			verb_rows[i].name);
		for (size_t j = 0, n = 0; j < option_count; j++)
			if ((option_rows[j].verbs & (1u << i)) != 0 && option_rows[j].set != NULL)
				(void)buf_addf(
					out, "%s--%s", n++ == 0 ? "" : " ", option_rows[j].name);
		(void)buf_add_text(out, "' ;;\n");
	}
	(void)buf_add_text(out, "\tesac\n");
	(void)buf_add_text(out, bash_tail);
}
