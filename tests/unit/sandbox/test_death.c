/* SPDX-License-Identifier: Apache-2.0 */
/* The end of boxes: by signal, by kill, by the death of pid 1 and of the steward. */

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/cgroup.h"
#include "ground/kernel/pidfd.h"
#include "rig.h"

#define LINGER                                                                                     \
	"setsid sleep 1000 & sleep 1001 & sleep 1002 & kill -STOP $!; "                            \
	"(trap '' TERM HUP; setsid sh -c 'sleep 1003 & sleep 1004' & ) ; "

static struct rig r;

static const enum sandbox_kind kinds[] = {SANDBOX_NATIVE, SANDBOX_LOCAL};

/* What the command leaves behind ends with it, and is counted. */
static void survivors(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		rig_shell(
			&r, "setsid sleep 1000 & sleep 1001 & sleep 1002 & kill -STOP $!; exit 4");
		assert_int_equal(rig_run(&r), 0);
		assert_int_equal(WEXITSTATUS(r.status), 4);
		assert_int_equal(r.survivor_count, 3);
	}
}

static void kill_it(struct rig *rig)
{
	box_kill(rig->box);
}

static void killed(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		rig_shell(&r, LINGER "sleep 1005");
		r.on_running = kill_it;
		assert_int_equal(rig_run(&r), 0);
		assert_true(r.dead);
	}
	rig_init(&r, SANDBOX_NATIVE);
	r.argv[0] = "true";
	r.never_goes = true; /* armed, then killed */
	assert_int_equal(rig_run(&r), 0);
	assert_true(r.armed && r.dead && !r.running && !r.failed);
}

static void terminate(struct rig *rig)
{
	box_signal(rig->box, SIGTERM);
}

/* A signal reaches the whole group, a stopped one too. */
static void signalled(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		rig_shell(&r, "sleep 1000");
		r.on_running = terminate;
		assert_int_equal(rig_run(&r), 0);
		assert_true(r.exited && WIFSIGNALED(r.status));
		assert_int_equal(WTERMSIG(r.status), SIGTERM);
	}
}

static void kill_pid1(struct rig *rig)
{
	assert_int_equal(kill(box_pid(rig->box), SIGKILL), 0);
}

static void pid1_killed(void **state)
{
	(void)state;
	rig_init(&r, SANDBOX_NATIVE);
	rig_shell(&r, LINGER "sleep 1005");
	r.on_running = kill_pid1;
	assert_int_equal(rig_run(&r), 0);
	assert_true(r.dead && !r.exited);
	rig_init(&r, SANDBOX_NATIVE);
	r.argv[0] = "true";
	r.never_goes = true;
	r.on_armed = kill_pid1;
	assert_int_equal(rig_run(&r), 0);
	assert_true(r.dead && r.failed);
	assert_string_equal(r.error.text,
		"pid 1 of the box was ended by signal 9 before the command was started");
}

static void free_it(struct rig *rig)
{
	box_free(rig->box);
	rig->box = NULL;
	rig->dead = true;
}

/* A receiver may free the box it is told about. */
static void freed_in_a_report(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		rig_init(&r, kinds[i]);
		rig_shell(&r, LINGER "sleep 1005");
		r.on_running = free_it;
		assert_int_equal(rig_run(&r), 0);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	}
}

static int told;

static void tell(struct rig *rig)
{
	pid_t pid = box_pid(rig->box);

	assert_int_equal(write(told, &pid, sizeof(pid)), sizeof(pid));
}

static void steward_killed(void **state)
{
	struct err err;

	(void)state;
	for (size_t i = 0; i < array_count(kinds); i++) {
		int ends[2], status, pidfd = -1;
		pid_t steward, pid1 = 0;

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		steward = fork();
		if (steward == 0) {
			told = ends[1];
			rig_init(&r, kinds[i]);
			rig_shell(&r, LINGER "sleep 1005");
			r.on_running = tell;
			(void)rig_run(&r);
			_exit(0);
		}
		(void)close(ends[1]);
		assert_int_equal(read(ends[0], &pid1, sizeof(pid1)), sizeof(pid1));
		assert_int_equal(pidfd_of(pid1, &pidfd), 0);
		assert_int_equal(pidfd_wait(pidfd, 0), -ETIMEDOUT); /* the control: it lives */
		assert_int_equal(kill(steward, SIGKILL), 0);
		assert_int_equal(waitpid(steward, &status, 0), steward);
		assert_int_equal(pidfd_wait(pidfd, 5000), 0);
		(void)close(pidfd);
		(void)close(ends[0]);
	}
	/* its groups stay until somebody sweeps; what that finds depends on who else does */
	assert_true(sandbox_provider_find(SANDBOX_NATIVE)->sweep(/* dry_run= */ false, &err) >= 0);
}

/* Waits until there is no child left; false when there still is one after a while. */
static bool all_ended(void)
{
	for (int left = 5000; left > 0; left--) {
		struct timespec pause = {.tv_nsec = 1000000};
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

/* A steward that is killed at any moment of a start leaves no process: what it leaves would become
 * our child. */
static void steward_killed_early(void **state)
{
	char *place = place_make();
	const struct plan_mount mount = {place, (char *)(uintptr_t) "/workspace", true};

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (int i = 0; i < 32; i++) {
		struct timespec moment = {.tv_nsec = i / 2 * 400000L};
		pid_t steward = fork();

		if (steward == 0) {
			if (i % 2 != 0)
				sandbox_warm();
			rig_init(&r, SANDBOX_NATIVE);
			rig_shell(&r, "sleep 1005");
			r.spec.mounts = &mount;
			r.spec.mount_count = 1;
			(void)rig_run(&r);
			_exit(0);
		}
		(void)nanosleep(&moment, NULL); /* a sample of moments, not a synchronisation */
		assert_int_equal(kill(steward, SIGKILL), 0);
		assert_true(all_ended());
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	(void)cgroup_sweep(/* dry_run= */ false);
	place_remove(place);
}

/* A steward that ends without having used what it began leaves nothing either. */
static void warm_and_unused(void **state)
{
	pid_t steward;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	steward = fork();
	if (steward == 0) {
		sandbox_warm();
		_exit(child_of(getpid()) > 0 ? 0 : 1); /* the control: there was one */
	}
	assert_int_equal(waitpid(steward, &r.status, 0), steward);
	assert_int_equal(r.status, 0);
	assert_true(all_ended());
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

int test_death(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survivors),
		cmocka_unit_test(killed),
		cmocka_unit_test(signalled),
		cmocka_unit_test(pid1_killed),
		cmocka_unit_test(freed_in_a_report),
		cmocka_unit_test(steward_killed),
		cmocka_unit_test(steward_killed_early),
		cmocka_unit_test(warm_and_unused),
	};

	return cmocka_run_group_tests_name(
		is_user() ? "death, user" : "death, root", tests, NULL, NULL);
}
