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

#ifdef __clang_analyzer__
/* The analyzer sees no function of another file: without this it goes on after `return err_set(…)`
 * as if that could have been a success. */
#define err_negative(called, code)                                                                 \
	({                                                                                         \
		int negative_ = (called) < 0 ? -(code) : -1;                                       \
		negative_ < 0 ? negative_ : -1;                                                    \
	})
#define err_set(e, code, ...) err_negative((err_set)(e, code, __VA_ARGS__), code)
#define err_say(e, code, ...) err_negative((err_say)(e, code, __VA_ARGS__), code)
#define err_add(e, ...)       err_negative((err_add)(e, __VA_ARGS__), 1)
#endif

#endif
