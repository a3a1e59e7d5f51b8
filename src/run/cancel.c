/* SPDX-License-Identifier: Apache-2.0 */
/* `hemra cancel`: one word to the steward behind an attempt. */

#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ground/base/own.h"

#define ANSWER_WAIT_S 5

int run_cancel(const char *store, const struct id *attempt, struct err *err)
{
	autofree char *live = own_printf("%s/live", store);
	autoclose int directory = open(live, O_PATH | O_DIRECTORY | O_CLOEXEC);
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval wait = {.tv_sec = ANSWER_WAIT_S};
	struct msg m = {.version = MSG_VERSION, .type = MSG_CANCEL, .value = {CANCEL_OPERATOR}};

	if (directory < 0)
		return err_set(err, errno, "open '%s'", live);
	if (fd < 0)
		return err_set(err, errno, "make a socket");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s.sock",
		directory, attempt->text);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == ENOENT || errno == ECONNREFUSED)
			return err_say(err, ENOENT, "attempt %s does not run", attempt->text);
		return err_set(err, errno, "reach the steward of %s", attempt->text);
	}
	if (send(fd, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m))
		return err_set(err, errno, "ask the steward of %s", attempt->text);
	if (recv(fd, &m, sizeof(m), 0) != sizeof(m))
		return err_say(err, EIO, "the steward of %s did not answer", attempt->text);
	return 0;
}
