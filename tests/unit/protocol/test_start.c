/* SPDX-License-Identifier: Apache-2.0 */
/* run.start for a plan. */

#include <string.h>

#include "ground/base/buf.h"
#include "ground/terms/plan.h"
#include "ground/wire/json.h"
#include "protocol/protocol.h"
#include "tests.h"

static struct plan plan_for_test(void)
{
	struct plan p = {0};

	(void)strcpy(p.run.text, "01jdv6y5k3zq4f8w9x0m1n2p3r");
	(void)strcpy(p.attempt.text, "01jdv6y5k3zq4f8w9x0m1n2p3s");
	(void)memset(p.task.digest, 'a', 64);
	p.task.name = (char *)"org/t";
	p.task.instruction = (char *)"fix \"it\"\nnow";
	p.task.workdir = (char *)"/workspace";
	p.sandbox.workspace_target = (char *)"/elsewhere";
	p.harness.model = (char *)"m";
	p.limits.deadline_ms = 900000;
	p.limits.artifact_files = 100;
	p.limits.artifact_bytes = 1000;
	p.limits.artifacts_bytes = 5000;
	return p;
}

static void test_full(void **state)
{
	struct plan p = plan_for_test();
	struct buf out;

	(void)state;
	buf_init(&out, 65536);
	protocol_run_start(&p, "/hemra/artifacts", "2026-11-29T13:15:00.000000Z", &out);
	assert_string_equal(buf_text(&out),
		"{\"type\":\"run.start\",\"run_id\":\"01jdv6y5k3zq4f8w9x0m1n2p3r\","
		"\"attempt_id\":\"01jdv6y5k3zq4f8w9x0m1n2p3s\",\"task\":{\"id\":\"org/t\",\"digest\":\"sha256:"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
		"\"instruction\":\"fix \\\"it\\\"\\nnow\"},\"paths\":{\"workspace\":\"/workspace\","
		"\"artifacts\":\"/hemra/artifacts\",\"tmp\":\"/tmp\"},\"model\":{\"name\":\"m\"},\"mcp\":[],"
		"\"params\":{},\"limits\":{\"deadline_ms\":900000,\"artifact_files\":100,"
		"\"artifact_bytes\":1000,\"artifacts_bytes\":5000},"
		"\"deadline_at\":\"2026-11-29T13:15:00.000000Z\"}");
	buf_done(&out);
}

static void test_sparse(void **state)
{
	struct plan p = plan_for_test();
	struct json_doc d;
	struct buf out;

	(void)state;
	p.task.workdir = NULL;
	p.task.instruction = NULL;
	p.task.digest[0] = '\0';
	p.harness.model = NULL;
	p.limits.deadline_ms = 0;
	buf_init(&out, 65536);
	protocol_run_start(&p, "/hemra/artifacts", /* deadline_at= */ NULL, &out);
	json_doc_init(&d, 1000, 10);
	assert_int_equal(json_parse(&d, out.data, out.len, NULL), 0);
	assert_true(json_is(&d, json_get(&d, json_get(&d, 0, "paths"), "workspace"), "/elsewhere"));
	assert_true(json_is(&d, json_get(&d, json_get(&d, 0, "task"), "instruction"), ""));
	assert_true(json_get(&d, json_get(&d, 0, "task"), "digest") == JSON_NONE);
	assert_true(json_get(&d, json_get(&d, 0, "model"), "name") == JSON_NONE);
	assert_true(json_get(&d, 0, "deadline_at") == JSON_NONE);
	assert_true(json_get(&d, json_get(&d, 0, "limits"), "deadline_ms") == JSON_NONE);
	json_doc_done(&d);
	buf_done(&out);
}

int test_start(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_sparse),
	};

	return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}
