/* SPDX-License-Identifier: Apache-2.0 */
/* How failures, times, sizes and agents' words look. */

#include "cli/out.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/exit.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

static const struct {
	int code;
	const char *kind;
} failure_kinds[] = {
	{EINVAL, "usage"},
	{E2BIG, "usage"},
	{ERANGE, "usage"},
	{ENOENT, "not_found"},
	{ENOTDIR, "not_found"},
	{EEXIST, "ambiguous"},
	{ENOTSUP, "not_built"},
	{EPERM, "isolation"},
	{EACCES, "access"},
	{EBUSY, "busy"},
	{EWOULDBLOCK, "busy"},
};

const char *out_failure_kind(int code)
{
	for (size_t i = 0; i < array_count(failure_kinds); i++)
		if (failure_kinds[i].code == code)
			return failure_kinds[i].kind;
	return "environment";
}

static const char *machine_kind(int code)
{
	switch (code) {
	case EACCES:
	case EPERM:
		return "access";
	case EBUSY:
		return "busy";
	case ENOTSUP:
		return "not_built"; /* an index of a later hemra */
	default:
		return "environment";
	}
}

void out_say_failure(const struct err *err, const char *hint)
{
	autofree char *sentence = out_line(err->text);

	(void)fflush(stdout); /* out_finish() reports a broken standard output */
	(void)fprintf(stderr, "hemra: %s\n", sentence);
	if (hint != NULL)
		(void)fprintf(stderr, "hint: %s\n", hint);
}

void out_put_error(struct json_writer *w, const char *kind, const struct err *err, const char *hint)
{
	json_key(w, "error");
	json_object_open(w);
	json_pair_string(w, "kind", kind);
	json_pair_string(w, "message", err->text);
	json_pair_string(w, "hint", hint);
	json_object_close(w);
}

static void tell_failure(
	const struct options *o, const char *kind, const struct err *err, const char *hint)
{
	autodone(buf_done) struct buf b = {.max = 64 * 1024};
	struct json_writer w;

	out_say_failure(err, hint);
	if (!o->json)
		return;
	json_writer_init(&w, &b);
	json_object_open(&w);
	out_put_error(&w, kind, err, hint);
	json_object_close(&w);
	out_json(&b);
}

int out_failure(const struct options *o, const struct err *err, const char *hint)
{
	tell_failure(o, out_failure_kind(err->code), err, hint);
	return exit_of_error(o->verb, err->code);
}

int out_machine_failure(const struct options *o, const struct err *err, const char *hint)
{
	tell_failure(o, machine_kind(err->code), err, hint);
	return exit_of_error(o->verb, EIO);
}

bool out_is_terminal(void)
{
	return isatty(STDOUT_FILENO) == 1;
}

bool out_has_color(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return out_is_terminal() && (no_color == NULL || *no_color == '\0') &&
	       (term == NULL || strcmp(term, "dumb") != 0);
}

void out_time(struct wall t, bool local, char out[OUT_TIME_SIZE])
{
	time_t seconds = (time_t)(t.us / 1000000);
	struct tm tm;

	if (t.us == 0) {
		(void)snprintf(out, OUT_TIME_SIZE, "-");
		return;
	}
	if (!local) {
		wall_format(t, out);
		return;
	}
	if (localtime_r(&seconds, &tm) == NULL ||
		strftime(out, OUT_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(out, OUT_TIME_SIZE, "?");
}

void out_span(int64_t ms, char out[OUT_SPAN_SIZE])
{
	if (ms < 0)
		(void)snprintf(out, OUT_SPAN_SIZE, "-");
	else if (ms < 1000)
		(void)snprintf(out, OUT_SPAN_SIZE, "%" PRId64 "ms", ms);
	else if (ms < 60000)
		(void)snprintf(
			out, OUT_SPAN_SIZE, "%" PRId64 ".%" PRId64 "s", ms / 1000, ms % 1000 / 100);
	else if (ms < 3600000)
		(void)snprintf(out, OUT_SPAN_SIZE, "%" PRId64 "m%02" PRId64 "s", ms / 60000,
			ms / 1000 % 60);
	else
		(void)snprintf(out, OUT_SPAN_SIZE, "%" PRId64 "h%02" PRId64 "m", ms / 3600000,
			ms / 60000 % 60);
}

void out_bytes(uint64_t bytes, char out[OUT_BYTES_SIZE])
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	while (value >= 1023.5 && unit < 5) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		(void)snprintf(out, OUT_BYTES_SIZE, "%" PRIu64, bytes);
	else
		(void)snprintf(out, OUT_BYTES_SIZE, value < 9.95 ? "%.1f%c" : "%.0f%c", value,
			units[unit]);
}

void out_add_line(struct buf *b, const char *text, size_t size, size_t max)
{
	size_t shown = size;

	if (size > max) {
		/* not in the middle of a character */
		shown = max - str_utf8_cut(text, max);
	}
	for (size_t at = 0; at < shown;) {
		const char *p = text + at;
		size_t run = 0;

		while (at + run < shown && p[run] != '\n' && p[run] != '\t')
			run++;
		str_add_visible(b, p, run, /* keep_lines= */ false);
		at += run;
		if (at < shown)
			(void)buf_add_text(
				b, text[at++] == '\n' ? "\\n" : "\\t"); /* failure sticks */
	}
	if (shown < size)
		(void)buf_addf(b, " (+%zu bytes)", size - shown); /* failure sticks */
}

char *out_line(const char *text)
{
	autodone(buf_done) struct buf b = {.max = 1024 * 1024};

	if (text != NULL)
		out_add_line(&b, text, strlen(text), 64 * 1024);
	return own_strdup(buf_text(&b));
}

void out_json(struct buf *b)
{
	if (buf_status(b) < 0)
		abort();                          /* the maxima here are ours: memory is gone */
	(void)fwrite(b->data, 1, b->len, stdout); /* out_finish() sees failure */
	(void)fputc('\n', stdout);
}

bool out_finish(void)
{
	errno = EIO; /* of an earlier write that failed nothing else is known */
	return fflush(stdout) == 0 && ferror(stdout) == 0;
}

void out_reader_gone(void)
{
	sigset_t pipe;

	(void)signal(SIGPIPE, SIG_DFL); /* cannot fail, as all of this */
	(void)sigemptyset(&pipe);
	(void)sigaddset(&pipe, SIGPIPE);
	(void)sigprocmask(SIG_UNBLOCK, &pipe, NULL);
	(void)raise(SIGPIPE);
	_exit(128 + SIGPIPE);
}
