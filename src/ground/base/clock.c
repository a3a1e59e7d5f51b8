/* SPDX-License-Identifier: Apache-2.0 */
/* Spans and moments. */

#include "ground/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct mono mono_now(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_BOOTTIME, &ts); /* cannot fail for this clock */
	return (struct mono){ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec};
}

struct mono mono_add_ms(struct mono t, int64_t ms)
{
	return (struct mono){t.ns + ms * 1000000};
}

int64_t mono_ms_between(struct mono from, struct mono to)
{
	return (to.ns - from.ns) / 1000000;
}

struct wall wall_now(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	return (struct wall){ts.tv_sec * INT64_C(1000000) + ts.tv_nsec / 1000};
}

struct wall wall_add_ms(struct wall t, int64_t ms)
{
	return (struct wall){t.us + ms * 1000};
}

void wall_format(struct wall t, char out[WALL_TEXT_SIZE])
{
	time_t seconds = t.us / 1000000;
	struct tm tm;

	(void)gmtime_r(&seconds, &tm); /* fails only beyond year 2^31 */
	(void)snprintf(out, WALL_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ",
		(unsigned)(tm.tm_year + 1900) % 10000, (unsigned)(tm.tm_mon + 1) % 100,
		(unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100,
		(unsigned)tm.tm_sec % 100, (unsigned)(t.us % 1000000));
}

/* The number in n digits, which the caller has seen to be digits. */
static int number_at(const char *digits, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++)
		value = value * 10 + (digits[i] - '0');
	return value;
}

int wall_parse(const char *text, struct wall *ret)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";
	struct wall parsed;
	struct tm tm = {0};
	char again[WALL_TEXT_SIZE];

	if (strlen(text) != sizeof(form) - 1)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return -EINVAL;
	tm.tm_year = number_at(text, 4) - 1900;
	tm.tm_mon = number_at(text + 5, 2) - 1;
	tm.tm_mday = number_at(text + 8, 2);
	tm.tm_hour = number_at(text + 11, 2);
	tm.tm_min = number_at(text + 14, 2);
	tm.tm_sec = number_at(text + 17, 2);
	parsed.us = timegm(&tm) * INT64_C(1000000) + number_at(text + 20, 6);
	wall_format(parsed, again);
	if (strcmp(again, text) != 0) /* a thirteenth month and the like */
		return -EINVAL;
	*ret = parsed;
	return 0;
}
