/* SPDX-License-Identifier: Apache-2.0 */
/* Verify: the task's tests run in a box of their own, on a copy of the dead box's workspace.
 *
 * The verifier sees /tests (a copy of what was set aside before the agent ran), the workspace where
 * the agent had it, and /logs/verifier, which is empty before. Its output is moved, not parsed. Only
 * when its box is dead does a reader look at the reward files. A verifier that could not start, timed
 * out or wrote no reward leaves the attempt ungraded, never at 0. */

#include "attempt/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt/reward.h"
#include "ground/base/own.h"
#include "ground/wire/json.h"

#define OUTPUT_HEAD    (64 * 1024)
#define OUTPUT_TAIL    (64 * 1024)
#define TERM_GRACE_MS  5000
#define DEAD_MS        10000
#define READER_WAIT_MS 30000

/* The verifier is boxed also when the agent was not. */
#define VERIFIER_KIND SANDBOX_NATIVE

struct verifier {
	struct attempt *a;
	struct box *box;
	int output;
	struct loop_watch *watch;
	struct loop_timer *timer;
	bool dead, exited, armed, timed_out, cancelled, output_over;
	int stop_step;
	int wait_status;
	struct claim_result claims[CLAIM_COUNT];
	size_t claim_count;
	unsigned unexpected;
	const struct box_spec *spec;
	uint64_t bytes;
	struct buf tail; /* what came after OUTPUT_HEAD, its end */
	char why[300];
};

static void take_output(struct verifier *v, const char *bytes, size_t size)
{
	size_t head = v->bytes < OUTPUT_HEAD ? OUTPUT_HEAD - (size_t)v->bytes : 0;

	if (head > size)
		head = size;
	v->bytes += size;
	if (head > 0)
		note_bytes(v->a, EVENT_VERIFIER_OUTPUT, bytes, head);
	bytes += head;
	size -= head;
	if (size > OUTPUT_TAIL) {
		bytes += size - OUTPUT_TAIL;
		size = OUTPUT_TAIL;
	}
	if (v->tail.len + size > OUTPUT_TAIL)
		buf_drop(&v->tail, v->tail.len + size - OUTPUT_TAIL);
	(void)buf_add(&v->tail, bytes, size); /* made room just above */
}

static void handle_output(void *context, uint32_t events)
{
	struct verifier *v = context;
	char bytes[65536];
	ssize_t n = read(v->output, bytes, sizeof(bytes));

	(void)events;
	if (n > 0) {
		take_output(v, bytes, (size_t)n);
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	v->output_over = true;
	loop_watch_free(v->watch);
	v->watch = NULL;
}

static void handle_timer(void *context)
{
	struct verifier *v = context;

	if (v->stop_step == 0 && v->armed) {
		v->timed_out = true;
		box_signal(v->box, SIGTERM);
		loop_timer_arm(v->timer, TERM_GRACE_MS);
	} else if (v->stop_step <= 1) {
		box_kill(v->box);
		loop_timer_arm(v->timer, DEAD_MS);
		v->stop_step = 1;
	} else {
		v->dead = true;
	}
	v->stop_step++;
}

static bool came_out(const struct verifier *v, const struct claim_expect *expected)
{
	for (size_t i = 0; i < v->claim_count; i++)
		if (v->claims[i].claim == expected->claim)
			return v->claims[i].verdict == expected->verdict;
	return false; /* never tried */
}

static void judge(struct verifier *v)
{
	struct claim_expect expected[CLAIM_COUNT];
	size_t count = sandbox_expect(VERIFIER_KIND, v->spec, expected, CLAIM_COUNT);

	for (size_t i = 0; i < count; i++)
		v->unexpected += !came_out(v, &expected[i]);
	if (v->unexpected > 0)
		(void)snprintf(v->why, sizeof(v->why), "the verifier's box did not hold: %u claims",
			v->unexpected);
}

static void handle_report(void *context, const struct box_report *report)
{
	struct verifier *v = context;

	switch (report->type) {
	case BOX_REPORT_CLAIM:
		if (v->claim_count < CLAIM_COUNT)
			v->claims[v->claim_count++] = report->claim;
		break;
	case BOX_REPORT_ARMED:
		judge(v);
		v->armed = true;
		if (v->unexpected > 0)
			box_kill(v->box);
		else
			box_go(v->box);
		break;
	case BOX_REPORT_EXEC_FAILED:
	case BOX_REPORT_FAILED:
		(void)snprintf(v->why, sizeof(v->why), "the verifier could not start: %.200s",
			report->error.text);
		box_kill(v->box);
		break;
	case BOX_REPORT_RUNNING:
		break;
	case BOX_REPORT_EXITED:
		v->exited = true;
		v->wait_status = report->wait_status;
		break;
	case BOX_REPORT_DEAD:
		v->dead = true;
		if (report->out_of_memory)
			(void)snprintf(v->why, sizeof(v->why), "the verifier ran out of memory");
		break;
	}
}

/* Directories of one verifier run beneath the work directory; the workspace is a copy of the dead
 * box's. Returns a descriptor of verify-N/. */
static int lay_out(struct attempt *a, unsigned turn, int *ret_fd, struct err *err)
{
	autofree char *tests = own_printf("%s/tests", a->plan.work);
	const struct {
		const char *name;
		const char *source;
	} copies[] = {{"workspace", a->workspace}, {"tests", tests}};
	autofree char *name = own_printf("verify-%u", turn);
	autoclose int fd = -1;
	uid_t uid;
	gid_t gid;

	sandbox_owner(VERIFIER_KIND, &uid, &gid);
	if (tree_make(a->work_fd, name, 0755, uid, gid, err) < 0)
		return -err->code;
	fd = openat(a->work_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_set(err, errno, "open '%s'", name);
	if (tree_make(fd, "logs", 0755, uid, gid, err) < 0)
		return -err->code;
	for (size_t i = 0; i < array_count(copies); i++) {
		uint64_t disk = a->plan.sandbox.limits.disk_bytes;
		struct tree_copy copy = {.uid = uid,
			.gid = gid,
			.source = copies[i].source,
			.bytes_max = disk > 0 ? disk : TREE_BYTES_MAX,
			.attempt = a,
			.lenient = i == 0,
			.leave_out = a->plan.covered};
		autoclose int to = -1, from = -1;

		if (tree_make(fd, copies[i].name, 0755, uid, gid, err) < 0)
			return -err->code;
		if (copies[i].source == NULL)
			continue;
		from = open(copies[i].source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		to = openat(fd, copies[i].name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (from < 0 || to < 0)
			return err_set(err, errno, "open '%s'", copies[i].source);
		if (tree_copy(from, to, &copy, err) < 0)
			return err_add(err, "copy '%s'", copies[i].source);
		if (copy.unreadable > 0)
			note_eventf(a, EVENT_LOSS,
				"{\"what\":\"files and directories that the agent made unreadable are absent for the "
				"verifier\",\"count\":%u}",
				copy.unreadable);
	}
	/* Harbor makes it executable too */
	if (fchmodat(fd, "tests/test.sh", 0755, 0) < 0)
		return err_set(err, errno, "make tests/test.sh executable");
	*ret_fd = take_fd(&fd);
	return 0;
}

static void add_mount(struct plan_mount **mounts, size_t *count, const char *work, unsigned turn,
	const char *name, const char *target)
{
	autofree char *source = own_printf("%s/verify-%u/%s", work, turn, name);

	plan_mounts_add(mounts, count, source, target, /* writable= */ true);
}

static void run_box(struct verifier *v, const struct box_spec *spec, struct err *err)
{
	struct attempt *a = v->a;
	int r;

	v->spec = spec;
	v->timer = loop_timer_new(a->loop, handle_timer, v);
	r = sandbox_provider_find(VERIFIER_KIND)
		    ->start(a->loop, spec, handle_report, v, &v->box, err);
	if (r < 0) {
		(void)snprintf(v->why, sizeof(v->why),
			"the verifier's box could not be built: %.200s", err->text);
		return;
	}
	v->watch = loop_watch_new(a->loop, v->output, EPOLLIN, handle_output, v);
	loop_timer_arm(v->timer, a->plan.verifier.timeout_ms);
	while (!v->dead) {
		loop_turn(a->loop, /* timeout_ms= */ -1);
		if ((a->cancelled || a->record_failed) && !v->cancelled) {
			v->cancelled = true;
			(void)snprintf(v->why, sizeof(v->why), "%s while the verifier ran",
				a->engine_gone ? "the engine went" : "cancelled");
			box_kill(v->box);
			loop_timer_arm(v->timer, DEAD_MS);
			v->stop_step = 2;
		}
	}
	/* what the pipe still holds; nobody can add to it */
	for (int i = 0; i < 1024 && !v->output_over && v->watch != NULL; i++)
		handle_output(v, EPOLLIN);
	loop_watch_free(v->watch);
	v->watch = NULL;
}

static int read_reward(void *context, void *result)
{
	reward_read(*(int *)context, result);
	return 0;
}

static void record_score(struct attempt *a, const struct reward *r, unsigned turn, const char *why)
{
	struct json_writer w;
	struct buf out;

	buf_init(&out, 64 * 1024);
	json_writer_init(&w, &out);
	json_object_open(&w);
	json_pair_bool(&w, "graded", r->graded != 0);
	if (r->graded != 0)
		json_pair_double(&w, "reward", r->value);
	json_pair_uint(&w, "repeat", turn);
	json_pair_string(&w, "source", r->source);
	if (r->graded == 0)
		json_pair_string(&w, "reason", why[0] != '\0' ? why : r->reason);
	if (r->both != 0)
		json_pair_string(&w, "warning",
			"reward.json and reward.txt were both written; the json was taken");
	if (r->rewards[0] != '\0') {
		json_key(&w, "rewards");
		json_put_raw(&w, r->rewards, strlen(r->rewards));
	}
	json_object_close(&w);
	note_event(a, EVENT_SCORE, buf_text(&out), out.len);
	buf_done(&out);
}

static void record_exit(struct verifier *v, struct mono begun)
{
	struct attempt *a = v->a;

	if (v->tail.len > 0) {
		if (v->bytes > OUTPUT_HEAD + v->tail.len)
			note_eventf(a, EVENT_LOSS,
				"{\"what\":\"bytes in the middle of the verifier's output\",\"count\":%llu}",
				(unsigned long long)(v->bytes - OUTPUT_HEAD - v->tail.len));
		note_bytes(a, EVENT_VERIFIER_OUTPUT, v->tail.data, v->tail.len);
	}
	note_finish_streams(a);
	note_eventf(a, EVENT_VERIFIER_EXIT,
		"{\"%s\":%d,\"timed_out\":%s,\"output_bytes\":%llu,\"duration_ms\":%lld}",
		WIFSIGNALED(v->wait_status) ? "signal" : "code",
		WIFSIGNALED(v->wait_status) ? WTERMSIG(v->wait_status)
					    : WEXITSTATUS(v->wait_status),
		v->timed_out ? "true" : "false", (unsigned long long)v->bytes,
		(long long)mono_ms_between(begun, mono_now()));
}

/* The verifier's environment: no secret of the run, the task's literal values, what was opened by name. */
static int verifier_environment(struct attempt *a, char ***ret, struct err *err)
{
	return attempt_environment(a, a->plan.verifier.env, a->plan.verifier.env_count,
		a->plan.verifier.env_names, ret, err);
}

static int read_logs(int directory, struct reward *ret, struct err *err)
{
	autoclose int logs =
		openat(directory, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	const struct reader_job read = {.directories = &logs,
		.directory_count = 1,
		.fn = read_reward,
		.context = &logs,
		.result = ret,
		.result_size = sizeof(*ret)};

	if (logs < 0)
		return err_set(err, errno, "open the verifier's logs");
	return reader_run(&read, READER_WAIT_MS, err);
}

static void verify_once(struct attempt *a, unsigned turn, struct reward *ret)
{
	static char *const argv[] = {
		(char *)"/bin/bash", (char *)"-c", (char *)"exec /tests/test.sh", NULL};
	struct verifier v = {.a = a, .output = -1};
	autofree char *name = own_printf("%s-v%u", a->plan.attempt.text, turn);
	struct plan_mount *mounts = NULL;
	struct box_spec spec = {.name = name,
		.argv = argv,
		.cwd = a->plan.sandbox.workspace_target,
		.covered = a->plan.covered,
		.limits = a->plan.sandbox.limits,
		.weaker = a->plan.sandbox.weaker};
	autoclose int directory = -1, null = -1, write_end = -1;
	struct mono begun = mono_now();
	char **envp = NULL;
	struct err err = {0};
	int ends[2];

	buf_init(&v.tail, OUTPUT_TAIL);
	note_decision(a, EVENT_VERIFIER_START, "{\"repeat\":%u,\"timeout_ms\":%lld}", turn,
		(long long)a->plan.verifier.timeout_ms);
	if (lay_out(a, turn, &directory, &err) < 0 || verifier_environment(a, &envp, &err) < 0) {
		(void)snprintf(v.why, sizeof(v.why), "the verifier could not be laid out: %.200s",
			err.text);
		goto out;
	}
	add_mount(&mounts, &spec.mount_count, a->plan.work, turn, "logs", "/logs/verifier");
	add_mount(&mounts, &spec.mount_count, a->plan.work, turn, "tests", "/tests");
	add_mount(&mounts, &spec.mount_count, a->plan.work, turn, "workspace",
		a->plan.sandbox.workspace_target);
	spec.mounts = mounts;
	spec.envp = envp;
	sandbox_owner(VERIFIER_KIND, &spec.owner_uid, &spec.owner_gid);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		(void)snprintf(v.why, sizeof(v.why), "no pipe for the verifier");
		goto out;
	}
	v.output = ends[0];
	write_end = ends[1];
	(void)fcntl(v.output, F_SETFL, O_NONBLOCK);
	spec.stdio[0] = null;
	spec.stdio[1] = spec.stdio[2] = write_end;
	run_box(&v, &spec, &err);
	own_close(&write_end);
	record_exit(&v, begun);
	if (v.why[0] == '\0' && !v.exited && !v.timed_out)
		(void)snprintf(v.why, sizeof(v.why), "the verifier's box was killed from outside");
	if (v.why[0] == '\0' && v.timed_out)
		(void)snprintf(v.why, sizeof(v.why), "the verifier did not end within %lld ms",
			(long long)a->plan.verifier.timeout_ms);
	if (v.why[0] == '\0' && read_logs(directory, ret, &err) < 0)
		(void)snprintf(
			v.why, sizeof(v.why), "the reward could not be read: %.200s", err.text);
out:
	if (v.why[0] != '\0')
		*ret = (struct reward){0};
	if (ret->graded == 0 && v.why[0] != '\0')
		(void)snprintf(ret->reason, sizeof(ret->reason), "%.199s", v.why);
	record_score(a, ret, turn, v.why);
	box_free(v.box);
	loop_timer_free(v.timer);
	own_close(&v.output);
	buf_done(&v.tail);
	strv_free(envp);
}

static bool worth_grading(const struct attempt *a)
{
	switch (a->outcome) {
	case OUTCOME_COMPLETED:
	case OUTCOME_REFUSED:
	case OUTCOME_AGENT_ERROR:
	case OUTCOME_AGENT_TIMEOUT:
	case OUTCOME_LIMIT_EVENTS:
	case OUTCOME_LIMIT_LINE:
	case OUTCOME_LIMIT_MEMORY:
	case OUTCOME_LIMIT_PIDS:
	case OUTCOME_LIMIT_DISK:
	case OUTCOME_LIMIT_CALLS:
	case OUTCOME_LIMIT_TOKENS:
	case OUTCOME_LIMIT_COST:
	case OUTCOME_CRASHED:
	case OUTCOME_PROTOCOL_ERROR:
		return true;
	case OUTCOME_HANDSHAKE_FAILED:
	case OUTCOME_CANCELLED:
	case OUTCOME_TRIPPED:
	case OUTCOME_NOT_CONTAINED:
	case OUTCOME_INFRA_SETUP:
	case OUTCOME_INFRA_MODEL:
	case OUTCOME_INFRA_ENVIRONMENT:
	case OUTCOME_VERIFIER_ERROR:
	case OUTCOME_LOST:
	case OUTCOME_COUNT:
		break;
	}
	return false;
}

void attempt_verify(struct attempt *a)
{
	unsigned turns = a->plan.verifier.repeat > 0 ? a->plan.verifier.repeat : 1;
	autofree struct reward *first = own_alloc(sizeof(*first));

	if (!a->plan.verifier.present || a->plan.task.tests == NULL || !a->box_running ||
		a->work_fd < 0 || a->record_failed || a->cancelled || !worth_grading(a))
		return;
	attempt_enter(a, STATE_VERIFYING);
	for (unsigned turn = 1; turn <= turns && !a->cancelled; turn++) {
		autofree struct reward *again = own_alloc(sizeof(*again));

		verify_once(a, turn, turn == 1 ? first : again);
		if (turn > 1 && (again->graded != first->graded || again->value != first->value))
			note_eventf(a, EVENT_LOSS,
				"{\"what\":\"the verifier is flaky: repeat %u differs\"}", turn);
	}
	a->graded = first->graded != 0;
	a->score = first->value;
	if (!a->graded && a->outcome == OUTCOME_COMPLETED) {
		a->outcome = !a->cancelled    ? OUTCOME_VERIFIER_ERROR
			     : a->engine_gone ? OUTCOME_LOST
					      : OUTCOME_CANCELLED;
		(void)snprintf(a->reason, sizeof(a->reason), "%s", first->reason);
	}
}
