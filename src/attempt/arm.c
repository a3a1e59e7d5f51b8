/* SPDX-License-Identifier: Apache-2.0 */
/* Arm: build the box, let its probe try it, compare with what the plan promises; then go, or not.
 *
 * Reports of the box come through the loop for as long as it lives; this file turns them into the
 * attempt's facts and events. What is waited for is decided in supervise.c. */

#include "attempt/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt/gitwatch.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/wire/json.h"
#include "protocol/protocol.h"

static enum claim_verdict verdict_of(const struct attempt *a, enum claim claim, int *ret_detail)
{
	for (size_t i = 0; i < a->claim_count; i++)
		if (a->claims[i].claim == claim) {
			*ret_detail = a->claims[i].detail;
			return a->claims[i].verdict;
		}
	*ret_detail = 0;
	return CLAIM_UNTRIED;
}

static void put_claim(struct json_writer *w, enum claim claim, enum claim_verdict seen, int detail)
{
	static const char *const names[] = {
		[CLAIM_HELD] = "held", [CLAIM_BROKEN] = "broken", [CLAIM_UNTRIED] = "untried"};

	json_object_open(w);
	json_pair_string(w, "id", claim_name(claim));
	json_pair_string(w, "verdict", names[seen]);
	json_pair_int(w, "detail", detail);
	json_object_close(w);
}

/* Compares what the probe saw with what the plan promises, and records it. */
static void judge_claims(struct attempt *a, const struct box_spec *spec)
{
	struct claim_expect expected[CLAIM_COUNT];
	size_t count = sandbox_expect(a->plan.sandbox.kind, spec, expected, CLAIM_COUNT);
	const char *first = NULL;
	struct json_writer w;
	struct buf out;
	uint64_t ns = 0;
	unsigned held = 0;

	if ((a->plan.sandbox.weaker & WEAKER_PROBE) != 0)
		count = 0;
	buf_init(&out, 64 * 1024);
	json_writer_init(&w, &out);
	json_object_open(&w);
	json_key(&w, "claims");
	json_array_open(&w);
	for (size_t i = 0; i < count; i++) {
		int detail;
		enum claim_verdict seen = verdict_of(a, expected[i].claim, &detail);

		put_claim(&w, expected[i].claim, seen, detail);
		held += seen == CLAIM_HELD;
		if (seen == expected[i].verdict)
			continue;
		a->unexpected++;
		if (first == NULL)
			first = claim_name(expected[i].claim);
	}
	json_array_close(&w);
	for (size_t i = 0; i < a->claim_count; i++)
		ns += a->claims[i].time_ns;
	json_pair_uint(&w, "held", held);
	json_pair_uint(&w, "unexpected", a->unexpected);
	json_pair_uint(&w, "duration_us", ns / 1000);
	json_object_close(&w);
	note_event(a, EVENT_PROBE_RESULT, buf_text(&out), out.len);
	buf_done(&out);
	if (a->unexpected > 0)
		attempt_fail(a, OUTCOME_NOT_CONTAINED,
			"the probe found %u of %zu claims not as promised, first %s", a->unexpected,
			count, first);
}

static struct box_spec spec_of(const struct attempt *a)
{
	const struct plan *p = &a->plan;
	struct box_spec spec = {.name = p->attempt.text,
		.argv = a->argv,
		.envp = a->envp,
		.cwd = p->task.workdir,
		.mounts = a->mounts,
		.mount_count = a->mount_count,
		.covered = p->covered,
		.readonly = p->readonly,
		.limits = p->sandbox.limits,
		.weaker = p->sandbox.weaker,
		.git_protected =
			p->sandbox.workspace == WORKSPACE_BIND && !p->sandbox.git_config_writable};

	sandbox_owner(p->sandbox.kind, &spec.owner_uid, &spec.owner_gid);
	return spec;
}

/* The box holds or does not, and the warden has its streams: go, or not. */
static void go_or_not(struct attempt *a)
{
	struct box_spec spec = spec_of(a);

	if (!a->box_armed || !a->streams_sent)
		return;
	judge_claims(a, &spec);
	if (a->failed) {
		supervise_kill(a);
		return;
	}
	attempt_enter(a, STATE_RUNNING);
	box_go(a->box);
}

static void handle_exec_failed(struct attempt *a, const struct err *error)
{
	a->exec_status = error->code == ENOENT ? 127 : 126;
	attempt_fail(a, attempt_is_exec(a) ? OUTCOME_AGENT_ERROR : OUTCOME_INFRA_SETUP, "%s",
		error->text);
	supervise_kill(a);
}

static void handle_exited(struct attempt *a, const struct box_report *report)
{
	struct msg m = {.type = MSG_EXITED, .value = {(uint64_t)(uint32_t)report->wait_status}};

	a->box_exited = true;
	a->wait_status = report->wait_status;
	(void)wire_to_warden(a, &m, NULL, NULL); /* a dead warden is noticed by its socket */
}

/* How it ended is told once, when the whole box is dead and everything about it is known. */
static void record_exit(struct attempt *a, const struct box_report *report)
{
	int status = a->wait_status;
	bool signalled = a->box_exited && WIFSIGNALED(status);

	if (!a->box_running)
		return;
	note_decision(a, EVENT_HARNESS_EXIT,
		"{\"%s\":%d,\"killed\":%s,\"lingered\":%s,\"survivors\":%u,\"oom\":%s}",
		signalled || !a->box_exited ? "signal" : "code",
		signalled       ? WTERMSIG(status)
		: a->box_exited ? WEXITSTATUS(status)
				: SIGKILL,
		a->stopping == STOP_KILLED ? "true" : "false", a->lingered ? "true" : "false",
		report->survivor_count, report->out_of_memory ? "true" : "false");
}

static void handle_dead(struct attempt *a, const struct box_report *report)
{
	struct msg m = {.type = MSG_STOPPED};

	a->box_dead = true;
	a->survivors = report->survivor_count;
	a->out_of_memory = report->out_of_memory;
	a->out_of_pids = report->out_of_pids;
	record_exit(a, report);
	if (report->out_of_memory || report->out_of_pids)
		note_eventf(a, EVENT_LIMIT, "{\"which\":\"%s\"}",
			report->out_of_memory ? "memory" : "pids");
	(void)wire_to_warden(a, &m, NULL, NULL); /* a dead warden is noticed by its socket */
}

static void handle_report(void *context, const struct box_report *report)
{
	struct attempt *a = context;

	switch (report->type) {
	case BOX_REPORT_CLAIM:
		if (a->claim_count < CLAIM_COUNT)
			a->claims[a->claim_count++] = report->claim;
		break;
	case BOX_REPORT_ARMED:
		a->box_armed = true;
		go_or_not(a);
		break;
	case BOX_REPORT_EXEC_FAILED:
		handle_exec_failed(a, &report->error);
		break;
	case BOX_REPORT_FAILED:
		attempt_fail(a, OUTCOME_INFRA_SETUP, "%s", report->error.text);
		supervise_kill(a);
		break;
	case BOX_REPORT_RUNNING:
		a->box_running = true;
		supervise_launched(a);
		break;
	case BOX_REPORT_EXITED:
		handle_exited(a, report);
		break;
	case BOX_REPORT_DEAD:
		handle_dead(a, report);
		break;
	}
}

/* Pipes between the warden and the box: ours[] goes to the warden, theirs[] to the box. */
static int make_pipes(int ours[3], int theirs[3], struct err *err)
{
	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return err_set(err, errno, "make a pipe");
		ours[i] = ends[i == 0 ? 1 : 0];
		theirs[i] = ends[i == 0 ? 0 : 1];
		/* larger where the system allows it: fewer turns for a harness that writes much */
		(void)fcntl(ours[i], F_SETPIPE_SZ, 256 * 1024);
	}
	return 0;
}

static int send_streams(struct attempt *a, const int ours[3], struct err *err)
{
	const struct sock_fds fds = {{ours[0], ours[1], ours[2]}, 3};
	const struct plan *p = &a->plan;
	static const enum session_kind kinds[] = {[HARNESS_PROGRAM] = SESSION_PROGRAM,
		[HARNESS_COMMAND] = SESSION_COMMAND,
		[HARNESS_ORACLE] = SESSION_COMMAND,
		[HARNESS_NOP] = SESSION_COMMAND,
		[HARNESS_EXEC] = SESSION_EXEC};
	struct msg_session session = {.kind = kinds[p->harness.kind],
		.line_bytes = p->limits.line_bytes,
		.events_bytes = p->limits.events_bytes,
		.stderr_bytes = p->limits.stderr_bytes,
		.handshake_ms = p->limits.handshake_ms,
		.cancel_grace_ms = p->limits.cancel_grace_ms,
		.deadline_ms = p->limits.deadline_ms,
		.artifact_files = p->limits.artifact_files,
		.artifact_bytes = p->limits.artifact_bytes};
	struct msg m = {.type = MSG_FDS,
		.length = sizeof(session),
		.value = {session.kind, p->record_output}};
	int r = wire_to_warden(a, &m, &session, &fds);

	if (r == -EPIPE || r == -ECONNRESET) /* it died, and nobody has looked at its socket yet */
		attempt_fail(a, OUTCOME_LOST, "the warden is gone: it ended");
	return r < 0 ? err_set(err, -r, "hand the box's streams to the warden") : 0;
}

static void wipe_environment(struct attempt *a)
{
	for (size_t i = 0; a->envp != NULL && a->envp[i] != NULL; i++)
		explicit_bzero(a->envp[i], strlen(a->envp[i]));
	strv_free(a->envp);
	a->envp = NULL;
}

int attempt_arm(struct attempt *a, struct err *err)
{
	int ours[3] = {-1, -1, -1}, theirs[3] = {-1, -1, -1};
	struct box_spec spec = spec_of(a);
	int r;

	if (a->failed) /* cancelled, or the engine went, while files were laid out */
		return 0;
	attempt_enter(a, STATE_ARMING);
	r = make_pipes(ours, theirs, err);
	(void)memcpy(spec.stdio, theirs, sizeof(theirs));
	if (r == 0)
		r = a->provider->start(a->loop, &spec, handle_report, a, &a->box, err);
	/* while the box is built; what it runs only starts at "go" */
	if (r == 0 && a->plan.sandbox.workspace == WORKSPACE_BIND && a->workspace != NULL)
		a->git_watch = git_watch_open(a->workspace);
	if (r == 0)
		r = wire_await_warden(a, err);
	if (r == 0)
		r = send_streams(a, ours, err);
	a->streams_sent = r == 0;
	for (int i = 0; i < 3; i++) {
		own_close(&ours[i]);
		own_close(&theirs[i]);
	}
	wipe_environment(a);
	if (r == 0)
		go_or_not(a);
	return r;
}
