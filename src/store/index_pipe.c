/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on a pipe, from the locked child that derives them to the process that writes them.
 *
 * How it works: a frame is a struct of fixed layout and then its texts. The reader does not trust the
 * writer, which read what agents wrote: every id, number of an enum and length is checked. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ground/base/buf.h"
#include "ground/base/file.h"
#include "ground/base/own.h"
#include "ground/base/str.h"
#include "store/index_db.h"

enum frame_kind {
	FRAME_RUN,
	FRAME_PLANNED,
	FRAME_STATE,
	FRAME_ARTIFACT,
	FRAME_SETTLED,
	FRAME_REMOVED,
	FRAME_END,
	FRAME_KIND_COUNT,
};

#define FRAME_TEXTS    4
#define FRAME_NUMBERS  14
#define FRAME_TEXT_MAX 65536

struct frame {
	uint32_t kind;
	uint32_t text_bytes[FRAME_TEXTS];
	int64_t numbers[FRAME_NUMBERS];
	double score, cost_usd;
	struct id id, run;
	uint8_t sha256[32], raw_sha256[32];
};

static int send_frame(void *context, struct frame *f, const char *const texts[FRAME_TEXTS])
{
	int fd = *(const int *)context, r;

	for (int i = 0; i < FRAME_TEXTS; i++) {
		size_t n = texts != NULL && texts[i] != NULL ? strlen(texts[i]) : 0;

		if (n > FRAME_TEXT_MAX)
			return -EMSGSIZE;
		f->text_bytes[i] = (uint32_t)n;
	}
	r = file_write(fd, f, sizeof(*f));
	for (int i = 0; i < FRAME_TEXTS && r == 0; i++)
		if (f->text_bytes[i] > 0)
			r = file_write(fd, texts[i], f->text_bytes[i]);
	return r;
}

static int send_run(void *context, const struct id *run, struct wall created, const char *file)
{
	struct frame f = {.kind = FRAME_RUN, .id = *run, .numbers = {created.us}};

	return send_frame(context, &f, (const char *const[FRAME_TEXTS]){file});
}

static int send_planned(void *context, const struct index_attempt *a)
{
	struct frame f = {.kind = FRAME_PLANNED,
		.id = a->attempt,
		.run = a->run,
		.numbers = {a->index, a->of, a->weaker, a->planned.us}};

	return send_frame(context, &f,
		(const char *const[FRAME_TEXTS]){a->harness, a->task, a->manifest, a->sandbox});
}

static int send_state(void *context, const struct id *attempt, enum state s, struct wall at)
{
	struct frame f = {.kind = FRAME_STATE, .id = *attempt, .numbers = {(int64_t)s, at.us}};

	return send_frame(context, &f, /* texts= */ NULL);
}

static int send_artifact(void *context, const struct index_artifact *a)
{
	struct frame f = {.kind = FRAME_ARTIFACT,
		.id = a->attempt,
		.numbers = {(int64_t)a->bytes, a->declared}};

	(void)memcpy(f.sha256, a->sha256, 32);
	(void)memcpy(f.raw_sha256, a->raw_sha256, 32);
	return send_frame(context, &f, (const char *const[FRAME_TEXTS]){a->path, a->role});
}

static int send_settled(void *context, const struct index_attempt *a)
{
	struct frame f = {.kind = FRAME_SETTLED,
		.id = a->attempt,
		.score = a->score,
		.cost_usd = a->usage.cost_usd,
		.numbers = {(int64_t)a->outcome, a->settled.us, a->graded, a->duration_ms,
			a->weaker, a->usage.input, a->usage.output, a->usage.cache_read,
			a->usage.cache_write, a->usage.reasoning, (int64_t)a->events,
			(int64_t)a->event_bytes, (int64_t)a->artifact_bytes}};

	return send_frame(context, &f, (const char *const[FRAME_TEXTS]){a->reason});
}

static int send_removed(void *context, const struct id *attempt, struct wall at, const char *why)
{
	struct frame f = {.kind = FRAME_REMOVED, .id = *attempt, .numbers = {at.us}};

	return send_frame(context, &f, (const char *const[FRAME_TEXTS]){why});
}

void index_pipe_sink(const int *fd, struct index_sink *ret)
{
	*ret = (struct index_sink){.context = (void *)(uintptr_t)fd,
		.run = send_run,
		.planned = send_planned,
		.state = send_state,
		.artifact = send_artifact,
		.settled = send_settled,
		.removed = send_removed};
}

int index_pipe_end(int fd, struct err *err)
{
	struct frame f = {.kind = FRAME_END};
	int r = send_frame(&fd, &f, /* texts= */ NULL);

	return r < 0 ? err_set(err, -r, "end the rows") : 0;
}

static int read_all(int fd, void *bytes, size_t size)
{
	char *p = bytes;

	while (size > 0) {
		ssize_t n = read(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EPROTO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

static int receive_texts(int fd, const struct frame *f, char *texts[FRAME_TEXTS])
{
	for (int i = 0; i < FRAME_TEXTS; i++) {
		int r;

		if (f->text_bytes[i] > FRAME_TEXT_MAX)
			return -EPROTO;
		texts[i] = own_alloc((size_t)f->text_bytes[i] + 1);
		r = read_all(fd, texts[i], f->text_bytes[i]);
		if (r < 0)
			return r;
		if (strlen(texts[i]) != f->text_bytes[i] ||
			!str_is_utf8(texts[i], f->text_bytes[i]))
			return -EPROTO;
	}
	return 0;
}

static int put_settled(
	struct index *x, const struct frame *f, char *const texts[FRAME_TEXTS], struct err *err)
{
	const int64_t *n = f->numbers;
	struct index_attempt a = {.attempt = f->id,
		.state = STATE_DONE,
		.reason = texts[0],
		.settled = {n[1]},
		.graded = n[2] != 0,
		.score = f->score,
		.duration_ms = n[3],
		.weaker = (unsigned)n[4],
		.usage = {n[5], n[6], n[7], n[8], n[9], f->cost_usd},
		.events = (uint64_t)n[10],
		.event_bytes = (uint64_t)n[11],
		.artifact_bytes = (uint64_t)n[12]};

	if (n[0] < 0 || n[0] >= OUTCOME_COUNT)
		return err_set(err, EPROTO, "an outcome of attempt %s", f->id.text);
	a.outcome = (enum outcome)n[0];
	return index_put_settled(x, &a, err);
}

static int put_artifact(
	struct index *x, const struct frame *f, char *const texts[FRAME_TEXTS], struct err *err)
{
	struct index_artifact a = {.attempt = f->id,
		.path = texts[0],
		.role = texts[1],
		.bytes = (uint64_t)f->numbers[0],
		.declared = f->numbers[1] != 0};

	(void)memcpy(a.sha256, f->sha256, 32);
	(void)memcpy(a.raw_sha256, f->raw_sha256, 32);
	return index_put_artifact(x, &a, err);
}

static int put_planned(
	struct index *x, const struct frame *f, char *const texts[FRAME_TEXTS], struct err *err)
{
	struct index_attempt a = {.attempt = f->id,
		.run = f->run,
		.index = (unsigned)f->numbers[0],
		.of = (unsigned)f->numbers[1],
		.weaker = (unsigned)f->numbers[2],
		.planned = {f->numbers[3]},
		.harness = texts[0],
		.task = texts[1],
		.manifest = texts[2],
		.sandbox = texts[3]};

	return index_put_planned(x, &a, err);
}

static int put_frame(
	struct index *x, const struct frame *f, char *const texts[FRAME_TEXTS], struct err *err)
{
	switch ((enum frame_kind)f->kind) {
	case FRAME_RUN:
		return index_put_run(x, &f->id, (struct wall){f->numbers[0]}, texts[0], err);
	case FRAME_PLANNED:
		return put_planned(x, f, texts, err);
	case FRAME_STATE:
		if (f->numbers[0] < 0 || f->numbers[0] >= STATE_COUNT)
			break;
		return index_put_state(
			x, &f->id, (enum state)f->numbers[0], (struct wall){f->numbers[1]}, err);
	case FRAME_ARTIFACT:
		return put_artifact(x, f, texts, err);
	case FRAME_SETTLED:
		return put_settled(x, f, texts, err);
	case FRAME_REMOVED:
		return index_put_removed(x, &f->id, (struct wall){f->numbers[0]}, texts[0], err);
	case FRAME_END:
	case FRAME_KIND_COUNT:
		break;
	}
	return err_set(err, EPROTO, "a row that is none");
}

static bool id_is_terminated(const struct id *id, bool may_be_none)
{
	return memchr(id->text, '\0', sizeof(id->text)) != NULL &&
	       (id_is_valid(id->text) || (may_be_none && id_is_none(id)));
}

/* 1 when the end came. */
static int receive(struct index *x, int fd, struct err *err)
{
	char *texts[FRAME_TEXTS] = {0};
	struct frame f;
	int r = read_all(fd, &f, sizeof(f));

	if (r == 0 && f.kind == FRAME_END)
		return 1;
	if (r == 0 && (!id_is_terminated(&f.id, /* may_be_none= */ false) ||
			      !id_is_terminated(&f.run, /* may_be_none= */ true)))
		r = -EPROTO;
	if (r == 0)
		r = receive_texts(fd, &f, texts);
	if (r < 0)
		err_set(err, -r, "read a row");
	else
		r = put_frame(x, &f, texts, err);
	if (r == -EEXIST && x->completes)
		r = 0;
	for (int i = 0; i < FRAME_TEXTS; i++)
		free(texts[i]);
	return r;
}

int index_receive(struct index *x, int fd, struct err *err)
{
	int r;

	do
		r = receive(x, fd, err);
	while (r == 0);
	return r < 0 ? r : 0;
}
