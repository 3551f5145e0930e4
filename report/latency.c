// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "calls.h"
#include "latency.h"
#include "parallel.h"
#include "quantile.h"

#define TARGETS 3
#define SPILL_BITS 8		/* many small histograms at once */
#define SPILL_BYTES (48u << 20)

static const unsigned int permille[TARGETS] = { 500, 950, 990 };

struct builder {
	struct latency *latency;
	struct recording *recording;
	const struct tasks *tasks;
	struct keyframes *keyframes;
	struct calls calls;
	uint32_t *own_row, *all_row;	/* by group of workers[0]: its rows in latency */
	/* The rows whose durations are being read again, and a quantile each per worker. */
	size_t batch_first, batch_count;
	struct quantile *quantiles;
};

static const struct operation *operation_of(struct builder *b, uint32_t id)
{
	const struct operation *operation = id ? recording_operation(b->recording, id) : NULL;

	return operation ? operation : &b->latency->unnamed;
}

static void fill_row(struct builder *b, struct latency_row *row, const struct group *g)
{
	bool first = g->first_selected && g->process != TASKS_UNKNOWN &&
		     process_start_in_span(&b->tasks->processes[g->process], b->recording);

	*row = (struct latency_row){
		.process = g->process, .operation = operation_of(b, g->operation),
		.calls = g->calls, .failed = g->failed, .nested = g->nested, .open = g->open,
		.good = g->good, .total = g->total, .bytes = g->bytes, .has_first = first,
		.first = first ? g->first_duration : 0, .first_ts = first ? g->first_start : 0,
		.firsts = first, .n = g->good - first,
	};
	if (row->n)
		row->max = first && g->first_duration == g->max ? g->second : g->max;
}

static void add_to_all(struct latency_row *all, const struct latency_row *row)
{
	all->calls += row->calls;
	all->failed += row->failed;
	all->nested += row->nested;
	all->open += row->open;
	all->good += row->good;
	all->total += row->total;
	all->bytes += row->bytes;
	all->firsts += row->firsts;
	all->n += row->n;
	if (row->max > all->max)
		all->max = row->max;
}

static int by_process(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->operation > y->operation) - (x->operation < y->operation);
}

static uint32_t find_all(const struct latency *l, size_t count, const struct operation *operation)
{
	for (size_t i = 0; i < count; i++)
		if (l->rows[i].operation == operation)
			return (uint32_t)i;
	return (uint32_t)count;
}

/* The order of operations over all processes: most time first, then most calls, then the name. */
static int by_weight(const void *a, const void *b)
{
	const struct latency_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return strcmp(x->operation->name, y->operation->name);
}

/* Rows of all processes, then those of each process, in the order of the groups. */
static int make_rows(struct builder *b)
{
	struct latency *l = b->latency;
	struct groups *g = &b->calls.workers[0].groups;
	struct latency_row *own;
	size_t all = 0;

	l->rows = calloc(2 * g->count + 1, sizeof(*l->rows));
	own = calloc(g->count + 1, sizeof(*own));
	b->own_row = calloc(g->count + 1, sizeof(*b->own_row));
	b->all_row = calloc(g->count + 1, sizeof(*b->all_row));
	if (!l->rows || !own || !b->own_row || !b->all_row)
		return free(own), ERROR_MEMORY;
	for (size_t i = 0; i < g->count; i++) {
		uint32_t place;

		fill_row(b, &own[i], &g->groups[i]);
		place = find_all(l, all, own[i].operation);
		all += place == all;
		l->rows[place].process = LATENCY_ALL;
		l->rows[place].operation = own[i].operation;
		add_to_all(&l->rows[place], &own[i]);
	}
	if (all)
		qsort(l->rows, all, sizeof(*l->rows), by_weight);
	for (size_t i = 0; i < g->count; i++) {
		b->all_row[i] = find_all(l, all, own[i].operation);
		b->own_row[i] = (uint32_t)(all + i);
		l->rows[all + i] = own[i];
		l->process_calls[own[i].process] += own[i].calls;
		l->process_time[own[i].process] += own[i].total;
		l->calls += own[i].calls;
	}
	l->row_count = all + g->count;
	free(own);
	return 0;
}

static uint32_t operation_id(const struct builder *b, const struct latency_row *row)
{
	return row->operation == &b->latency->unnamed ? 0 : row->operation->id;
}

static bool in_row(const struct builder *b, const struct latency_row *row, const struct group *g)
{
	return g->operation == operation_id(b, row) &&
	       (row->process == LATENCY_ALL || g->process == row->process);
}

static void feed(struct quantile *q, const struct durations *d)
{
	for (const struct chunk *c = d->small; c; c = c->next)
		quantile_add32(q, c->values, c->count);
	quantile_add(q, d->large, d->large_count);
}

static void feed_worker(const struct builder *b, const struct latency_row *row, unsigned int worker,
			struct quantile *q)
{
	const struct groups *groups = &b->calls.workers[worker].groups;

	if (row->process != LATENCY_ALL) {
		const struct group *g = groups_find(groups, row->process, operation_id(b, row));

		if (g)
			feed(q, &g->durations);
		return;
	}
	for (size_t i = 0; i < groups->count; i++)
		if (in_row(b, row, &groups->groups[i]))
			feed(q, &groups->groups[i].durations);
}

/* First calls are among the durations: take them out again, in every pass. */
static void remove_firsts(const struct builder *b, const struct latency_row *row,
			  struct quantile *q)
{
	const struct latency *l = b->latency;

	if (row->process != LATENCY_ALL) {
		if (row->has_first)
			quantile_remove(q, row->first);
		return;
	}
	for (size_t i = 0; i < l->row_count; i++)
		if (l->rows[i].process != LATENCY_ALL && l->rows[i].operation == row->operation &&
		    l->rows[i].has_first)
			quantile_remove(q, l->rows[i].first);
}

static void take_answers(struct latency_row *row, const struct quantile *q)
{
	row->p50 = quantile_value(q, 0);
	row->p95 = quantile_value(q, 1);
	row->p99 = quantile_value(q, 2);
}

/* The longest duration that is fed, first calls included. */
static uint64_t longest(const struct builder *b, const struct latency_row *row)
{
	const struct groups *groups = &b->calls.workers[0].groups;
	uint64_t max = 0;

	for (size_t i = 0; i < groups->count; i++)
		if (in_row(b, row, &groups->groups[i]) && groups->groups[i].max > max)
			max = groups->groups[i].max;
	return max;
}

static int kept_row(void *context, unsigned int worker, size_t job)
{
	struct builder *b = context;
	struct latency_row *row = &b->latency->rows[job];
	struct quantile q;
	int ret;

	(void)worker;
	if (!row->n)
		return 0;
	ret = quantile_init(&q, row->n, longest(b, row), permille, TARGETS, QUANTILE_BITS);
	if (ret)
		return ret;
	do {
		for (unsigned int i = 0; i < b->calls.worker_count; i++)
			feed_worker(b, row, i, &q);
		remove_firsts(b, row, &q);
	} while (quantile_next(&q));
	take_answers(row, &q);
	quantile_release(&q);
	return 0;
}

static struct quantile *quantile_of(struct builder *b, unsigned int worker, size_t row)
{
	if (row < b->batch_first || row - b->batch_first >= b->batch_count)
		return NULL;
	return &b->quantiles[worker * b->batch_count + row - b->batch_first];
}

static void spilled_call(void *context, unsigned int worker, uint32_t process, uint32_t operation,
			 uint64_t duration)
{
	struct builder *b = context;
	const struct groups *groups = &b->calls.workers[0].groups;
	const struct group *g = groups_find(groups, process, operation);
	struct quantile *own, *all;

	if (!g)
		return;
	own = quantile_of(b, worker, b->own_row[g - groups->groups]);
	all = quantile_of(b, worker, b->all_row[g - groups->groups]);
	if (own && own->histogram)
		quantile_add(own, &duration, 1);
	if (all && all->histogram)
		quantile_add(all, &duration, 1);
}

/* A row is done when its own number of passes is over; rows with small maxima end early. */
static bool end_pass(struct builder *b)
{
	bool more = false;

	for (size_t i = 0; i < b->batch_count; i++) {
		struct latency_row *row = &b->latency->rows[b->batch_first + i];
		struct quantile *q = &b->quantiles[i];

		if (!q->histogram)
			continue;
		for (unsigned int w = 1; w < b->calls.worker_count; w++)
			quantile_merge(q, &b->quantiles[w * b->batch_count + i]);
		remove_firsts(b, row, q);
		if (quantile_next(q)) {
			more = true;
			for (unsigned int w = 1; w < b->calls.worker_count; w++)
				quantile_follow(&b->quantiles[w * b->batch_count + i], q);
			continue;
		}
		take_answers(row, q);
		for (unsigned int w = 0; w < b->calls.worker_count; w++)
			quantile_release(&b->quantiles[w * b->batch_count + i]);
	}
	return more;
}

static int spilled_batch(struct builder *b)
{
	size_t n = b->batch_count * b->calls.worker_count;
	int ret = 0;

	b->quantiles = calloc(n, sizeof(*b->quantiles));
	if (!b->quantiles)
		return ERROR_MEMORY;
	for (size_t i = 0; i < n && !ret; i++) {
		const struct latency_row *row = &b->latency->rows[b->batch_first +
								  i % b->batch_count];

		if (row->n)
			ret = quantile_init(&b->quantiles[i], row->n, longest(b, row), permille,
					    TARGETS, SPILL_BITS);
	}
	while (!ret) {
		ret = calls_again(&b->calls, spilled_call, b);
		if (!ret && !end_pass(b))
			break;
	}
	for (size_t i = 0; i < n; i++)
		quantile_release(&b->quantiles[i]);
	free(b->quantiles);
	return ret;
}

static int spilled_rows(struct builder *b)
{
	size_t bytes = (TARGETS * sizeof(uint64_t) << SPILL_BITS) * b->calls.worker_count;
	size_t batch = SPILL_BYTES / bytes ? SPILL_BYTES / bytes : 1;
	int ret = 0;

	for (size_t at = 0; at < b->latency->row_count && !ret; at += batch) {
		size_t left = b->latency->row_count - at;

		b->batch_first = at;
		b->batch_count = left < batch ? left : batch;
		ret = spilled_batch(b);
	}
	return ret;
}

static int add_open(struct latency *l, const struct latency_open *call)
{
	struct latency_open *open = array_reserve(l->open, &l->open_capacity, l->open_count + 1,
						  sizeof(*open));

	if (!open)
		return ERROR_MEMORY;
	l->open = open;
	open[l->open_count++] = *call;
	return 0;
}

static int open_rows(struct builder *b)
{
	const struct call_worker *w = &b->calls.workers[0];
	int ret = 0;

	for (size_t i = 0; i < w->open_count && !ret; i++) {
		const struct open_row *row = &w->open[i];

		ret = add_open(b->latency, &(struct latency_open){
			.process = row->process, .thread = row->thread,
			.operation = operation_of(b, row->operation),
			.reason = row->flags & CALL_FLAG_OPEN ? OPEN_THREAD_ENDED : OPEN_ABANDONED,
			.depth = row->depth, .start = row->start, .age = row->end - row->start,
		});
	}
	return ret;
}

/* A row already tells of this call's end: its thread ended, or it was abandoned. */
static bool told(const struct builder *b, const struct open_call *call)
{
	const struct call_worker *w = &b->calls.workers[0];

	for (size_t i = 0; i < w->open_count; i++)
		if (w->open[i].thread == call->thread && w->open[i].start == call->start)
			return true;
	return false;
}

/* Open at the last keyframe and never seen to return: until its thread's end, or the span's. */
static int open_at_end(struct builder *b)
{
	int ret = 0;

	for (size_t i = 0; i < b->keyframes->call_count && !ret; i++) {
		const struct open_call *call = &b->keyframes->calls[i];
		uint64_t exit = b->tasks->threads[call->thread].exit;
		uint64_t end = exit ? exit : b->recording->end;
		struct group *g;

		if (call->returned || told(b, call) ||
		    !calls_selected(&b->calls, call->thread, call->operation))
			continue;
		g = groups_make(&b->calls.workers[0].groups, call->process, call->operation);
		if (!g)
			return ERROR_MEMORY;
		g->open++;
		ret = add_open(b->latency, &(struct latency_open){
			.process = call->process, .thread = call->thread,
			.operation = operation_of(b, call->operation),
			.reason = exit ? OPEN_THREAD_ENDED : OPEN_AT_END, .depth = call->depth,
			.start = call->start, .age = end > call->start ? end - call->start : 0,
		});
	}
	return ret;
}

static int by_age(const void *a, const void *b)
{
	const struct latency_open *x = a, *y = b;

	if (x->age != y->age)
		return x->age > y->age ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* All processes first, then by process. */
static int by_count(const void *a, const void *b)
{
	const struct latency_error *x = a, *y = b;
	int names = strcmp(x->operation->name, y->operation->name);

	if (x->process != y->process)
		return x->process + 1 < y->process + 1 ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (names)
		return names;
	return (x->code > y->code) - (x->code < y->code);
}

/* The element of the same operation and code over all processes, among the first count. */
static size_t error_over_all(const struct latency *l, size_t count, const struct latency_error *e)
{
	size_t k = 0;

	while (k < count &&
	       (l->errors[k].operation != e->operation || l->errors[k].code != e->code))
		k++;
	return k;
}

/* By operation and code, over all processes, and of each. */
static int make_errors(struct builder *b)
{
	const struct call_worker *w = &b->calls.workers[0];
	struct latency *l = b->latency;
	size_t all = 0, k;

	l->errors = calloc(2 * w->error_count + 1, sizeof(*l->errors));
	if (!l->errors)
		return ERROR_MEMORY;
	for (size_t i = 0; i < w->error_count; i++) {
		const struct error_key *key = &w->errors[i].key;
		struct latency_error e = {
			LATENCY_ALL, operation_of(b, key->operation), key->code, 0 };

		k = error_over_all(l, all, &e);
		all += k == all;
		e.count = l->errors[k].count + w->errors[i].count;
		l->errors[k] = e;
	}
	for (size_t i = 0; i < w->error_count; i++) {
		const struct error_key *key = &w->errors[i].key;

		l->errors[all + i] = (struct latency_error){
			key->process, operation_of(b, key->operation), key->code,
			w->errors[i].count };
	}
	l->error_count = all + w->error_count;
	qsort(l->errors, l->error_count, sizeof(*l->errors), by_count);
	return 0;
}

/* groups_make() may have moved them; rows and groups go in one order from here on. */
static int sort_groups(struct groups *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->count; i++)
		if (g->groups[i].calls || g->groups[i].open)
			g->groups[kept++] = g->groups[i];
	g->count = kept;
	if (!g->count)
		return 0;
	qsort(g->groups, g->count, sizeof(*g->groups), by_process);
	return groups_rehash(g);
}

static int build(struct builder *b, const struct selection *s, size_t keep)
{
	struct latency *l = b->latency;
	int ret = calls_load(&b->calls, b->recording, b->tasks, b->keyframes, s, keep);

	if (!ret) {
		l->thread_calls = b->calls.workers[0].thread_calls;
		b->calls.workers[0].thread_calls = NULL;
		ret = open_rows(b);
	}
	if (!ret)
		ret = open_at_end(b);
	if (!ret)
		ret = sort_groups(&b->calls.workers[0].groups);
	if (!ret)
		ret = make_rows(b);
	if (!ret)
		ret = make_errors(b);
	if (!ret && keep && atomic_load(&b->calls.spilled))
		ret = spilled_rows(b);
	else if (!ret && keep)
		ret = parallel_run(l->row_count, kept_row, b);
	if (!ret && l->open_count)
		qsort(l->open, l->open_count, sizeof(*l->open), by_age);
	l->unknown_operations = b->calls.worker_count ? b->calls.workers[0].unknown_operations : 0;
	return ret;
}

int latency_load(struct latency *l, struct recording *r, const struct tasks *t,
		 struct keyframes *k, const struct selection *s, size_t keep)
{
	struct builder b = { .latency = l, .recording = r, .tasks = t, .keyframes = k };
	int ret;

	memset(l, 0, sizeof(*l));
	l->unnamed.name = "(unnamed)";
	l->process_calls = calloc(t->process_count, sizeof(*l->process_calls));
	l->process_time = calloc(t->process_count, sizeof(*l->process_time));
	ret = l->process_calls && l->process_time ? build(&b, s, keep) : ERROR_MEMORY;
	calls_release(&b.calls);
	free(b.own_row);
	free(b.all_row);
	return ret;
}

void latency_release(struct latency *l)
{
	free(l->rows);
	free(l->open);
	free(l->errors);
	free(l->process_calls);
	free(l->process_time);
	free(l->thread_calls);
	memset(l, 0, sizeof(*l));
}
