/* SPDX-License-Identifier: Apache-2.0 */
/* The list of verbs and each verb's page. */

#include "cli/help.h"

#include <string.h>

#include "ground/base/own.h"

#define WIDTH 80

/* Breaks text into lines; what follows a line break, and every line after a break of ours, begins
 * at column indent. column is where the text starts. */
static void add_wrapped(struct buf *out, const char *text, size_t column, size_t indent)
{
	while (*text != '\0') {
		size_t word = strcspn(text, " \n");

		if (column + word > WIDTH && column > indent) {
			(void)buf_addf(out, "\n%*s", (int)indent, ""); /* failure sticks */
			column = indent;
		}
		(void)buf_add(out, text, word); /* failure sticks */
		column += word;
		text += word;
		if (*text == '\n') {
			for (; *text == '\n'; text++)
				(void)buf_add_char(out, '\n'); /* failure sticks */
			(void)buf_addf(out, "%*s", (int)indent, "");
			column = indent;
		} else if (*text == ' ') {
			text++;
			if (column + 1 + strcspn(text, " \n") <= WIDTH) {
				(void)buf_add_char(out, ' '); /* failure sticks */
				column++;
				continue;
			}
			(void)buf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
	}
	(void)buf_add_char(out, '\n'); /* failure sticks */
}

void help_list(struct buf *out)
{
	add_wrapped(out,
		"hemra runs agents that nobody has reason to trust, each in a box of its own, "
		"and keeps a record that can be believed.",
		0, 0);
	(void)buf_add_text(
		out, "\nusage: hemra VERB [OPTION...] [ARGUMENT...]\n\n"); /* failure sticks */
	for (int i = 0; i < VERB_COUNT; i++)
		(void)buf_addf(out, "  %-15s %s\n", verb_rows[i].name, verb_rows[i].about);
	(void)buf_add_text(out, "\nStart with: hemra doctor\n");
	add_wrapped(out,
		"`hemra help VERB` says what a verb does, with an example; `man hemra` has all "
		"of it.",
		0, 0);
}

void help_verb(enum verb verb, struct buf *out)
{
	const struct verb_row *v = &verb_rows[verb];

	(void)buf_addf(out, "usage: hemra %s [OPTION...]%s%s\n\n", v->name,
		*v->operands != '\0' ? " " : "", v->operands); /* failure sticks, here and below */
	add_wrapped(out, v->text, 0, 0);
	(void)buf_add_text(out, "\nexample:\n");
	(void)buf_addf(out, "  %s\n      %s\n\noptions:\n", v->example, v->example_about);
	for (size_t i = 0; i < option_count; i++) {
		const struct option_row *row = &option_rows[i];
		autofree char *head = NULL;

		if ((row->verbs & (1u << verb)) == 0 || row->set == NULL)
			continue;
		head = own_printf("%s%c%s--%s%s%s", row->letter != 0 ? "-" : "  ",
			row->letter != 0 ? row->letter : ' ', row->letter != 0 ? ", " : " ",
			row->name, row->argument != NULL ? " " : "",
			row->argument != NULL ? row->argument : "");
		if (strlen(head) <= 26)
			(void)buf_addf(out, "  %-27s ", head);
		else
			(void)buf_addf(out, "  %s\n%30s", head, "");
		add_wrapped(out, row->help, 30, 30);
	}
}
