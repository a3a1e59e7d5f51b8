/* SPDX-License-Identifier: Apache-2.0 */
/* hemra-init: pid 1 of a box.
 *
 * How it works: it takes the start message from the steward, forks the process that becomes the
 * command, gives up what it does not need, and then does four things until the end: reaps,
 * carries signals to the command's process group, tells the steward when the command ended, and
 * ends itself, which ends everything in the box, when the command has ended or the steward is
 * gone (its control stream closed, or its pidfd says that it died).
 *
 * In a local box there are no namespaces: the same program is then the subreaper of the command,
 * and kills whatever is beneath it, generation by generation, before it ends. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/files.h"
#include "ground/kernel/process.h"
#include "ground/kernel/sock.h"
#include "programs/init/payload.h"
#include "programs/init/start.h"
#include "sandbox/sandbox.h"

struct init {
	pid_t command; /* 0 once it was reaped */
	int status;
	bool is_native;
};

static void send_failed(int r, const char *step)
{
	struct init_packet head = {.type = INIT_FAILED};
	struct err err;

	(void)err_set(&err, -r, "%s", step);
	(void)sock_send(INIT_FD_CONTROL, &head, sizeof(head), &err, sizeof(err), NULL);
}

/* Reaps what can be reaped now; returns how many there were, the command not counted. */
static unsigned reap(struct init *in, int flags)
{
	unsigned count = 0;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, flags)) > 0 || (pid < 0 && errno == EINTR)) {
		if (pid > 0 && pid == in->command) {
			in->command = 0;
			in->status = status;
		} else if (pid > 0) {
			count++;
		}
	}
	return count;
}

/* The number of a process directory's name, 0 for any other name. */
static pid_t pid_of(const char *name)
{
	char *end;
	long pid = strtol(name, &end, 10);

	return *end == '\0' && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *p;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	p = strrchr(text, ')'); /* ") S ppid" */
	return p != NULL && strlen(p) > 4 ? (pid_t)strtol(p + 4, NULL, 10) : 0;
}

/* Local: kills our children; theirs become ours, and the caller comes again for them. */
static void kill_children(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;

	while (proc != NULL && (e = readdir(proc)) != NULL) {
		pid_t pid = pid_of(e->d_name);

		if (pid > 0 && parent_of(pid) == getpid())
			(void)kill(pid, SIGKILL); /* ESRCH: it was faster */
	}
	if (proc != NULL)
		(void)closedir(proc);
}

/* Kills everything there is; returns how many processes that were. */
static unsigned kill_all(struct init *in)
{
	unsigned count = 0;

	(void)reap(in, WNOHANG); /* what was dead already is no survivor */
	if (in->is_native) {
		(void)kill(-1, SIGKILL); /* all of the namespace but ourselves */
		return reap(in, 0);
	}
	for (;;) {
		int status;
		pid_t pid;

		kill_children();
		pid = waitpid(-1, &status, 0);
		if (pid < 0 && errno == ECHILD)
			return count;
		count += pid > 0 && pid != in->command;
		count += reap(in, WNOHANG);
	}
}

static void signal_command(const struct init *in, int signo)
{
	if (in->command <= 0)
		return;
	if (signo == SIGTERM) /* who is stopped cannot end in good order */
		(void)kill(-in->command, SIGCONT);
	(void)kill(-in->command, signo);
}

/* False when the steward is gone. */
static bool take_control(const struct init *in)
{
	struct init_packet head;
	ssize_t n = recv(INIT_FD_CONTROL, &head, sizeof(head), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == sizeof(head) && head.type == INIT_SIGNAL)
		signal_command(in, (int)head.value);
	return n > 0;
}

static void send_exited(const struct init *in, unsigned survivor_count)
{
	struct init_packet head = {.type = INIT_EXITED, .value = (uint32_t)in->status};
	struct init_exit body = {.survivor_count = survivor_count};

	(void)sock_send(INIT_FD_CONTROL, &head, sizeof(head), &body, sizeof(body), NULL);
}

static void supervise(struct init *in, int signals)
{
	struct pollfd polls[] = {
		{.fd = INIT_FD_CONTROL, .events = POLLIN},
		{.fd = INIT_FD_STEWARD, .events = POLLIN},
		{.fd = signals, .events = POLLIN},
	};
	struct signalfd_siginfo info;

	for (;;) {
		if (poll(polls, array_count(polls), -1) < 0 && errno != EINTR)
			break;
		if (polls[2].revents != 0) {
			while (read(signals, &info, sizeof(info)) > 0)
				; /* only a hint: several ends may be one signal */
			(void)reap(in, WNOHANG);
		}
		if (in->command == 0) {
			send_exited(in, kill_all(in));
			return;
		}
		if (polls[1].revents != 0 || (polls[0].revents != 0 && !take_control(in)))
			break;
	}
	(void)kill_all(in);
}

/* What pid 1 keeps: to signal the command's user, and nothing else. */
static int give_up_rights(const struct start *s)
{
	bool is_other_user = (s->head.flags & INIT_NESTED) == 0;
	int r = 0;

	if ((s->head.without & BOX_WITHOUT_USER) == 0)
		r = process_set_dumpable(false);
	if (r == 0)
		r = process_drop_capabilities(is_other_user ? 1ULL << CAP_KILL : 0);
	return r < 0 ? r : process_no_new_privs();
}

static int open_signals(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)sigemptyset(&all);
	(void)sigaddset(&all, SIGCHLD);
	return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void become_payload(const struct start *s)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	payload_run(s);
}

int main(void)
{
	struct init in = {0};
	struct start s = {0};
	int signals = open_signals();
	int r;

	for (int fd = INIT_FD_CONTROL; fd < INIT_FD_COUNT; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)prctl(PR_SET_NAME, "hemra-init", 0, 0, 0);
	r = signals < 0 ? -errno : start_receive(INIT_FD_CONTROL, &s);
	if (r < 0) {
		send_failed(r, "take the start message");
		return 1;
	}
	in.is_native = (s.head.flags & INIT_NATIVE) != 0;
	if (!in.is_native)
		(void)process_be_subreaper();
	in.command = fork();
	if (in.command == 0)
		become_payload(&s);
	r = in.command < 0 ? -errno : in.is_native ? give_up_rights(&s) : 0;
	start_wipe(&s);
	/* Nothing of the command's may be kept open here: its readers wait for the end. */
	(void)close(STDIN_FILENO);
	(void)close(STDOUT_FILENO);
	(void)close(STDERR_FILENO);
	(void)close(INIT_FD_LINK);
	if (r < 0) {
		send_failed(r, "start the command's process");
		(void)kill_all(&in);
		return 1;
	}
	supervise(&in, signals);
	return 0;
}
