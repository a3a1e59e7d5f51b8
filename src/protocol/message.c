/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a harness's: is it allowed now, what does it mean, what is kept of it.
 *
 * Everything a harness says is in the record before hemra acts on it, in the bytes it came in. JSON
 * allows tabs and carriage returns between its tokens, the record allows no byte below 0x20: such
 * whitespace around the object is dropped, and a line that has it inside is kept as text. */

#include <errno.h>
#include <float.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/loop/loop.h"
#include "protocol/program.h"
#include "protocol/session.h"

/* The largest integer that every JSON reader holds exactly. */
#define INTEGER_MAX (INT64_C(1) << 53)

/* Of a line kept as text; escaping doubles it at most, and an event holds a little over 1 MiB. */
#define TEXT_PART_BYTES (480 * 1024)

#define SAMPLE_BYTES 64 /* on each side of what is wrong */

/* An id or option longer than this, quotes included, is none. */
#define NAME_BYTES_MAX 256

struct line {
	const char *bytes;
	size_t size;
	uint64_t offset; /* of its first byte in standard output */
};

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void program_fault_event(struct program *p, const char *line, size_t size, size_t at,
	uint64_t offset, const char *what)
{
	size_t from = at > SAMPLE_BYTES ? at - SAMPLE_BYTES : 0;
	size_t to = size - at > SAMPLE_BYTES ? at + SAMPLE_BYTES : size;
	struct json_writer w;
	struct buf data;

	while (from > 0 && from < at && is_continuation(line[from]))
		from++;
	to -= to < size ? str_utf8_cut(line + from, to - from) : 0;
	buf_init(&data, 4096);
	json_writer_init(&w, &data);
	json_object_open(&w);
	json_pair_string(&w, "what", what);
	json_pair_uint(&w, "offset", offset + at);
	json_key(&w, "sample");
	json_put_wrapped(&data, line + from, to - from);
	w.comma = true;
	json_object_close(&w);
	session_event_consume(p->session, EVENT_PROTOCOL_ERROR, &data);
}

void program_fault(struct program *p, const char *line, size_t size, size_t at, uint64_t offset,
	const char *what)
{
	if (p->session->broken)
		return;
	program_fault_event(p, line, size, at, offset, what);
	session_break(p->session, OUTCOME_PROTOCOL_ERROR, offset + at, what);
}

/* At a value of the line in doc; JSON_NONE means the line as a whole. Returns -1. */
static int fault_at(struct program *p, const struct line *line, uint32_t node, const char *what)
{
	size_t at = node != JSON_NONE ? p->doc.nodes[node].at : 0;

	program_fault(p, line->bytes, line->size, at, line->offset, what);
	return -1;
}

static void keep_as_text(struct program *p, enum event_type type, const struct line *line)
{
	struct session *s = p->session;
	unsigned parts = (unsigned)((line->size + TEXT_PART_BYTES - 1) / TEXT_PART_BYTES);
	size_t from = 0;

	for (unsigned part = 1; part <= parts; part++) {
		size_t n =
			line->size - from < TEXT_PART_BYTES ? line->size - from : TEXT_PART_BYTES;
		struct json_writer w;

		n -= from + n < line->size ? str_utf8_cut(line->bytes + from, n) : 0;
		buf_reset(&p->scratch);
		json_writer_init(&w, &p->scratch);
		json_object_open(&w);
		json_key(&w, "text");
		json_put_bytes(&w, line->bytes + from, n);
		if (parts > 1) {
			json_pair_uint(&w, "part", part);
			json_pair_uint(&w, "parts", parts);
		}
		json_object_close(&w);
		s->hooks.event(s->context, type, p->scratch.data, p->scratch.len);
		from += n;
	}
}

static void keep_line(struct program *p, enum event_type type, const struct line *line)
{
	struct session *s = p->session;

	/* in a line that was parsed no other byte below 0x20 is left */
	if (memchr(line->bytes, '\t', line->size) != NULL ||
		memchr(line->bytes, '\r', line->size) != NULL)
		keep_as_text(p, type, line);
	else
		s->hooks.event(s->context, type, line->bytes, line->size);
}

/* Usage */

static const struct {
	const char *name;
	size_t at;
} token_fields[] = {
	{"input", offsetof(struct usage, input)},
	{"output", offsetof(struct usage, output)},
	{"cache_read", offsetof(struct usage, cache_read)},
	{"cache_write", offsetof(struct usage, cache_write)},
	{"reasoning", offsetof(struct usage, reasoning)},
};

static bool is_null(const struct program *p, uint32_t node)
{
	return node == JSON_NONE || p->doc.nodes[node].type == JSON_NULL;
}

static int64_t capped_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Events add up; the total in result, field by field, is the last word. */
static int take_usage(struct program *p, const struct line *line, uint32_t object, bool is_total)
{
	double cost = 0, *sum = &p->usage.cost_usd;
	uint32_t node;

	for (size_t i = 0; i < array_count(token_fields); i++) {
		int64_t value, *total = (int64_t *)((char *)&p->usage + token_fields[i].at);

		node = json_get(&p->doc, object, token_fields[i].name);
		if (is_null(p, node))
			continue;
		if (json_int64(&p->doc, node, &value) < 0 || value < 0 || value > INTEGER_MAX)
			return fault_at(p, line, node,
				"a number of tokens is not an integer from 0 to 2^53");
		*total = is_total || *total < 0 ? value : capped_sum(*total, value);
	}
	node = json_get(&p->doc, object, "cost_usd");
	if (is_null(p, node))
		return 0;
	if (json_double(&p->doc, node, &cost) < 0 || cost < 0)
		return fault_at(p, line, node, "cost_usd is not a number from 0 upward");
	*sum = is_total || *sum < 0 ? cost : *sum + cost;
	if (*sum > DBL_MAX)
		*sum = DBL_MAX;
	return 0;
}

/* Messages. Each returns 0, or -1 when it broke the protocol, which is then said already. */

static int on_ready(struct program *p, const struct line *line)
{
	uint32_t node = json_get(&p->doc, 0, "protocol");
	struct session *s = p->session;

	if (p->phase != PROGRAM_HANDSHAKE)
		return fault_at(p, line, JSON_NONE, "a second ready");
	if (node == JSON_NONE || p->doc.nodes[node].type != JSON_STRING)
		return fault_at(p, line, node, "ready does not name its protocol");
	keep_line(p, EVENT_HARNESS_READY, line);
	if (!json_is(&p->doc, node, "hemra/1")) {
		session_break(s, OUTCOME_HANDSHAKE_FAILED, line->offset + p->doc.nodes[node].at,
			"it speaks another protocol than hemra/1");
		return -1;
	}
	p->phase = PROGRAM_WORKING;
	loop_timer_disarm(p->timer);
	s->hooks.ready(s->context);
	if (s->cancel_asked)
		say_cancel(p);
	else
		say_start(p);
	free(p->start);
	p->start = NULL;
	return 0;
}

static const struct {
	const char *kind;
	enum event_type type;
} kinds[] = {
	{"message", EVENT_HARNESS_MESSAGE},
	{"tool.call", EVENT_HARNESS_TOOL_CALL},
	{"tool.result", EVENT_HARNESS_TOOL_RESULT},
	{"thought", EVENT_HARNESS_MESSAGE},
	{"usage", EVENT_HARNESS_USAGE},
};

static int on_event(struct program *p, const struct line *line)
{
	uint32_t kind = json_get(&p->doc, 0, "kind"), seq = json_get(&p->doc, 0, "seq");
	enum event_type type = EVENT_HARNESS_OTHER;
	int64_t number;

	if (seq == JSON_NONE || json_int64(&p->doc, seq, &number) < 0)
		return fault_at(p, line, seq, "an event without an integer seq");
	if (number != p->seq + 1)
		return fault_at(p, line, seq, "seq does not follow the one before it");
	if (kind == JSON_NONE || p->doc.nodes[kind].type != JSON_STRING)
		return fault_at(p, line, kind, "an event without a kind");
	for (size_t i = 0; i < array_count(kinds) && type == EVENT_HARNESS_OTHER; i++)
		if (json_is(&p->doc, kind, kinds[i].kind))
			type = kinds[i].type;
	if (type == EVENT_HARNESS_USAGE && take_usage(p, line, 0, /* is_total= */ false) < 0)
		return -1;
	p->seq = number;
	keep_line(p, type, line);
	return 0;
}

/* The name of an option: a string, or an object's "id" or "name". */
static uint32_t option_name(const struct program *p, uint32_t option)
{
	uint32_t id;

	if (p->doc.nodes[option].type != JSON_OBJECT)
		return option;
	id = json_get(&p->doc, option, "id");
	return id != JSON_NONE ? id : json_get(&p->doc, option, "name");
}

static bool is_rejection(const struct program *p, uint32_t name)
{
	static const char *const words[] = {"\"deny", "\"reject", "\"refuse"};
	struct str raw = json_raw(&p->doc, name);

	if (name == JSON_NONE || p->doc.nodes[name].type != JSON_STRING || raw.n > NAME_BYTES_MAX)
		return false;
	for (size_t i = 0; i < array_count(words); i++)
		if (raw.n > strlen(words[i]) && memcmp(raw.p, words[i], strlen(words[i])) == 0)
			return true;
	return json_is(&p->doc, name, "no");
}

/* The policy of this version: no. */
static int on_permission_request(struct program *p, const struct line *line)
{
	uint32_t id = json_get(&p->doc, 0, "id"), options = json_get(&p->doc, 0, "options");
	struct str option = STR("\"deny\"");

	if (id == JSON_NONE || p->doc.nodes[id].type != JSON_STRING ||
		p->doc.nodes[id].size > NAME_BYTES_MAX)
		return fault_at(p, line, id, "a permission.request without a short string as id");
	keep_line(p, EVENT_HARNESS_OTHER, line);
	if (options != JSON_NONE && p->doc.nodes[options].type == JSON_ARRAY)
		for (uint32_t n = json_first(&p->doc, options); n != JSON_NONE;
			n = json_next(&p->doc, options, n))
			if (is_rejection(p, option_name(p, n))) {
				option = json_raw(&p->doc, option_name(p, n));
				break;
			}
	say_permission(p, json_raw(&p->doc, id), option);
	return 0;
}

static int on_artifact(struct program *p, const struct line *line)
{
	struct session *s = p->session;
	uint32_t node = json_get(&p->doc, 0, "path");
	struct buf path;

	buf_init(&path, PROTOCOL_LINE_BYTES_MAX);
	if (node == JSON_NONE || json_string(&p->doc, node, &path) < 0 || path.len == 0) {
		buf_done(&path);
		return fault_at(p, line, node, "an artifact without a path");
	}
	keep_line(p, EVENT_HARNESS_OTHER, line);
	s->hooks.artifact(s->context, path.data, path.len);
	buf_done(&path);
	return 0;
}

static bool is_auth_required(const struct program *p)
{
	uint32_t error = json_get(&p->doc, 0, "error");

	if (error != JSON_NONE && p->doc.nodes[error].type == JSON_OBJECT)
		error = json_get(&p->doc, error, "code");
	return json_is(&p->doc, error, "auth_required");
}

static int on_result(struct program *p, const struct line *line)
{
	static const struct {
		const char *status;
		enum outcome outcome;
	} words[] = {
		{"completed", OUTCOME_COMPLETED},
		{"refused", OUTCOME_REFUSED},
		{"error", OUTCOME_AGENT_ERROR},
		{"limit", OUTCOME_AGENT_ERROR},
		{"cancelled", OUTCOME_CANCELLED},
	};
	struct session *s = p->session;
	uint32_t status = json_get(&p->doc, 0, "status"), usage = json_get(&p->doc, 0, "usage");
	enum outcome word = OUTCOME_COUNT;

	for (size_t i = 0; i < array_count(words); i++)
		if (json_is(&p->doc, status, words[i].status))
			word = words[i].outcome;
	if (word == OUTCOME_COUNT)
		return fault_at(p, line, status, "a result without a status of hemra/1");
	if (!is_null(p, usage) && p->doc.nodes[usage].type != JSON_OBJECT)
		return fault_at(p, line, usage, "usage is not an object");
	if (!is_null(p, usage) && take_usage(p, line, usage, /* is_total= */ true) < 0)
		return -1;
	if (word == OUTCOME_CANCELLED) /* only when we asked, and then by what we asked for */
		word = s->cancel_asked ? session_cancelled_outcome(s) : OUTCOME_AGENT_ERROR;
	p->word = word;
	p->needs_sign_in = is_auth_required(p);
	p->phase = PROGRAM_FINISHED;
	keep_line(p, EVENT_HARNESS_RESULT, line);
	s->hooks.result(s->context, word);
	return 0;
}

static int on_ping(struct program *p, const struct line *line)
{
	keep_line(p, EVENT_HARNESS_OTHER, line);
	say_pong(p);
	return 0;
}

/* pong, and error: an answer is not answered. */
static int on_answer(struct program *p, const struct line *line)
{
	keep_line(p, EVENT_HARNESS_OTHER, line);
	return 0;
}

static int on_unknown(struct program *p, const struct line *line)
{
	keep_line(p, EVENT_HARNESS_OTHER, line);
	say_unknown(p, json_raw(&p->doc, json_get(&p->doc, 0, "type")));
	return 0;
}

enum when {
	WHEN_BEFORE_READY = 1 << 0,
	WHEN_AFTER_RESULT = 1 << 1,
};

static const struct message {
	const char *type;
	unsigned when; /* besides while working */
	int (*take)(struct program *p, const struct line *line);
} messages[] = {
	{"event", 0, on_event},
	{"artifact", 0, on_artifact},
	{"permission.request", 0, on_permission_request},
	{"result", 0, on_result},
	{"ready", WHEN_BEFORE_READY, on_ready},
	{"ping", WHEN_BEFORE_READY, on_ping},
	{"pong", WHEN_BEFORE_READY | WHEN_AFTER_RESULT, on_answer},
	{"error", WHEN_BEFORE_READY, on_answer},
};
static const struct message unknown = {"", WHEN_BEFORE_READY, on_unknown};

static int take_message(struct program *p, const struct line *line)
{
	uint32_t type = json_get(&p->doc, 0, "type");
	const struct message *message = &unknown;

	if (type == JSON_NONE || p->doc.nodes[type].type != JSON_STRING)
		return fault_at(p, line, type, "a message without a type");
	for (size_t i = 0; i < array_count(messages) && message == &unknown; i++)
		if (json_is(&p->doc, type, messages[i].type))
			message = &messages[i];
	if (p->phase == PROGRAM_HANDSHAKE && (message->when & WHEN_BEFORE_READY) == 0)
		return fault_at(p, line, JSON_NONE, "a message before ready");
	if (p->phase == PROGRAM_FINISHED && (message->when & WHEN_AFTER_RESULT) == 0)
		return fault_at(p, line, JSON_NONE,
			message->take == on_result ? "a second result" : "output after result");
	return message->take(p, line);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

int program_line(void *context, const char *bytes, size_t size, uint64_t offset)
{
	struct program *p = context;
	struct line line = {bytes, size, offset};
	struct json_fault fault;
	int r;

	while (line.size > 0 && is_blank(line.bytes[line.size - 1]))
		line.size--;
	while (line.size > 0 && is_blank(line.bytes[0])) {
		line.bytes++;
		line.size--;
		line.offset++;
	}
	r = json_parse(&p->doc, line.bytes, line.size, &fault);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		if (line.size == 0)
			fault = (struct json_fault){0, "an empty line"};
		program_fault(p, line.bytes, line.size, fault.offset, line.offset, fault.what);
		return -1;
	}
	if (p->doc.nodes[0].type != JSON_OBJECT)
		return fault_at(p, &line, JSON_NONE, "a line that is not an object");
	if (take_message(p, &line) < 0 || p->session->broken)
		return -1;
	return 0;
}
