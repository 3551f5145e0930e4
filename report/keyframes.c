// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "keyframes.h"

#define OPEN_CALLS_MAX (1u << 20)

struct loader {
	struct keyframes *keyframes;
	struct tasks *tasks;
	struct recording *recording;
	uint64_t *last;			/* by thread: its last keyframe of all */
	size_t last_capacity;
};

static int reserve(struct loader *l)
{
	struct keyframes *k = l->keyframes;
	size_t before = k->capacity, count = l->tasks->thread_count;
	struct keyframe *threads = array_reserve(k->threads, &k->capacity, count, sizeof(*threads));
	uint64_t *last;

	if (!threads)
		return ERROR_MEMORY;
	k->threads = threads;
	memset(threads + before, 0, (k->capacity - before) * sizeof(*threads));
	before = l->last_capacity;
	last = array_reserve(l->last, &l->last_capacity, count, sizeof(*last));
	if (!last)
		return ERROR_MEMORY;
	l->last = last;
	memset(last + before, 0, (l->last_capacity - before) * sizeof(*last));
	return 0;
}

static int add_call(struct loader *l, const struct open_call *call)
{
	struct keyframes *k = l->keyframes;
	struct open_call *calls;

	if (k->call_count == OPEN_CALLS_MAX)
		return 0;
	calls = array_reserve(k->calls, &k->call_capacity, k->call_count + 1, sizeof(*calls));
	if (!calls)
		return ERROR_MEMORY;
	k->calls = calls;
	calls[k->call_count++] = *call;
	return 0;
}

/* A hung call is in every keyframe: keep those of the last ones from time to time. */
static void forget_older_calls(struct loader *l)
{
	struct keyframes *k = l->keyframes;
	size_t kept = 0;

	for (size_t i = 0; i < k->call_count; i++)
		if (k->calls[i].seen >= l->last[k->calls[i].thread] ||
		    recording_after(l->recording, k->calls[i].seen))
			k->calls[kept++] = k->calls[i];
	k->call_count = kept;
}

/*
 * What was open before a narrowed span is so in it, or has returned, or ended with its thread; what
 * is open after it is in the first keyframe there.
 */
static int visit_call(struct loader *l, const struct row_state *row, uint32_t thread)
{
	const struct recording *r = l->recording;

	if (!recording_reached(r, row->since) || row->ts < r->first || r->partial ||
	    (l->keyframes->next_begin && recording_after(r, row->ts)))
		return 0;
	if (l->keyframes->call_count % 4096 == 4095)
		forget_older_calls(l);
	return add_call(l, &(struct open_call){
		.thread = thread, .process = l->tasks->threads[thread].process,
		.operation = (uint32_t)row->operation, .probe = (uint32_t)row->probe,
		.depth = (uint32_t)row->depth, .start = row->since, .seen = row->ts,
	});
}

/* Whether a row tells more of the end of the span than the one before it. */
static bool counts_more(const struct recording *r, const struct keyframe *key,
			const struct row_state *row)
{
	if (recording_after(r, row->ts))
		return !recording_after(r, key->ts);
	return row->ts >= key->ts && recording_reached(r, row->since);
}

static void visit_thread(struct loader *l, const struct row_state *row, uint32_t thread)
{
	struct keyframe *key = &l->keyframes->threads[thread];

	if (row->ts > l->last[thread])
		l->last[thread] = row->ts;
	if (!counts_more(l->recording, key, row))
		return;
	*key = (struct keyframe){
		.ts = row->ts, .since = row->since, .runnable_since = row->runnable_since,
		.page_events = row->page_events, .pages = row->pages,
		.cpu = (uint32_t)row->cpu, .state = (uint32_t)row->state,
	};
}

/* The rows of a keyframe end with those that say when it was begun. */
static void visit_coverage(struct loader *l, const struct row_state *row)
{
	struct keyframes *k = l->keyframes;

	if (k->next_begin || !recording_after(l->recording, row->since))
		return;
	k->next_begin = row->since;
	if (row->since > k->next_end)
		k->next_end = row->since;
}

/* After a narrowed span nobody is added: what is new then is of no concern. */
static int find_thread(struct loader *l, const struct row_state *row, uint32_t *thread)
{
	int ret = 0;

	if (recording_after(l->recording, row->ts))
		*thread = tasks_thread(l->tasks, row->tid, row->ts);
	else
		ret = tasks_ensure(l->tasks, l->recording, row->tid, row->tgid, row->ts, thread);
	return ret ? ret : reserve(l);
}

static int visit_state(void *context, const void *values)
{
	const struct row_state *row = values;
	struct loader *l = context;
	struct keyframes *k = l->keyframes;
	uint32_t thread;
	int ret;

	if (row->kind == STATE_KIND_COVERAGE)
		visit_coverage(l, row);
	if (row->kind != STATE_KIND_THREAD && row->kind != STATE_KIND_OPEN_CALL)
		return 0;
	ret = find_thread(l, row, &thread);
	if (!k->next_begin && recording_after(l->recording, row->ts) && row->ts > k->next_end)
		k->next_end = row->ts;
	if (ret || thread <= TASKS_IDLE)
		return ret;
	if (row->kind == STATE_KIND_OPEN_CALL)
		return visit_call(l, row, thread);
	visit_thread(l, row, thread);
	return 0;
}

/* Calls that began before the end of a narrowed span and returned, or were given up, after it. */
static int returned_later(struct loader *l, const struct columns *c)
{
	const struct recording *r = l->recording;
	int ret = 0;

	for (uint32_t i = 0; i < c->rows && !ret; i++) {
		uint64_t ts = c->col[COL_call_ts][i], start = ts - c->col[COL_call_duration][i];
		uint32_t thread;

		if (!recording_after(r, ts) || start >= r->end || start > ts)
			continue;
		thread = tasks_thread(l->tasks, c->col[COL_call_tid][i], r->end);
		ret = add_call(l, &(struct open_call){
			.thread = thread, .process = l->tasks->threads[thread].process,
			.operation = (uint32_t)c->col[COL_call_operation][i],
			.probe = (uint32_t)c->col[COL_call_probe][i],
			.depth = (uint32_t)c->col[COL_call_depth][i], .start = start, .seen = ts,
		});
	}
	return ret;
}

static int load_returned_later(struct loader *l)
{
	const uint64_t mask = 1 << COL_call_ts | 1 << COL_call_duration | 1 << COL_call_tid |
			      1 << COL_call_operation | 1 << COL_call_probe | 1 << COL_call_depth;
	struct recording *r = l->recording;
	const struct block_list *list = recording_all(r, TABLE_call);
	struct columns c = { 0 };
	int ret = 0;

	for (size_t i = 0; i < list->count && !ret; i++) {
		const struct block_info *b = reader_block(r->reader, list->block[i]);

		if (!recording_after(r, b->last_ts) || b->min_start >= r->end ||
		    b->cpu >= r->cpus || r->cpu[b->cpu].left_out)
			continue;
		ret = recording_load(r, list->block[i], mask, &c);
		if (!ret)
			ret = returned_later(l, &c);
	}
	columns_release(&c);
	return ret;
}

static int by_thread(const void *a, const void *b)
{
	const struct open_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static bool same_call(const struct open_call *a, const struct open_call *b)
{
	return a->thread == b->thread && a->start == b->start && a->depth == b->depth;
}

/* Keyframe after keyframe, and its row, may tell of the same call. */
static void leave_out_doubles(struct keyframes *k)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->call_count; i++)
		if (!kept || !same_call(&k->calls[kept - 1], &k->calls[i]))
			k->calls[kept++] = k->calls[i];
	k->call_count = kept;
}

int keyframes_load(struct keyframes *k, struct tasks *t, struct recording *r)
{
	struct loader l = { .keyframes = k, .tasks = t, .recording = r };
	int ret;

	memset(k, 0, sizeof(*k));
	ret = reserve(&l);
	if (!ret)
		ret = recording_rows(r, TABLE_state, visit_state, &l);
	if (!ret)
		forget_older_calls(&l);
	if (!ret && r->narrowed)
		ret = load_returned_later(&l);
	if (!ret && k->call_count)
		qsort(k->calls, k->call_count, sizeof(*k->calls), by_thread);
	if (r->narrowed)
		leave_out_doubles(k);
	free(l.last);
	return ret;
}

void keyframes_release(struct keyframes *k)
{
	free(k->threads);
	free(k->calls);
	memset(k, 0, sizeof(*k));
}
