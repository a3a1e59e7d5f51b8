/* SPDX-License-Identifier: Apache-2.0 */
/* Pages written from the tables. */

#include "cli/help.h"

#include <string.h>

#include "ground/base/own.h"
#include "tests.h"

#define PAGE_MAX (1024 * 1024)

static void test_the_list_names_every_verb_on_short_lines(void **state)
{
	autodone(buf_done) struct buf page = {.max = PAGE_MAX};

	(void)state;
	help_list(&page);
	for (int i = 0; i < VERB_COUNT; i++) {
		autofree char *line =
			own_printf("\n  %-15s %s\n", verb_rows[i].name, verb_rows[i].about);

		assert_non_null(strstr(buf_text(&page), line));
	}
	for (int i = 0; verbs_later[i] != NULL; i++) {
		autofree char *line = own_printf("\n  %s ", verbs_later[i]);

		assert_null(strstr(buf_text(&page), line));
	}
}

static void test_pages_are_at_most_84_columns_wide(void **state)
{
	(void)state;
	for (int i = 0; i < VERB_COUNT; i++) {
		autodone(buf_done) struct buf page = {.max = PAGE_MAX};
		const char *line;

		help_verb((enum verb)i, &page);
		for (line = buf_text(&page); *line != '\0'; line += strcspn(line, "\n") + 1)
			if (strcspn(line, "\n") > 84)
				fail_msg("%s: %.*s", verb_rows[i].name, (int)strcspn(line, "\n"),
					line);
	}
}

static void test_a_page_shows_its_options_and_no_other(void **state)
{
	(void)state;
	for (int i = 0; i < VERB_COUNT; i++) {
		autodone(buf_done) struct buf page = {.max = PAGE_MAX};

		help_verb((enum verb)i, &page);
		for (size_t j = 0; j < option_count; j++) {
			const struct option_row *row = &option_rows[j];
			autofree char *plain = own_printf(" --%s\n", row->name);
			autofree char *spaced = own_printf(" --%s ", row->name);
			bool shown = strstr(buf_text(&page), plain) != NULL ||
				     strstr(buf_text(&page), spaced) != NULL;

			if ((row->verbs & (1u << i)) != 0 && row->set != NULL && !shown)
				fail_msg("%s does not show --%s", verb_rows[i].name, row->name);
			if ((row->verbs & (1u << i)) != 0 && row->set == NULL && shown)
				fail_msg("%s shows --%s, which is not built", verb_rows[i].name,
					row->name);
		}
	}
}

static void test_the_man_page_escapes_what_roff_would_read(void **state)
{
	autodone(buf_done) struct buf page = {.max = PAGE_MAX};
	const char *line;

	(void)state;
	help_man(&page);
	/* every line that begins with a point is a request that we wrote */
	for (line = buf_text(&page); *line != '\0'; line += strcspn(line, "\n") + 1) {
		static const char *const requests[] = {".\\\"", ".TH ", ".nh", ".ad l\n", ".SH ",
			".SS ", ".B ", ".I ", ".PP", ".TP", ".RS ", ".RE", ".EX", ".EE"};
		bool known = line[0] != '.';

		for (size_t i = 0; i < array_count(requests) && !known; i++)
			known = strncmp(line, requests[i], strlen(requests[i])) == 0;
		if (!known)
			fail_msg("%.*s", (int)strcspn(line, "\n"), line);
		assert_int_not_equal(line[0], '\'');
	}
	assert_non_null(strstr(buf_text(&page), ".SS hemra harness check [OPTION...] HARNESS\n"));
	assert_non_null(strstr(buf_text(&page), "\\fB\\-\\-print\\-config\\fR"));
	assert_null(strstr(buf_text(&page), "allow\\-host"));
}

static void test_completion_knows_verbs_and_their_options(void **state)
{
	autodone(buf_done) struct buf page = {.max = PAGE_MAX};

	(void)state;
	help_bash(&page);
	assert_non_null(strstr(buf_text(&page), "'run exec harness runs show"));
	assert_non_null(strstr(buf_text(&page),
		"\tgc) options='--store --dry-run --older-than --keep-work --json --help' ;;"));
}

int test_help(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_list_names_every_verb_on_short_lines),
		cmocka_unit_test(test_pages_are_at_most_84_columns_wide),
		cmocka_unit_test(test_a_page_shows_its_options_and_no_other),
		cmocka_unit_test(test_the_man_page_escapes_what_roff_would_read),
		cmocka_unit_test(test_completion_knows_verbs_and_their_options),
	};

	return cmocka_run_group_tests_name("help", tests, NULL, NULL);
}
