// SPDX-License-Identifier: BSD-2-Clause
/* The steady part of a recording, and the CUDA calls in it: counts, durations, percentiles. */
#include <stdlib.h>
#include <string.h>
#include "calls.h"
#include "diff_load.h"
#include "parallel.h"
#include "quantile.h"

#define BIT(column) (1ull << COL_call_##column)
#define MASK (BIT(ts) | BIT(duration) | BIT(tid) | BIT(operation) | BIT(depth) | BIT(bytes) | \
	      BIT(code) | BIT(flags))
#define STEADY_CELLS 8192
#define STEADY_CUT 100		/* one of so many calls at either end */

static const unsigned int permille[DIFF_PERCENTILES] = { 500, 950, 990 };

struct call { uint64_t ts, duration, bytes; uint32_t operation, depth, thread; bool good, first; };

struct first { uint64_t start, duration; uint32_t process, operation; };

struct worker {
	struct columns columns;
	uint32_t *steady;			/* STEADY_CELLS */
	uint64_t *thread_calls;
	struct diff_operation *operations;
	struct quantile *quantiles;		/* by operation; histogram NULL: none, or done */
};

struct loader {
	struct diff_run *run;
	struct report *report;
	struct worker *workers; unsigned int worker_count;
	struct first *firsts; size_t first_count;	/* by start */
	uint64_t last_first;
	void (*visit)(struct loader *l, struct worker *w, const struct call *c);
};

static size_t operations_of(const struct loader *l)
{
	return l->report->recording.operation_count + 1;
}

/* --- one row */

static int by_start(const void *a, const void *b)
{
	const struct first *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static uint32_t place_of(const struct loader *l, uint64_t id)
{
	const struct recording *r = &l->report->recording;
	bool in_place = id && id <= r->operation_count && r->operations[id - 1].id == id;
	const struct operation *o = in_place ? &r->operations[id - 1] : recording_operation(r, id);

	return (uint32_t)(o ? (size_t)(o - r->operations) : r->operation_count);
}

static int load_firsts(struct loader *l)
{
	const struct latency *latency = &l->report->latency;

	l->firsts = calloc(latency->row_count + 1, sizeof(*l->firsts));
	if (!l->firsts)
		return ERROR_MEMORY;
	for (size_t i = 0; i < latency->row_count; i++) {
		const struct latency_row *row = &latency->rows[i];

		if (row->process == LATENCY_ALL || !row->has_first)
			continue;
		if (row->first_ts > l->last_first)
			l->last_first = row->first_ts;
		l->firsts[l->first_count++] = (struct first){
			row->first_ts, row->first, row->process, place_of(l, row->operation->id) };
	}
	if (l->first_count)
		qsort(l->firsts, l->first_count, sizeof(*l->firsts), by_start);
	return 0;
}

static bool is_first(const struct loader *l, uint64_t start, uint64_t duration, uint32_t process,
		     uint32_t operation)
{
	size_t low = 0, high = start <= l->last_first ? l->first_count : 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->firsts[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < l->first_count && l->firsts[low].start == start; low++)
		if (l->firsts[low].duration == duration && l->firsts[low].process == process &&
		    l->firsts[low].operation == operation)
			return true;
	return false;
}

/* False for a row that does not count. */
static bool read_call(const struct loader *l, const struct columns *rows, uint32_t i,
		      struct call *c)
{
	const struct report *r = l->report;
	uint64_t flags = rows->col[COL_call_flags][i], id = rows->col[COL_call_operation][i];
	uint32_t thread;

	c->ts = rows->col[COL_call_ts][i];
	if (!recording_in_span(&r->recording, c->ts) ||
	    (flags & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED)))
		return false;
	thread = tasks_thread(&r->tasks, rows->col[COL_call_tid][i], c->ts);
	if (!select_thread(&r->selection, thread) || !select_operation(&r->selection, id))
		return false;
	c->duration = rows->col[COL_call_duration][i];
	if (c->duration > c->ts)
		c->duration = c->ts;
	c->thread = thread;
	c->depth = (uint32_t)rows->col[COL_call_depth][i];
	c->bytes = flags & CALL_FLAG_BYTES ? rows->col[COL_call_bytes][i] : 0;
	c->operation = place_of(l, id);
	c->good = calls_good(recording_operation(&r->recording, id),
			     (int64_t)rows->col[COL_call_code][i]);
	c->first = c->good && is_first(l, c->ts - c->duration, c->duration,
				       r->tasks.threads[thread].process, c->operation);
	return true;
}

static int one_block(void *context, unsigned int worker, size_t job)
{
	struct loader *l = context;
	struct worker *w = &l->workers[worker];
	uint32_t block = l->report->recording.blocks[TABLE_call].block[job];
	int ret = recording_load(&l->report->recording, block, MASK, &w->columns);
	struct call c;

	for (uint32_t i = 0; i < w->columns.rows && !ret; i++)
		if (read_call(l, &w->columns, i, &c))
			l->visit(l, w, &c);
	return ret;
}

static int pass(struct loader *l,
		void (*visit)(struct loader *l, struct worker *w, const struct call *c))
{
	l->visit = visit;
	return parallel_run(l->report->recording.blocks[TABLE_call].count, one_block, l);
}

/* --- the steady part */

static void visit_steady(struct loader *l, struct worker *w, const struct call *c)
{
	const struct recording *r = &l->report->recording;
	uint64_t ts = c->ts > r->start ? c->ts - r->start : 0;
	unsigned __int128 cell = (unsigned __int128)ts * STEADY_CELLS /
				 ((unsigned __int128)(r->end - r->start) + 1);

	if (!c->depth) {
		w->steady[cell < STEADY_CELLS ? (size_t)cell : STEADY_CELLS - 1]++;
		w->thread_calls[2 * c->thread + l->run->operations[c->operation].waits]++;
	}
	w->operations[c->operation].all_calls++;
}

static uint64_t steady_start(const struct recording *r, size_t cell)
{
	return r->start +
	       (uint64_t)(((unsigned __int128)(r->end - r->start) + 1) * cell / STEADY_CELLS);
}

static void find_steady(struct loader *l)
{
	const struct recording *r = &l->report->recording;
	uint32_t *cells = l->workers[0].steady;
	uint64_t all = 0, cut, sum = 0;
	size_t first = 0, last = STEADY_CELLS - 1;

	for (unsigned int w = 1; w < l->worker_count; w++)
		for (size_t i = 0; i < STEADY_CELLS; i++)
			cells[i] += l->workers[w].steady[i];
	for (size_t i = 0; i < STEADY_CELLS; i++)
		all += cells[i];
	for (unsigned int w = 0; w < l->worker_count; w++)
		for (size_t i = 0; i < l->report->tasks.thread_count; i++) {
			l->run->thread_waits[i] += l->workers[w].thread_calls[2 * i + 1];
			l->run->thread_calls[i] += l->workers[w].thread_calls[2 * i] +
						   l->workers[w].thread_calls[2 * i + 1];
		}
	l->run->start = r->start;
	l->run->end = r->end;
	if (!all)
		return;
	cut = all / STEADY_CUT;
	while (sum + cells[first] <= cut)
		sum += cells[first++];
	for (sum = 0; sum + cells[last] <= cut; last--)
		sum += cells[last];
	l->run->start = steady_start(r, first);
	if (last >= first && last + 1 < STEADY_CELLS)
		l->run->end = steady_start(r, last + 1);
}

/* --- operations */

static void visit_counts(struct loader *l, struct worker *w, const struct call *c)
{
	struct diff_operation *o = &w->operations[c->operation];
	size_t cell;

	if (!diff_steady(l->run, c->ts))
		return;
	cell = diff_cell(l->run, c->ts);
	o->calls++;
	o->cell_calls[cell]++;
	o->bytes += c->good ? c->bytes : 0;
	if (c->good && !c->depth) {
		o->total += c->duration;
		o->cell_total[cell] += c->duration;
	}
	if (!c->good || c->first)
		return;
	o->n++;
	o->cell_n[cell]++;
	o->max = c->duration > o->max ? c->duration : o->max;
	if (!o->buckets)
		o->buckets = calloc(DIFF_BUCKETS, sizeof(*o->buckets));
	if (o->buckets)
		o->buckets[diff_bucket(c->duration)]++;
}

static int add_operation(struct diff_operation *to, struct diff_operation *from)
{
	to->all_calls += from->all_calls;
	to->calls += from->calls;
	to->total += from->total;
	to->bytes += from->bytes;
	to->n += from->n;
	to->max = from->max > to->max ? from->max : to->max;
	for (size_t i = 0; i < DIFF_CELLS; i++) {
		to->cell_calls[i] += from->cell_calls[i];
		to->cell_n[i] += from->cell_n[i];
		to->cell_total[i] += from->cell_total[i];
	}
	if (from->n && !from->buckets)
		return ERROR_MEMORY;
	if (!to->buckets) {
		to->buckets = from->buckets;
		from->buckets = NULL;
	}
	for (size_t i = 0; from->buckets && i < DIFF_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
	return 0;
}

/* Sums of all workers into the run. */
static int unite_counts(struct loader *l)
{
	struct diff_run *run = l->run;
	int ret = 0;

	for (unsigned int w = 0; w < l->worker_count; w++)
		for (size_t i = 0; i < run->operation_count && !ret; i++)
			ret = add_operation(&run->operations[i], &l->workers[w].operations[i]);
	for (size_t i = 0; i < run->operation_count; i++)
		for (size_t k = 0; k < DIFF_CELLS; k++)
			run->cell_calls[k] += run->operations[i].cell_calls[k];
	for (size_t k = 0; k < DIFF_CELLS; k++)
		run->calls += run->cell_calls[k];
	return ret;
}

/* --- percentiles, by as many passes as their digits need */

static void visit_quantiles(struct loader *l, struct worker *w, const struct call *c)
{
	struct quantile *q = &w->quantiles[c->operation];

	if (q->histogram && c->good && !c->first && diff_steady(l->run, c->ts))
		quantile_add(q, &c->duration, 1);
}

static int begin_quantiles(struct loader *l)
{
	int ret = 0;

	for (unsigned int w = 0; w < l->worker_count; w++)
		for (size_t i = 0; i < l->run->operation_count && !ret; i++) {
			const struct diff_operation *o = &l->run->operations[i];

			if (o->n)
				ret = quantile_init(&l->workers[w].quantiles[i], o->n, o->max,
						    permille, DIFF_PERCENTILES, QUANTILE_BITS);
		}
	return ret;
}

/* Ends a pass of one operation; true when it is done. */
static bool next_quantile(struct loader *l, size_t i)
{
	struct quantile *q = &l->workers[0].quantiles[i];

	for (unsigned int w = 1; w < l->worker_count; w++)
		quantile_merge(q, &l->workers[w].quantiles[i]);
	if (quantile_next(q)) {
		for (unsigned int w = 1; w < l->worker_count; w++)
			quantile_follow(&l->workers[w].quantiles[i], q);
		return false;
	}
	for (unsigned int k = 0; k < DIFF_PERCENTILES; k++)
		l->run->operations[i].percentile[k] = quantile_value(q, k);
	for (unsigned int w = 0; w < l->worker_count; w++) {
		quantile_release(&l->workers[w].quantiles[i]);
		l->workers[w].quantiles[i].histogram = NULL;
	}
	return true;
}

static int find_percentiles(struct loader *l)
{
	int ret = begin_quantiles(l);
	bool more = true;

	while (more && !ret) {
		more = false;
		ret = pass(l, visit_quantiles);
		for (size_t i = 0; i < l->run->operation_count && !ret; i++)
			if (l->workers[0].quantiles[i].histogram)
				more |= !next_quantile(l, i);
	}
	return ret;
}

static void visit_below(struct loader *l, struct worker *w, const struct call *c)
{
	const struct diff_operation *o = &l->run->operations[c->operation];
	struct diff_operation *own = &w->operations[c->operation];
	size_t cell;

	if (!c->good || c->first || !diff_steady(l->run, c->ts))
		return;
	cell = diff_cell(l->run, c->ts);
	for (unsigned int k = 0; k < DIFF_PERCENTILES; k++)
		own->cell_below[k][cell] += c->duration <= o->percentile[k];
}

static void unite_below(struct loader *l)
{
	for (unsigned int w = 0; w < l->worker_count; w++)
		for (size_t i = 0; i < l->run->operation_count; i++)
			for (unsigned int k = 0; k < DIFF_PERCENTILES; k++)
				for (size_t cell = 0; cell < DIFF_CELLS; cell++)
					l->run->operations[i].cell_below[k][cell] +=
						l->workers[w].operations[i].cell_below[k][cell];
}

/* --- */

static int make_workers(struct loader *l)
{
	size_t n = operations_of(l), threads = l->report->tasks.thread_count;

	l->run->thread_calls = calloc(threads, sizeof(*l->run->thread_calls));
	l->run->thread_waits = calloc(threads, sizeof(*l->run->thread_waits));
	if (!l->run->thread_calls || !l->run->thread_waits)
		return ERROR_MEMORY;
	l->worker_count = parallel_workers();
	l->workers = calloc(l->worker_count, sizeof(*l->workers));
	for (unsigned int i = 0; l->workers && i < l->worker_count; i++) {
		struct worker *w = &l->workers[i];

		w->steady = calloc(STEADY_CELLS, sizeof(*w->steady));
		w->thread_calls = calloc(2 * threads, sizeof(*w->thread_calls));
		w->operations = calloc(n, sizeof(*w->operations));
		w->quantiles = calloc(n, sizeof(*w->quantiles));
		if (!w->steady || !w->thread_calls || !w->operations || !w->quantiles)
			return ERROR_MEMORY;
	}
	return l->workers ? 0 : ERROR_MEMORY;
}

static void release(struct loader *l)
{
	for (unsigned int i = 0; l->workers && i < l->worker_count; i++) {
		struct worker *w = &l->workers[i];

		for (size_t k = 0; k < operations_of(l); k++) {
			if (w->operations)
				free(w->operations[k].buckets);
			if (w->quantiles)
				quantile_release(&w->quantiles[k]);
		}
		free(w->steady);
		free(w->thread_calls);
		free(w->operations);
		free(w->quantiles);
		columns_release(&w->columns);
	}
	free(l->workers);
	free(l->firsts);
}

static int name_operations(struct loader *l)
{
	const struct recording *r = &l->report->recording;
	struct diff_run *run = l->run;

	run->operation_count = operations_of(l);
	run->operations = calloc(run->operation_count, sizeof(*run->operations));
	if (!run->operations)
		return ERROR_MEMORY;
	for (size_t i = 0; i < run->operation_count; i++) {
		const struct operation *o = i < r->operation_count ? &r->operations[i] :
								     &l->report->latency.unnamed;
		struct diff_operation *own = &run->operations[i];

		own->name = strdup(o->name ? o->name : "");
		own->layer = o->layer;
		own->category = o->category;
		own->waits = window_operation_waits(o);
		if (!own->name)
			return ERROR_MEMORY;
	}
	return 0;
}

int diff_calls_load(struct diff_run *run, struct report *r)
{
	struct loader l = { .run = run, .report = r };
	int ret = make_workers(&l);

	if (!ret)
		ret = load_firsts(&l);
	if (!ret)
		ret = name_operations(&l);
	if (!ret)
		ret = pass(&l, visit_steady);
	if (!ret) {
		find_steady(&l);
		ret = pass(&l, visit_counts);
	}
	if (!ret)
		ret = unite_counts(&l);
	if (!ret)
		ret = find_percentiles(&l);
	if (!ret)
		ret = pass(&l, visit_below);
	if (!ret)
		unite_below(&l);
	release(&l);
	return ret;
}
