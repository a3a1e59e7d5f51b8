/* SPDX-License-Identifier: Apache-2.0 */
/* The redaction stage: everything that enters the record passes here.
 *
 * Events are JSON objects and are redacted one by one; a secret that lies across two of them is
 * counted by the seam and reported, because what is written is never unwritten. Raw streams
 * (standard error, a command's output) are redacted as streams: what may be the beginning of a
 * secret is held back for at most 200 ms. Lines gather in the log and are written at the end of each
 * round of the loop, at once for decisions, and synced every second. */

#include "attempt/state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "ground/base/own.h"
#include "ground/wire/json.h"

#define HOLD_MS      200
#define SYNC_MS      1000
#define GATHER_BYTES (1024 * 1024)

/* The record cannot take more: the attempt ends, what was written stays. */
static void note_broke(struct attempt *a, const struct err *err)
{
	if (a->record_failed)
		return;
	a->record_failed = true;
	attempt_fail(a, OUTCOME_INFRA_ENVIRONMENT, "%s", err->text);
	supervise_kill(a);
}

void note_flush(struct attempt *a)
{
	struct err err = {0};

	if (a->log != NULL && !a->record_failed && event_log_flush(a->log, &err) < 0)
		note_broke(a, &err);
}

static void append(struct attempt *a, enum event_type type, const char *data, size_t size)
{
	struct err err = {0};

	if (a->record_failed || a->log == NULL)
		return;
	if (event_log_append(a->log, type, data, size, &err) < 0)
		note_broke(a, &err);
	else if (event_log_pending(a->log) > GATHER_BYTES)
		note_flush(a);
}

void note_plain(struct attempt *a, enum event_type type, const char *data, size_t size)
{
	append(a, type, data, size);
}

void note_event(struct attempt *a, enum event_type type, const char *data, size_t size)
{
	if (a->needle != NULL && needle_secret_count(a->needle) > 0) {
		a->splits += needle_seam_feed(a->seam, data, size);
		buf_reset(&a->scratch);
		if (needle_redact_json(a->needle, data, size, &a->scratch, a->redactions) < 0) {
			note_eventf(a, EVENT_LOSS,
				"{\"what\":\"an event grew too long by redaction\"}");
			return;
		}
		data = buf_text(&a->scratch);
		size = a->scratch.len;
	}
	append(a, type, data, size);
}

void note_redact(struct attempt *a, char *text, size_t room)
{
	if (a->needle == NULL || needle_secret_count(a->needle) == 0)
		return;
	buf_reset(&a->scratch);
	if (needle_redact(a->needle, text, strlen(text), &a->scratch, NULL) <= 0)
		return;
	(void)snprintf(text, room, "%s", buf_text(&a->scratch));
}

static void note_vformat(struct attempt *a, enum event_type type, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static void note_vformat(struct attempt *a, enum event_type type, const char *format, va_list args)
{
	char *text = NULL;
	int n = vasprintf(&text, format, args);

	if (n < 0)
		abort();
	note_event(a, type, text, (size_t)n);
	free(text);
}

void note_eventf(struct attempt *a, enum event_type type, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_vformat(a, type, format, args);
	va_end(args);
}

void note_decision(struct attempt *a, enum event_type type, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_vformat(a, type, format, args);
	va_end(args);
	note_flush(a);
}

/* Puts what is in scratch into the record as one event. */
static void append_wrapped(struct attempt *a, enum event_type type)
{
	if (a->scratch.len == 0)
		return;
	buf_reset(&a->wrapped);
	json_put_wrapped(&a->wrapped, a->scratch.data, a->scratch.len);
	append(a, type, buf_text(&a->wrapped), a->wrapped.len);
}

static void give_up_hold(void *context)
{
	struct record_stream *s = context;
	struct attempt *a = s->attempt;

	buf_reset(&a->scratch);
	(void)needle_stream_flush(
		s->needle, &a->scratch, a->redactions); /* at most what was held */
	append_wrapped(a, s->type);
}

static struct record_stream *stream_of(struct attempt *a, enum event_type type)
{
	size_t i = 0;

	while (a->streams[i].attempt != NULL && a->streams[i].type != type) {
		i++;
		if (i == STREAM_COUNT)
			abort(); /* a fourth stream type: our bug */
	}
	if (a->streams[i].attempt == NULL) {
		a->streams[i] = (struct record_stream){.type = type, .attempt = a};
		if (a->needle != NULL && needle_secret_count(a->needle) > 0) {
			a->streams[i].needle = needle_stream_new(a->needle);
			a->streams[i].hold = loop_timer_new(a->loop, give_up_hold, &a->streams[i]);
		}
	}
	return &a->streams[i];
}

void note_bytes(struct attempt *a, enum event_type type, const void *bytes, size_t size)
{
	struct record_stream *s = stream_of(a, type);

	buf_reset(&a->scratch);
	if (s->needle == NULL) {
		(void)buf_add(
			&a->scratch, bytes, size); /* one payload, which scratch has room for */
	} else {
		(void)needle_stream_write(s->needle, bytes, size, &a->scratch, a->redactions);
		if (needle_stream_held(s->needle) > 0 && !loop_timer_is_armed(s->hold))
			loop_timer_arm(s->hold, HOLD_MS);
		else if (needle_stream_held(s->needle) == 0)
			loop_timer_disarm(s->hold);
	}
	append_wrapped(a, type);
}

void note_finish_streams(struct attempt *a)
{
	for (size_t i = 0; i < STREAM_COUNT; i++) {
		struct record_stream *s = &a->streams[i];

		if (s->needle == NULL)
			continue;
		loop_timer_disarm(s->hold);
		give_up_hold(s);
	}
}

static void handle_round(void *context)
{
	struct attempt *a = context;

	if (a->log != NULL && event_log_pending(a->log) > 0)
		note_flush(a);
}

static void handle_sync(void *context)
{
	struct attempt *a = context;
	struct err err = {0};

	loop_timer_arm(a->sync_timer, SYNC_MS);
	if (a->record_failed || a->log == NULL)
		return;
	if (event_log_sync(a->log, &err) < 0)
		note_broke(a, &err);
}

int note_open(struct attempt *a, int events_fd, struct err *err)
{
	uint8_t digest[32];
	struct buf manifest;
	int r;

	buf_init(&manifest, 16 * 1024 * 1024);
	r = manifest_encode(&a->plan, &manifest, digest);
	buf_done(&manifest);
	if (r < 0)
		return err_set(err, -r, "encode the manifest");
	buf_init(&a->scratch, EVENT_DATA_MAX);
	buf_init(&a->wrapped, 4 * EVENT_DATA_MAX);
	if (events_fd < 0) {
		a->log = event_log_memory(&a->plan.attempt, digest);
		return 0;
	}
	if (event_log_adopt(events_fd, &a->plan.attempt, digest, &a->log, err) < 0)
		return err_add(err, "take over the events of %s", a->plan.attempt.text);
	if (store_open(a->plan.store, /* flags= */ 0, &a->store, err) < 0)
		return -err->code;
	a->sync_timer = loop_timer_new(a->loop, handle_sync, a);
	loop_timer_arm(a->sync_timer, SYNC_MS);
	loop_on_round(a->loop, handle_round, a);
	return 0;
}

void note_close(struct attempt *a)
{
	for (size_t i = 0; i < STREAM_COUNT; i++) {
		needle_stream_free(a->streams[i].needle);
		a->streams[i].needle = NULL;
	}
	needle_seam_free(a->seam);
	needle_free(a->needle);
	event_log_close(a->log);
	store_close(a->store);
	buf_done(&a->scratch);
	buf_done(&a->wrapped);
	free(a->redactions);
	a->log = NULL;
	a->store = NULL;
	a->needle = NULL;
	a->seam = NULL;
	a->redactions = NULL;
}
