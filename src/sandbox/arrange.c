/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps of a cloned child before it is pid 1's program. No allocation: see child.c. */

#include "sandbox/arrange.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/process.h"
#include "ground/terms/init.h"

enum {
	IMAGE = INIT_FD_COUNT, /* where the image goes */
	CLEAR = 20,            /* above every place that is given out */
	SIGNALS = 64,          /* the kernel's, real-time ones included */
};

int arrange_and_exec(const int stdio[3], int control, int steward, int link, int image)
{
	int from[] = {stdio[0], stdio[1], stdio[2], control, steward, link, image};
	const int keep[] = {INIT_FD_CONTROL, INIT_FD_STEWARD, INIT_FD_LINK, IMAGE};
	char name[] = "hemra-init";
	char *const argv[] = {name, NULL}, *const envp[] = {NULL};
	/* struct kernel_sigaction of all zeroes: handler SIG_DFL, no flags, no restorer, empty mask */
	static const unsigned long as_new[8];
	sigset_t none;

	static_assert(array_count(from) == IMAGE + 1, "one descriptor for each place");
	for (size_t i = 0; i < array_count(from); i++) { /* out of the way of one another */
		int fd = from[i] >= 0 ? from[i] : open("/dev/null", O_RDWR | O_CLOEXEC);

		from[i] = fcntl(fd, F_DUPFD_CLOEXEC, CLEAR);
		if (from[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < array_count(from); i++)
		if (dup3(from[i], (int)i, i == IMAGE ? O_CLOEXEC : 0) < 0)
			return -errno;
	(void)process_close_fds(keep, array_count(keep)); /* the rest is closed by exec as well */
	/* What the steward ignores the box does not; by the kernel's own call, because the C library
	 * keeps two signals to itself that whoever started hemra may have ignored. SIGKILL and SIGSTOP
	 * cannot be set. */
	for (int i = 1; i <= SIGNALS; i++)
		(void)syscall(__NR_rt_sigaction, i, as_new, NULL, SIGNALS / 8);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)syscall(__NR_execveat, IMAGE, "", argv, envp, AT_EMPTY_PATH);
	return -errno;
}
