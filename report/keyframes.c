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

static int add_call(struct loader *l, const struct row_state *row, uint32_t thread)
{
	struct keyframes *k = l->keyframes;
	struct open_call *calls;

	if (k->call_count == OPEN_CALLS_MAX || !recording_in_span(l->recording, row->since))
		return 0;
	calls = array_reserve(k->calls, &k->call_capacity, k->call_count + 1, sizeof(*calls));
	if (!calls)
		return ERROR_MEMORY;
	k->calls = calls;
	calls[k->call_count++] = (struct open_call){
		.thread = thread, .process = l->tasks->threads[thread].process,
		.operation = (uint32_t)row->operation, .probe = (uint32_t)row->probe,
		.depth = (uint32_t)row->depth, .start = row->since, .seen = row->ts,
	};
	return 0;
}

/* A hung call is in every keyframe: keep those of the last ones from time to time. */
static void forget_older_calls(struct loader *l)
{
	struct keyframes *k = l->keyframes;
	size_t kept = 0;

	for (size_t i = 0; i < k->call_count; i++)
		if (k->calls[i].seen >= l->last[k->calls[i].thread])
			k->calls[kept++] = k->calls[i];
	k->call_count = kept;
}

static int visit_state(void *context, const void *values)
{
	const struct row_state *row = values;
	struct loader *l = context;
	struct keyframe *key;
	uint32_t thread;
	int ret;

	if (row->kind != STATE_KIND_THREAD && row->kind != STATE_KIND_OPEN_CALL)
		return 0;
	ret = tasks_ensure(l->tasks, l->recording, row->tid, row->tgid, row->ts, &thread);
	if (!ret)
		ret = reserve(l);
	if (ret || thread <= TASKS_IDLE)
		return ret;
	if (row->kind == STATE_KIND_OPEN_CALL) {
		if (l->keyframes->call_count % 4096 == 4095)
			forget_older_calls(l);
		return add_call(l, row, thread);
	}
	if (row->ts > l->last[thread])
		l->last[thread] = row->ts;
	key = &l->keyframes->threads[thread];
	if (row->ts < key->ts || !recording_in_span(l->recording, row->since))
		return 0;
	*key = (struct keyframe){
		.ts = row->ts, .since = row->since, .runnable_since = row->runnable_since,
		.page_events = row->page_events, .pages = row->pages,
		.cpu = (uint32_t)row->cpu, .state = (uint32_t)row->state,
	};
	return 0;
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
	if (!ret && k->call_count)
		qsort(k->calls, k->call_count, sizeof(*k->calls), by_thread);
	free(l.last);
	return ret;
}

void keyframes_release(struct keyframes *k)
{
	free(k->threads);
	free(k->calls);
	memset(k, 0, sizeof(*k));
}
