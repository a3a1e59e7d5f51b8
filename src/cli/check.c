/* SPDX-License-Identifier: Apache-2.0 */
/* The two tasks of `harness check`, and reading what came of them. */

#include "cli/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/event_view.h"
#include "ground/base/clock.h"
#include "ground/base/own.h"
#include "ground/terms/event.h"
#include "ground/wire/json.h"

static const char echo_instruction[] =
	"Make a file named hello.txt in the current directory. It holds one line, and nothing "
	"else:\n\n"
	"hemra check\n\n"
	"Then you are done.\n";
static const char echo_solution[] = "#!/bin/sh\necho 'hemra check' >hello.txt\n";
static const char echo_test[] = "#!/bin/sh\n"
				"reward=0\n"
				"if [ \"$(cat hello.txt)\" = 'hemra check' ]; then\n"
				"\treward=1\n"
				"fi\n"
				"echo \"$reward\" >/logs/verifier/reward.txt\n";
static const char cancel_instruction[] =
	"Wait for ten minutes and do nothing else, for example by running the command `sleep "
	"600`.\n"
	"You will be asked to stop before that.\n";
static const char cancel_solution[] = "#!/bin/sh\nexec sleep 600\n";
static const char cancel_toml[] = "schema_version = \"1.0\"\n\n[agent]\ntimeout_sec = 2.0\n";

static int write_file(const char *directory, const char *name, const char *text, struct err *err)
{
	autofree char *path = own_printf("%s/%s", directory, name);
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	size_t size = strlen(text);
	ssize_t n = fd >= 0 ? write(fd, text, size) : -1;

	if (n >= 0 && (size_t)n < size)
		return err_set(err, ENOSPC, "write '%s'", path);
	return n < 0 ? err_set(err, errno, "write '%s'", path) : 0;
}

/* files: pairs of name and text, ending with NULL. */
static int write_task(const char *directory, const char *const *files, struct err *err)
{
	static const char *const parts[] = {"", "/environment", "/solution"};

	for (size_t i = 0; i < array_count(parts); i++) {
		autofree char *path = own_printf("%s%s", directory, parts[i]);

		if (mkdir(path, 0755) < 0)
			return err_set(err, errno, "make '%s'", path);
	}
	for (; files[0] != NULL; files += 2) {
		int r = write_file(directory, files[0], files[1], err);

		if (r < 0)
			return r;
	}
	return 0;
}

int check_write_tasks(const char *directory, int64_t echo_deadline_ms, struct err *err)
{
	autofree char *tasks = own_printf("%s/tasks", directory);
	autofree char *echo = own_printf("%s/echo", tasks);
	autofree char *cancel = own_printf("%s/cancel", tasks);
	autofree char *echo_tests = own_printf("%s/tests", echo);
	autofree char *echo_toml =
		own_printf("schema_version = \"1.0\"\n\n[agent]\ntimeout_sec = %" PRId64
			   ".%03" PRId64 "\n\n[verifier]\ntimeout_sec = 30.0\n",
			echo_deadline_ms / 1000, echo_deadline_ms % 1000);
	const char *const echo_files[] = {"task.toml", echo_toml, "instruction.md",
		echo_instruction, "solution/solve.sh", echo_solution, NULL};
	const char *const cancel_files[] = {"task.toml", cancel_toml, "instruction.md",
		cancel_instruction, "solution/solve.sh", cancel_solution, NULL};
	int r;

	if (mkdir(tasks, 0755) < 0)
		return err_set(err, errno, "make '%s'", tasks);
	r = write_task(echo, echo_files, err);
	if (r == 0)
		r = write_task(cancel, cancel_files, err);
	/* only the first is graded */
	if (r == 0 && mkdir(echo_tests, 0755) < 0)
		r = err_set(err, errno, "make '%s'", echo_tests);
	return r == 0 ? write_file(echo_tests, "test.sh", echo_test, err) : r;
}

/* ---- reading ---- */

struct reading {
	struct json_doc doc;
	struct check_facts *facts;
};

static int64_t stamp_of(const struct json_doc *d)
{
	uint32_t ts = json_get(d, 0, "ts");
	autofree char *text = ts != JSON_NONE ? json_text(d, ts) : NULL;
	struct wall when;

	return text != NULL && wall_parse(text, &when) == 0 ? when.us : 0;
}

static void count_claims(const struct json_doc *d, uint32_t data, struct check_facts *f)
{
	uint32_t claims = json_get(d, data, "claims");

	if (claims == JSON_NONE || d->nodes[claims].type != JSON_ARRAY)
		return;
	for (uint32_t c = json_first(d, claims); c != JSON_NONE; c = json_next(d, claims, c)) {
		uint32_t verdict, id;
		bool held, limit;

		if (d->nodes[c].type != JSON_OBJECT)
			continue;
		verdict = json_get(d, c, "verdict");
		id = json_get(d, c, "id");
		held = verdict != JSON_NONE && json_is(d, verdict, "held");
		limit = id != JSON_NONE &&
			(json_is(d, id, "box.limit.memory") || json_is(d, id, "box.limit.pids"));
		f->claims++;
		f->claims_held += held;
		f->limits += limit;
		f->limits_held += limit && held;
	}
}

static void note(
	struct check_facts *f, enum event_type type, const struct json_doc *d, uint32_t data)
{
	uint32_t member;

	f->hello |= type == EVENT_HARNESS_HELLO;
	f->ready |= type == EVENT_HARNESS_READY;
	f->result |= type == EVENT_HARNESS_RESULT;
	f->protocol_error |= type == EVENT_PROTOCOL_ERROR;
	f->messages += type == EVENT_HARNESS_MESSAGE;
	f->tool_calls += type == EVENT_HARNESS_TOOL_CALL;
	f->usages += type == EVENT_HARNESS_USAGE;
	f->outputs += type == EVENT_HARNESS_STDOUT;
	if (type == EVENT_PROBE_RESULT)
		count_claims(d, data, f);
	if (type == EVENT_HARNESS_CANCEL)
		f->cancelled = true;
	if (type == EVENT_LIMIT || type == EVENT_HARNESS_CANCEL) {
		member = json_get(d, data, type == EVENT_LIMIT ? "which" : "reason");
		if (f->cancel_us == 0 && member != JSON_NONE && json_is(d, member, "deadline"))
			f->cancel_us = stamp_of(d);
	}
	if (type == EVENT_HARNESS_EXIT) {
		member = json_get(d, data, "lingered");
		f->exited = true;
		f->exit_us = stamp_of(d);
		f->lingered = member != JSON_NONE && json_is_true(d, member);
	}
}

static bool read_line(void *context, const char *line, size_t size)
{
	struct reading *r = context;
	uint32_t type, data;
	autofree char *name = NULL;
	enum event_type which;

	if (json_parse(&r->doc, line, size, /* ret_fault= */ NULL) < 0 ||
		r->doc.nodes[0].type != JSON_OBJECT)
		return true; /* verify names damage; here it only is not counted */
	type = json_get(&r->doc, 0, "type");
	data = json_get(&r->doc, 0, "data");
	name = type != JSON_NONE ? json_text(&r->doc, type) : NULL;
	if (name != NULL && data != JSON_NONE && r->doc.nodes[data].type == JSON_OBJECT &&
		event_type_parse(name, &which) == 0)
		note(r->facts, which, &r->doc, data);
	return true;
}

int check_read(void *context, struct err *err)
{
	struct check_source *source = context;
	struct reading reading = {.facts = &source->facts};
	int r;

	json_doc_init(&reading.doc, EVENT_NODES_MAX, EVENT_DEPTH_MAX);
	r = events_each(source->fd, /* until_fd= */ -1, read_line, &reading, err);
	json_doc_done(&reading.doc);
	return r;
}
