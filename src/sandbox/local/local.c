/* SPDX-License-Identifier: Apache-2.0 */
/* The local provider: the same pid 1 on the host itself, in no namespace. It starts, signals and
 * kills; it restricts nothing, and says so. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/process.h"
#include "ground/terms/init.h"
#include "sandbox/arrange.h"
#include "sandbox/box.h"

static void local_capabilities(
	const struct plan_limits *limits, unsigned weaker, struct sandbox_capabilities *ret)
{
	(void)limits;
	(void)weaker;
	*ret = (struct sandbox_capabilities){
		.sentence = "nothing is restricted: the harness runs on this machine with all the "
			    "operator's rights"};
	(void)snprintf(ret->how, sizeof(ret->how), "not at all");
}

static int local_usable(struct err *err)
{
	(void)err;
	return 0;
}

static int local_start(struct loop *loop, const struct box_spec *spec, box_report_fn *fn,
	void *context, struct box **ret, struct err *err)
{
	struct box_ends ends = {-1, -1, -1};
	struct box *b;
	int r = sandbox_init(err);

	sandbox_warm_drop();
	if (r < 0)
		return r;
	b = box_new(loop, spec, fn, context);
	b->is_local = true;
	r = box_write_start(b, SANDBOX_LOCAL, spec, 0, NULL, err);
	if (r == 0)
		r = box_make_ends(&b->control, &b->link, &ends, err);
	if (r == 0) {
		b->pid = ns_clone(0, -1, &b->pidfd);
		if (b->pid == 0) {
			(void)setpgid(0, 0);
			(void)close(b->control); /* or the sockets would never end for it */
			(void)close(b->link);
			arrange_and_exec(spec->stdio, ends.control, ends.steward, ends.link,
				sandbox_image_fd());
			_exit(125);
		}
		if (b->pid < 0)
			r = err_set(err, -b->pid, "start the local pid 1");
	}
	box_close_ends(&ends);
	if (r < 0) {
		box_free(b);
		return r;
	}
	box_begin(b);
	*ret = b;
	return 0;
}

static int local_sweep(bool dry_run, struct err *err)
{
	(void)dry_run;
	(void)err;
	return 0; /* a local box leaves nothing that could be told from the operator's own */
}

const struct sandbox_provider sandbox_local = {
	.name = "local",
	.capabilities = local_capabilities,
	.usable = local_usable,
	.start = local_start,
	.sweep = local_sweep,
};
