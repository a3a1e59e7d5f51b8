/* SPDX-License-Identifier: Apache-2.0 */
/* The steward's side of making a box: clones the child, maps its ids, puts it into its group, and
 * later hands it the orders. See child.c for the other side. */

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ground/base/own.h"
#include "ground/kernel/cgroup.h"
#include "ground/kernel/ns.h"
#include "ground/kernel/pidfd.h"
#include "ground/kernel/sock.h"
#include "ground/terms/init.h"
#include "sandbox/box.h"
#include "sandbox/native/native.h"

#define DISK_DEFAULT "25%" /* of the memory, each; pages count against the box's limit */
#define SEND_MS      5000
#define END_MS       5000

static int send_packet(
	const struct shell *s, uint32_t type, const struct sock_fds *fds, struct err *err)
{
	struct init_packet head = {.type = type};
	int r;

	do /* the child takes them as they come */
		r = sock_send(s->control, &head, sizeof(head), NULL, 0, fds);
	while (r == -EAGAIN && sock_wait(s->control, POLLOUT, SEND_MS) == 0);
	if (r == -EPIPE)
		return 0; /* it failed; its sentence waits for us in the socket */
	return r < 0 ? err_set(err, -r, "tell the box what to build") : 0;
}

static int clone_child(
	struct shell *s, struct child *c, const struct cgroup *cgroup, struct err *err)
{
	uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 ((c->without & BOX_WITHOUT_NETWORK) != 0 ? 0 : CLONE_NEWNET);
	int birth = cgroup_birth_fd(cgroup);
	pid_t pid = ns_clone(flags, birth, &s->pidfd);
	int r;

	if (pid < 0 && birth >= 0 && (pid == -EOPNOTSUPP || pid == -EACCES || pid == -EBUSY)) {
		birth = -1; /* an old kernel, or a group that may only be entered by being moved */
		pid = ns_clone(flags, -1, &s->pidfd);
	}
	if (pid == 0)
		native_child_run(c);
	if (pid < 0) {
		(void)err_set(err, -pid, "make the namespaces of the box");
		return native_explain(err);
	}
	s->pid = pid;
	r = s->ids.is_root
		    ? idmap_write(pid, &s->ids.uids, &s->ids.gids, /* deny_setgroups= */ false)
		    : 0;
	if (r < 0)
		return err_set(err, -r, "map the ids of the box");
	r = cgroup_add(cgroup, pid, birth >= 0);
	if (r < 0)
		return err_set(err, -r, "move the box into its control group");
	return send_packet(s, INIT_ENTER, NULL, err);
}

static struct orders *share_orders(void)
{
	void *p = mmap(NULL, sizeof(struct orders), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int shell_begin(struct shell *ret, unsigned without, const char *disk, const struct cgroup *cgroup,
	struct err *err)
{
	struct box_ends ends = {-1, -1, -1};
	struct shell s = SHELL_NONE;
	struct child c = {
		.common = layout_common(),
		.ids = &s.ids,
		.image = sandbox_image_fd(),
		.disk = disk != NULL ? disk : DISK_DEFAULT,
		.without = without,
	};
	int r = box_make_ends(&s.control, &s.link, &ends, err);

	native_ids_find(&s.ids);
	c.orders = s.orders = share_orders();
	if (r == 0 && s.orders == NULL)
		r = err_set(err, ENOMEM, "share memory with the box");
	if (r == 0) {
		c.control = ends.control;
		c.link = ends.link;
		c.steward = ends.steward;
		r = clone_child(&s, &c, cgroup, err);
	}
	box_close_ends(&ends);
	if (r < 0) {
		shell_done(&s);
		return r;
	}
	*ret = s;
	return 0;
}

/* The text as the child sees it, or NULL when there is no room. */
static const char *share_text(struct orders *o, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = o->text + o->text_bytes;

	if (size > sizeof(o->text) - o->text_bytes)
		return NULL;
	(void)memcpy(copy, text, size);
	o->text_bytes += size;
	return copy;
}

static int share_layout(struct orders *o, const struct layout *l)
{
	if (l->count > array_count(o->steps))
		return -E2BIG;
	for (size_t i = 0; i < l->count; i++) {
		struct step *s = &o->steps[i];
		const char **const texts[] = {&s->target, &s->source, &s->text};

		*s = l->steps[i];
		if (s->fd >= 0)
			s->fd = STEP_FD_SENT;
		for (size_t k = 0; k < array_count(texts); k++)
			if (*texts[k] != NULL) {
				*texts[k] = share_text(o, *texts[k]);
				if (*texts[k] == NULL)
					return -E2BIG;
			}
	}
	o->count = l->count;
	return 0;
}

static int add_fd(const struct shell *s, struct sock_fds *b, int fd, struct err *err)
{
	int r = 0;

	if (b->count == array_count(b->fd)) {
		r = send_packet(s, INIT_FDS, b, err);
		b->count = 0;
	}
	b->fd[b->count++] = fd;
	return r;
}

int shell_finish(struct shell *s, const struct layout *l, const int stdio[3], struct err *err)
{
	struct sock_fds b = {.count = 0};
	int r = share_layout(s->orders, l);

	if (r < 0)
		return err_say(err, -r,
			"the box has too many mounts, or covers too many paths: at most %d",
			ORDERS_STEP_MAX);
	for (size_t i = 0; i < 3; i++)
		s->orders->has_stdio[i] = stdio[i] >= 0;
	for (size_t i = 0; i < 3 && r == 0; i++)
		if (stdio[i] >= 0)
			r = add_fd(s, &b, stdio[i], err);
	for (size_t i = 0; i < l->count && r == 0; i++)
		if (l->steps[i].fd >= 0)
			r = add_fd(s, &b, l->steps[i].fd, err);
	if (r == 0)
		r = send_packet(s, INIT_BUILD, &b, err);
	(void)munmap(s->orders, sizeof(*s->orders)); /* it stays the child's */
	s->orders = NULL;
	return r;
}

void shell_done(struct shell *s)
{
	int status;

	if (s->pidfd >= 0) {
		(void)pidfd_kill(s->pidfd, SIGKILL);
		if (pidfd_wait(s->pidfd, END_MS) == 0)
			(void)pidfd_reap(s->pidfd, /* block= */ false, &status);
	}
	if (s->orders != NULL)
		(void)munmap(s->orders, sizeof(*s->orders));
	own_close(&s->pidfd);
	own_close(&s->control);
	own_close(&s->link);
	*s = SHELL_NONE;
}
