/* SPDX-License-Identifier: Apache-2.0 */
/* Supervise: deadlines, cancel, and the steps of a stop.
 *
 * A stop goes run.cancel → grace → SIGTERM to the command's group → grace → everything is killed.
 * Whoever decides it names the outcome first. Every wait here has a bound, also the wait for a box
 * that should be dead and for a warden that should be done. */

#include "attempt/state.h"

#include <signal.h>

#include "ground/base/log.h"

#define LINGER_MS 5000  /* from the result to the exit */
#define DEAD_MS   10000 /* from the kill to the box's death */
#define ARM_MS    30000 /* from the start of the box to its probe's end */
#define WARDEN_MS 15000 /* from the box's death to the warden's last word */

bool supervise_is_over(const struct attempt *a)
{
	return a->box == NULL || (a->box_dead && a->warden_done);
}

void supervise_kill(struct attempt *a)
{
	if (a->box == NULL || a->box_dead || a->stopping == STOP_KILLED)
		return;
	a->stopping = STOP_KILLED;
	box_kill(a->box);
	loop_timer_arm(a->stop_timer, DEAD_MS);
}

static void handle_stop(void *context)
{
	struct attempt *a = context;

	if (a->box_dead)
		return;
	switch (a->stopping) {
	case STOP_NONE:
		attempt_fail(
			a, OUTCOME_INFRA_SETUP, "the box was not armed within %d s", ARM_MS / 1000);
		supervise_kill(a);
		break;
	case STOP_ASKED:
		a->stopping = STOP_TERM;
		box_signal(a->box, SIGTERM);
		loop_timer_arm(a->stop_timer, a->plan.limits.term_grace_ms);
		break;
	case STOP_TERM:
		supervise_kill(a);
		break;
	case STOP_KILLED:
		attempt_fail(a, OUTCOME_INFRA_ENVIRONMENT, "the box did not die within %d s",
			DEAD_MS / 1000);
		a->box_dead = true;
		a->warden_done = true;
		break;
	}
}

void supervise_stop(struct attempt *a, enum cancel_reason reason)
{
	struct msg m = {.type = MSG_CANCEL, .value = {reason}};
	bool can_ask = a->plan.harness.kind == HARNESS_PROGRAM && a->box_running && !a->box_exited;

	if (a->box != NULL && a->box_dead)
		(void)wire_to_warden(a, &m, NULL, NULL); /* ends its wait for the operator */
	if (a->stopping != STOP_NONE || a->box == NULL || a->box_dead)
		return;
	if (!a->box_running) {
		supervise_kill(a);
		return;
	}
	a->stopping = STOP_ASKED;
	if (can_ask && wire_to_warden(a, &m, NULL, NULL) == 0)
		loop_timer_arm(a->stop_timer, a->plan.limits.cancel_grace_ms);
	else
		loop_timer_arm(a->stop_timer, 0);
}

static void handle_deadline(void *context)
{
	struct attempt *a = context;

	note_decision(a, EVENT_LIMIT, "{\"which\":\"deadline\",\"limit\":%lld}",
		(long long)a->plan.limits.deadline_ms);
	attempt_fail(a, OUTCOME_AGENT_TIMEOUT, "the deadline of %lld ms passed",
		(long long)a->plan.limits.deadline_ms);
	supervise_stop(a, CANCEL_DEADLINE);
}

static void handle_linger(void *context)
{
	struct attempt *a = context;

	a->lingered = true;
	supervise_kill(a);
}

void supervise_launched(struct attempt *a)
{
	loop_timer_disarm(a->stop_timer); /* armed in time */
	if (a->plan.limits.deadline_ms > 0)
		loop_timer_arm(a->deadline_timer, a->plan.limits.deadline_ms);
	wire_launch(a);
}

void supervise_result(struct attempt *a)
{
	if (!loop_timer_is_armed(a->linger_timer))
		loop_timer_arm(a->linger_timer, LINGER_MS);
}

static void handle_warden_late(void *context)
{
	struct attempt *a = context;

	attempt_fail(a, OUTCOME_LOST, "the warden did not finish within %d s of the box's death",
		WARDEN_MS / 1000);
	a->warden_done = true;
}

void supervise_prepare(struct attempt *a)
{
	a->stop_timer = loop_timer_new(a->loop, handle_stop, a);
	a->deadline_timer = loop_timer_new(a->loop, handle_deadline, a);
	a->linger_timer = loop_timer_new(a->loop, handle_linger, a);
}

/* What an exec still has to say waits for whoever reads it (`hemra exec … | less`), until the operator
 * gives up. */
static bool waits_for_operator(const struct attempt *a)
{
	return attempt_is_exec(a) && !a->failed && a->signals == 0;
}

void supervise_run(struct attempt *a)
{
	struct loop_timer *late = loop_timer_new(a->loop, handle_warden_late, a);

	if (a->failed)
		supervise_kill(a);
	else if (a->stopping == STOP_NONE && !a->box_running)
		loop_timer_arm(a->stop_timer, ARM_MS);
	while (!supervise_is_over(a)) {
		loop_turn(a->loop, /* timeout_ms= */ -1);
		if (a->box_dead && !a->warden_done && !loop_timer_is_armed(late) &&
			!waits_for_operator(a))
			loop_timer_arm(late, WARDEN_MS);
	}
	loop_timer_free(late);
	loop_timer_disarm(a->stop_timer);
	loop_timer_disarm(a->deadline_timer);
	loop_timer_disarm(a->linger_timer);
	log_debug("attempt %s: box dead, warden done", a->plan.attempt.text);
}
