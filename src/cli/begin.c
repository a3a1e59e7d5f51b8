/* SPDX-License-Identifier: Apache-2.0 */
/* Standard descriptors and signals, before the first line of work. */

#include "cli/begin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "ground/base/own.h"

/* In ascending order, so that each takes the lowest free number: its own. */
static bool open_standard_descriptors(void)
{
	static const int directions[] = {
		[STDIN_FILENO] = O_RDONLY, [STDOUT_FILENO] = O_WRONLY, [STDERR_FILENO] = O_WRONLY};

	for (int fd = 0; fd < (int)array_count(directions); fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", directions[fd] | O_CLOEXEC) != fd)
			return false;
		(void)fcntl(fd, F_SETFD, 0); /* as descriptors that were inherited are */
	}
	return true;
}

bool begin_process(void)
{
	(void)signal(SIGXFSZ, SIG_IGN); /* cannot fail for these two */
	(void)signal(SIGPIPE, SIG_DFL);
	return open_standard_descriptors();
}
