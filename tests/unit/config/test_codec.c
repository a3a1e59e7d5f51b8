/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as JSON and back; manifests. */

#include "tests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/wire/json.h"

#define TEXT_MAX (4 * 1024 * 1024)

/* Random plans, from a fixed seed: a failure shows the round, which is enough to repeat it. */
static uint64_t seed;

static unsigned draw(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % below;
}

static char *some_text(void)
{
	static const char *const texts[] = {"", "a", "/x/y", "quote \" and \\ back",
		"line\nline\ttab", "\x01\x1f", "h\xc3\xa4uschen \xf0\x9f\x8f\xa0", "{\"a\":1}",
		"${VAR}", "null"};

	return own_strdup(texts[draw(array_count(texts))]);
}

static char *text_or_none(void)
{
	return draw(3) == 0 ? NULL : some_text();
}

static char **words_or_none(void)
{
	char **words = NULL;
	unsigned count = draw(4);

	if (draw(4) == 0)
		return NULL;
	words = own_alloc(sizeof(*words));
	while (count-- > 0) {
		autofree char *word = some_text();

		strv_add(&words, word);
	}
	return words;
}

static void some_mounts(struct plan_mount **mounts, size_t *count)
{
	for (unsigned n = draw(3); n > 0; n--)
		plan_mounts_add(mounts, count, "/s", "/t", draw(2) == 1);
}

static void some_variables(struct plan_variable **v, size_t *count)
{
	for (unsigned n = draw(3); n > 0; n--) {
		autofree char *value = some_text();

		plan_variables_add(v, count, "NAME", value);
	}
}

static uint64_t some_number(void)
{
	static const uint64_t numbers[] = {0, 1, 4096, UINT64_C(1) << 40, INT64_MAX};

	return numbers[draw(array_count(numbers))];
}

static void some_digest(char digest[65])
{
	for (unsigned i = 0; i < 64; i++)
		digest[i] = "0123456789abcdef"[draw(16)];
}

static void fill_first_half(struct plan *p)
{
	(void)strcpy(p->run.text, "01jdw0000000000000000000ab");
	(void)strcpy(p->attempt.text, "01jdw0000000000000000000cd");
	p->index = draw(1000);
	p->of = draw(1000);
	p->created = text_or_none();
	p->harness.name = text_or_none();
	some_digest(p->harness.digest);
	p->harness.kind = draw(HARNESS_KIND_COUNT);
	p->harness.command = words_or_none();
	p->harness.env = words_or_none();
	p->harness.instruction = draw(INSTRUCTION_VIA_COUNT);
	some_mounts(&p->harness.mounts, &p->harness.mount_count);
	p->harness.model = text_or_none();
	p->task.name = text_or_none();
	some_digest(p->task.digest);
	p->task.directory = text_or_none();
	p->task.instruction = text_or_none();
	p->task.workdir = text_or_none();
	p->task.environment = text_or_none();
	p->task.tests = text_or_none();
	p->task.solution = text_or_none();
	some_variables(&p->task.env, &p->task.env_count);
	some_variables(&p->task.solution_env, &p->task.solution_env_count);
	p->task.differences = words_or_none();
}

static void fill_second_half(struct plan *p)
{
	p->sandbox.kind = draw(SANDBOX_KIND_COUNT);
	p->sandbox.limits =
		(struct plan_limits){some_number(), some_number(), some_number(), some_number()};
	p->sandbox.workspace = draw(WORKSPACE_MODE_COUNT);
	p->sandbox.workspace_source = text_or_none();
	p->sandbox.workspace_target = text_or_none();
	some_mounts(&p->sandbox.mounts, &p->sandbox.mount_count);
	p->sandbox.git_config_writable = draw(2) == 1;
	p->sandbox.require = draw(8);
	p->sandbox.weaker = draw(16);
	p->limits.deadline_ms = (int64_t)some_number();
	p->limits.handshake_ms = (int64_t)some_number();
	p->limits.cancel_grace_ms = (int64_t)some_number();
	p->limits.term_grace_ms = (int64_t)some_number();
	p->limits.line_bytes = some_number();
	p->limits.events_bytes = some_number();
	p->limits.stderr_bytes = some_number();
	p->limits.artifact_files = some_number();
	p->limits.artifact_bytes = some_number();
	p->limits.artifacts_bytes = some_number();
	if (draw(2) == 1) {
		p->secrets = own_alloc(sizeof(*p->secrets));
		p->secrets[0] = (struct plan_secret){own_strdup("K"), own_strdup("env:K")};
		p->secret_count = 1;
	}
	p->verifier.present = draw(2) == 1;
	p->verifier.timeout_ms = (int64_t)some_number();
	p->verifier.repeat = draw(100);
	some_variables(&p->verifier.env, &p->verifier.env_count);
	p->verifier.env_names = words_or_none();
	p->keep = draw(KEEP_COUNT);
	p->redact = draw(2) == 1;
	p->record = draw(2) == 1;
	p->record_output = draw(2) == 1;
	p->store = text_or_none();
	p->work = text_or_none();
	p->covered = words_or_none();
	p->readonly = words_or_none();
}

static void same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a != NULL)
		assert_string_equal(a, b);
}

static void same_words(char **a, char **b)
{
	assert_int_equal(a == NULL, b == NULL);
	assert_int_equal(strv_count(a), strv_count(b));
	for (size_t i = 0; i < strv_count(a); i++)
		assert_string_equal(a[i], b[i]);
}

static void same_variables(const struct plan_variable *a, size_t count,
	const struct plan_variable *b, size_t other_count)
{
	assert_int_equal(count, other_count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(a[i].name, b[i].name);
		assert_string_equal(a[i].value, b[i].value);
	}
}

static void same_mounts(
	const struct plan_mount *a, size_t count, const struct plan_mount *b, size_t other_count)
{
	assert_int_equal(count, other_count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(a[i].source, b[i].source);
		assert_string_equal(a[i].target, b[i].target);
		assert_int_equal(a[i].writable, b[i].writable);
	}
}

static void same_first_half(const struct plan *a, const struct plan *b)
{
	assert_string_equal(a->run.text, b->run.text);
	assert_string_equal(a->attempt.text, b->attempt.text);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->of, b->of);
	same_text(a->created, b->created);
	same_text(a->harness.name, b->harness.name);
	assert_string_equal(a->harness.digest, b->harness.digest);
	assert_int_equal(a->harness.kind, b->harness.kind);
	same_words(a->harness.command, b->harness.command);
	same_words(a->harness.env, b->harness.env);
	assert_int_equal(a->harness.instruction, b->harness.instruction);
	same_mounts(a->harness.mounts, a->harness.mount_count, b->harness.mounts,
		b->harness.mount_count);
	same_text(a->harness.model, b->harness.model);
	same_text(a->task.name, b->task.name);
	assert_string_equal(a->task.digest, b->task.digest);
	same_text(a->task.directory, b->task.directory);
	same_text(a->task.instruction, b->task.instruction);
	same_text(a->task.workdir, b->task.workdir);
	same_text(a->task.environment, b->task.environment);
	same_text(a->task.tests, b->task.tests);
	same_text(a->task.solution, b->task.solution);
	same_variables(a->task.env, a->task.env_count, b->task.env, b->task.env_count);
	same_variables(a->task.solution_env, a->task.solution_env_count, b->task.solution_env,
		b->task.solution_env_count);
	same_words(a->task.differences, b->task.differences);
}

static void same_second_half(const struct plan *a, const struct plan *b)
{
	assert_int_equal(a->sandbox.kind, b->sandbox.kind);
	assert_memory_equal(&a->sandbox.limits, &b->sandbox.limits, sizeof(a->sandbox.limits));
	assert_int_equal(a->sandbox.workspace, b->sandbox.workspace);
	same_text(a->sandbox.workspace_source, b->sandbox.workspace_source);
	same_text(a->sandbox.workspace_target, b->sandbox.workspace_target);
	same_mounts(a->sandbox.mounts, a->sandbox.mount_count, b->sandbox.mounts,
		b->sandbox.mount_count);
	assert_int_equal(a->sandbox.git_config_writable, b->sandbox.git_config_writable);
	assert_int_equal(a->sandbox.require, b->sandbox.require);
	assert_int_equal(a->sandbox.weaker, b->sandbox.weaker);
	assert_memory_equal(&a->limits, &b->limits, sizeof(a->limits));
	assert_int_equal(a->secret_count, b->secret_count);
	for (size_t i = 0; i < a->secret_count; i++) {
		assert_string_equal(a->secrets[i].name, b->secrets[i].name);
		assert_string_equal(a->secrets[i].reference, b->secrets[i].reference);
	}
	assert_int_equal(a->verifier.present, b->verifier.present);
	assert_int_equal(a->verifier.timeout_ms, b->verifier.timeout_ms);
	assert_int_equal(a->verifier.repeat, b->verifier.repeat);
	same_variables(
		a->verifier.env, a->verifier.env_count, b->verifier.env, b->verifier.env_count);
	same_words(a->verifier.env_names, b->verifier.env_names);
	assert_int_equal(a->keep, b->keep);
	assert_int_equal(a->redact, b->redact);
	assert_int_equal(a->record, b->record);
	assert_int_equal(a->record_output, b->record_output);
	same_text(a->store, b->store);
	same_text(a->work, b->work);
	same_words(a->covered, b->covered);
	same_words(a->readonly, b->readonly);
}

static void plans_come_back_as_they_went(void **state)
{
	(void)state;
	seed = 20261129;
	for (int round = 0; round < 300; round++) {
		struct plan plan = {0}, back;
		struct err err = {0};
		struct buf out, again;

		fill_first_half(&plan);
		fill_second_half(&plan);
		buf_init(&out, TEXT_MAX);
		buf_init(&again, TEXT_MAX);
		assert_int_equal(plan_encode(&plan, &out), 0);
		if (plan_decode(out.data, out.len, &back, &err) < 0)
			fail_msg("round %d: %s\n%s", round, err.text, out.data);
		same_first_half(&plan, &back);
		same_second_half(&plan, &back);
		assert_int_equal(plan_encode(&back, &again), 0);
		assert_string_equal(out.data, again.data);
		buf_done(&out);
		buf_done(&again);
		plan_done(&plan);
		plan_done(&back);
	}
}

/* Every member of every object comes after the one before it, and nothing stands between. */
static void assert_canonical(const char *text)
{
	struct json_doc d;

	json_doc_init(&d, 100000, 16);
	assert_int_equal(json_parse(&d, text, strlen(text), NULL), 0);
	for (uint32_t object = 0; object < d.count; object++) {
		autofree char *before = NULL;

		if (d.nodes[object].type != JSON_OBJECT)
			continue;
		for (uint32_t n = json_first(&d, object); n != JSON_NONE;
			n = json_next(&d, object, n)) {
			char *key = json_text(&d, n);

			if (before != NULL)
				assert_true(strcmp(before, key) < 0);
			free(before);
			before = key;
		}
	}
	json_doc_done(&d);
	assert_null(strstr(text, "\": "));
	assert_null(strstr(text, ", \""));
}

static void a_plan_with_marks(struct plan *plan)
{
	*plan = (struct plan){.redact = true, .record = true};
	(void)strcpy(plan->attempt.text, "01jdw0000000000000000000cd");
	plan->index = 1;
	plan->harness.name = own_strdup("MARK-harness");
	strv_add(&plan->harness.command, "MARK-command");
	plan->task.directory = own_strdup("/PRIVATE-1");
	plan->task.environment = own_strdup("/PRIVATE-2");
	plan->task.tests = own_strdup("/PRIVATE-3");
	plan->task.solution = own_strdup("/PRIVATE-4");
	plan->task.instruction = own_strdup("MARK-instruction");
	plan->sandbox.workspace_source = own_strdup("/PRIVATE-5");
	plan->sandbox.workspace_target = own_strdup("/MARK-workspace");
	plan->store = own_strdup("/PRIVATE-6");
	plan->work = own_strdup("/PRIVATE-7");
	strv_add(&plan->covered, "/PRIVATE-8");
	strv_add(&plan->readonly, "/PRIVATE-9");
	plan_variables_add(&plan->task.env, &plan->task.env_count, "MARK_A", "PRIVATE-a");
	plan_variables_add(
		&plan->task.solution_env, &plan->task.solution_env_count, "MARK_B", "PRIVATE-b");
	plan_variables_add(&plan->verifier.env, &plan->verifier.env_count, "MARK_C", "PRIVATE-c");
	plan->secrets = own_alloc(sizeof(*plan->secrets));
	plan->secrets[0] = (struct plan_secret){own_strdup("MARK_K"), own_strdup("env:MARK_K2")};
	plan->secret_count = 1;
}

static void the_manifest_is_the_public_half(void **state)
{
	static const char *const marks[] = {"\"MARK-harness\"", "\"MARK-command\"",
		"\"MARK-instruction\"", "\"/MARK-workspace\"", "\"MARK_A\"", "\"MARK_B\"",
		"\"MARK_C\"", "\"MARK_K\"", "\"env:MARK_K2\"", "\"hemra\":\"" HEMRA_VERSION "\"",
		"\"manifest\":\"1\"", "\"network\":\"none\"", "\"redact\":true"};
	unsigned char digest[32];
	struct plan plan;
	struct buf out;
	char hex[65];

	(void)state;
	a_plan_with_marks(&plan);
	buf_init(&out, TEXT_MAX);
	assert_int_equal(manifest_encode(&plan, &out, digest), 0);
	for (size_t i = 0; i < array_count(marks); i++)
		if (strstr(out.data, marks[i]) == NULL)
			fail_msg("no %s in %s", marks[i], out.data);
	assert_null(strstr(out.data, "PRIVATE"));
	assert_null(strstr(out.data, "01jdw"));
	assert_canonical(out.data);
	str_hex(digest, sizeof(digest), hex);
	buf_reset(&out);
	/* the control: the whole plan does hold what the manifest leaves out */
	assert_int_equal(plan_encode(&plan, &out), 0);
	assert_non_null(strstr(out.data, "PRIVATE-1"));
	assert_non_null(strstr(out.data, "PRIVATE-9"));
	assert_non_null(strstr(out.data, "PRIVATE-c"));
	assert_non_null(strstr(out.data, "01jdw"));
	assert_canonical(out.data);
	buf_reset(&out);
	assert_int_equal(plan_show(&plan, &out), 0);
	assert_non_null(strstr(out.data, "PRIVATE-1"));
	assert_null(strstr(out.data, "PRIVATE-a"));
	assert_null(strstr(out.data, "PRIVATE-b"));
	assert_null(strstr(out.data, "PRIVATE-c"));
	assert_canonical(out.data);
	buf_done(&out);
	plan_done(&plan);
}

static void digest_of(const struct plan *plan, unsigned char ret[32])
{
	struct buf out;

	buf_init(&out, TEXT_MAX);
	assert_int_equal(manifest_encode(plan, &out, ret), 0);
	buf_done(&out);
}

static void the_digest_follows_what_is_in_force(void **state)
{
	unsigned char first[32], second[32];
	struct plan plan;

	(void)state;
	a_plan_with_marks(&plan);
	digest_of(&plan, first);
	digest_of(&plan, second);
	assert_memory_equal(first, second, 32);
	plan.index = 2; /* another attempt at the same */
	(void)strcpy(plan.attempt.text, "01jdw0000000000000000000ef");
	free(plan.work);
	plan.work = own_strdup("/elsewhere");
	digest_of(&plan, second);
	assert_memory_equal(first, second, 32);
	plan.redact = false;
	digest_of(&plan, second);
	assert_memory_not_equal(first, second, 32);
	plan.redact = true;
	plan.sandbox.weaker = WEAKER_PROBE;
	digest_of(&plan, second);
	assert_memory_not_equal(first, second, 32);
	plan.sandbox.weaker = 0;
	plan.limits.deadline_ms = 1;
	digest_of(&plan, second);
	assert_memory_not_equal(first, second, 32);
	plan.limits.deadline_ms = 0;
	digest_of(&plan, second);
	assert_memory_equal(first, second, 32);
	plan_done(&plan);
}

/* replaces the first occurrence of what; the result is owned */
static char *replaced(const char *text, const char *what, const char *with)
{
	const char *at = strstr(text, what);

	assert_non_null(at);
	return own_printf("%.*s%s%s", (int)(at - text), text, with, at + strlen(what));
}

static void plans_that_are_none(void **state)
{
	static const struct {
		const char *what, *with, *sentence;
	} rows[] = {
		{"{", "[", "plan: byte "},
		{"\"redact\":true", "\"redact\":1", "plan: 'redact' has a wrong value"},
		{"\"redact\":true,", "", "plan: 'redact' is missing"},
		{"\"redact\":true", "\"redact\":true,\"zzz\":1", "plan: '' holds unknown members"},
		{"\"manifest\":\"1\"", "\"manifest\":\"2\"", "plan: 'manifest' has a wrong value"},
		{"\"network\":\"none\"", "\"network\":\"open\"",
			"plan: 'sandbox.network' has a wrong value"},
		{"\"deadline_ms\":0", "\"deadline_ms\":1.5",
			"plan: 'limits.deadline_ms' has a wrong value"},
		{"\"line_bytes\":0", "\"line_bytes\":-1",
			"plan: 'limits.line_bytes' has a wrong value"},
		{"\"index\":1", "\"index\":4294967296", "plan: 'index' has a wrong value"},
		{"\"keep\":\"failed\"", "\"keep\":\"some\"", "plan: 'keep' has a wrong value"},
		{"\"weaker\":[]", "\"weaker\":[\"all\"]",
			"plan: 'sandbox.weaker' has a wrong value"},
		{"\"weaker\":[]", "\"weaker\":[[]]", "plan: 'sandbox.weaker' has a wrong value"},
		{"\"command\":[\"MARK-command\"]", "\"command\":[1]",
			"plan: 'harness.command' has a wrong value"},
		{"\"command\":[\"MARK-command\"]", "\"command\":[\"\\u0000\"]",
			"plan: 'harness.command' has a wrong value"},
		{"\"name\":\"MARK_K\",", "", "plan: 'secrets' has a wrong value"},
		{"\"reference\"", "\"value\"", "plan: 'secrets' has a wrong value"},
		{"01jdw", "01jdwx", "plan: 'attempt' has a wrong value"},
		{"\"mounts\":[]",
			"\"mounts\":[{\"source\":\"/a\",\"target\":\"/b\",\"writable\":0}]",
			"plan: 'harness.mounts' has a wrong value"},
		{"\"mounts\":[]",
			"\"mounts\":[{\"source\":\"/a\",\"target\":null,\"writable\":true}]",
			"plan: 'harness.mounts' has a wrong value"},
		{"\"limits\":{", "\"limits\":3,\"x\":{", "plan: 'limits.' is no object"},
	};
	struct plan plan;
	struct buf out;

	(void)state;
	a_plan_with_marks(&plan);
	buf_init(&out, TEXT_MAX);
	assert_int_equal(plan_encode(&plan, &out), 0);
	for (size_t i = 0; i < array_count(rows); i++) {
		autofree char *text = replaced(out.data, rows[i].what, rows[i].with);
		struct plan back = {.index = 77};
		struct err err = {0};

		if (plan_decode(text, strlen(text), &back, &err) == 0)
			fail_msg("accepted with %s", rows[i].with);
		assert_ptr_equal(strstr(err.text, rows[i].sentence), err.text);
		assert_int_equal(back.index, 77); /* untouched */
	}
	buf_done(&out);
	plan_done(&plan);
}

static void failures_of_writing(void **state)
{
	unsigned char digest[32];
	struct plan plan;
	struct buf out;

	(void)state;
	a_plan_with_marks(&plan);
	buf_init(&out, 100);
	assert_int_equal(plan_encode(&plan, &out), -EMSGSIZE);
	buf_done(&out);
	buf_init(&out, 100);
	assert_int_equal(manifest_encode(&plan, &out, digest), -EMSGSIZE);
	buf_done(&out);
	buf_init(&out, TEXT_MAX);
	free(plan.harness.name);
	plan.harness.name = own_strdup("\xff");
	assert_int_equal(manifest_encode(&plan, &out, digest), -EILSEQ);
	buf_done(&out);
	plan_done(&plan);
}

int test_codec(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_come_back_as_they_went),
		cmocka_unit_test(the_manifest_is_the_public_half),
		cmocka_unit_test(the_digest_follows_what_is_in_force),
		cmocka_unit_test(plans_that_are_none),
		cmocka_unit_test(failures_of_writing),
	};

	return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
