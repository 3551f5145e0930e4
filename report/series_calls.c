// SPDX-License-Identifier: BSD-2-Clause
#include <stdatomic.h>
#include <stdlib.h>
#include "calls.h"
#include "parallel.h"
#include "quantile.h"
#include "series_private.h"

#define GROUP_STEPS 64		/* whose percentiles one job finds: 2 MiB of histograms */
#define TARGETS 2
#define BIT(column) (1ull << COL_call_##column)
#define MASK (BIT(ts) | BIT(duration) | BIT(tid) | BIT(operation) | BIT(depth) | BIT(code) | \
	      BIT(flags) | BIT(tgid))

static const unsigned int permille[TARGETS] = { 500, 990 };

/* A call that percentiles leave out. */
struct first_call {
	uint64_t ts, duration;
	uint32_t process;
	const struct operation *operation;
	atomic_bool taken;
};

struct call {
	uint64_t ts, duration;
	uint32_t process;
	const struct operation *operation;
	bool failed;
	bool top;		/* its time counts */
	bool ranked;		/* percentiles rest on it, unless it is a first one */
};

static int by_return(const void *a, const void *b)
{
	const struct first_call *x = a, *y = b;

	return (x->ts > y->ts) - (x->ts < y->ts);
}

static int find_firsts(struct series_builder *b)
{
	const struct latency *l = &b->report->latency;

	b->firsts = calloc(l->row_count + 1, sizeof(*b->firsts));
	if (!b->firsts)
		return ERROR_MEMORY;
	for (size_t i = 0; i < l->row_count; i++) {
		const struct latency_row *row = &l->rows[i];

		if (row->process == LATENCY_ALL || !row->has_first)
			continue;
		b->firsts[b->first_count].ts = row->first_ts + row->first;
		b->firsts[b->first_count].duration = row->first;
		b->firsts[b->first_count].process = row->process;
		b->firsts[b->first_count++].operation = row->operation;
	}
	if (b->first_count)
		qsort(b->firsts, b->first_count, sizeof(*b->firsts), by_return);
	return 0;
}

/* Place of the first one that returned at ts or later. */
static size_t first_from(const struct series_builder *b, uint64_t ts)
{
	size_t low = 0, high = b->first_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (b->firsts[middle].ts < ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether percentiles leave the call out. at: place of a first call, moved on to c's return. */
static bool is_first(const struct series_builder *b, const struct call *c, size_t *at)
{
	while (*at < b->first_count && b->firsts[*at].ts < c->ts)
		++*at;
	for (size_t i = *at; i < b->first_count && b->firsts[i].ts == c->ts; i++) {
		struct first_call *f = &b->firsts[i];

		if (f->duration == c->duration && f->process == c->process &&
		    f->operation == c->operation && !atomic_exchange(&f->taken, true))
			return true;
	}
	return false;
}

/* False: not selected, not in the span, or did not return. */
static bool read_call(const struct series_builder *b, const struct columns *rows, uint32_t i,
		      struct call *c)
{
	const struct report *r = b->report;
	uint64_t id = rows->col[COL_call_operation][i], ts = rows->col[COL_call_ts][i];
	uint64_t duration = rows->col[COL_call_duration][i];
	bool nested = rows->col[COL_call_depth][i];
	uint32_t thread;

	if (rows->col[COL_call_flags][i] & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED) ||
	    !recording_in_span(&r->recording, ts) || !select_operation(&r->selection, id))
		return false;
	thread = tasks_thread(&r->tasks, rows->col[COL_call_tid][i], ts);
	if (!series_selects(b, thread))
		return false;
	*c = (struct call){ .ts = ts, .duration = duration < ts ? duration : ts,
			    .operation = recording_operation(&r->recording, id) };
	c->process = thread != TASKS_UNKNOWN ? r->tasks.threads[thread].process :
		     tasks_process(&r->tasks, rows->col[COL_call_tgid][i], ts);
	c->failed = !calls_good(c->operation, (int64_t)rows->col[COL_call_code][i]);
	c->top = !c->failed && !nested;
	c->ranked = !c->failed && (!nested || r->selection.by_operation);
	if (!c->operation)
		c->operation = &r->latency.unnamed;
	return true;
}

/* The part before the start counts in the first step: the whole of it is somewhere. */
static void add_time(const struct series_builder *b, const struct call *c)
{
	uint64_t from = series_offset(b, c->ts - c->duration), to = series_offset(b, c->ts);

	series_stretch(b, b->cuda, from, to);
	__atomic_fetch_add(&b->cuda[0].part, c->duration - (to - from), __ATOMIC_RELAXED);
}

static int one_call_block(void *context, unsigned int worker, size_t job)
{
	const struct series_builder *b = context;
	struct recording *r = &b->report->recording;
	struct columns *rows = &b->columns[worker];
	int ret = recording_load(r, r->blocks[TABLE_call].block[job], MASK, rows);
	size_t at = rows->rows && !ret ? first_from(b, rows->col[COL_call_ts][0]) : 0;
	struct series_run run = { 0 };
	struct call c;

	for (uint32_t i = 0; i < rows->rows && !ret; i++) {
		if (!read_call(b, rows, i, &c))
			continue;
		series_run_at(b, &run, c.ts);
		run.calls++;
		run.failed += c.failed;
		if (c.top)
			add_time(b, &c);
		if (!c.ranked || is_first(b, &c, &at))
			continue;
		run.n++;
		run.max = c.duration > run.max ? c.duration : run.max;
	}
	series_run_end(b, &run);
	return ret;
}

/* --- percentiles */

/* Steps first to first + count - 1. */
struct step_group {
	size_t first, count;
	struct quantile q[GROUP_STEPS];
	bool wanted[GROUP_STEPS];	/* not known yet */
};

static int begin_group(const struct series_builder *b, struct step_group *g)
{
	int ret = 0;

	for (size_t i = 0; i < g->count && !ret; i++) {
		const struct series_step *s = &b->series->steps[g->first + i];

		g->wanted[i] = s->n;
		if (s->n)
			ret = quantile_init(&g->q[i], s->n, s->max, permille, TARGETS,
					    QUANTILE_BITS);
	}
	return ret;
}

/* In this group's time no other job looks at the first calls. */
static void forget_firsts(const struct series_builder *b, uint64_t from, uint64_t to)
{
	for (size_t i = first_from(b, from); i < b->first_count && b->firsts[i].ts < to; i++)
		atomic_store(&b->firsts[i].taken, false);
}

static void feed_block(const struct series_builder *b, struct step_group *g,
		       const struct columns *rows)
{
	size_t at = rows->rows ? first_from(b, rows->col[COL_call_ts][0]) : 0, step;
	struct call c;

	for (uint32_t i = 0; i < rows->rows; i++) {
		step = series_step_at(b, series_offset(b, rows->col[COL_call_ts][i]));
		if (step < g->first || step >= g->first + g->count || !read_call(b, rows, i, &c))
			continue;
		if (c.ranked && g->wanted[step - g->first] && !is_first(b, &c, &at))
			quantile_add(&g->q[step - g->first], &c.duration, 1);
	}
}

static int feed_group(const struct series_builder *b, struct step_group *g, uint64_t from,
		      uint64_t to, struct columns *rows)
{
	struct recording *r = &b->report->recording;
	const struct block_list *list = &r->blocks[TABLE_call];
	int ret = 0;

	forget_firsts(b, from, to);
	for (size_t i = 0; i < list->count && !ret; i++) {
		const struct block_info *block = reader_block(r->reader, list->block[i]);

		if (block->last_ts < from || block->first_ts >= to)
			continue;
		ret = recording_load(r, list->block[i], MASK, rows);
		if (!ret)
			feed_block(b, g, rows);
	}
	return ret;
}

/* Steps with longer calls need more passes. */
static bool next_pass(struct step_group *g)
{
	bool again = false;

	for (size_t i = 0; i < g->count; i++) {
		g->wanted[i] = g->wanted[i] && quantile_next(&g->q[i]);
		again |= g->wanted[i];
	}
	return again;
}

static int one_group(void *context, unsigned int worker, size_t job)
{
	const struct series_builder *b = context;
	struct series *s = b->series;
	struct step_group g = { .first = job * GROUP_STEPS };
	uint64_t from, to;
	int ret;

	g.count = s->count - g.first < GROUP_STEPS ? s->count - g.first : GROUP_STEPS;
	/* The first step has what is before it too, and the last one what is after it. */
	from = g.first ? b->report->recording.start + g.first * s->step : 0;
	to = g.first + g.count < s->count ?
		     b->report->recording.start + (g.first + g.count) * s->step :
		     UINT64_MAX;
	ret = begin_group(b, &g);
	do {
		if (!ret)
			ret = feed_group(b, &g, from, to, &b->columns[worker]);
	} while (!ret && next_pass(&g));
	for (size_t i = 0; i < g.count; i++) {
		if (!ret && s->steps[g.first + i].n) {
			s->steps[g.first + i].p50 = quantile_value(&g.q[i], 0);
			s->steps[g.first + i].p99 = quantile_value(&g.q[i], 1);
		}
		quantile_release(&g.q[i]);
	}
	return ret;
}

int series_load_calls(struct series_builder *b)
{
	struct series *s = b->series;
	int64_t open = 0;
	int ret;

	b->cuda = calloc(s->count, sizeof(*b->cuda));
	ret = b->cuda ? find_firsts(b) : ERROR_MEMORY;
	if (!ret)
		ret = parallel_run(b->report->recording.blocks[TABLE_call].count, one_call_block,
				   b);
	for (size_t i = 0; i < s->count && !ret; i++) {
		open += b->cuda[i].whole;
		s->steps[i].cuda = b->cuda[i].part + (uint64_t)open * s->step;
	}
	return ret ? ret : parallel_run((s->count + GROUP_STEPS - 1) / GROUP_STEPS, one_group, b);
}
