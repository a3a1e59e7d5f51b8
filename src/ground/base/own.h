/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GROUND_BASE_OWN_H
#define GROUND_BASE_OWN_H

/* Scope-bound ownership: a local marked autoclose, autoclosedir or autofree is released when it leaves scope,
 * take_fd() and take_ptr() hand it over. */

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static inline void own_close(int *fd)
{
	int saved = errno;

	/* nothing useful can be done about a failure; the descriptor is gone either way */
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

static inline void own_closedir(DIR **d)
{
	int saved = errno;

	if (*d != NULL)
		(void)closedir(*d); /* it was only read from */
	*d = NULL;
	errno = saved;
}

static inline void own_free(void *p)
{
	void **pp = p;

	free(*pp);
	*pp = NULL;
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define autoclose    __attribute__((cleanup(own_close)))
#define autoclosedir __attribute__((cleanup(own_closedir)))
#define autofree     __attribute__((cleanup(own_free)))
/* autodone(buf_done) struct buf b = …; */
#define autodone(f) __attribute__((cleanup(f)))

#define take_ptr(pp)                                                                               \
	({                                                                                         \
		__typeof__(*(pp)) taken_ = *(pp);                                                  \
		*(pp) = NULL;                                                                      \
		taken_;                                                                            \
	})

#define array_count(a) (sizeof(a) / sizeof((a)[0]))

/* Small internal allocations: they abort when memory is gone, so callers need no error path.
 * Never for a size that a peer chooses; those live in struct buf. The result is owned by the caller. */
void *own_alloc(size_t size); /* zeroed */
char *own_strdup(const char *text);
char *own_strndup(const char *text, size_t size);
char *own_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* NULL-terminated vectors of owned strings. */
size_t strv_count(char *const *v); /* v may be NULL */
char **strv_copy(char *const *v);  /* NULL for NULL */
/* Appends a copy of text; *v may be NULL and is reallocated. */
void strv_add(char ***v, const char *text);
void strv_free(char **v); /* accepts NULL */
void strv_done(char ***v);

#endif
