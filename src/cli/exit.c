/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses: folding many attempts into one number. */

#include "cli/exit.h"

#include <errno.h>
#include <sys/resource.h>

#include "ground/base/own.h"

int exit_worse(int a, int b)
{
	static const int order[] = {
		EXIT_USAGE, EXIT_ISOLATION, EXIT_TRIPPED, EXIT_GATE, EXIT_UNGRADED};

	if (a > 128 || b > 128)
		return a > 128 ? a : b;
	for (size_t i = 0; i < array_count(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return EXIT_DONE;
}

static bool is_file_size_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

int exit_of_error(enum verb verb, int code)
{
	bool plans = verb == VERB_RUN || verb == VERB_CHECK;

	if (verb == VERB_EXEC)
		return EXIT_HEMRA;
	switch (code) {
	case EINVAL:
	case E2BIG:
	case ERANGE:
	case EILSEQ:
	case ENOTSUP:
	case ENOENT:
	case EEXIST:
	case ENOTDIR:
	case EISDIR:
	case EXDEV: /* a link that leads out of a task */
	case ELOOP:
	case ENAMETOOLONG:
	case ENOEXEC:
	case EBUSY: /* an attempt that still runs */
		return EXIT_USAGE;
	case EPERM:
		return plans ? EXIT_ISOLATION : EXIT_UNGRADED;
	case EACCES: /* what these two read is the operator's; what the others read, the store's */
		return plans ? EXIT_USAGE : EXIT_UNGRADED;
	case EFBIG: /* either such a file is too long, or what was written is */
		return plans && !is_file_size_limited() ? EXIT_USAGE : EXIT_UNGRADED;
	default:
		return EXIT_UNGRADED;
	}
}

int exit_of_attempt(const struct run_attempt *a)
{
	if (a->state != STATE_DONE)
		return EXIT_UNGRADED;
	if (a->outcome == OUTCOME_NOT_CONTAINED)
		return EXIT_ISOLATION;
	if (a->outcome == OUTCOME_TRIPPED)
		return EXIT_TRIPPED;
	return a->graded ? EXIT_DONE : EXIT_UNGRADED;
}

int exit_of_report(const struct run_report *r)
{
	int status = r->signal != 0 ? 128 + r->signal : EXIT_DONE;

	for (size_t i = 0; i < r->count; i++)
		status = exit_worse(status, exit_of_attempt(&r->attempts[i]));
	return status;
}

/* How the box failed, or did what CMD could not have done; then CMD's status says nothing. */
static bool is_hemras_failure(enum outcome outcome)
{
	return outcome == OUTCOME_NOT_CONTAINED || outcome == OUTCOME_TRIPPED ||
	       outcome == OUTCOME_INFRA_SETUP || outcome == OUTCOME_INFRA_ENVIRONMENT ||
	       outcome == OUTCOME_LOST;
}

int exit_of_exec(const struct run_report *r)
{
	const struct run_attempt *a = r->attempts;

	if (r->count != 1 || a->state != STATE_DONE)
		return r->signal != 0 ? 128 + r->signal : EXIT_HEMRA;
	if (a->outcome == OUTCOME_AGENT_TIMEOUT)
		return EXIT_DEADLINE;
	if (a->exit_status == EXIT_NOT_EXECUTABLE || a->exit_status == EXIT_NOT_FOUND)
		return a->exit_status;
	if (is_hemras_failure(a->outcome))
		return EXIT_HEMRA;
	/* CMD may have caught the signal; then its own status stands */
	if (a->outcome == OUTCOME_CANCELLED && a->exit_status == 0 && r->signal != 0)
		return 128 + r->signal;
	return a->exit_status;
}
