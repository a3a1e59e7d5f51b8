/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's side of one steward: starting it, hearing it, and what follows from its death. */

#include "run/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ground/base/log.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "ground/kernel/sock.h"

#define PLAN_MAX        (16 * 1024 * 1024)
#define CLAIM_EVERY_MS  50
#define CLAIMS          200
#define MESSAGES_A_TURN 64

static void note_trouble(struct engine *e, const struct err *err)
{
	log_debug("engine: %s", err->text);
	if (e->trouble.code == 0)
		e->trouble = *err;
}

/* A plan as a sealed memory file. */
static int plan_file(const struct plan *p, int *ret_fd, struct err *err)
{
	autoclose int fd = memfd_create("hemra-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	autodone(buf_done) struct buf out;
	int r;

	buf_init(&out, PLAN_MAX);
	if (fd < 0)
		return err_set(err, errno, "make the plan's memory file");
	r = plan_encode(p, &out);
	if (r < 0)
		return err_set(err, -r, "write the plan");
	if (write(fd, out.data, out.len) != (ssize_t)out.len)
		return err_set(err, errno != 0 ? errno : ENOSPC, "write the plan");
	*ret_fd = take_fd(&fd);
	return 0;
}

static void on_state(struct entry *entry, const struct msg *m)
{
	struct engine *e = entry->engine;
	struct wall at = {(int64_t)m->value[1]};
	struct err err = {0};

	if (m->value[0] >= STATE_COUNT)
		return;
	entry->result->state = (enum state)m->value[0];
	if (e->books.index != NULL && index_put_state(e->books.index, &entry->plan.attempt,
					      entry->result->state, at, &err) < 0)
		note_trouble(e, &err);
	engine_changed(entry);
}

static void on_artifact(struct entry *entry, const struct msg *m)
{
	struct engine *e = entry->engine;
	struct index_artifact row = {.attempt = entry->plan.attempt, .bytes = m->value[0]};
	struct msg_artifact head;
	struct err err = {0};

	if (e->books.index == NULL || m->length < sizeof(head))
		return;
	(void)memcpy(&head, e->incoming, sizeof(head));
	if (m->length != sizeof(head) + head.path_bytes ||
		memchr(head.role, '\0', sizeof(head.role)) == NULL)
		return;
	e->incoming[m->length] = '\0';
	row.path = e->incoming + sizeof(head);
	row.role = head.role;
	(void)memcpy(row.sha256, head.sha256, 32);
	(void)memcpy(row.raw_sha256, head.raw_sha256, 32);
	row.declared = head.declared != 0;
	if (index_put_artifact(e->books.index, &row, &err) < 0)
		note_trouble(e, &err);
}

static void on_settled(struct entry *entry, const struct msg *m)
{
	struct engine *e = entry->engine;
	struct run_attempt *result = entry->result;
	struct event_head head = {.count = m->value[1], .bytes = m->value[2]};
	struct msg_settled settled;
	struct err err = {0};

	if (m->length != sizeof(settled) || m->value[0] >= OUTCOME_COUNT)
		return;
	(void)memcpy(&settled, e->incoming, sizeof(settled));
	settled.reason[sizeof(settled.reason) - 1] = '\0';
	settled.planted[sizeof(settled.planted) - 1] = '\0';
	(void)memcpy(result->planted, settled.planted, sizeof(result->planted));
	result->state = STATE_DONE;
	result->outcome = (enum outcome)m->value[0];
	(void)memcpy(result->reason, settled.reason, sizeof(result->reason));
	result->graded = (m->value[3] & SETTLED_GRADED) != 0;
	result->score = settled.score;
	result->duration_ms = settled.duration_ms;
	result->usage = settled.usage;
	result->exit_status = settled.exit_status;
	result->unexpected = settled.unexpected;
	(void)memcpy(head.hash, settled.head, sizeof(head.hash));
	if (e->books.store != NULL && (m->value[3] & SETTLED_SEAL) != 0) {
		if (engine_seal(e, &entry->plan.attempt, &head,
			    entry->plan.sandbox.kind == SANDBOX_LOCAL, &err) < 0)
			note_trouble(e, &err);
		else
			engine_row_settled(
				e, entry, &head, settled.settled_us, settled.artifact_bytes);
	}
	entry->settled = true;
}

static void hear(struct entry *entry, const struct msg *m)
{
	switch ((int)m->type) {
	case MSG_STATE:
		on_state(entry, m);
		break;
	case MSG_ROW_ARTIFACT:
		on_artifact(entry, m);
		break;
	case MSG_SETTLED:
		on_settled(entry, m);
		break;
	default:
		log_debug("a steward sent message %u", m->type);
	}
}

static void steward_gone(struct entry *entry);

static void handle_steward(void *context, uint32_t events)
{
	struct entry *entry = context;

	(void)events;
	for (int i = 0; i < MESSAGES_A_TURN && entry->fd >= 0; i++) {
		struct sock_fds fds;
		struct msg m;
		ssize_t n = sock_recv(
			entry->fd, &m, sizeof(m), entry->engine->incoming, MSG_PAYLOAD_MAX, &fds);

		if (n == -EAGAIN)
			return;
		for (size_t j = 0; j < fds.count; j++)
			(void)close(fds.fd[j]);
		if (n < (ssize_t)sizeof(m) || m.version != MSG_VERSION ||
			m.length != (size_t)n - sizeof(m)) {
			steward_gone(entry);
			return;
		}
		hear(entry, &m);
	}
}

/* A steward that was killed could not tidy up. */
static void remove_leftovers(struct entry *entry)
{
	struct engine *e = entry->engine;
	struct run_reaped removed = {0};
	struct err err = {0};

	if (e->books.store != NULL)
		reap_files(e->books.store, &entry->plan.attempt, e->request->settings.work_dir,
			&removed);
	if (sandbox_provider_find(entry->plan.sandbox.kind)->sweep(/* dry_run= */ false, &err) < 0)
		log_debug("sweep: %s", err.text);
}

/* The steward died without settling: its box dies with it, and its locks fall when the last of its
 * children is gone. */
static void try_claim(void *context)
{
	struct entry *entry = context;
	struct err err = {0};
	int r = engine_settle_orphan(
		entry->engine, entry, OUTCOME_LOST, "the steward is gone", &err);

	if (r == -EWOULDBLOCK && entry->claims_left-- > 0) {
		loop_timer_arm(entry->claim_timer, CLAIM_EVERY_MS);
		return;
	}
	if (r < 0)
		note_trouble(entry->engine, &err);
	remove_leftovers(entry);
	loop_timer_free(entry->claim_timer);
	entry->claim_timer = NULL;
	entry->result->exit_status = 125;
	schedule_over(entry);
}

static void steward_gone(struct entry *entry)
{
	loop_watch_free(entry->watch);
	entry->watch = NULL;
	own_close(&entry->fd);
	if (entry->settled) {
		schedule_over(entry);
		return;
	}
	entry->claims_left = CLAIMS;
	entry->claim_timer = loop_timer_new(entry->engine->loop, try_claim, entry);
	loop_timer_arm(entry->claim_timer, 0);
}

int steward_start(struct entry *entry, struct err *err)
{
	struct engine *e = entry->engine;
	autoclose int plan = -1, theirs = -1;
	struct event_log *log = NULL;
	int pair[2], r;

	if (plan_file(&entry->plan, &plan, err) < 0)
		return -err->code;
	r = sock_pair(pair);
	if (r < 0)
		return err_set(err, -r, "make a steward's socket");
	entry->fd = pair[0];
	theirs = pair[1];
	/* the lock goes with the descriptor: it is the steward's once this end is closed */
	if (e->books.store != NULL &&
		event_log_claim(e->books.store, &entry->plan.attempt, &log, err) < 0)
		r = -err->code;
	else
		r = nursery_spawn(theirs, plan, log != NULL ? event_log_fd(log) : -1,
			e->count - e->next, err);
	event_log_close(log);
	if (r < 0) {
		own_close(&entry->fd);
		return r;
	}
	entry->started = true;
	entry->watch = loop_watch_new(e->loop, entry->fd, EPOLLIN, handle_steward, entry);
	return 0;
}

void steward_cancel(struct entry *entry, int signo)
{
	struct msg m = {.version = MSG_VERSION,
		.type = MSG_CANCEL,
		.value = {CANCEL_OPERATOR, (uint64_t)signo}};

	if (entry->fd >= 0)
		(void)sock_send(
			entry->fd, &m, sizeof(m), NULL, 0, NULL); /* its death is seen anyway */
}
