// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "findings.h"
#include "report.h"

#define STRETCHES_MAX 65536

struct found { bool any; uint64_t start, end; uint32_t thread, process; const struct operation *operation; };

struct explainer {
	struct explanation *x;
	struct report *report;
	struct windows spans;		/* what is loaded one after the other */
	struct windows one;		/* a group for the call alone */
	struct window_group group;
	struct timeline timeline;
	struct blame blame;
	struct finding causes;
	size_t new;			/* stretches of the span in work */
	int failure;
};

/* Running at "at", or the first that began after it; the longest where at is 0. */
static bool better(const struct found *f, uint64_t at, uint64_t start, uint64_t end)
{
	if (!at)
		return !f->any || end - start > f->end - f->start;
	if (end <= at)
		return false;
	return !f->any || start < f->start;
}

static void look_at(struct explainer *e, const struct columns *c, uint32_t i, const char *operation,
		    uint64_t at, struct found *f)
{
	uint64_t end = c->col[COL_call_ts][i], ns = c->col[COL_call_duration][i];
	const struct operation *op = recording_operation(&e->report->recording, c->col[COL_call_operation][i]);
	uint64_t start = end - (ns < end ? ns : end);
	uint32_t thread;

	if (!op || strcmp(op->name, operation) || !recording_in_span(&e->report->recording, end) ||
	    c->col[COL_call_flags][i] & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED) || !better(f, at, start, end))
		return;
	thread = tasks_thread(&e->report->tasks, c->col[COL_call_tid][i], end);
	*f = (struct found){ true, start, end, thread, e->report->tasks.threads[thread].process, op };
}

static int find_call(struct explainer *e, const char *operation, uint64_t at, struct found *f)
{
	const struct block_list *list = &e->report->recording.blocks[TABLE_call];
	uint64_t mask = 1ull << COL_call_ts | 1ull << COL_call_duration | 1ull << COL_call_tid |
			1ull << COL_call_operation | 1ull << COL_call_flags;
	struct columns c = { 0 };
	int ret = 0;

	for (size_t b = 0; b < list->count && !ret; b++) {
		ret = recording_load(&e->report->recording, list->block[b], mask, &c);
		for (uint32_t i = 0; !ret && i < c.rows; i++)
			look_at(e, &c, i, operation, at, f);
	}
	columns_release(&c);
	if (!ret && !f->any)
		return ERROR_SYSTEM;
	return ret;
}

static void keep(void *context, const struct stretch *s)
{
	struct explainer *e = context;
	struct explanation *x = e->x;
	struct stretch *stretches;

	if (x->count == STRETCHES_MAX) {
		x->cut = true;
		return;
	}
	stretches = array_reserve(x->stretches, &x->capacity, x->count + 1, sizeof(*stretches));
	if (!stretches) {
		e->failure = ERROR_MEMORY;
		return;
	}
	x->stretches = stretches;
	stretches[x->count++] = *s;
	e->new++;
}

static int keep_part(void *context, const struct part *p)
{
	struct explainer *e = context;

	return finding_add_part(&e->causes, p);
}

/* Spans come last first: what is new belongs before what is there. */
static int put_first(struct explanation *x, size_t new)
{
	struct stretch *copy = malloc((new + 1) * sizeof(*copy));

	if (!copy)
		return ERROR_MEMORY;
	memcpy(copy, x->stretches + x->count - new, new * sizeof(*copy));
	memmove(x->stretches + new, x->stretches, (x->count - new) * sizeof(*copy));
	memcpy(x->stretches, copy, new * sizeof(*copy));
	free(copy);
	return 0;
}

/* The part of a call inside a span; false where there is none. */
static bool cut_window(const struct window_span *span, bool last, uint64_t start, uint64_t end,
		       struct window *w)
{
	*w = (struct window){
		.start = start > span->start ? start : span->start,
		.end = end < span->end || last ? end : span->end,
		.whole_start = start, .whole_end = end, .flags = WINDOW_SLOW,
	};
	w->flags |= w->end == end ? WINDOW_TAIL : 0;
	return w->start < w->end;
}

static int explain_part(struct explainer *e, const struct window_span *span, bool last)
{
	struct explanation *x = e->x;
	const struct blame_watch watch = { keep, keep_part, e };
	struct window w;
	int ret;

	if (!cut_window(span, last, x->start, x->end, &w))
		return 0;
	e->new = 0;
	ret = blame_one(&e->blame, &w, &watch);
	if (!ret)
		ret = e->failure;
	return !ret && e->new ? put_first(x, e->new) : ret;
}

static int open_parts(struct explainer *e, struct window_group *groups, size_t count)
{
	struct report *r = e->report;
	int ret = windows_open(&e->spans, &r->recording, &r->tasks, &r->latency);

	e->one = (struct windows){ .groups = groups, .group_count = count };
	e->blame = (struct blame){
		.timeline = &e->timeline, .tasks = &r->tasks,
		.procs = &r->procs, .roles = &r->roles, .windows = &e->one,
	};
	if (!ret)
		ret = timeline_open(&e->timeline, &r->recording, &r->tasks, &r->procs);
	return ret ? ret : blame_open(&e->blame);
}

static void close_parts(struct explainer *e)
{
	blame_release(&e->blame);
	timeline_release(&e->timeline);
	windows_release(&e->spans);
}

static struct window_group group_of_call(uint32_t process, uint32_t thread,
					 const struct operation *operation)
{
	return (struct window_group){
		.kind = EFFECT_SLOW_CALL, .thread = thread, .process = process,
		.operation = operation, .synchronising = window_operation_waits(operation),
	};
}

static int explain_parts(struct explainer *e)
{
	int ret = open_parts(e, &e->group, 1);

	for (size_t s = e->spans.span_count; s-- && !ret;) {
		const struct window_span *span = &e->spans.spans[s];
		bool last = s + 1 == e->spans.span_count;

		if (span->end <= e->x->start && !last)
			break;
		ret = timeline_load(&e->timeline, span->start, span->end + last);
		if (!ret)
			ret = explain_part(e, span, last);
	}
	return ret;
}

static uint64_t p50_of(const struct report *r, uint32_t process, const struct operation *operation)
{
	for (size_t i = 0; i < r->latency.row_count; i++)
		if (r->latency.rows[i].process == process && r->latency.rows[i].operation == operation)
			return r->latency.rows[i].p50;
	return 0;
}

int chains_explain(struct explanation *x, struct report *r, const char *operation, uint64_t at)
{
	struct explainer e = { .x = x, .report = r };
	struct found f = { 0 };
	int ret = find_call(&e, operation, at, &f);

	memset(x, 0, sizeof(*x));
	if (ret)
		return ret;
	*x = (struct explanation){
		.process = f.process, .thread = f.thread, .operation = f.operation, .start = f.start,
		.end = f.end, .p50 = p50_of(r, f.process, f.operation),
	};
	e.group = group_of_call(f.process, f.thread, f.operation);
	ret = explain_parts(&e);
	finding_sort(&e.causes);
	x->causes = e.causes.causes;
	x->cause_count = e.causes.cause_count;
	e.causes.causes = NULL;
	finding_release(&e.causes);
	close_parts(&e);
	return ret;
}

void explanation_release(struct explanation *x)
{
	free(x->stretches);
	free(x->causes);
	memset(x, 0, sizeof(*x));
}

/* ---- where the time of several calls went */

struct tally { uint64_t states[LOST_STATES]; struct finding causes; };

static void pass_over(void *context, const struct stretch *s)
{
	(void)context;
	(void)s;
}

static int add_part(void *context, const struct part *p)
{
	struct tally *t = context;

	t->states[p->state] += p->ns;
	return finding_add_part(&t->causes, p);
}

/* Nothing is known of threads that have no name in the file. */
static int add_span(struct explainer *e, const struct window_span *span, bool last,
		    const struct call_account *calls, struct tally *tallies, size_t count)
{
	int ret = timeline_load(&e->timeline, span->start, span->end + last);

	for (size_t i = 0; i < count && !ret; i++) {
		const struct blame_watch watch = { pass_over, add_part, &tallies[i] };
		struct window w;

		if (calls[i].thread <= TASKS_IDLE ||
		    !cut_window(span, last, calls[i].start, calls[i].end, &w))
			continue;
		w.group = (uint32_t)i;
		ret = blame_one(&e->blame, &w, &watch);
	}
	return ret;
}

/* By kind, then by who: a wait for many others is a wait all the same. Causes come most first. */
static void find_cause(struct call_account *c, const struct finding *f)
{
	uint64_t sums[CAUSE_LIMIT] = { 0 };
	enum cause_kind most = CAUSE_NONE;

	for (size_t i = 0; i < f->cause_count; i++)
		sums[f->causes[i].kind] += f->causes[i].ns;
	for (enum cause_kind kind = 1; kind < CAUSE_LIMIT; kind++)
		most = sums[kind] > sums[most] ? kind : most;
	c->cause = (struct cause){ 0 };
	c->cause_ns = sums[most];
	for (size_t i = f->cause_count; i--;)
		if (f->causes[i].kind == most)
			c->cause = f->causes[i];
}

static void take_tally(struct call_account *c, struct tally *t)
{
	uint64_t known, whole = c->end - c->start;

	c->running = t->states[LOST_RUNNING];
	c->waiting = t->states[LOST_WAITING] + t->states[LOST_WAKE_LATENCY] +
		     t->states[LOST_THROTTLED];
	c->blocked = t->states[LOST_BLOCKED];
	c->device = t->states[LOST_DEVICE];
	known = c->running + c->waiting + c->blocked + c->device;
	c->unrecorded = whole > known ? whole - known : 0;
	finding_sort(&t->causes);
	find_cause(c, &t->causes);
}

static int account_parts(struct explainer *e, struct window_group *groups,
			 const struct call_account *calls, struct tally *tallies, size_t count)
{
	uint64_t first = UINT64_MAX;
	int ret;

	for (size_t i = 0; i < count; i++) {
		groups[i] = group_of_call(calls[i].process, calls[i].thread, calls[i].operation);
		first = calls[i].start < first ? calls[i].start : first;
	}
	ret = open_parts(e, groups, count);
	for (size_t s = e->spans.span_count; s-- && !ret;) {
		const struct window_span *span = &e->spans.spans[s];
		bool last = s + 1 == e->spans.span_count;

		if (span->end <= first && !last)
			break;
		ret = add_span(e, span, last, calls, tallies, count);
	}
	return ret;
}

int chains_account(struct call_account *calls, size_t count, struct report *r)
{
	struct window_group *groups = calloc(count + 1, sizeof(*groups));
	struct tally *tallies = calloc(count + 1, sizeof(*tallies));
	struct explainer e = { .report = r };
	int ret = ERROR_MEMORY;

	if (groups && tallies)
		ret = account_parts(&e, groups, calls, tallies, count);
	for (size_t i = 0; tallies && i < count; i++) {
		if (!ret)
			take_tally(&calls[i], &tallies[i]);
		finding_release(&tallies[i].causes);
	}
	close_parts(&e);
	free(groups);
	free(tallies);
	return ret;
}
