/* SPDX-License-Identifier: Apache-2.0 */
/* What a hostile command tries, and what it gets.
 *
 * Every row is one attempt with two boxes: in the first nothing is loosened, and the attempt must
 * fail in the way the row says; in its twin the named rules are left out, and the same attempt must
 * come through, or the row would prove nothing. A row also names the probe's claim about it, which
 * must hold in the first box and be broken in the twin, so that the probe cannot lie either.
 *
 * Rows whose twin needs more than a rule of ours, because the bare kernel refuses as well, carry
 * KERNEL and the reason; they are tried all the same. All rows run as root and as an ordinary user,
 * in a network namespace of the test's own with a route to nowhere. */

#include "escape.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/idmap.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/process.h"
#include "rig.h"

static struct rig r;

static void set_up(const struct row *row, const struct stage *s, bool is_twin)
{
	static struct plan_mount mounts[1];
	static char *covered[3];

	rig_init(&r, SANDBOX_NATIVE);
	mounts[0] = (struct plan_mount){s->workspace, (char *)(uintptr_t) "/workspace", true};
	covered[0] = s->store;
	covered[1] = s->deep_store;
	r.spec.mounts = mounts;
	r.spec.mount_count = 1;
	r.spec.covered = covered;
	r.spec.cwd = "/workspace";
	r.keeps_claims = true;
	if (is_twin) {
		r.spec.without = row->without;
		r.spec.weaker = row->weaker;
	}
	if (row->limit_pids > 0)
		r.spec.limits.pids = row->limit_pids;
	rig_shell(&r, row->script);
}

static bool run_box(
	const struct row *row, const struct stage *s, bool is_twin, char *why, size_t room)
{
	set_up(row, s, is_twin);
	if (rig_run(&r) < 0 || r.failed || r.exec_failed) {
		(void)snprintf(why, room, "the box did not start: %.300s", r.error.text);
		return false;
	}
	return true;
}

/* Where the probe's word is asked for, it must agree. */
static bool claim_is(const struct row *row, enum claim_verdict wanted, char *why, size_t room)
{
	const struct claim_result *c = row->claim < CLAIM_COUNT ? rig_claim(&r, row->claim) : NULL;

	if (row->claim == CLAIM_COUNT || (c != NULL && c->verdict == wanted))
		return true;
	(void)snprintf(why, room, "claim %s: %s, part %d, detail %d", claim_name(row->claim),
		c == NULL                  ? "not reported"
		: c->verdict == CLAIM_HELD ? "held"
					   : "broken",
		c != NULL ? c->part : 0, c != NULL ? c->detail : 0);
	return false;
}

static bool run_row(const struct row *row, const struct stage *s, char *why, size_t room)
{
	unsigned who = geteuid() == 0 ? FOR_ROOT : FOR_USER;

	if (!run_box(row, s, /* is_twin= */ false, why, room) ||
		!claim_is(row, CLAIM_HELD, why, room))
		return false;
	if (strcmp(r.output, row->refused) != 0) {
		(void)snprintf(why, room, "refused box printed '%.200s%.100s'", r.output, r.errors);
		return false;
	}
	if ((row->twin & who) == 0)
		return true;
	if (!run_box(row, s, /* is_twin= */ true, why, room))
		return false;
	if (strcmp(r.output, row->works) != 0) {
		(void)snprintf(why, room, "twin printed '%.200s%.100s'", r.output, r.errors);
		return false;
	}
	/* a claim that the loosening takes back is not reported at all */
	return (row->weaker != 0 && rig_claim(&r, row->claim) == NULL) ||
	       claim_is(row, CLAIM_BROKEN, why, room);
}

static int run_rows(const struct stage *s)
{
	static unsigned number;
	int failed = 0;
	struct err err;

	if (sandbox_init(&err) < 0)
		return 1;
	for (const struct row *row = rows; row->name != NULL; row++) {
		char why[1024] = "";
		bool ok = run_row(row, s, why, sizeof(why));
		unsigned who = geteuid() == 0 ? FOR_ROOT : FOR_USER;

		printf("%s %u - %s, %s%s%s\n", ok ? "ok" : "not ok", ++number, row->name,
			who == FOR_ROOT ? "root" : "user",
			(row->twin & who) == 0 ? " # no twin: " : "",
			(row->twin & who) == 0 ? row->no_twin : "");
		if (!ok)
			printf("# %s\n", why);
		failed += !ok;
	}
	return failed;
}

/* A network of our own: lo up, and a default route by it that leads nowhere. What would leave in
 * the twin stays in here. */
static bool enter_network(void)
{
	struct rtentry route = {.rt_flags = RTF_UP, .rt_dev = (char *)(uintptr_t) "lo"};
	struct sockaddr_in any = {.sin_family = AF_INET};
	autoclose int fd = -1;

	if (ns_leave(CLONE_NEWNET) < 0 || ns_loopback_up() < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	(void)memcpy(&route.rt_dst, &any, sizeof(any));
	(void)memcpy(&route.rt_genmask, &any, sizeof(any));
	return fd >= 0 && ioctl(fd, SIOCADDRT, &route) == 0;
}

/* A socket of the "host", for the rows about sockets. */
static int open_listener(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (void *)&address, sizeof(address)) < 0 || listen(fd, 8) < 0 ||
		chmod(path, 0777) < 0)
		return -1;
	return fd;
}

static int run_stage(bool as_user)
{
	struct stage s = {.workspace = place_make(), .home = place_make()};
	int failed, listener;
	char *deep;

	s.store = place_path(s.workspace, "store");
	deep = place_path(s.workspace, "deep");
	s.deep_store = place_path(deep, "store");
	if (mkdir(s.store, 0777) < 0 || chmod(s.store, 0777) < 0 || mkdir(deep, 0777) < 0 ||
		mkdir(s.deep_store, 0755) < 0)
		return 1;
	if (as_user && (chown(s.workspace, 1001, 1001) < 0 || chown(s.home, 1001, 1001) < 0 ||
			       chown(deep, 1001, 1001) < 0 || chown(s.deep_store, 1001, 1001) < 0))
		return 1;
	place_write(s.store, "key", "stolen\n");
	place_write(s.home, "id_rsa", "stolen\n");
	if (chmod(s.home, 0755) < 0)
		return 1;
	if (as_user)
		become_user();
	(void)setenv("HOME", s.home, 1);
	(void)setenv("SSH_AUTH_SOCK", place_path(s.home, "agent.sock"), 1);
	listener = open_listener(place_path(s.home, "agent.sock"));
	failed = listener < 0 ? 1 : run_rows(&s);
	own_close(&listener);
	place_remove(s.workspace);
	place_remove(s.home);
	return failed;
}

int main(void)
{
	int failed = 0;

	if (geteuid() != 0 || !enter_network()) {
		printf("1..0 # SKIP needs root, to become both\n");
		return 77;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (int as_user = 0; as_user < 2; as_user++) {
		int status = 1;
		pid_t pid = fork();

		if (pid == 0)
			_exit(run_stage(as_user != 0) > 0);
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
			failed++;
	}
	return failed;
}
