/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of sandbox: every group as root and as an ordinary user, in one run. */

#include "tests.h"

#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/err.h"
#include "rig.h"

bool is_user(void)
{
	return geteuid() != 0;
}

static int run_groups(void)
{
	int failed = 0;
	struct err err;

	if (sandbox_init(&err) < 0)
		return 1;
	failed += test_start();
	failed += test_inside();
	failed += test_mounts();
	failed += test_protect();
	failed += test_limits();
	failed += test_death();
	return failed;
}

int main(void)
{
	int failed = 0, status = 0;
	pid_t pid;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (is_user())
		return run_groups();
	failed = run_groups();
	pid = fork();
	if (pid == 0) {
		become_user();
		_exit(run_groups() == 0 ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		failed++;
	return failed;
}
