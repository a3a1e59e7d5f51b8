/* SPDX-License-Identifier: Apache-2.0 */
/* The start message: everything pid 1 must know, as one block of bytes. */

#include <errno.h>
#include <string.h>

#include "ground/base/own.h"
#include "ground/kernel/seccomp.h"
#include "ground/terms/init.h"
#include "sandbox/box.h"

static uint32_t add_list(struct buf *b, char *const *v)
{
	uint32_t count = 0;

	for (; v != NULL && v[count] != NULL; count++)
		if (buf_add(b, v[count], strlen(v[count]) + 1) < 0)
			break;
	return count;
}

int box_write_start(struct box *b, enum sandbox_kind kind, const struct box_spec *spec,
	unsigned flags, const struct seccomp_program *filter, struct err *err)
{
	struct box_lists lists;
	char *const cwd[] = {(char *)(uintptr_t)spec->cwd, NULL}; /* only read */
	struct init_start head = {
		.flags = flags,
		.without = spec->without,
		.uid = BOX_UID,
		.gid = BOX_UID,
		.filter_count = filter != NULL ? filter->count : 0,
		.process_promise = spec->limits.pids > 0 ? spec->limits.pids : BOX_PROCESSES_FLOOR,
		.claims = box_claims(kind, spec, &lists),
	};
	char *const *const all[INIT_LIST_COUNT] = {
		[INIT_CWD] = cwd,
		[INIT_ARGV] = spec->argv,
		[INIT_ENVP] = spec->envp,
		[INIT_WRITABLE] = lists.writable,
		[INIT_WORKSPACE] = lists.workspace,
		[INIT_HOME] = lists.home,
		[INIT_STORE] = lists.store,
		[INIT_SOCKETS] = lists.sockets,
	};

	if (kind == SANDBOX_NATIVE && (spec->without & BOX_WITHOUT_LIMITS) == 0)
		head.process_limit = head.process_promise;
	b->claims = head.claims;
	if (head.claims != 0)
		head.flags |= INIT_PROBE;
	(void)buf_add(&b->start, &head, sizeof(head)); /* failure sticks */
	if (filter != NULL)
		(void)buf_add(&b->start, filter->code, filter->count * sizeof(filter->code[0]));
	for (int i = 0; i < INIT_LIST_COUNT; i++)
		head.counts[i] = add_list(&b->start, all[i]);
	box_lists_done(&lists);
	if (buf_status(&b->start) < 0)
		return err_set(err, -buf_status(&b->start),
			"the command's arguments and environment are too long");
	head.bytes = (uint32_t)b->start.len;
	(void)memcpy(b->start.data, &head, sizeof(head));
	return 0;
}
