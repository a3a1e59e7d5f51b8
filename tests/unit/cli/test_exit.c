/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses and the mean of scores. */

#include "cli/exit.h"

#include <errno.h>
#include <signal.h>

#include "cli/progress.h"
#include "ground/base/own.h"
#include "tests.h"

static struct run_attempt done(enum outcome outcome, bool graded, double score)
{
	return (struct run_attempt){.harness = "h",
		.task = "t",
		.state = STATE_DONE,
		.outcome = outcome,
		.graded = graded,
		.score = score};
}

static int status_of(struct run_attempt a, struct run_attempt b, int signal)
{
	struct run_attempt both[] = {a, b};
	struct run_report r = {.attempts = both, .count = 2, .signal = signal};

	return exit_of_report(&r);
}

static void test_of_several_4_5_1_3_counts_first(void **state)
{
	static const int order[] = {143, EXIT_USAGE, 4, 5, 1, 3, 0};

	(void)state;
	for (size_t i = 0; i < array_count(order); i++)
		for (size_t j = i; j < array_count(order); j++) {
			assert_int_equal(exit_worse(order[i], order[j]), order[i]);
			assert_int_equal(exit_worse(order[j], order[i]), order[i]);
		}
}

static void test_a_report_folds_its_attempts(void **state)
{
	struct run_attempt good = done(OUTCOME_COMPLETED, true, 1),
			   bad = done(OUTCOME_COMPLETED, true, 0);
	struct run_attempt ungraded = done(OUTCOME_COMPLETED, false, 0);
	struct run_attempt open = done(OUTCOME_NOT_CONTAINED, false, 0);
	struct run_attempt tripped = done(OUTCOME_TRIPPED, false, 0);
	struct run_attempt running = {.harness = "h", .task = "t", .state = STATE_RUNNING};

	(void)state;
	assert_int_equal(status_of(good, bad, 0), 0); /* a low score is a result, not a failure */
	assert_int_equal(status_of(good, ungraded, 0), 3);
	assert_int_equal(status_of(ungraded, tripped, 0), 5);
	assert_int_equal(status_of(tripped, open, 0), 4);
	assert_int_equal(status_of(good, running, 0), 3);
	assert_int_equal(status_of(open, running, SIGINT), 130);
	assert_int_equal(status_of(good, good, SIGTERM), 143);
}

static int exec_status(enum outcome outcome, int exit_status, int signal)
{
	struct run_attempt a = done(outcome, false, 0);
	struct run_report r = {.attempts = &a, .count = 1, .signal = signal};

	a.exit_status = exit_status;
	return exit_of_exec(&r);
}

static void test_exec_passes_the_status_through(void **state)
{
	(void)state;
	assert_int_equal(exec_status(OUTCOME_COMPLETED, 0, 0), 0);
	assert_int_equal(exec_status(OUTCOME_AGENT_ERROR, 7, 0), 7);
	assert_int_equal(exec_status(OUTCOME_CRASHED, 139, 0), 139);
	assert_int_equal(exec_status(OUTCOME_AGENT_ERROR, 126, 0), 126);
	assert_int_equal(exec_status(OUTCOME_AGENT_ERROR, 127, 0), 127);
	assert_int_equal(exec_status(OUTCOME_AGENT_TIMEOUT, 143, 0), 124);
	assert_int_equal(exec_status(OUTCOME_NOT_CONTAINED, 0, 0), 125);
	assert_int_equal(exec_status(OUTCOME_TRIPPED, 0, 0), 125);
	assert_int_equal(exec_status(OUTCOME_INFRA_SETUP, 0, 0), 125);
	assert_int_equal(exec_status(OUTCOME_LOST, 0, 0), 125);
	assert_int_equal(exec_status(OUTCOME_CANCELLED, 0, SIGINT), 130);
	assert_int_equal(exec_status(OUTCOME_COMPLETED, 0, SIGINT), 0); /* CMD caught it */
	assert_int_equal(exec_status(OUTCOME_AGENT_ERROR, 9, SIGINT), 9);
	assert_int_equal(exit_of_error(VERB_EXEC, ENOENT), 125);
}

static void test_errors_become_statuses(void **state)
{
	(void)state;
	assert_int_equal(exit_of_error(VERB_RUN, EPERM), 4);
	assert_int_equal(exit_of_error(VERB_RUN, EINVAL), 2);
	assert_int_equal(exit_of_error(VERB_RUN, ENOTSUP), 2);
	assert_int_equal(exit_of_error(VERB_RUNS, ENOENT), 2);
	assert_int_equal(exit_of_error(VERB_EXPORT, ENOSPC), 3);
	assert_int_equal(exit_of_error(VERB_RUN, EACCES), 2); /* a task that cannot be read */
	assert_int_equal(exit_of_error(VERB_RUN, EBADMSG), 3);
	assert_int_equal(exit_of_error(VERB_RUNS, EACCES), 3); /* a store that cannot be read */
	assert_int_equal(exit_of_error(VERB_RM, EPERM), 3);    /* a key that is open to others */
	assert_int_equal(exit_of_error(VERB_RM, EBUSY), 2);    /* an attempt that still runs */
	assert_int_equal(exit_of_error(VERB_EXEC, ENOSPC), 125);
}

static void test_scores_have_a_mean_and_an_error(void **state)
{
	struct run_attempt a[] = {done(OUTCOME_COMPLETED, true, 1),
		done(OUTCOME_COMPLETED, true, 0), done(OUTCOME_COMPLETED, true, 1),
		done(OUTCOME_COMPLETED, true, 0), done(OUTCOME_LOST, false, 9)};
	struct score_summary s;

	(void)state;
	assert_true(score_summarise(a, 5, &s));
	assert_int_equal(s.done, 5);
	assert_int_equal(s.graded, 4);
	assert_float_equal(s.mean, 0.5, 1e-12);
	/* sqrt((4 × 0.25 / 3) / 4) */
	assert_float_equal(s.standard_error, 0.28867513459481287, 1e-12);
	assert_true(score_summarise(a, 1, &s));
	assert_float_equal(s.standard_error, -1, 1e-12);
	assert_false(score_summarise(a + 4, 1, &s));
}

static void test_the_progress_line(void **state)
{
	struct run_attempt a[] = {done(OUTCOME_COMPLETED, true, 1), {.state = STATE_RUNNING},
		{.state = STATE_RUNNING}, {.state = STATE_PLANNED}};
	struct run_report r = {.attempts = a, .count = 4};
	autodone(buf_done) struct buf line = {.max = 1024};

	(void)state;
	progress_line(&r, 2000, &line);
	assert_string_equal(buf_text(&line),
		"[#####...............] 1/4  1 planned  2 running  score 1.000  6.0s left");
}

int test_exit(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_several_4_5_1_3_counts_first),
		cmocka_unit_test(test_a_report_folds_its_attempts),
		cmocka_unit_test(test_exec_passes_the_status_through),
		cmocka_unit_test(test_errors_become_statuses),
		cmocka_unit_test(test_scores_have_a_mean_and_an_error),
		cmocka_unit_test(test_the_progress_line),
	};

	return cmocka_run_group_tests_name("exit", tests, NULL, NULL);
}
