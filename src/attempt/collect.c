/* SPDX-License-Identifier: Apache-2.0 */
/* Collect: the box is dead; what it left is read. */

#include "attempt/state.h"

#include "ground/terms/outcome.h"

/* Outcomes after which a workspace is worth reading: the harness ran. */
static bool harness_ran(const struct attempt *a)
{
	return a->box_running && !a->record_failed;
}

/* The wire said how the harness ended, the kernel may know better. */
static void decide_outcome(struct attempt *a)
{
	bool crashed = a->done.outcome == OUTCOME_CRASHED || a->done.outcome == OUTCOME_AGENT_ERROR;

	if (a->failed)
		return;
	if (a->box_running && !a->box_exited && a->stopping == STOP_NONE && !a->out_of_memory)
		/* pid 1 cannot be killed from within: nothing that the harness did */
		attempt_fail(a, OUTCOME_INFRA_ENVIRONMENT, "the box was killed from outside");
	else if (a->out_of_memory && crashed)
		attempt_fail(a, OUTCOME_LIMIT_MEMORY, "the box ran out of its memory; %s",
			a->done.reason);
	else if (a->out_of_pids && crashed)
		attempt_fail(a, OUTCOME_LIMIT_PIDS, "the box ran out of its processes; %s",
			a->done.reason);
	else
		attempt_fail(a, (enum outcome)a->done.outcome, "%s", a->done.reason);
}

void attempt_collect(struct attempt *a)
{
	decide_outcome(a);
	note_finish_streams(a);
	if (a->box_running)
		collect_git(a);
	if (!harness_ran(a) || attempt_is_exec(a) || a->store == NULL)
		return;
	attempt_enter(a, STATE_COLLECTING);
	collect_artifacts(a);
	collect_changes(a);
}
