/* SPDX-License-Identifier: Apache-2.0 */
/* Prepare: the plan, the record, and every file that the box will see.
 *
 * The work directory of an attempt (plan.work) holds
 *   workspace/       the copy that the box works on (mode copy)
 *   artifacts/       what the harness hands in, /hemra/artifacts in the box
 *   instruction.md   the task in words, /hemra/instruction.md in the box
 *   home/            a home for local runs, where no box has one
 *   tests/           the task's tests as they were before the agent ran: in bind mode the task may
 *                    lie where the agent can write
 *   verify-N/        what the verifier's boxes work on
 * All of it is owned by whoever the box's user is on the host. */

#include "attempt/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "ground/base/own.h"
#include "task/task.h"

#define PLAN_BYTES_MAX (16 * 1024 * 1024)

static int read_plan(int fd, struct plan *ret, struct err *err)
{
	autofree char *json = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat the plan");
	if (st.st_size <= 0 || st.st_size > PLAN_BYTES_MAX)
		return err_say(err, EINVAL, "the plan has %lld bytes", (long long)st.st_size);
	json = own_alloc((size_t)st.st_size + 1);
	n = pread(fd, json, (size_t)st.st_size, 0);
	if (n != st.st_size)
		return err_set(err, n < 0 ? errno : EIO, "read the plan");
	return plan_decode(json, (size_t)n, ret, err);
}

/* Only an exec's warden needs the operator's descriptors; it was handed them by number 0 to 2. */
static int leave_terminal(struct err *err)
{
	autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_set(err, errno, "open /dev/null");
	for (int fd = 0; fd <= 2; fd++) {
		if (fd == STDERR_FILENO && getenv("HEMRA_DEBUG") != NULL)
			continue;
		if (dup2(null, fd) < 0)
			return err_set(err, errno, "put /dev/null in place of descriptor %d", fd);
	}
	return 0;
}

int attempt_prepare(struct attempt *a, const struct attempt_start *start, struct err *err)
{
	autoclose int plan_fd = start->plan_fd;
	autoclose int events_fd = start->events_fd;

	if (read_plan(plan_fd, &a->plan, err) < 0)
		return err_add(err, "take over the plan");
	if (!attempt_is_exec(a) && leave_terminal(err) < 0)
		return -err->code;
	if (note_open(a, take_fd(&events_fd), err) < 0)
		return -err->code;
	attempt_enter(a, STATE_PREPARING);
	a->provider = sandbox_provider_find(a->plan.sandbox.kind);
	if (a->provider == NULL)
		return err_say(err, ENOTSUP, "there is no sandbox '%s'",
			sandbox_kind_name(a->plan.sandbox.kind));
	control_open(a);
	return 0;
}

static char *work_path(const struct attempt *a, const char *name)
{
	return own_printf("%s/%s", a->plan.work, name);
}

static int copy_workspace(struct attempt *a, uid_t uid, gid_t gid, struct err *err)
{
	struct tree_copy copy = {.uid = uid,
		.gid = gid,
		.bytes_max = a->plan.sandbox.limits.disk_bytes,
		.attempt = a,
		.leave_out = a->plan.covered,
		.source = a->plan.sandbox.workspace_source};
	autoclose int from = -1, to = -1;

	if (tree_make(a->work_fd, "workspace", 0755, uid, gid, err) < 0)
		return -err->code;
	if (copy.source == NULL)
		return 0;
	from = open(copy.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from < 0)
		return err_set(err, errno, "open workspace '%s'", copy.source);
	to = openat(a->work_fd, "workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (to < 0)
		return err_set(err, errno, "open the copy's directory");
	if (tree_copy(from, to, &copy, err) < 0)
		return err_add(err, "copy workspace '%s'", copy.source);
	if (copy.skipped > 0)
		note_eventf(a, EVENT_LOSS,
			"{\"what\":\"sockets, devices and FIFOs left out of the workspace's copy\","
			"\"count\":%u}",
			copy.skipped);
	return 0;
}

static int write_instruction(struct attempt *a, uid_t uid, gid_t gid, struct err *err)
{
	const char *text = a->plan.task.instruction;
	autoclose int fd = openat(a->work_fd, "instruction.md",
		O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return err_set(err, errno, "create instruction.md");
	if (text != NULL && write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return err_set(err, errno != 0 ? errno : ENOSPC, "write instruction.md");
	if (fchown(fd, uid, gid) < 0)
		return err_set(err, errno, "hand over instruction.md");
	return 0;
}

static void add_mount(struct attempt *a, const char *source, const char *target, bool writable)
{
	plan_mounts_add(&a->mounts, &a->mount_count, source, target, writable);
}

static int by_target(const void *left, const void *right)
{
	const struct plan_mount *l = left, *r = right;

	return strcmp(l->target, r->target);
}

/* Everything the box sees of the host, parents before what lies beneath them. */
static void gather_mounts(struct attempt *a)
{
	const struct plan *p = &a->plan;

	for (size_t i = 0; i < p->harness.mount_count; i++)
		add_mount(a, p->harness.mounts[i].source, p->harness.mounts[i].target,
			p->harness.mounts[i].writable);
	for (size_t i = 0; i < p->sandbox.mount_count; i++)
		add_mount(a, p->sandbox.mounts[i].source, p->sandbox.mounts[i].target,
			p->sandbox.mounts[i].writable);
	if (a->workspace != NULL)
		add_mount(a, a->workspace, p->sandbox.workspace_target, /* writable= */ true);
	if (a->artifacts != NULL)
		add_mount(a, a->artifacts, "/hemra/artifacts", /* writable= */ true);
	if (a->work_fd >= 0 && !attempt_is_exec(a)) {
		autofree char *instruction = work_path(a, "instruction.md");

		add_mount(a, instruction, "/hemra/instruction.md", /* writable= */ false);
	}
	if (p->harness.kind == HARNESS_ORACLE && p->task.solution != NULL)
		add_mount(a, p->task.solution, "/solution", /* writable= */ false);
	qsort(a->mounts, a->mount_count, sizeof(*a->mounts), by_target);
}

static int set_tests_aside(struct attempt *a, struct err *err)
{
	const struct plan *p = &a->plan;
	struct tree_copy copy = {.uid = geteuid(),
		.gid = getegid(),
		.bytes_max = TREE_BYTES_MAX,
		.attempt = a,
		.source = p->task.tests};
	autoclose int from = -1, to = -1;
	char digest[65];

	if (p->task.tests == NULL)
		return 0;
	if (tree_make(a->work_fd, "tests", 0700, geteuid(), getegid(), err) < 0)
		return -err->code;
	from = open(copy.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	to = openat(a->work_fd, "tests", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (from < 0 || to < 0)
		return err_set(err, errno, "open '%s'", copy.source);
	if (tree_copy(from, to, &copy, err) < 0)
		return err_add(err, "copy '%s'", copy.source);
	/* another attempt may have written to it since it was planned */
	if (task_digest(p->task.directory, digest, err) < 0)
		return err_add(err, "look at task '%s' again", p->task.name);
	if (strcmp(digest, p->task.digest) != 0)
		return err_say(err, ESTALE, "task '%s' changed after it was planned", p->task.name);
	return 0;
}

static int make_work(struct attempt *a, uid_t uid, gid_t gid, struct err *err)
{
	const struct plan *p = &a->plan;

	if (p->work == NULL)
		return 0;
	if (mkdir(p->work, 0700) < 0)
		return err_set(err, errno, "make work directory '%s'", p->work);
	a->work_fd = open(p->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (a->work_fd < 0)
		return err_set(err, errno, "open work directory '%s'", p->work);
	if (p->sandbox.workspace == WORKSPACE_COPY) {
		if (copy_workspace(a, uid, gid, err) < 0)
			return -err->code;
		a->workspace = work_path(a, "workspace");
	}
	if (attempt_is_exec(a))
		return 0;
	if (tree_make(a->work_fd, "artifacts", 0755, uid, gid, err) < 0 ||
		write_instruction(a, uid, gid, err) < 0 || set_tests_aside(a, err) < 0)
		return -err->code;
	a->artifacts = work_path(a, "artifacts");
	if (p->sandbox.kind == SANDBOX_LOCAL)
		return tree_make(a->work_fd, "home", 0700, uid, gid, err);
	return 0;
}

int attempt_prepare_files(struct attempt *a, struct err *err)
{
	uid_t uid;
	gid_t gid;

	sandbox_owner(a->plan.sandbox.kind, &uid, &gid);
	if (make_work(a, uid, gid, err) < 0)
		return -err->code;
	if (a->workspace == NULL && a->plan.sandbox.workspace == WORKSPACE_BIND &&
		a->plan.sandbox.workspace_source != NULL)
		a->workspace = own_strdup(a->plan.sandbox.workspace_source);
	gather_mounts(a);
	if (a->plan.sandbox.kind == SANDBOX_LOCAL && a->workspace != NULL) {
		/* without a mount namespace a path is what it is on the host */
		free(a->plan.task.workdir);
		a->plan.task.workdir = own_strdup(a->workspace);
	}
	return 0;
}
