/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_ERR_H
#define GROUND_BASE_ERR_H

/* An error is an errno and a sentence, as plain data on the caller's stack: it survives clone() and
 * crosses a pipe. Functions return 0 or -code, take `struct err *err` last, and write it only on
 * failure. err may be NULL where the caller does not want the sentence. */
struct err {
	int code;       /* positive errno, 0 = none */
	char text[504]; /* why, outermost step first; always terminated */
};

/* At the origin. Sets code and text "<format>: <strerror(code)>"; returns -code. code > 0. */
int err_set(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As err_set, but the sentence is complete and strerror() would only blur it. Returns -code. */
int err_say(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* On the way up: puts "<format>: " before the text. Returns the same -code. */
int err_add(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
