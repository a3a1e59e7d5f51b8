/* SPDX-License-Identifier: Apache-2.0 */
/* The warden replaced by programs that ask for anything: the steward acts on none of it, the attempt
 * ends lost, and the record holds nothing that was forged. The control is the real warden on the same
 * plan. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt/attempt.h"
#include "config/config.h"
#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "ground/kernel/sock.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

#define WAIT_MS 60000

static char root[] = "/tmp/hemra-warden-XXXXXX";
static struct id_source ids;

struct ended {
	bool settled;
	enum outcome outcome;
	char reason[504];
	char *events; /* owned */
};

static void fill_plan(struct plan *p, const char *seconds)
{
	*p = (struct plan){.run = id_new(&ids, wall_now()),
		.attempt = id_new(&ids, wall_now()),
		.index = 1,
		.of = 1,
		.redact = true,
		.record = true,
		.keep = KEEP_NONE};
	p->created = own_strdup("2026-11-29T13:00:00.000000Z");
	p->harness.name = own_strdup("sleep");
	p->harness.kind = HARNESS_COMMAND;
	strv_add(&p->harness.command, "/bin/sleep");
	strv_add(&p->harness.command, seconds);
	p->harness.instruction = INSTRUCTION_ARGUMENT;
	p->task.name = own_strdup("task");
	p->task.workdir = own_strdup("/workspace");
	p->sandbox.kind = SANDBOX_NATIVE;
	p->sandbox.workspace = WORKSPACE_COPY;
	p->sandbox.workspace_target = own_strdup("/workspace");
	p->limits.deadline_ms = 30000;
	p->limits.handshake_ms = 5000;
	p->limits.cancel_grace_ms = 500;
	p->limits.term_grace_ms = 500;
	p->limits.line_bytes = 1 << 20;
	p->limits.events_bytes = 1 << 26;
	p->limits.stderr_bytes = 65536;
	p->limits.artifact_files = 10;
	p->limits.artifact_bytes = p->limits.artifacts_bytes = 1 << 20;
	p->store = own_printf("%s/store", root);
	p->work = own_printf("%s/store/work/%s", root, p->attempt.text);
	strv_add(&p->covered, p->store);
}

static int plan_file(const struct plan *p)
{
	int fd = memfd_create("plan", MFD_CLOEXEC);
	struct buf out;

	buf_init(&out, 1 << 20);
	assert_int_equal(plan_encode(p, &out), 0);
	assert_int_equal(write(fd, out.data, out.len), (ssize_t)out.len);
	buf_done(&out);
	return fd;
}

static struct event_log *make_log(const struct plan *p)
{
	struct event_log *log = NULL;
	struct store *store = NULL;
	struct buf manifest;
	uint8_t digest[32];
	struct err err = {0};

	buf_init(&manifest, 1 << 20);
	assert_int_equal(manifest_encode(p, &manifest, digest), 0);
	buf_done(&manifest);
	assert_int_equal(store_open(p->store, STORE_CREATE, &store, &err), 0);
	assert_int_equal(event_log_create(store, &p->attempt, digest, &log, &err), 0);
	assert_int_equal(event_log_append(log, EVENT_ATTEMPT_PLANNED, "{}", 2, &err), 0);
	assert_int_equal(event_log_sync(log, &err), 0);
	store_close(store);
	return log;
}

/* The engine's part: hears the steward until it is gone. */
static void hear(int fd, struct ended *ret)
{
	static char payload[MSG_PAYLOAD_MAX];
	struct sock_fds fds;
	struct msg m;

	for (;;) {
		struct msg_settled settled;
		ssize_t n;

		assert_int_equal(sock_wait(fd, POLLIN, WAIT_MS), 0);
		n = sock_recv(fd, &m, sizeof(m), payload, sizeof(payload), &fds);
		if (n == 0)
			return;
		assert_true(n >= (ssize_t)sizeof(m));
		if (m.type != MSG_SETTLED)
			continue;
		assert_int_equal(m.length, sizeof(settled));
		(void)memcpy(&settled, payload, sizeof(settled));
		ret->settled = true;
		ret->outcome = (enum outcome)m.value[0];
		(void)snprintf(ret->reason, sizeof(ret->reason), "%s", settled.reason);
	}
}

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = own_alloc(1 << 20);

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	(void)fclose(f);
	return text;
}

static struct ended run(attempt_warden_fn *warden, const char *seconds)
{
	struct ended ended = {0};
	struct event_log *log;
	struct plan plan;
	autofree char *path = NULL;
	struct msg spawn = {.version = MSG_VERSION, .type = MSG_SPAWN};
	struct sock_fds fds = {.count = 3};
	int pair[2], starting[2], status;
	struct err err = {0};
	pid_t pid;

	fill_plan(&plan, seconds);
	path = own_printf("%s/events/%s.jsonl", plan.store, plan.attempt.text);
	log = make_log(&plan);
	assert_int_equal(sock_pair(pair), 0);
	assert_int_equal(sock_pair(starting), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		(void)close(starting[0]);
		if (sandbox_init(&err) < 0)
			_exit(9);
		_exit(attempt_steward(starting[1], warden));
	}
	fds.fd[0] = pair[1];
	fds.fd[1] = plan_file(&plan);
	fds.fd[2] = event_log_fd(log);
	assert_int_equal(sock_send(starting[0], &spawn, sizeof(spawn), NULL, 0, &fds), 0);
	(void)close(fds.fd[1]);
	(void)close(pair[1]);
	(void)close(starting[0]);
	(void)close(starting[1]);
	event_log_close(log);
	hear(pair[0], &ended);
	(void)close(pair[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ended.events = slurp(path);
	plan_done(&plan);
	return ended;
}

/* ---- wardens ----------------------------------------------------------------------------------- */

static void say(int fd, struct msg m, const void *body, size_t size)
{
	m.version = m.version != 0 ? m.version : MSG_VERSION;
	if (m.length == 0)
		m.length = (uint32_t)size;
	(void)sock_wait(fd, POLLOUT, 1000);
	(void)sock_send(fd, &m, sizeof(m), body, size, NULL);
}

/* Says ready and waits until the harness runs. */
static void until_launch(int fd)
{
	static char payload[MSG_PAYLOAD_MAX];
	struct sock_fds fds;
	struct msg m = {0};

	say(fd, (struct msg){.type = MSG_READY}, NULL, 0);
	while (m.type != MSG_LAUNCH) {
		if (sock_wait(fd, POLLIN, 20000) < 0)
			_exit(1);
		if (sock_recv(fd, &m, sizeof(m), payload, sizeof(payload), &fds) <= 0)
			_exit(1);
	}
}

static void stay(void)
{
	for (;;)
		(void)pause();
}

static void forges_the_end(int fd)
{
	static const char data[] =
		"{\"outcome\":\"completed\",\"graded\":true,\"score\":1,\"forged\":1}";

	until_launch(fd);
	say(fd, (struct msg){.type = MSG_EVENT, .value = {EVENT_ATTEMPT_SETTLED}}, data,
		sizeof(data) - 1);
	stay();
}

static void forges_a_score(int fd)
{
	static const char data[] = "{\"graded\":true,\"reward\":1,\"forged\":1}";

	until_launch(fd);
	say(fd, (struct msg){.type = MSG_EVENT, .value = {EVENT_SCORE}}, data, sizeof(data) - 1);
	stay();
}

static void speaks_as_engine(int fd)
{
	until_launch(fd);
	say(fd, (struct msg){.type = MSG_SETTLED, .value = {OUTCOME_COMPLETED}}, "forged", 6);
	stay();
}

static void sends_unknown(int fd)
{
	until_launch(fd);
	say(fd, (struct msg){.type = 999}, "forged", 6);
	stay();
}

static void lies_about_length(int fd)
{
	until_launch(fd);
	say(fd, (struct msg){.type = MSG_EVENT, .value = {EVENT_HARNESS_OTHER}, .length = 4096},
		"forged", 6);
	stay();
}

static void other_version(int fd)
{
	until_launch(fd);
	say(fd, (struct msg){.type = MSG_EVENT, .version = 7, .value = {EVENT_HARNESS_OTHER}}, "{}",
		2);
	stay();
}

static void event_out_of_range(int fd)
{
	until_launch(fd);
	say(fd, (struct msg){.type = MSG_EVENT, .value = {UINT64_MAX}}, "{}", 2);
	stay();
}

static void raw_stream_of_others(int fd)
{
	until_launch(fd);
	say(fd, (struct msg){.type = MSG_STREAM, .value = {EVENT_VERIFIER_OUTPUT}}, "forged", 6);
	stay();
}

static void short_done(int fd)
{
	until_launch(fd);
	say(fd, (struct msg){.type = MSG_DONE}, "x", 1);
	stay();
}

static void hands_over_descriptors(int fd)
{
	struct msg m = {.version = MSG_VERSION,
		.type = MSG_EVENT,
		.value = {EVENT_HARNESS_OTHER},
		.length = 2};

	until_launch(fd);
	(void)sock_send(fd, &m, sizeof(m), "{}", 2, &(struct sock_fds){{fd}, 1});
	stay();
}

static void dies(int fd)
{
	until_launch(fd);
	_exit(0);
}

static void dies_unready(int fd)
{
	(void)fd;
	_exit(0);
}

static void test_control(void **state)
{
	struct ended e = run(attempt_warden, "0");

	(void)state;
	assert_true(e.settled);
	assert_int_equal(e.outcome, OUTCOME_COMPLETED);
	assert_non_null(strstr(e.events, "\"attempt.settled\""));
	free(e.events);
}

static void test_hostile(void **state)
{
	static const struct {
		const char *name;
		attempt_warden_fn *warden;
		const char *reason;
	} cases[] = {
		{"end", forges_the_end, "it sent an event that is not the harness's"},
		{"score", forges_a_score, "it sent an event that is not the harness's"},
		{"engine", speaks_as_engine, "it sent a message that it may not send"},
		{"unknown", sends_unknown, "it sent a message that it may not send"},
		{"length", lies_about_length, "it sent a packet in a wrong form"},
		{"version", other_version, "it sent a packet in a wrong form"},
		{"range", event_out_of_range, "it sent an event that is not the harness's"},
		{"stream", raw_stream_of_others, "it sent a stream that is not the harness's"},
		{"done", short_done, "it said done in a wrong form"},
		{"descriptors", hands_over_descriptors, "it sent a packet in a wrong form"},
		{"death", dies, "it ended"},
		{"unready", dies_unready, "it ended"},
	};

	(void)state;
	for (size_t i = 0; i < array_count(cases); i++) {
		struct ended e = run(cases[i].warden, "25");

		if (!e.settled || e.outcome != OUTCOME_LOST ||
			strstr(e.reason, cases[i].reason) == NULL)
			fail_msg("%s: outcome %s, reason '%s'", cases[i].name,
				e.settled ? outcome_name(e.outcome) : "none", e.reason);
		if (strstr(e.events, "forged") != NULL)
			fail_msg("%s: the record holds what was forged", cases[i].name);
		free(e.events);
	}
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(root) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	autoclose int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	return file_remove_tree(tmp, root + strlen("/tmp/"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_control),
	cmocka_unit_test(test_hostile),
};

int test_warden(void)
{
	return cmocka_run_group_tests_name("warden", tests, set_up, tear_down);
}
