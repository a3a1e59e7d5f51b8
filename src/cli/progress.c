/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line.
 *
 * How it works: the engine tells every change of a state; nothing here keeps time of its own, so a
 * run that does nothing costs nothing. The time that is left is guessed from the attempts that are
 * through: elapsed / done × remaining, which already contains the concurrency. */

#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/out.h"
#include "ground/base/own.h"
#include "ground/base/str.h"

#define BAR_WIDTH 20

void progress_init(struct progress *p, bool quiet)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	struct winsize size;

	*p = (struct progress){.quiet = quiet, .columns = 80};
	p->redraws = isatty(STDERR_FILENO) == 1 && (term == NULL || strcmp(term, "dumb") != 0);
	p->color = p->redraws && (no_color == NULL || *no_color == '\0');
	if (p->redraws && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		p->columns = size.ws_col;
}

static void clear(struct progress *p)
{
	if (p->drawn)
		(void)fputs("\r\033[K", stderr); /* only looks suffer */
	p->drawn = false;
}

void progress_done(struct progress *p)
{
	clear(p);
	(void)fflush(stderr); /* only looks suffer */
}

/* Square root by Newton's method: libm would be one more library to load at every start. */
static double root_of(double value)
{
	double guess = value > 1 ? value : 1;

	if (value <= 0)
		return 0;
	for (int i = 0; i < 64; i++)
		guess = (guess + value / guess) / 2;
	return guess;
}

bool score_summarise(const struct run_attempt *attempts, size_t count, struct score_summary *ret)
{
	double sum = 0, squares = 0;

	*ret = (struct score_summary){.standard_error = -1};
	for (size_t i = 0; i < count; i++) {
		ret->done += attempts[i].state == STATE_DONE;
		if (attempts[i].state != STATE_DONE || !attempts[i].graded)
			continue;
		ret->graded++;
		sum += attempts[i].score;
	}
	if (ret->graded == 0)
		return false;
	ret->mean = sum / (double)ret->graded;
	if (ret->graded < 2)
		return true;
	for (size_t i = 0; i < count; i++)
		if (attempts[i].state == STATE_DONE && attempts[i].graded) {
			double off = attempts[i].score - ret->mean;

			squares += off * off;
		}
	ret->standard_error = root_of(squares / (double)(ret->graded - 1) / (double)ret->graded);
	return true;
}

void progress_line(const struct run_report *r, int64_t elapsed_ms, struct buf *out)
{
	unsigned states[STATE_COUNT] = {0};
	struct score_summary score;
	bool graded = score_summarise(r->attempts, r->count, &score);
	size_t filled = r->count > 0 ? score.done * BAR_WIDTH / r->count : 0;
	char span[OUT_SPAN_SIZE];

	for (size_t i = 0; i < r->count; i++)
		states[r->attempts[i].state]++;
	(void)buf_add_char(out, '['); /* failure sticks, here and below */
	for (size_t i = 0; i < BAR_WIDTH; i++)
		(void)buf_add_char(out, i < filled ? '#' : '.');
	(void)buf_addf(out, "] %zu/%zu", score.done, r->count);
	for (int s = 0; s < STATE_DONE; s++)
		if (states[s] > 0)
			(void)buf_addf(out, "  %u %s", states[s], state_name((enum state)s));
	if (graded && score.standard_error >= 0)
		(void)buf_addf(out, "  score %.3f ± %.3f", score.mean, score.standard_error);
	else if (graded)
		(void)buf_addf(out, "  score %.3f", score.mean);
	if (score.done > 0 && score.done < r->count) {
		out_span(elapsed_ms * (int64_t)(r->count - score.done) / (int64_t)score.done, span);
		(void)buf_addf(out, "  %s left", span);
	}
}

static void redraw(struct progress *p, const struct run_report *so_far)
{
	autodone(buf_done) struct buf line = {.max = 4096};
	size_t bytes = 0, width = 0;

	progress_line(so_far, mono_ms_between(p->began, mono_now()), &line);
	(void)buf_text(&line); /* terminates */
	while (bytes < line.len && width + 1 < p->columns) {
		do
			bytes++;
		while (bytes < line.len && ((unsigned char)line.data[bytes] & 0xc0) == 0x80);
		width++;
	}
	(void)fprintf(stderr, "\r\033[K%.*s", (int)bytes, buf_text(&line)); /* only looks suffer */
	(void)fflush(stderr);
	p->drawn = true;
}

static void say_change(const struct run_report *so_far, const struct run_attempt *a)
{
	autofree char *harness = out_line(a->harness);
	autofree char *task = out_line(a->task);
	char span[OUT_SPAN_SIZE], score[32] = "ungraded";
	struct score_summary all;

	if (a->state != STATE_DONE) {
		(void)fprintf(stderr, "%s × %s %u/%u: %s\n", harness, task, a->index, a->of,
			state_name(a->state)); /* only looks suffer */
		return;
	}
	(void)score_summarise(so_far->attempts, so_far->count, &all);
	out_span(a->duration_ms, span);
	if (a->graded)
		(void)snprintf(score, sizeof(score), "score %.3f", a->score);
	(void)fprintf(stderr, "%s × %s %u/%u: %s, %s, %s (%zu of %zu done)\n", harness, task,
		a->index, a->of, outcome_name(a->outcome), score, span, all.done, so_far->count);
}

void progress_changed(void *context, const struct run_report *so_far, size_t changed)
{
	struct progress *p = context;

	if (p->quiet || changed >= so_far->count)
		return;
	if (p->began.ns == 0)
		p->began = mono_now();
	if (p->redraws)
		redraw(p, so_far);
	else
		say_change(so_far, &so_far->attempts[changed]);
}
