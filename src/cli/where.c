/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the store, and what is meant in it. */

#include "cli/where.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/out.h"
#include "ground/base/own.h"

/* $XDG_STATE_HOME/hemra/store; owned by the caller; NULL without a home. */
static char *state_store(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state != NULL && state[0] == '/')
		return own_printf("%s/hemra/store", state);
	if (home != NULL && home[0] == '/')
		return own_printf("%s/.local/state/hemra/store", home);
	return NULL;
}

static bool is_directory(const char *path, struct stat *ret)
{
	return stat(path, ret) == 0 && S_ISDIR(ret->st_mode);
}

/* The nearest .hemra from cwd upwards. -ENOENT, -EPERM. */
static int nearest(const char *cwd, char **ret, struct err *err)
{
	autofree char *directory = own_strdup(cwd);

	for (;;) {
		autofree char *path =
			own_printf("%s/.hemra", strcmp(directory, "/") == 0 ? "" : directory);
		struct stat st;
		char *slash;

		if (is_directory(path, &st)) {
			/* somebody else's store in a parent directory is a trap */
			if (st.st_uid != geteuid())
				return err_say(err, EACCES,
					"'%s' belongs to another user; --store names a store to "
					"use all the same",
					path);
			*ret = take_ptr(&path);
			return 0;
		}
		slash = strrchr(directory, '/');
		if (slash == NULL || directory[1] == '\0')
			return err_say(err, ENOENT, "no .hemra here or above");
		slash[slash == directory ? 1 : 0] = '\0';
	}
}

int where_store(const struct options *o, const char *said, char **ret, struct err *err)
{
	const char *variable = getenv("HEMRA_STORE");
	autofree char *fallback = NULL;
	struct stat st;
	int r;

	if (said == NULL && variable != NULL && *variable != '\0')
		said = variable;
	if (said != NULL) {
		*ret = said[0] == '/' ? own_strdup(said) : own_printf("%s/%s", o->cwd, said);
		return 0;
	}
	r = nearest(o->cwd, ret, err);
	if (r != -ENOENT)
		return r;
	if (o->verb == VERB_RUN) {
		*ret = own_printf("%s/.hemra", strcmp(o->cwd, "/") == 0 ? "" : o->cwd);
		return 0;
	}
	fallback = state_store();
	if (fallback != NULL && (o->verb == VERB_EXEC || is_directory(fallback, &st))) {
		*ret = take_ptr(&fallback);
		return 0;
	}
	return err_say(err, ENOENT,
		"no store: no .hemra here or above, and --store and $HEMRA_STORE name none");
}

/* Verbs that write nothing may look into another user's store. */
static bool verb_only_reads(enum verb verb)
{
	return verb == VERB_RUNS || verb == VERB_SHOW || verb == VERB_EXPORT || verb == VERB_VERIFY;
}

int where_open(const struct options *o, struct place *ret, struct err *err)
{
	autofree char *path = NULL;
	int r = where_store(o, o->settings.store, &path, err);

	if (r < 0)
		return r;
	*ret = (struct place){0};
	return store_open(path, verb_only_reads(o->verb) ? STORE_READ : 0, &ret->store, err);
}

int where_index(struct place *p, bool write, struct err *err)
{
	return index_open(p->store, write, &p->index, err);
}

void where_done(struct place *p)
{
	index_close(p->index);
	store_close(p->store);
	*p = (struct place){0};
}

int where_find(
	struct place *p, const char *prefix, struct id *ret, bool *ret_is_run, struct err *err)
{
	char lower[ID_LENGTH + 1];
	size_t size = strlen(prefix);

	if (size > ID_LENGTH)
		return err_say(
			err, EINVAL, "'%s' is no id: ids have %d characters", prefix, ID_LENGTH);
	for (size_t i = 0; i <= size; i++)
		lower[i] = (char)tolower((unsigned char)prefix[i]);
	if (size < 4)
		return err_say(err, EINVAL,
			"'%s' is too short: at least four characters of an id are needed", prefix);
	if (!id_is_prefix(lower))
		return err_say(err, EINVAL,
			"'%s' is no id: ids are digits and letters without i, l, o, u", prefix);
	return index_find(p->index, lower, ret, ret_is_run, err);
}

int where_open_find(const struct options *o, struct place *ret, struct id *ret_id, bool *ret_is_run,
	struct err *err)
{
	int r = where_open(o, ret, err);

	if (r == 0)
		r = where_index(ret, /* write= */ false, err);
	if (r == 0)
		r = where_find(ret, o->operands[0], ret_id, ret_is_run, err);
	return r;
}

const char *where_hint(const struct place *p)
{
	if (p->store == NULL)
		return "hemra run makes a store here; --store names one that lies elsewhere";
	if (p->index == NULL)
		return "hemra doctor --reindex builds the index anew";
	return "hemra runs lists what is there";
}

int where_failure(const struct options *o, const struct place *p, const struct err *err)
{
	if (p->store != NULL && p->index == NULL)
		return out_machine_failure(o, err, where_hint(p));
	return out_failure(o, err, where_hint(p));
}

void where_short(struct place *p, const struct id *id, char out[WHERE_SHORT_SIZE])
{
	unsigned size = p->index != NULL ? index_shortest(p->index, id) : ID_LENGTH;

	if (size > ID_LENGTH)
		size = ID_LENGTH;
	(void)memcpy(out, id->text, size);
	out[size] = '\0';
}
