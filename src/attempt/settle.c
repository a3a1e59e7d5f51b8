/* SPDX-License-Identifier: Apache-2.0 */
/* Settle: the last line of the record, and the word to the engine that seals it. */

#include "attempt/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/files.h"
#include "ground/wire/json.h"

/* hemra exec ends with the command's own status; 124 to 127 are hemra's. */
static int exec_status(const struct attempt *a)
{
	if (a->exec_status >= 0)
		return a->exec_status;
	if (a->outcome == OUTCOME_AGENT_TIMEOUT)
		return 124;
	if (!a->box_exited)
		return 125;
	if (WIFSIGNALED(a->wait_status))
		return 128 + WTERMSIG(a->wait_status);
	return WEXITSTATUS(a->wait_status);
}

/* How often values of this name were replaced: a name has one value here and another in the grader's
 * box when a secret and the environment both have it. 0 when an earlier one has the same name. */
static uint64_t redactions_of(const struct attempt *a, size_t which)
{
	const char *name = needle_secret_name(a->needle, which);
	uint64_t count = 0;

	for (size_t i = 0; i < needle_secret_count(a->needle); i++) {
		if (strcmp(needle_secret_name(a->needle, i), name) != 0)
			continue;
		if (i < which)
			return 0;
		count += a->redactions[i];
	}
	return count;
}

/* Secrets that lay across two events, or across what a pause had already given up of a stream. */
static uint64_t splits_of(const struct attempt *a)
{
	uint64_t splits = a->splits;

	for (size_t i = 0; i < STREAM_COUNT; i++)
		if (a->streams[i].needle != NULL)
			splits += needle_stream_splits(a->streams[i].needle);
	return splits;
}

static void record_redactions(struct attempt *a)
{
	uint64_t splits = splits_of(a), total = splits;
	struct json_writer w;
	struct buf out;

	if (a->needle == NULL)
		return;
	for (size_t i = 0; i < needle_secret_count(a->needle); i++)
		total += a->redactions[i];
	if (total == 0)
		return;
	buf_init(&out, 256 * 1024);
	json_writer_init(&w, &out);
	json_object_open(&w);
	json_key(&w, "counts");
	json_object_open(&w);
	for (size_t i = 0; i < needle_secret_count(a->needle); i++) {
		uint64_t count = redactions_of(a, i);

		if (count > 0)
			json_pair_uint(&w, needle_secret_name(a->needle, i), count);
	}
	json_object_close(&w);
	json_pair_uint(&w, "split", splits);
	json_object_close(&w);
	note_plain(a, EVENT_REDACTED, buf_text(&out), out.len);
	buf_done(&out);
}

static void record_streams(struct attempt *a)
{
	const struct msg_done *d = &a->done;
	const struct {
		const char *key;
		uint64_t bytes;
		const uint8_t *digest;
	} streams[] = {{"stdin", d->stdin_bytes, d->stdin_sha256},
		{"stdout", d->stdout_bytes, d->stdout_sha256},
		{"stderr", d->stderr_bytes, d->stderr_sha256}};
	struct json_writer w;
	struct buf out;

	if (!attempt_is_exec(a) || !a->box_running)
		return;
	buf_init(&out, 4096);
	json_writer_init(&w, &out);
	json_object_open(&w);
	for (size_t i = 0; i < array_count(streams); i++) {
		char hex[65];

		str_hex(streams[i].digest, 32, hex);
		json_key(&w, streams[i].key);
		json_object_open(&w);
		json_pair_uint(&w, "bytes", streams[i].bytes);
		json_pair_string(&w, "sha256", hex);
		json_object_close(&w);
	}
	json_object_close(&w);
	note_event(a, EVENT_EXEC_STREAMS, buf_text(&out), out.len);
	buf_done(&out);
}

static void record_settled(struct attempt *a, int64_t duration_ms)
{
	struct index_attempt row = {.outcome = a->outcome,
		.reason = a->reason,
		.graded = a->graded,
		.score = a->score,
		.usage = a->done.usage,
		.duration_ms = duration_ms,
		.weaker = a->plan.sandbox.weaker};
	struct buf out;

	buf_init(&out, 64 * 1024);
	event_encode_settled(&row, &out);
	note_plain(a, EVENT_ATTEMPT_SETTLED, buf_text(&out), out.len);
	buf_done(&out);
}

static bool keeps_work(const struct attempt *a)
{
	if (a->plan.keep == KEEP_ALL)
		return true;
	if (a->plan.keep == KEEP_NONE || attempt_is_exec(a))
		return false;
	return a->outcome != OUTCOME_COMPLETED || (a->graded && a->score < 1);
}

static void remove_work(struct attempt *a)
{
	autofree char *parent = NULL;
	autoclose int fd = -1;
	char *slash;

	if (a->plan.work == NULL || keeps_work(a))
		return;
	parent = own_strdup(a->plan.work);
	slash = strrchr(parent, '/');
	if (slash == NULL)
		return;
	*slash = '\0';
	fd = open(parent[0] != '\0' ? parent : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || file_remove_tree(fd, slash + 1) < 0)
		log_debug(
			"a work directory could not be removed whole"); /* gc and reap look again */
}

int attempt_settle(struct attempt *a)
{
	struct msg m = {.type = MSG_SETTLED, .length = sizeof(struct msg_settled)};
	struct msg_settled settled = {.duration_ms = mono_ms_between(a->started, mono_now())};
	struct event_head head;
	struct err err = {0};
	bool recorded;

	a->state = STATE_DONE;
	if (!a->warden_done || (a->done.outcome == 0 && !a->box_running))
		a->done.usage = (struct usage){-1, -1, -1, -1, -1, -1};
	note_finish_streams(a);
	record_redactions(a);
	record_streams(a);
	note_redact(
		a, a->reason, sizeof(a->reason)); /* the row tells the same words as the event */
	record_settled(a, settled.duration_ms);
	recorded = event_log_sync(a->log, &err) == 0 && !a->record_failed;
	if (a->store != NULL && recorded && store_sync_directories(a->store, &err) < 0)
		recorded = false;
	if (!recorded)
		attempt_fail(a, OUTCOME_INFRA_ENVIRONMENT, "%s", err.text);
	remove_work(a);
	event_log_head(a->log, &head);
	(void)memcpy(settled.head, head.hash, sizeof(settled.head));
	settled.score = a->score;
	settled.usage = a->done.usage;
	settled.settled_us = event_log_at(a->log).us;
	settled.artifact_bytes = a->artifact_bytes;
	settled.exit_status = exec_status(a);
	settled.unexpected = a->unexpected;
	(void)snprintf(settled.reason, sizeof(settled.reason), "%s", a->reason);
	(void)memcpy(settled.planted, a->planted, sizeof(settled.planted));
	m.value[0] = a->outcome;
	m.value[1] = head.count;
	m.value[2] = head.bytes;
	m.value[3] = (a->graded ? SETTLED_GRADED : 0) |
		     (a->store != NULL && recorded ? SETTLED_SEAL : 0);
	wire_to_engine(a, &m, &settled);
	return 0;
}
