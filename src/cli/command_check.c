/* SPDX-License-Identifier: Apache-2.0 */
/* hemra harness check: two throw-away attempts of one harness, and what they showed.
 *
 * Everything lies in $TMPDIR/hemra-check-XXXXXX: the two tasks, and the store unless --store names
 * one. The engine runs both attempts as any others; what is said at the end comes from their
 * events, read by a locked child. */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/check.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/show.h"
#include "cli/where.h"
#include "ground/base/own.h"
#include "ground/wire/json.h"
#include "run/run.h"

#define ECHO_DEADLINE_MS 60000
#define CHECKS_MAX       8
#define TMPDIR_HINT      "$TMPDIR can name another place"

enum finding {
	FINDING_OK,
	FINDING_FAILED,
	FINDING_NONE, /* not tried, or nothing of the kind */
};
static const char *const finding_words[] = {
	[FINDING_OK] = "ok", [FINDING_FAILED] = "FAILED", [FINDING_NONE] = "-"};

struct check {
	const char *name;
	enum finding finding;
	char sentence[560];
};

struct checks {
	struct check rows[CHECKS_MAX];
	size_t count;
};

static void add_check(struct checks *c, const char *name, enum finding finding, const char *format,
	...) __attribute__((format(printf, 4, 5)));

static void add_check(
	struct checks *c, const char *name, enum finding finding, const char *format, ...)
{
	struct check *row = &c->rows[c->count++];
	va_list args;

	row->name = name;
	row->finding = finding;
	va_start(args, format);
	(void)vsnprintf(row->sentence, sizeof(row->sentence), format, args); /* cut is fine */
	va_end(args);
}

static void judge_handshake(
	struct checks *c, const struct run_attempt *a, const struct check_facts *f)
{
	if (a->outcome == OUTCOME_HANDSHAKE_FAILED)
		add_check(c, "handshake", FINDING_FAILED, "%s", a->reason);
	else if (f->ready)
		add_check(c, "handshake", FINDING_OK, "ready answered hello");
	else if (f->hello)
		add_check(c, "handshake", FINDING_FAILED, "hello was not answered: %s", a->reason);
	else
		add_check(c, "handshake", FINDING_NONE, "this kind of harness speaks no protocol");
	if (f->protocol_error)
		add_check(c, "protocol", FINDING_FAILED, "%s", a->reason);
}

static void judge_echo(struct checks *c, const struct run_attempt *a, const struct check_facts *f)
{
	bool not_contained = a->outcome == OUTCOME_NOT_CONTAINED;

	if (not_contained || f->claims == 0)
		add_check(c, "box", not_contained ? FINDING_FAILED : FINDING_NONE, "%s",
			not_contained ? a->reason : "nothing was tried in this box");
	else
		add_check(c, "box", FINDING_OK, "%u of %u claims held", f->claims_held, f->claims);
	if (not_contained)
		return;
	judge_handshake(c, a, f);
	add_check(c, "events", FINDING_NONE,
		"%u messages, %u tool calls, %u usage reports, %u pieces of output", f->messages,
		f->tool_calls, f->usages, f->outputs);
	if (a->outcome == OUTCOME_COMPLETED && a->graded && a->score >= 1)
		add_check(c, "echo", FINDING_OK, "the file was made");
	else if (a->outcome == OUTCOME_COMPLETED && a->graded)
		add_check(c, "echo", FINDING_FAILED,
			"it said it was done, but the file is not as asked");
	else
		add_check(c, "echo", FINDING_FAILED, "%s%s%s", outcome_name(a->outcome),
			*a->reason != '\0' ? ": " : "", a->reason);
	if (f->limits == 0)
		add_check(c, "limits", FINDING_NONE, "no limit was tried");
	else
		add_check(c, "limits", f->limits == f->limits_held ? FINDING_OK : FINDING_FAILED,
			"%u of %u limits (memory, processes) in force", f->limits_held, f->limits);
}

static void judge_cancel(struct checks *c, const struct run_attempt *a, const struct check_facts *f)
{
	char span[OUT_SPAN_SIZE];

	if (a->outcome == OUTCOME_NOT_CONTAINED)
		return;
	if (f->cancel_us == 0) {
		add_check(c, "cancel", FINDING_NONE, "not tried: it ended before, with %s",
			outcome_name(a->outcome));
		return;
	}
	if (!f->exited) {
		add_check(c, "cancel", FINDING_FAILED, "it did not stop and was killed");
		return;
	}
	out_span((f->exit_us - f->cancel_us) / 1000, span);
	add_check(c, "cancel", f->lingered ? FINDING_FAILED : FINDING_OK, "ended %s after %s%s",
		span, f->cancelled ? "run.cancel" : "the signal",
		f->lingered ? ", and had to be killed" : "");
}

/* The facts about one attempt of the store that the run wrote. */
static int read_facts(
	const char *store, const struct id *attempt, struct check_facts *ret, struct err *err)
{
	autodone(where_done) struct place p = {0};
	struct check_source source = {.fd = -1};
	autoclose int fd = -1;
	int directory, r = store_open(store, 0, &p.store, err);
	struct locked_job job = {.directory_fds = &directory,
		.directory_count = 1,
		.fn = check_read,
		.context = &source,
		.answer = &source.facts,
		.answer_bytes = sizeof(source.facts)};

	if (r == 0)
		r = show_open_events(&p, attempt, &fd, err);
	if (r < 0)
		return r;
	source.fd = fd;
	directory = store_fd(p.store);
	r = locked_run(&job, err);
	if (r < 0)
		return r;
	*ret = source.facts;
	return 0;
}

static int judge(const struct run_report *report, struct checks *c, struct err *err)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct run_attempt *a = &report->attempts[i];
		struct check_facts facts = {0};
		int r;

		if (a->state != STATE_DONE)
			continue;
		r = read_facts(report->store, &a->id, &facts, err);
		if (r < 0)
			return r;
		if (i == 0)
			judge_echo(c, a, &facts);
		else
			judge_cancel(c, a, &facts);
	}
	return 0;
}

static void print_checks(
	const struct options *o, const struct checks *c, const struct run_report *report)
{
	autodone(buf_done) struct buf out = {.max = 1024 * 1024};
	struct json_writer w;

	json_writer_init(&w, &out);
	json_object_open(&w);
	json_pair_string(
		&w, "harness", report->count > 0 ? report->attempts[0].harness : o->operands[0]);
	json_pair_string(&w, "run", report->run.text);
	json_pair_string(&w, "store", o->settings.store);
	json_key(&w, "checks");
	json_array_open(&w);
	for (size_t i = 0; i < c->count; i++) {
		autofree char *sentence = out_line(c->rows[i].sentence);

		if (!o->json)
			(void)printf("%-10s %-7s %s\n", c->rows[i].name,
				finding_words[c->rows[i].finding],
				sentence); /* out_finish() sees failure */
		json_object_open(&w);
		json_pair_string(&w, "name", c->rows[i].name);
		json_key(&w, "held");
		if (c->rows[i].finding == FINDING_NONE)
			json_put_null(&w);
		else
			json_put_bool(&w, c->rows[i].finding == FINDING_OK);
		json_pair_string(&w, "sentence", c->rows[i].sentence);
		json_object_close(&w);
	}
	json_array_close(&w);
	json_object_close(&w);
	if (o->json)
		out_json(&out);
	else if (o->settings.store != NULL)
		(void)printf("\nrun %s is recorded in %s\n", report->run.text, o->settings.store);
}

static int status_of(const struct checks *c, const struct run_report *report)
{
	int status = report->signal != 0 ? 128 + report->signal : EXIT_DONE;

	for (size_t i = 0; i < report->count; i++)
		if (report->attempts[i].state == STATE_DONE &&
			report->attempts[i].outcome == OUTCOME_NOT_CONTAINED)
			status = exit_worse(status, EXIT_ISOLATION);
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].finding == FINDING_FAILED)
			status = exit_worse(status, EXIT_GATE);
	if (report->count < 2 || report->attempts[1].state != STATE_DONE)
		status = exit_worse(status, EXIT_UNGRADED);
	return status;
}

static int check_in(const struct options *o, const char *directory)
{
	autofree char *own_store = own_printf("%s/store", directory);
	autodone(request_done) struct request request = {0};
	autodone(run_report_done) struct run_report report = {0};
	struct checks checks = {0};
	struct progress progress;
	struct err err;
	int r = check_write_tasks(directory,
		o->settings.deadline_ms > 0 ? o->settings.deadline_ms : ECHO_DEADLINE_MS, &err);

	if (r < 0)
		return out_machine_failure(o, &err, TMPDIR_HINT);
	r = request_for_check(o, directory,
		o->settings.store != NULL ? o->settings.store : own_store, &request, &err);
	if (r < 0)
		return out_failure(o, &err, request_hint(-r));
	progress_init(&progress, o->quiet);
	r = run_go(&request.run, progress_changed, &progress, &report, &err);
	progress_done(&progress);
	if (r < 0)
		return request_failure(o, &request, &err);
	if (judge(&report, &checks, &err) < 0)
		return out_machine_failure(o, &err, /* hint= */ NULL);
	print_checks(o, &checks, &report);
	return status_of(&checks, &report);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)where;
	/* a directory that was made unsearchable is opened up on the way */
	if (type == FTW_DNR && chmod(path, 0700) < 0)
		return -1;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

/* Of the store that goes: the note about it beside the key goes too. */
static void throw_away(const char *directory)
{
	autofree char *store_directory = own_printf("%s/store", directory);
	struct store *store = NULL;
	struct err err;

	if (access(store_directory, F_OK) == 0 && store_open(store_directory, 0, &store, &err) == 0)
		(void)store_forget(store, &err); /* a note too many says nothing wrong */
	store_close(store);
	if (nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0)
		(void)fprintf(stderr, "hemra: remove '%s': %s\n", directory, strerror(errno));
}

int command_check(const struct options *o)
{
	const char *temporary = getenv("TMPDIR");
	autofree char *directory = NULL;
	struct err err;
	int status;

	if (run_nursery(&err) < 0)
		return out_failure(o, &err, "hemra doctor looks at this machine");
	if (temporary == NULL || temporary[0] != '/')
		temporary = "/tmp";
	directory = own_printf("%s/hemra-check-XXXXXX", temporary);
	if (mkdtemp(directory) == NULL) {
		(void)err_set(&err, errno, "make a directory in '%s'", temporary);
		return out_machine_failure(o, &err, TMPDIR_HINT);
	}
	status = check_in(o, directory);
	throw_away(directory);
	return status;
}
