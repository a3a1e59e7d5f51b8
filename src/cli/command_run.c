/* SPDX-License-Identifier: Apache-2.0 */
/* hemra run and hemra exec: what needs the engine.
 *
 * The nursery is forked before a file of the operator's is opened, so that the processes that will
 * stand beside an agent never held what those files say. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/request.h"
#include "cli/where.h"
#include "ground/base/file.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/wire/json.h"

#define JSON_MAX ((size_t)256 * 1024 * 1024)

static int print_config(const struct request *request, const struct options *o)
{
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct err err;
	int r = run_print_config(&request->run, &out, &err);

	if (r < 0)
		return out_failure(o, &err, request_hint(-r));
	out_json(&out);
	return EXIT_DONE;
}

static void print_report(const struct run_report *report)
{
	struct place place = {0};
	struct err err;

	/* ids are shown whole when the store cannot say which beginning is unique */
	if (report->store != NULL && store_open(report->store, 0, &place.store, &err) == 0)
		(void)where_index(&place, /* write= */ false, &err);
	report_print(report, &place);
	where_done(&place);
}

/* One run file, or none (path NULL: all is said by flags), from the nursery to the report. */
static int run_one(
	const struct options *o, const char *path, struct json_writer *json, bool *ret_failed)
{
	autodone(request_done) struct request request = {0};
	autodone(run_report_done) struct run_report report = {0};
	struct progress progress;
	struct err err;
	int r = run_nursery(&err);

	*ret_failed = true;
	if (r == 0)
		r = request_for_run(o, path, &request, &err);
	if (r < 0)
		return out_failure(o, &err, request_hint(-r));
	progress_init(&progress, o->quiet);
	r = run_go(&request.run, progress_changed, &progress, &report, &err);
	progress_done(&progress);
	if (r < 0)
		return request_failure(o, &request, &err);
	report_json(&report, json);
	if (!o->json)
		print_report(&report);
	*ret_failed = false;
	return exit_of_report(&report);
}

static int command_print_config(const struct options *o)
{
	autodone(request_done) struct request request = {0};
	struct err err;
	int r;

	if (o->operand_count > 1) {
		(void)err_say(&err, EINVAL, "--print-config takes one run file");
		return out_failure(o, &err, /* hint= */ NULL);
	}
	r = request_for_run(o, o->operand_count > 0 ? o->operands[0] : NULL, &request, &err);
	return r < 0 ? out_failure(o, &err, request_hint(-r)) : print_config(&request, o);
}

/* ---- several run files ---- */

static volatile sig_atomic_t running_child;

/* What a terminal sends reaches the child by itself. */
static void pass_on(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code <= 0 && running_child > 0)
		(void)kill((pid_t)running_child, signo); /* gone: then there is nothing to stop */
}

static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};

	for (size_t i = 0; i < array_count(signals); i++)
		(void)sigaction(signals[i], &action, NULL); /* cannot fail for these */
}

/* Leaves in json_fd the report; with --json, of a run that could not start, the error; else nothing. */
static _Noreturn void run_in_child(const struct options *o, const char *path, int json_fd)
{
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct json_writer json;
	bool failed;
	int status;

	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGHUP, SIG_DFL);
	json_writer_init(&json, &out);
	if (o->json)
		(void)dup2(json_fd, STDOUT_FILENO); /* cannot fail: both are open */
	else
		(void)printf("%s\n", path); /* out_finish() sees failure */
	status = run_one(o, path, &json, &failed);
	if (!failed && file_write(json_fd, buf_text(&out), out.len) < 0)
		status = exit_worse(status, EXIT_UNGRADED);
	/* nobody reading any more is no failure, and no reason not to go on with the next file */
	if (!out_finish() && errno != EPIPE)
		status = exit_worse(status, EXIT_UNGRADED);
	_exit(status);
}

/* Several runs in a row. */
struct row_of_runs {
	struct json_writer *json; /* in the array of reports */
	struct buf *failure;      /* {"error":…} of the one that ended the row */
	bool failed;
};

static int fail_in_row(const struct options *o, struct row_of_runs *row, const struct err *err)
{
	struct json_writer w;

	out_say_failure(err, /* hint= */ NULL);
	json_writer_init(&w, row->failure);
	json_object_open(&w);
	out_put_error(&w, "environment", err, /* hint= */ NULL);
	json_object_close(&w);
	row->failed = true;
	return exit_of_error(o->verb, EIO);
}

/* What the child left. Returns its status. */
static int take_json(
	const struct options *o, struct row_of_runs *row, const char *path, int fd, int status)
{
	static const char error[] = "{\"error\":";
	autodone(buf_done) struct buf all = {.max = JSON_MAX};
	struct err err;
	char *into;
	ssize_t n;

	(void)lseek(fd, 0, SEEK_SET); /* a memfd can always seek */
	do {
		into = buf_room(&all, 64 * 1024);
		n = into != NULL ? read(fd, into, 64 * 1024) : -1;
		if (n > 0)
			buf_grow(&all, (size_t)n);
	} while (n > 0);
	if (n == 0 && all.len > 0 && !str_starts(buf_text(&all), error)) {
		json_put_raw(row->json, buf_text(&all), all.len);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	if (WIFSIGNALED(status)) {
		(void)err_say(&err, EIO, "the run of '%s' was ended by signal %d", path,
			WTERMSIG(status));
		(void)fail_in_row(o, row, &err);
		return 128 + WTERMSIG(status);
	}
	if (n < 0) {
		(void)err_say(&err, EIO, "the report of '%s' is lost", path);
		return fail_in_row(o, row, &err);
	}
	(void)buf_add(row->failure, buf_text(&all), all.len); /* it has the same maximum */
	row->failed = true;
	return WEXITSTATUS(status);
}

static int run_file(const struct options *o, const char *path, struct row_of_runs *row)
{
	autoclose int fd = memfd_create("hemra-report", MFD_CLOEXEC);
	sigset_t all, before;
	struct err err;
	int status = 0;
	pid_t pid;

	if (fd < 0) {
		(void)err_set(&err, errno, "make a file in memory");
		return fail_in_row(o, row, &err);
	}
	/* no signal between the fork and knowing whom it is for */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	(void)fflush(stdout); /* out_finish() reports failure */
	pid = fork();
	running_child = pid;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid == 0)
		run_in_child(o, path, fd);
	if (pid < 0) {
		(void)err_set(&err, errno, "fork");
		return fail_in_row(o, row, &err);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	running_child = 0;
	return take_json(o, row, path, fd, status);
}

/* The member of {"error":…} as one of the object that the row's reports are in. */
static void add_failure(struct row_of_runs *row)
{
	const char *text = buf_text(row->failure), *begin = strchr(text, ':');
	const char *end = strrchr(text, '}');

	if (begin == NULL || end == NULL)
		return; /* the run said nothing that could be handed on */
	json_key(row->json, "error");
	json_put_raw(row->json, begin + 1, (size_t)(end - begin) - 1);
}

/* Several files are several runs, one after another, each in a process of its own whose nursery is
 * forked before its file is read. The first that cannot start ends the row, and so does a signal.
 * With --json they come as {"runs":[...]}, with "error" beside it when one could not start. */
static int run_files(const struct options *o)
{
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	autodone(buf_done) struct buf failure = {.max = JSON_MAX};
	struct json_writer json;
	struct row_of_runs row = {.json = &json, .failure = &failure};
	int status = EXIT_DONE;

	json_writer_init(&json, &out);
	json_object_open(&json);
	json_key(&json, "runs");
	json_array_open(&json);
	catch_signals();
	for (int i = 0; i < o->operand_count && !row.failed && status < 128; i++)
		status = exit_worse(status, run_file(o, o->operands[i], &row));
	json_array_close(&json);
	if (row.failed)
		add_failure(&row);
	json_object_close(&json);
	if (o->json)
		out_json(&out);
	return status;
}

int command_run(const struct options *o)
{
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct json_writer json;
	bool failed;
	int status;

	if (o->print_config)
		return command_print_config(o);
	if (o->operand_count > 1)
		return run_files(o);
	json_writer_init(&json, &out);
	status = run_one(o, o->operand_count > 0 ? o->operands[0] : NULL, &json, &failed);
	if (o->json && !failed)
		out_json(&out);
	return status;
}

/* ---- exec ---- */

/* The line that says why CMD's status is not what the caller gets. */
static void explain_exec(const struct run_report *report)
{
	const struct run_attempt *a = report->attempts;
	autofree char *reason = NULL;

	if (report->count != 1 || a->state != STATE_DONE) {
		(void)fputs("hemra: the command was not run to its end\n", stderr);
		return;
	}
	reason = out_line(a->reason);
	if (a->planted[0] != '\0')
		(void)fprintf(stderr,
			"hemra: look before you use git here; it would now obey: %s\n", a->planted);
	if (a->outcome == OUTCOME_COMPLETED ||
		(a->outcome == OUTCOME_AGENT_ERROR && a->exit_status < 126) ||
		a->outcome == OUTCOME_CRASHED)
		return;
	(void)fprintf(stderr, "hemra: %s%s%s\n",
		a->outcome == OUTCOME_AGENT_ERROR ? "the command did not start"
						  : outcome_name(a->outcome),
		*reason != '\0' ? ": " : "", reason);
	if (a->outcome == OUTCOME_NOT_CONTAINED)
		(void)fputs("hint: hemra doctor says what this machine can enforce\n", stderr);
}

int command_exec(const struct options *o)
{
	autodone(request_done) struct request request = {0};
	autodone(run_report_done) struct run_report report = {0};
	autodone(buf_done) struct buf out = {.max = JSON_MAX};
	struct json_writer json;
	struct err err;
	int r = run_nursery(&err);

	settings_init(&request.run.settings);
	if (r == 0)
		r = request_for_exec(o, &request, &err);
	if (r < 0)
		return out_failure(o, &err, request_hint(-r));
	r = run_go(&request.run, /* progress= */ NULL, /* context= */ NULL, &report, &err);
	if (r < 0)
		return request_failure(o, &request, &err);
	if (!o->quiet || exit_of_exec(&report) == EXIT_HEMRA)
		explain_exec(&report);
	if (o->json) {
		json_writer_init(&json, &out);
		report_json(&report, &json);
		out_json(&out);
	}
	return exit_of_exec(&report);
}
