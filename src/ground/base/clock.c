/* SPDX-License-Identifier: Apache-2.0 */
/* Spans and moments. */

#include "ground/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct mono mono_now(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &ts); /* cannot fail for this clock */
	return (struct mono){ ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec };
}

struct mono mono_add_ms(struct mono t, int64_t ms)
{
	return (struct mono){ t.ns + ms * 1000000 };
}

int64_t mono_ms_between(struct mono from, struct mono to)
{
	return (to.ns - from.ns) / 1000000;
}

struct wall wall_now(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	return (struct wall){ ts.tv_sec * INT64_C(1000000) + ts.tv_nsec / 1000 };
}

struct wall wall_add_ms(struct wall t, int64_t ms)
{
	return (struct wall){ t.us + ms * 1000 };
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

int wall_parse(const char *text, struct wall *ret)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";
	struct wall parsed;
	struct tm tm = { 0 };
	char again[WALL_TEXT_SIZE];
	int us;

	if (strlen(text) != sizeof(form) - 1)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return -EINVAL;
	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &us) != 7)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	parsed.us = timegm(&tm) * INT64_C(1000000) + us;
	wall_format(parsed, again);
	if (strcmp(again, text) != 0) /* a thirteenth month and the like */
		return -EINVAL;
	*ret = parsed;
	return 0;
}
