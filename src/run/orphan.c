/* SPDX-License-Identifier: Apache-2.0 */
/* Orphans: attempts whose steward is gone are brought to their end from the record.
 *
 * The events are the record, so everything else is made to agree with them: an attempt without a
 * last line gets one, a head that is not sealed is sealed, and the rows that a dead engine did not
 * write are derived again. What agents wrote is read by locked children. */

#include "run/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/lockdown.h"

#define LINE_MAX_BYTES 65536 /* a settled line of ours is far shorter */

/* Runs in the child; a negative result is its failure. */
typedef int child_fn(void *context, int out, struct err *err);

/* Forks a child that can only read beneath the store. *ret_in is where it writes to. */
static int start_child(struct store *store, child_fn *fn, void *context, int *ret_in,
	pid_t *ret_pid, struct err *err)
{
	int directory = store_fd(store), ends[2];
	struct err failure = {0};

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a reader's pipe");
	*ret_pid = fork();
	if (*ret_pid == 0) {
		(void)close(ends[0]);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, "hemra-reader");
		(void)signal(SIGPIPE, SIG_DFL);
		if (lockdown_reader(&directory, 1, /* flags= */ 0, &failure) < 0)
			_exit(1);
		_exit(fn(context, ends[1], &failure) < 0 ? 1 : 0);
	}
	(void)close(ends[1]);
	if (*ret_pid < 0) {
		(void)close(ends[0]);
		return err_set(err, errno, "fork a reader");
	}
	*ret_in = ends[0];
	return 0;
}

static bool end_child(pid_t pid, int *in)
{
	int status = 0;

	own_close(in); /* a child that still writes ends */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

/* ---- the last word ----------------------------------------------------------------------------- */

struct word_job {
	struct store *store;
	const struct id *attempt;
	struct last_word word;
};

static int take_planned(void *context, const struct index_attempt *a)
{
	struct last_word *w = context;

	w->planned = 1;
	w->run = a->run;
	w->local = strcmp(a->sandbox, "local") == 0;
	return 0;
}

static int take_settled(void *context, const struct index_attempt *a)
{
	struct last_word *w = context;

	w->settled = 1;
	w->outcome = (uint32_t)a->outcome;
	w->graded = a->graded;
	w->score = a->score;
	w->duration_ms = a->duration_ms;
	w->usage = a->usage;
	(void)snprintf(w->reason, sizeof(w->reason), "%s", a->reason != NULL ? a->reason : "");
	return 0;
}

static int read_word(void *context, int out, struct err *err)
{
	struct word_job *job = context;
	const struct index_sink sink = {
		.context = &job->word, .planned = take_planned, .settled = take_settled};
	int r = store_derive(job->store, job->attempt, &sink, err);

	if (r == 0 && write(out, &job->word, sizeof(job->word)) != sizeof(job->word))
		r = err_set(err, EIO, "hand on the last word");
	return r;
}

int orphan_read(
	const struct books *b, const struct id *attempt, struct last_word *ret, struct err *err)
{
	struct word_job job = {.store = b->store, .attempt = attempt};
	struct last_word word = {0};
	ssize_t n;
	pid_t pid;
	int in;

	if (start_child(b->store, read_word, &job, &in, &pid, err) < 0)
		return -err->code;
	n = read(in, &word, sizeof(word)); /* less than a pipe holds: it comes whole */
	if (!end_child(pid, &in) || n != sizeof(word) || word.outcome >= OUTCOME_COUNT ||
		memchr(word.run.text, '\0', sizeof(word.run.text)) == NULL)
		return err_say(
			err, EBADMSG, "the events of attempt %s cannot be read", attempt->text);
	word.reason[sizeof(word.reason) - 1] = '\0';
	*ret = word;
	return 0;
}

/* ---- the end ------------------------------------------------------------------------------------ */

static int write_last_line(struct event_log *log, struct last_word *word, enum outcome outcome,
	const char *reason, struct err *err)
{
	struct index_attempt row = {
		.outcome = outcome, .reason = reason, .usage = {-1, -1, -1, -1, -1, -1}};
	autodone(buf_done) struct buf data;

	buf_init(&data, LINE_MAX_BYTES);
	event_encode_settled(&row, &data);
	word->outcome = (uint32_t)outcome;
	word->usage = row.usage;
	(void)snprintf(word->reason, sizeof(word->reason), "%s", reason);
	return event_log_append(log, EVENT_ATTEMPT_SETTLED, buf_text(&data), data.len, err);
}

int orphan_settle(const struct books *b, const struct id *attempt, enum outcome outcome,
	const char *reason, struct last_word *ret, struct err *err)
{
	struct event_log *log = NULL;
	struct event_head head;
	int r = event_log_claim(b->store, attempt, &log, err);

	if (r < 0)
		return r;
	r = orphan_read(b, attempt, ret, err);
	if (r == 0 && ret->settled == 0)
		r = write_last_line(log, ret, outcome, reason, err);
	if (r == 0)
		r = event_log_sync(log, err);
	event_log_head(log, &head);
	if (r == 0)
		r = store_is_sealed(b->store, attempt, &head, err);
	if (r == 0)
		r = store_seal(b->store, b->key, attempt, &head, ret->local != 0, err);
	event_log_close(log);
	return r < 0 ? r : 0;
}

/* ---- rows --------------------------------------------------------------------------------------- */

struct rows_job {
	struct store *store;
	const struct id *attempts;
	size_t count;
};

static int send_rows(void *context, int out, struct err *err)
{
	const struct rows_job *job = context;
	static const struct id none;
	struct index_sink whole, sink;
	int r;

	index_pipe_sink(&out, &whole);
	sink = (struct index_sink){.context = whole.context, .run = whole.run};
	r = store_derive(job->store, &none, &sink, err);
	sink = whole;
	sink.run = NULL;
	for (size_t i = 0; i < job->count && r == 0; i++)
		r = store_derive(job->store, &job->attempts[i], &sink, err);
	return r < 0 ? r : index_pipe_end(out, err);
}

int orphan_rows(const struct books *b, const struct id *attempts, size_t count, struct err *err)
{
	struct rows_job job = {b->store, attempts, count};
	bool read_well;
	pid_t pid;
	int in, r;

	if (start_child(b->store, send_rows, &job, &in, &pid, err) < 0)
		return -err->code;
	r = index_complete_from(b->index, in, err);
	read_well = end_child(pid, &in);
	return r == 0 && !read_well ? err_say(err, EBADMSG, "the record cannot be read") : r;
}
