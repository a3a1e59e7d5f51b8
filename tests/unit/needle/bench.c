/* SPDX-License-Identifier: Apache-2.0 */
/* How fast needle is: 20 secrets of 40 bytes over events of 200 bytes. Prints, judges nothing. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ground/base/own.h"
#include "needle/needle.h"

#define EVENTS      2000
#define EVENT_BYTES 200
#define SECRETS     20

/* Time of the processor, not of the wall: the machine may be busy. */
static double cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* cannot fail for this clock */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint32_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

static void fill_events(char *text, const char *const *words, size_t count, uint64_t *seed)
{
	size_t at = 0;

	while (at < EVENTS * EVENT_BYTES) {
		const char *word = words[next(seed) % count];
		size_t n = strlen(word), left = EVENTS * EVENT_BYTES - at;

		n = n < left ? n : left;
		memcpy(text + at, word, n);
		at += n;
	}
}

static void measure(const char *name, const struct needle *n, const char *text, int rounds)
{
	autodone(buf_done) struct buf out;
	double start = cpu_ns(), ns;
	int found = 0;

	buf_init(&out, 1 << 16);
	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < EVENTS; i++) {
			buf_reset(&out);
			found += needle_redact(n, text + i * EVENT_BYTES, EVENT_BYTES, &out, NULL);
		}
	}
	ns = (cpu_ns() - start) / rounds / EVENTS;
	printf("needle %-10s %7.0f ns per event of %d bytes, %5.0f MB/s, %d found\n", name, ns,
		EVENT_BYTES, EVENT_BYTES * 1e3 / ns, found / rounds);
}

int main(void)
{
	static const char *const plain[] = {"{\"type\":\"assistant\",", "\"text\":\"",
		"Let me look at ", "the failing test ", "in src/main.c", "\"},",
		"\"usage\":{\"input_tokens\":1234}", "for (int i = 0; i < n; i++)",
		"sum += values[i];", "0x7ffd3a2c ", "error: ", "expected ';' before 'return'",
		"/usr/lib/x86_64-linux-gnu/"};
	static const char *const json[] = {"{\"type\":\"assistant\",", "\"text\":\"",
		"Let me look at ", "the failing test ", "in src/main.c\\n", "\"},",
		"\"usage\":{\"input_tokens\":1234}", "for (int i = 0; i < n; i++)\\n\\t",
		"sum += values[i];", "0x7ffd3a2c ", "error: ", "expected ';' before 'return'",
		"/usr/lib/x86_64-linux-gnu/"};
	static const char *const twice[] = {"{\\\"type\\\":", "\\\"assistant\\\",",
		"the failing test ", "in src/main.c\\\\n", "\\\\t\\\\\\\"sum\\\\\\\"", "100%25",
		"%20and%2Fmore"};
	static const char *const base64[] = {"iVBORw0KGgoAAAANSUhEUg", "AAAB4AAAAQ4CAYAAADo08FD",
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "TWFuIGlzIGRpc3Rpbmd1aXNoZWQ", "sk-ant-"};
	static char values[SECRETS][40], names[SECRETS][8], text[EVENTS * EVENT_BYTES];
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	struct needle_secret secrets[SECRETS];
	struct needle *n = NULL;
	uint64_t seed = 1;
	double start;

	for (size_t i = 0; i < SECRETS; i++) {
		memcpy(values[i], "sk-ant-", 7);
		for (size_t k = i % 2 == 0 ? 0 : 7; k < sizeof(values[i]); k++)
			values[i][k] = digits[next(&seed) % 64];
		(void)snprintf(names[i], sizeof(names[i]), "S%zu", i);
		secrets[i] = (struct needle_secret){names[i], values[i], sizeof(values[i])};
	}
	start = cpu_ns();
	if (needle_new(secrets, SECRETS, &n, NULL) < 0)
		return 1;
	printf("needle built in %.2f ms\n", (cpu_ns() - start) / 1e6);
	fill_events(text, plain, array_count(plain), &seed);
	measure("plain", n, text, 200);
	fill_events(text, json, array_count(json), &seed);
	measure("json", n, text, 200);
	fill_events(text, twice, array_count(twice), &seed);
	measure("all views", n, text, 50);
	fill_events(text, base64, array_count(base64), &seed);
	measure("base64", n, text, 200);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = digits[next(&seed) % 64];
	measure("noise", n, text, 200);
	needle_free(n);
	return 0;
}
