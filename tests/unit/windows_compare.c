// SPDX-License-Identifier: BSD-2-Clause
#include "windows_compare.h"

#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "report/windows_private.h"

#define S MADE_START

/* --- comparing */

struct window found[4 * MODEL_CALLS];
size_t found_count;

uint32_t op_id(const struct operation *o)
{
	return o ? o->id : 0;
}

static bool group_is(const struct report *r, const struct window_group *g, const struct member *m)
{
	return g->kind == m->kind && model_thread(r, g->thread) == m->thread &&
	       r->tasks.processes[g->process].tgid == model_pid(m->thread) &&
	       op_id(g->operation) == m->op && op_id(g->next) == m->next &&
	       g->copy_kind == m->copy_kind && g->size_class == m->size_class &&
	       g->fed == m->fed;
}

static bool figures_are(const struct window_group *g, const struct member *m)
{
	uint64_t error = m->lost / 80;		/* 1.25 % */

	return g->count == m->count && g->total == m->total && g->p50 == m->p50 &&
	       g->p99 == m->p99 && g->max == m->max && g->slow == m->slow &&
	       g->lost <= m->lost + error && g->lost + error >= m->lost;
}

/* Spans are asked for in a mixed order. */
void load_all(struct windows *w, const uint64_t *wanted)
{
	static struct window last[MODEL_THREADS + 8];
	size_t step = w->span_count % 7 && w->span_count > 7 ? 7 : 1;

	memset(last, 0, sizeof(last));
	found_count = 0;
	for (size_t i = 0; i < w->span_count; i++) {
		size_t span = i * step % w->span_count, n;
		const struct window *parts;

		CHECK(windows_load(w, span, wanted, &parts, &n) == 0);
		for (size_t k = 0; k < n; k++) {
			CHECK(parts[k].start >= w->spans[span].start);
			CHECK(parts[k].end <= w->spans[span].end);
			CHECK(!k || w->groups[parts[k - 1].group].thread <
			      w->groups[parts[k].group].thread ||
			      (w->groups[parts[k - 1].group].thread ==
			       w->groups[parts[k].group].thread &&
			       parts[k - 1].end <= parts[k].start));
			found[found_count++] = parts[k];
		}
	}
}

static const struct windows *sorted_by;

static int by_thread(const void *a, const void *b)
{
	const struct window *x = a, *y = b;
	uint32_t s = sorted_by->groups[x->group].thread, t = sorted_by->groups[y->group].thread;

	if (s != t)
		return s < t ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

void join(const struct windows *w)
{
	const uint32_t edges = WINDOW_HEAD | WINDOW_TAIL;
	size_t n = 0;

	sorted_by = w;
	qsort(found, found_count, sizeof(*found), by_thread);
	for (size_t i = 0; i < found_count; i++) {
		struct window *part = &found[i], *whole = n ? &found[n - 1] : NULL;

		if (part->flags & WINDOW_HEAD) {
			found[n++] = *part;
			CHECK(part->start == part->whole_start);
		} else if (CHECK(whole && !(whole->flags & WINDOW_TAIL) &&
				 whole->end == part->start && whole->group == part->group &&
				 whole->whole_start == part->whole_start &&
				 whole->whole_end == part->whole_end &&
				 (whole->flags & ~edges) == (part->flags & ~edges))) {
			whole->end = part->end;
			whole->flags |= part->flags & WINDOW_TAIL;
		}
	}
	found_count = n;
	for (size_t i = 0; i < n; i++)
		CHECK(found[i].end == found[i].whole_end && (found[i].flags & edges) == edges);
}

static void compare_feeding(const struct report *r, const struct windows *w)
{
	size_t there = 0;

	for (uint32_t pid = 100; pid <= 200; pid += 100)
		there += model_feeding(pid).threads > 0;
	CHECK(w->feeding_count == there);
	for (size_t i = 0; i < w->feeding_count; i++) {
		const struct feeding *f = &w->feeding[i];
		struct model_feeding m =
			model_feeding((uint32_t)r->tasks.processes[f->process].tgid);

		CHECK(f->threads == m.threads && f->span == m.span && f->syncs == m.syncs);
		CHECK(f->work == m.work && f->provable == (m.syncs > 0));
	}
}

void compare(const struct report *r, const struct windows *w)
{
	size_t at_found = 0, groups = 0;

	for (size_t i = 0; i < member_count; i++) {
		const struct member *m = &members[i];
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = model_same_group(&members[k], m);
		groups += !seen;
		for (size_t k = 0; k < w->group_count && !seen; k++)
			if (group_is(r, &w->groups[k], m)) {
				CHECK(figures_are(&w->groups[k], m));
				seen = true;
			}
		CHECK(seen);
		if (!m->flags)
			continue;
		if (!CHECK(at_found < found_count))
			return;
		CHECK(found[at_found].start == m->start && found[at_found].end == m->end);
		CHECK(group_is(r, &w->groups[found[at_found].group], m));
		CHECK(found[at_found++].flags == (m->flags | WINDOW_HEAD | WINDOW_TAIL));
	}
	CHECK(at_found == found_count && groups == w->group_count);
	compare_feeding(r, w);
}

const uint64_t everything[64] = { [0 ... 63] = UINT64_MAX };

void compare_with_spans(struct report *r, uint64_t rows, uint64_t keep, size_t spans)
{
	struct windows w;

	CHECK(!windows_open_sized(&w, &r->recording, &r->tasks, &r->latency,
				  (struct windows_sizes){ rows, keep }));
	CHECK(w.span_count >= spans && w.spans[0].start == r->recording.start);
	CHECK(w.spans[w.span_count - 1].end == r->recording.end && w.group_count <= 64 * 64);
	for (size_t i = 1; i < w.span_count; i++)
		CHECK(w.spans[i].start == w.spans[i - 1].end &&
		      w.spans[i].start > w.spans[i - 1].start);
	load_all(&w, everything);
	join(&w);
	compare(r, &w);
	windows_release(&w);
}

/* --- calls by hand */

struct call *at;

void reset(void)
{
	call_count = 0;
}

struct call *add(uint32_t thread, uint32_t op, uint64_t start, uint64_t end)
{
	at = &calls[call_count++];
	*at = (struct call){ .thread = thread, .op = op, .start = S + start, .end = S + end,
			     .stream = NO_STREAM, .kind = 7, .probe = 1 };
	return at;
}

struct windows hand;
struct report hand_report;

void finish(void)
{
	model_report(&hand_report);
	model_windows();
	compare_with_spans(&hand_report, 8, 3, 1);
	CHECK(!windows_open(&hand, &hand_report.recording, &hand_report.tasks,
			    &hand_report.latency));
	CHECK(hand.span_count == 1);
	load_all(&hand, everything);
	compare(&hand_report, &hand);
}

void release(void)
{
	windows_release(&hand);
	windows_release(&hand);
	report_release(&hand_report);
}

const struct window *window_at(enum effect_kind kind, uint32_t thread, uint64_t start)
{
	for (size_t i = 0; i < found_count; i++) {
		const struct window_group *g = &hand.groups[found[i].group];

		if (g->kind == kind && model_thread(&hand_report, g->thread) == thread &&
		    found[i].start == S + start)
			return &found[i];
	}
	return NULL;
}

bool idle_is(uint32_t thread, uint64_t start, uint64_t end)
{
	const struct window *w = window_at(EFFECT_STARVATION, thread, start);

	return w && w->end == S + end;
}

uint64_t idles_found(void)
{
	uint64_t n = 0;

	for (size_t i = 0; i < found_count; i++)
		n += hand.groups[found[i].group].kind == EFFECT_STARVATION;
	return n;
}

const struct feeding *feeding_of(uint32_t pid)
{
	for (size_t i = 0; i < hand.feeding_count; i++)
		if (hand_report.tasks.processes[hand.feeding[i].process].tgid == pid)
			return &hand.feeding[i];
	return NULL;
}

uint32_t feeder(uint32_t thread)
{
	for (uint32_t i = 0; i < hand_report.tasks.thread_count; i++)
		if (model_thread(&hand_report, i) == thread)
			return i;
	return UINT32_MAX;
}

int compare_result(void)
{
	return check_result();
}
