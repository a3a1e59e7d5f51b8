/* SPDX-License-Identifier: Apache-2.0 */
/* Events files as a person reads them.
 *
 * How it works: a line is parsed strictly, and the members of its data are written as key=value on
 * one line, cut where they are long. Words that stand for themselves (a state, a stream's text)
 * come first and without their key. Nothing of an agent reaches the terminal but through
 * out_add_line. */

#include "cli/event_view.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/out.h"
#include "ground/base/clock.h"
#include "ground/base/own.h"
#include "ground/terms/event.h"
#include "store/store.h"

#define LINE_MAX_BYTES (EVENT_DATA_MAX + 64 * 1024)
#define TEXT_SHOWN     400 /* of a value that is shown for itself */
#define VALUE_SHOWN    120 /* of any other */

/* Members that repeat what the line's own columns say. */
static const char *const hidden[] = {"type", "seq", "ts", "b64", NULL};
/* Members whose value says it all. */
static const char *const bare[] = {"text", "state", "outcome", "what", "which", NULL};

static bool is_one_of(const struct json_doc *d, uint32_t key, const char *const *names)
{
	for (; *names != NULL; names++)
		if (json_is(d, key, *names))
			return true;
	return false;
}

/* A string's words, a scalar's bytes, a short array or object as it stands, a long array by its
 * size. */
static void add_value(const struct json_doc *d, uint32_t value, size_t max, struct buf *out)
{
	const struct json_node *node = &d->nodes[value];
	struct str raw = json_raw(d, value);

	if (node->type == JSON_STRING) {
		autodone(buf_done) struct buf text = {.max = LINE_MAX_BYTES};

		if (json_string(d, value, &text) < 0)
			return;
		out_add_line(out, buf_text(&text), text.len, max);
	} else if (node->type == JSON_ARRAY && raw.n > max) {
		(void)buf_addf(out, "[%u]", node->count); /* failure sticks */
	} else {
		out_add_line(out, raw.p, raw.n, max);
	}
}

static void add_data(const struct json_doc *d, uint32_t data, struct buf *out)
{
	uint32_t b64 = json_get(d, data, "b64");

	if (b64 != JSON_NONE)
		(void)buf_addf(out,
			"  (%u bytes that are no text)", /* failure sticks, here and below */
			d->nodes[b64].size / 4 * 3);
	for (uint32_t key = json_first(d, data); key != JSON_NONE; key = json_next(d, data, key))
		if (is_one_of(d, key, bare)) {
			(void)buf_add_text(out, "  ");
			add_value(d, json_value_of(d, key), TEXT_SHOWN, out);
		}
	for (uint32_t key = json_first(d, data); key != JSON_NONE; key = json_next(d, data, key)) {
		struct str name = json_raw(d, key);

		if (is_one_of(d, key, bare) || is_one_of(d, key, hidden) || name.n < 2)
			continue;
		(void)buf_add_text(out, "  ");
		out_add_line(out, name.p + 1, name.n - 2, 64); /* without its quotes */
		(void)buf_add_char(out, '=');
		add_value(d, json_value_of(d, key), VALUE_SHOWN, out);
	}
}

/* The probe says much; a person wants to know what did not hold. */
static void add_probe(const struct json_doc *d, uint32_t data, struct buf *out)
{
	uint32_t claims = json_get(d, data, "claims"), held = json_get(d, data, "held");
	unsigned count = claims != JSON_NONE ? d->nodes[claims].count : 0;

	(void)buf_add_text(out, "  "); /* failure sticks, here and below */
	if (held != JSON_NONE)
		add_value(d, held, 20, out);
	(void)buf_addf(out, " of %u claims held", count);
	if (claims == JSON_NONE || d->nodes[claims].type != JSON_ARRAY)
		return;
	for (uint32_t c = json_first(d, claims); c != JSON_NONE; c = json_next(d, claims, c)) {
		uint32_t verdict = json_get(d, c, "verdict"), id = json_get(d, c, "id");

		if (verdict == JSON_NONE || id == JSON_NONE || json_is(d, verdict, "held"))
			continue;
		(void)buf_add_text(out, "  ");
		add_value(d, id, 64, out);
		(void)buf_add_char(out, '=');
		add_value(d, verdict, 20, out);
	}
}

static void add_stamp(const struct json_doc *d, uint32_t ts, unsigned flags, struct buf *out)
{
	autofree char *text = json_text(d, ts);
	struct wall when;
	time_t seconds;
	struct tm tm;

	if (text == NULL || wall_parse(text, &when) < 0) {
		(void)buf_add_text(out, "?"); /* failure sticks, here and below */
		return;
	}
	seconds = (time_t)(when.us / 1000000);
	if ((flags & EVENTS_LOCAL) == 0 || localtime_r(&seconds, &tm) == NULL)
		(void)buf_add_text(out, text);
	else
		(void)buf_addf(out, "%02d:%02d:%02d.%03d", tm.tm_hour, tm.tm_min, tm.tm_sec,
			(int)(when.us / 1000 % 1000));
}

static void add_columns(const struct json_doc *d, uint32_t seq, uint32_t ts, uint32_t type,
	unsigned flags, struct buf *out)
{
	struct str number = json_raw(d, seq);
	autofree char *name = json_text(d, type);
	autofree char *shown = out_line(name);

	(void)buf_addf(out, "%5.*s  ", (int)(number.n < 20 ? number.n : 20), number.p);
	add_stamp(d, ts, flags, out);
	(void)buf_addf(out, "  %-19s", shown); /* failure sticks */
}

static bool is_notable(const struct json_doc *d, uint32_t type)
{
	static const enum event_type plain[] = {EVENT_ATTEMPT_PLANNED, EVENT_HARNESS_HELLO,
		EVENT_HARNESS_START, EVENT_HARNESS_MESSAGE, EVENT_HARNESS_TOOL_CALL,
		EVENT_HARNESS_TOOL_RESULT, EVENT_HARNESS_USAGE, EVENT_HARNESS_OTHER,
		EVENT_HARNESS_STDERR, EVENT_HARNESS_STDOUT, EVENT_VERIFIER_OUTPUT, EVENT_ARTIFACT};

	for (size_t i = 0; i < array_count(plain); i++)
		if (json_is(d, type, event_type_name(plain[i])))
			return false;
	return true;
}

static void add_damaged(const char *line, size_t size, const char *what, struct buf *out)
{
	(void)buf_addf(out, "    ?  damaged: %s: ", what); /* failure sticks, here and below */
	out_add_line(out, line, size, VALUE_SHOWN);
	(void)buf_add_char(out, '\n');
}

void event_view_line(
	struct json_doc *d, const char *line, size_t size, unsigned flags, struct buf *out)
{
	struct json_fault fault = {0, ""};
	uint32_t seq, ts, type, data;

	if (json_parse(d, line, size, &fault) < 0) {
		add_damaged(line, size, fault.what, out);
		return;
	}
	if (d->nodes[0].type != JSON_OBJECT) {
		add_damaged(line, size, "not an event", out);
		return;
	}
	seq = json_get(d, 0, "seq");
	ts = json_get(d, 0, "ts");
	type = json_get(d, 0, "type");
	data = json_get(d, 0, "data");
	if (seq == JSON_NONE || ts == JSON_NONE || type == JSON_NONE || data == JSON_NONE ||
		d->nodes[data].type != JSON_OBJECT) {
		add_damaged(line, size, "not an event", out);
		return;
	}
	if ((flags & EVENTS_NOTABLE) != 0 && !is_notable(d, type))
		return;
	add_columns(d, seq, ts, type, flags, out);
	if (json_is(d, type, event_type_name(EVENT_PROBE_RESULT)))
		add_probe(d, data, out);
	else
		add_data(d, data, out);
	(void)buf_add_char(out, '\n');
}

/* After the end of what is there: waits for more. False: there will be none, but what came
 * meanwhile is still to be read. */
static bool wait_for_more(int until_fd)
{
	struct pollfd until = {until_fd, POLLIN, 0};

	return until_fd >= 0 && poll(&until, 1, 100) == 0;
}

/* Gives all whole lines in b to fn and drops them. Returns false when fn stops. */
static bool give_lines(struct buf *b, events_line_fn *fn, void *context)
{
	size_t used = 0;
	bool on = true;

	while (on) {
		const char *end =
			b->len > used ? memchr(b->data + used, '\n', b->len - used) : NULL;

		if (end == NULL)
			break;
		on = fn(context, b->data + used, (size_t)(end - b->data) - used);
		used = (size_t)(end - b->data) + 1;
	}
	buf_drop(b, used);
	return on;
}

int events_each(int fd, int until_fd, events_line_fn *fn, void *context, struct err *err)
{
	autodone(buf_done) struct buf b = {.max = LINE_MAX_BYTES};
	bool more = until_fd >= 0;

	for (;;) {
		size_t room =
			LINE_MAX_BYTES - b.len < 64 * 1024 ? LINE_MAX_BYTES - b.len : 64 * 1024;
		char *into = room > 0 ? buf_room(&b, room) : NULL;
		ssize_t n;

		if (into == NULL)
			return err_say(err, EMSGSIZE, "a line is longer than any event");
		n = read(fd, into, room);
		if (n < 0 && errno != EINTR)
			return err_set(err, errno, "read events");
		if (n > 0) {
			buf_grow(&b, (size_t)n);
			if (!give_lines(&b, fn, context))
				return 0;
		} else if (n == 0 && !more) {
			/* a torn tail is no line */
			return 0;
		} else if (n == 0) {
			(void)fflush(stdout); /* out_finish() reports failure */
			more = wait_for_more(until_fd);
		}
	}
}

struct printing {
	const struct events_source *source;
	struct json_doc doc;
	struct buf out;
	bool any;
};

static bool is_settled(struct json_doc *d, const char *line, size_t size)
{
	static const char word[] = "\"attempt.settled\"";

	return memmem(line, size, word, strlen(word)) != NULL &&
	       json_parse(d, line, size, /* ret_fault= */ NULL) == 0 &&
	       d->nodes[0].type == JSON_OBJECT && json_get(d, 0, "type") != JSON_NONE &&
	       json_is(d, json_get(d, 0, "type"), "attempt.settled");
}

/* An event's line as it is, if it is JSON at all; else an object that says so. */
static void add_raw(struct printing *p, const char *line, size_t size)
{
	bool in_array = (p->source->flags & EVENTS_ARRAY) != 0;

	if (in_array && p->any)
		(void)buf_add_text(&p->out, ",\n"); /* failure sticks, here and below */
	if (json_parse(&p->doc, line, size, /* ret_fault= */ NULL) == 0) {
		(void)buf_add(&p->out, line, size);
	} else {
		struct json_writer w;

		json_writer_init(&w, &p->out);
		json_object_open(&w);
		json_key(&w, "damaged");
		json_put_bytes(&w, line, size);
		json_object_close(&w);
	}
	if (!in_array)
		(void)buf_add_char(&p->out, '\n');
	p->any = true;
}

static bool print_line(void *context, const char *line, size_t size)
{
	struct printing *p = context;

	buf_reset(&p->out);
	if ((p->source->flags & EVENTS_JSON) != 0)
		add_raw(p, line, size);
	else
		event_view_line(&p->doc, line, size, p->source->flags, &p->out);
	(void)fwrite(
		buf_text(&p->out), 1, p->out.len, stdout); /* the reader's flush reports failure */
	return p->source->until_fd < 0 || !is_settled(&p->doc, line, size);
}

int events_print(void *context, struct err *err)
{
	struct events_source *source = context;
	struct printing p = {.source = source};
	int r;

	own_close(&source->close_fd);
	/* a line of bytes that are no JSON grows sixfold when it is escaped */
	buf_init(&p.out, (size_t)8 * LINE_MAX_BYTES);
	json_doc_init(&p.doc, EVENT_NODES_MAX, EVENT_DEPTH_MAX);
	r = events_each(source->fd, source->until_fd, print_line, &p, err);
	json_doc_done(&p.doc);
	buf_done(&p.out);
	return r;
}
