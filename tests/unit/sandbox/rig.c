/* SPDX-License-Identifier: Apache-2.0 */
/* Running boxes in tests. */

#include "rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground/base/clock.h"
#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "tests.h"

#define BOUND_MS 20000

static const char *const environment[] = {
	"PATH=/usr/bin:/bin", "HOME=/home/agent", "LANG=C.UTF-8", NULL};

void rig_init(struct rig *r, enum sandbox_kind kind)
{
	(void)memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->spec = (struct box_spec){.name = "unit", .cwd = "/tmp"};
	r->spec.envp = (char *const *)(uintptr_t)environment; /* only read */
	r->spec.argv = (char *const *)(uintptr_t)r->argv;
	sandbox_owner(kind, &r->spec.owner_uid, &r->spec.owner_gid);
}

void rig_shell(struct rig *r, const char *script)
{
	r->argv[0] = "/bin/sh";
	r->argv[1] = "-c";
	r->argv[2] = script;
	r->argv[3] = NULL;
}

const struct claim_result *rig_claim(const struct rig *r, enum claim c)
{
	for (size_t i = 0; i < r->claim_count; i++)
		if (r->claims[i].claim == c)
			return &r->claims[i];
	return NULL;
}

static void judge(struct rig *r)
{
	struct claim_expect expected[CLAIM_COUNT];
	size_t n = sandbox_expect(r->kind, &r->spec, expected, CLAIM_COUNT);

	for (size_t i = 0; i < n; i++) {
		const struct claim_result *seen = rig_claim(r, (enum claim)expected[i].claim);
		size_t used = strlen(r->broken);

		if (seen != NULL && seen->verdict == expected[i].verdict)
			continue;
		r->broken_count++;
		(void)snprintf(r->broken + used, sizeof(r->broken) - used,
			"%s(part %d, detail %d) ", claim_name((enum claim)expected[i].claim),
			seen != NULL ? seen->part : -1, seen != NULL ? seen->detail : -1);
	}
}

static void take(void *context, const struct box_report *report)
{
	struct rig *r = context;

	r->report_count++;
	assert_false(r->dead);
	switch (report->type) {
	case BOX_REPORT_CLAIM:
		assert_true(r->claim_count < CLAIM_COUNT);
		r->claims[r->claim_count++] = report->claim;
		break;
	case BOX_REPORT_ARMED:
		r->armed = true;
		judge(r);
		if (r->on_armed != NULL)
			r->on_armed(r);
		if (r->never_goes && r->on_armed != NULL)
			break; /* which did something of its own */
		if (r->never_goes || (r->broken_count > 0 && !r->keeps_claims))
			box_kill(r->box);
		else
			box_go(r->box);
		break;
	case BOX_REPORT_EXEC_FAILED:
	case BOX_REPORT_FAILED:
		r->exec_failed = report->type == BOX_REPORT_EXEC_FAILED;
		r->failed = !r->exec_failed;
		r->error = report->error;
		box_kill(r->box);
		break;
	case BOX_REPORT_RUNNING:
		r->running = true;
		if (r->on_running != NULL)
			r->on_running(r);
		break;
	case BOX_REPORT_EXITED:
		assert_true(r->running);
		r->exited = true;
		r->status = report->wait_status;
		break;
	case BOX_REPORT_DEAD:
		r->dead = true;
		r->survivor_count = report->survivor_count;
		r->out_of_memory = report->out_of_memory;
		r->out_of_pids = report->out_of_pids;
		break;
	}
}

static void drain(int fd, char *out, size_t room)
{
	size_t used = strlen(out);
	ssize_t n;

	while (used + 1 < room && (n = read(fd, out + used, room - used - 1)) > 0)
		used += (size_t)n;
	out[used] = '\0';
}

int rig_run(struct rig *r)
{
	struct mono end = mono_add_ms(mono_now(), BOUND_MS);
	int in[2], out[2], err[2], result;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	assert_int_equal(fcntl(out[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(err[0], F_SETFL, O_NONBLOCK), 0);
	r->spec.stdio[0] = in[0];
	r->spec.stdio[1] = out[1];
	r->spec.stdio[2] = err[1];
	r->loop = loop_new();
	result = sandbox_provider_find(r->kind)->start(
		r->loop, &r->spec, take, r, &r->box, &r->error);
	(void)close(in[0]);
	(void)close(out[1]);
	(void)close(err[1]);
	if (r->input != NULL)
		assert_int_equal(write(in[1], r->input, strlen(r->input)), strlen(r->input));
	(void)close(in[1]);
	while (result == 0 && !r->dead) {
		assert_true(mono_ms_between(mono_now(), end) > 0);
		loop_turn(r->loop, 100);
		drain(out[0], r->output, sizeof(r->output));
		drain(err[0], r->errors, sizeof(r->errors));
	}
	drain(out[0], r->output, sizeof(r->output));
	drain(err[0], r->errors, sizeof(r->errors));
	(void)close(out[0]);
	(void)close(err[0]);
	box_free(r->box);
	r->box = NULL;
	loop_free(r->loop);
	return result;
}

char *place_make(void)
{
	char *path = own_strdup("/tmp/hemra-unit-XXXXXX");

	assert_non_null(mkdtemp(path));
	return path;
}

void place_remove(char *path)
{
	assert_int_equal(file_remove_tree(AT_FDCWD, path), 0);
	free(path);
}

char *place_path(const char *directory, const char *name)
{
	static char *kept[256];
	static size_t count;

	assert_true(count < array_count(kept));
	return kept[count++] = own_printf("%s/%s", directory, name);
}

void place_write(const char *directory, const char *name, const char *text)
{
	autoclose int fd = open(place_path(directory, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static pid_t number_of(const char *text)
{
	return (pid_t)strtol(text, NULL, 10);
}

static pid_t parent_of(const char *pid)
{
	char *path = own_printf("/proc/%s/stat", pid), text[512];
	ssize_t n = file_read_small(AT_FDCWD, path, text, sizeof(text));
	const char *name_end = n > 0 ? strrchr(text, ')') : NULL;

	free(path);
	return name_end != NULL && strlen(name_end) > 3 ? number_of(name_end + 3) : 0;
}

pid_t child_of(pid_t parent)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;
	pid_t found = 0;

	assert_non_null(proc);
	while (found == 0 && (e = readdir(proc)) != NULL)
		if (number_of(e->d_name) > 0 && parent_of(e->d_name) == parent)
			found = number_of(e->d_name);
	(void)closedir(proc);
	return found;
}

void become_user(void)
{
	if (setgroups(0, NULL) < 0 || setresgid(1001, 1001, 1001) < 0 ||
		setresuid(1001, 1001, 1001) < 0 || setenv("HOME", "/nonexistent", 1) < 0)
		_exit(99);
}
