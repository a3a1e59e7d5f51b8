/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "ground/base/buf.h"
#include "ground/base/clock.h"
#include "ground/base/err.h"
#include "ground/wire/json.h"

/* How things look: failures, times, sizes, and words that an agent may have written. */

/* Says on standard error what failed, and with --json also on standard output as
 * {"error":{"kind","message","hint"}}. hint may be NULL. Returns the exit status. */
int out_failure(const struct options *o, const struct err *err, const char *hint);
/* The same for what no other words of the user's would have changed: a store that cannot be
 * written, an index that cannot be read. Its status is 3 (125 for exec) whatever the errno. */
int out_machine_failure(const struct options *o, const struct err *err, const char *hint);
/* Their parts, for output that is an object already: the lines on standard error, and "error":{…}
 * as a member. */
void out_say_failure(const struct err *err, const char *hint);
void out_put_error(
	struct json_writer *w, const char *kind, const struct err *err, const char *hint);
/* The word for an errno in that object: "usage", "not_found", "isolation" … */
const char *out_failure_kind(int code);

bool out_is_terminal(void); /* standard output is a person's */
bool out_has_color(void);   /* … and NO_COLOR is not set */

/* A moment: local time on a terminal, UTC ("…Z") otherwise. "-" for none (0). */
#define OUT_TIME_SIZE 40
void out_time(struct wall t, bool local, char out[OUT_TIME_SIZE]);
/* "850ms", "12.3s", "3m05s", "2h03m". */
#define OUT_SPAN_SIZE 32
void out_span(int64_t ms, char out[OUT_SPAN_SIZE]);
/* "312", "1.5K", "20M", "3.2G". */
#define OUT_BYTES_SIZE 32
void out_bytes(uint64_t bytes, char out[OUT_BYTES_SIZE]);

/* Appends at most max bytes of text in one line for a person's eyes: newlines as \n, tabs as \t,
 * everything else by str_add_visible. What is cut off is said as " (+N bytes)". */
void out_add_line(struct buf *b, const char *text, size_t size, size_t max);
/* The same, owned by the caller. text may be NULL: "". */
char *out_line(const char *text);

/* Prints one JSON object and a newline on standard output. Asserts that the buffer did not fail
 * for another reason than memory. */
void out_json(struct buf *b);

/* Writes out what is gathered for standard output; false, with errno, when it could not be
 * written. */
bool out_finish(void);

/* Who reads standard output has stopped reading (`hemra verify | head`): ends this process by
 * SIGPIPE, without a word, as other programs end then. */
_Noreturn void out_reader_gone(void);

#endif
