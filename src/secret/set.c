/* SPDX-License-Identifier: Apache-2.0 */
/* Values of secrets in locked memory. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/base/vault.h"
#include "secret/reference.h"
#include "secret/secret.h"

struct value {
	char *name;  /* owned */
	char *bytes; /* owned, vault of room bytes; terminated */
	size_t size, room;
};

struct secret_set {
	struct value *values; /* owned */
	size_t count;
};

struct secret_set *secret_set_new(void)
{
	return own_alloc(sizeof(struct secret_set));
}

static void value_done(struct value *v)
{
	free(v->name);
	vault_free(v->bytes, v->room);
	*v = (struct value){0};
}

void secret_set_free(struct secret_set *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->count; i++)
		value_done(&s->values[i]);
	free(s->values);
	free(s);
}

static const struct value *find(const struct secret_set *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->values[i].name, name) == 0)
			return &s->values[i];
	return NULL;
}

/* Reads to the end of the file or of the room: the file may have grown since it was looked at. */
static int read_file(const struct source *from, struct value *v, struct err *err)
{
	for (;;) {
		ssize_t n = read(from->fd, v->bytes + v->size, v->room - 1 - v->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read '%s'", from->path);
		if (n == 0)
			break;
		v->size += (size_t)n;
	}
	if (v->size > 0 && v->bytes[v->size - 1] == '\n')
		v->bytes[--v->size] = '\0';
	if (v->size == 0 || v->size > REFERENCE_VALUE_MAX)
		return reference_refuse_size(from->path, v->size, err);
	if (memchr(v->bytes, '\0', v->size) != NULL)
		return err_say(err, EINVAL, "'%s' holds a NUL byte", from->path);
	return 0;
}

static int read_value(const struct source *from, struct value *v, struct err *err)
{
	/* the most there can be, a newline, the terminator: a longer file fills it and is seen */
	v->room = from->env == NULL ? REFERENCE_VALUE_MAX + 3 : from->bytes + 1;
	v->bytes = vault_alloc(v->room);
	if (v->bytes == NULL)
		return err_set(err, ENOMEM, "keep a secret");
	if (from->env == NULL)
		return read_file(from, v, err);
	memcpy(v->bytes, from->env, from->bytes);
	v->size = from->bytes;
	return 0;
}

/* A vault of its own size: locked memory is scarce. */
static void shrink(struct value *v)
{
	char *small = v->size + 1 < v->room ? vault_alloc(v->size + 1) : NULL;

	if (small == NULL)
		return;
	memcpy(small, v->bytes, v->size);
	vault_free(v->bytes, v->room);
	v->bytes = small;
	v->room = v->size + 1;
}

int secret_set_read(struct secret_set *s, const char *name, const char *reference, struct err *err)
{
	struct value v = {0};
	struct reference r;
	struct source from = {.fd = -1};
	int result;

	if (find(s, name) != NULL)
		return err_say(err, EEXIST, "there are two secrets named '%s'", name);
	result = reference_parse(reference, &r, err);
	if (result == 0)
		result = source_open(&r, &from, err);
	if (result < 0)
		return result;
	result = read_value(&from, &v, err);
	source_close(&from);
	if (result < 0) {
		value_done(&v);
		return result;
	}
	shrink(&v);
	v.name = own_strdup(name);
	s->values = reallocarray(s->values, s->count + 1, sizeof(*s->values));
	if (s->values == NULL)
		abort();
	s->values[s->count++] = v;
	return 0;
}

size_t secret_set_count(const struct secret_set *s)
{
	return s->count;
}

const char *secret_set_name(const struct secret_set *s, size_t index)
{
	return index < s->count ? s->values[index].name : NULL;
}

const char *secret_set_value(const struct secret_set *s, const char *name, size_t *ret_bytes)
{
	const struct value *v = find(s, name);

	if (v == NULL)
		return NULL;
	if (ret_bytes != NULL)
		*ret_bytes = v->size;
	return v->bytes;
}
