// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "calls.h"
#include "parallel.h"

#define BIT(column) (1ull << COL_call_##column)
#define MASK (BIT(ts) | BIT(duration) | BIT(tid) | BIT(operation) | BIT(depth) | BIT(bytes) | \
	      BIT(code) | BIT(flags) | BIT(tgid))
#define NOT_READY 600		/* cudaErrorNotReady and CUDA_ERROR_NOT_READY */
/* A file of nothing but open calls, or of ever new codes, still gives a bounded report. */
#define OPEN_ROWS_MAX 100000
#define ERRORS_MAX 4096
#define CHUNK_MIN 60		/* durations; with the chunk's head 256 bytes */
#define CHUNK_MAX 16380

struct call {
	uint64_t ts, duration, depth, bytes, flags;
	int64_t code;
	uint32_t thread, process;
	const struct operation *operation;
};

static size_t hash(uint32_t process, uint32_t operation)
{
	uint64_t key = (uint64_t)process << 32 | operation;

	return (size_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15ull >> 20);
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t *slot_of(const struct groups *g, uint32_t process, uint32_t operation)
{
	size_t i = hash(process, operation) & (g->table_size - 1);

	while (g->table[i]) {
		const struct group *group = &g->groups[g->table[i] - 1];

		if (group->process == process && group->operation == operation)
			break;
		i = (i + 1) & (g->table_size - 1);
	}
	return &g->table[i];
}

struct group *groups_find(const struct groups *g, uint32_t process, uint32_t operation)
{
	uint32_t *slot = g->table_size ? slot_of(g, process, operation) : NULL;

	return slot && *slot ? &g->groups[*slot - 1] : NULL;
}

int groups_rehash(struct groups *g)
{
	size_t size = 64;

	while (size < (g->count + 1) * 2)
		size *= 2;
	free(g->table);
	g->table_size = 0;
	g->table = calloc(size, sizeof(*g->table));
	if (!g->table)
		return ERROR_MEMORY;
	g->table_size = size;
	for (size_t i = 0; i < g->count; i++)
		*slot_of(g, g->groups[i].process, g->groups[i].operation) = (uint32_t)i + 1;
	return 0;
}

struct group *groups_make(struct groups *g, uint32_t process, uint32_t operation)
{
	struct group *group = groups_find(g, process, operation), *groups;

	if (group)
		return group;
	if ((g->count + 1) * 2 > g->table_size && groups_rehash(g))
		return NULL;
	groups = array_reserve(g->groups, &g->capacity, g->count + 1, sizeof(*groups));
	if (!groups)
		return NULL;
	g->groups = groups;
	group = &groups[g->count++];
	*group = (struct group){ .process = process, .operation = operation,
				 .first_start = UINT64_MAX };
	*slot_of(g, process, operation) = (uint32_t)g->count;
	return group;
}

static void durations_free(struct durations *d)
{
	while (d->small) {
		struct chunk *next = d->small->next;

		free(d->small);
		d->small = next;
	}
	free(d->large);
	memset(d, 0, sizeof(*d));
}

/* Chunks double up to CHUNK_MAX and never move: what is kept takes little more than its size. */
static struct chunk *add_chunk(struct durations *d)
{
	uint32_t room = !d->small ? CHUNK_MIN : d->small->room * 2;
	struct chunk *chunk;

	if (room > CHUNK_MAX)
		room = CHUNK_MAX;
	chunk = malloc(sizeof(*chunk) + room * sizeof(*chunk->values));
	if (!chunk)
		return NULL;
	chunk->next = d->small;
	chunk->count = 0;
	chunk->room = room;
	d->small = chunk;
	return chunk;
}

static int keep_large(struct durations *d, uint64_t duration)
{
	uint64_t *large = array_reserve(d->large, &d->large_capacity, d->large_count + 1,
					sizeof(*large));

	if (!large)
		return ERROR_MEMORY;
	d->large = large;
	large[d->large_count++] = duration;
	return 0;
}

static int keep_duration(struct durations *d, uint64_t duration)
{
	struct chunk *chunk = d->small;

	if (duration > UINT32_MAX)
		return keep_large(d, duration);
	if (!chunk || chunk->count == chunk->room)
		chunk = add_chunk(d);
	if (!chunk)
		return ERROR_MEMORY;
	chunk->values[chunk->count++] = (uint32_t)duration;
	return 0;
}

bool calls_good(const struct operation *operation, int64_t code)
{
	return !code || (code == NOT_READY && operation && operation->category == CATEGORY_QUERY);
}

static int add_error(struct call_worker *w, const struct error_key *key, uint64_t count)
{
	static const struct error_key other = { 0, 0, CALLS_OTHER_CODES };
	struct error_count *errors;

	if (w->error_count >= ERRORS_MAX)
		key = &other;
	for (size_t i = 0; i < w->error_count; i++)
		if (!memcmp(&w->errors[i].key, key, sizeof(*key))) {
			w->errors[i].count += count;
			return 0;
		}
	errors = array_reserve(w->errors, &w->error_capacity, w->error_count + 1, sizeof(*errors));
	if (!errors)
		return ERROR_MEMORY;
	w->errors = errors;
	errors[w->error_count++] = (struct error_count){ *key, count };
	return 0;
}

static int add_open(struct call_worker *w, const struct call *call, uint32_t operation)
{
	struct open_row *open;

	if (w->open_count == OPEN_ROWS_MAX)
		return 0;
	open = array_reserve(w->open, &w->open_capacity, w->open_count + 1, sizeof(*open));
	if (!open)
		return ERROR_MEMORY;
	w->open = open;
	open[w->open_count++] = (struct open_row){
		call->process, call->thread, operation, (uint32_t)call->depth,
		(uint32_t)call->flags, call->ts - call->duration, call->ts,
	};
	return 0;
}

static void note_first(struct group *g, uint64_t start, uint64_t ts, uint64_t duration,
		       bool selected)
{
	if (start > g->first_start)
		return;
	/* Two threads may begin in the same nanosecond: the one that returned first counts. */
	if (start == g->first_start && (ts > g->first_ts ||
					(ts == g->first_ts && duration >= g->first_duration)))
		return;
	g->first_start = start;
	g->first_ts = ts;
	g->first_duration = duration;
	g->first_selected = selected;
}

static int add_good(struct calls *c, struct group *g, const struct call *call)
{
	uint64_t ns = call->duration;

	g->good++;
	if (!call->depth)
		g->total += ns;
	if (call->flags & CALL_FLAG_BYTES)
		g->bytes += call->bytes;
	if (ns > g->max) {
		g->second = g->max;
		g->max = ns;
	} else if (ns > g->second) {
		g->second = ns;
	}
	note_first(g, call->ts - ns, call->ts, ns, true);
	return atomic_load_explicit(&c->spilled, memory_order_relaxed) ? 0 :
	       keep_duration(&g->durations, ns);
}

bool calls_selected(const struct calls *c, uint32_t thread, uint32_t operation)
{
	return !c->selection || (select_thread(c->selection, thread) &&
				 select_operation(c->selection, operation));
}

/* Of a thread that is not selected in a process that is: it may be the process's first. */
static int pass_call(const struct calls *c, struct call_worker *w, const struct call *call,
		     uint32_t operation)
{
	struct group *g;

	if ((call->flags & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED)) ||
	    !calls_good(call->operation, call->code) ||
	    !select_process(c->selection, call->process) ||
	    !select_operation(c->selection, operation))
		return 0;
	g = groups_make(&w->groups, call->process, operation);
	if (!g)
		return ERROR_MEMORY;
	note_first(g, call->ts - call->duration, call->ts, call->duration, false);
	return 0;
}

static int add_call(struct calls *c, struct call_worker *w, const struct call *call)
{
	uint32_t operation = call->operation ? call->operation->id : 0;
	struct group *g;

	if (!calls_selected(c, call->thread, operation))
		return pass_call(c, w, call, operation);
	g = groups_make(&w->groups, call->process, operation);
	if (!g)
		return ERROR_MEMORY;
	w->unknown_operations += !call->operation;
	if (call->flags & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED)) {
		g->open++;
		return add_open(w, call, operation);
	}
	g->calls++;
	w->thread_calls[call->thread]++;
	g->nested += !!call->depth;
	if (calls_good(call->operation, call->code))
		return add_good(c, g, call);
	g->failed++;
	return add_error(w, &(struct error_key){ call->process, operation, call->code }, 1);
}

/* A call the keyframe found open has returned after it, inside the span or later. */
static void note_return(struct calls *c, const struct call *call)
{
	struct keyframes *k = c->keyframes;

	for (size_t i = c->awaited[call->thread] - 1;
	     i < k->call_count && k->calls[i].thread == call->thread; i++)
		if (k->calls[i].depth == call->depth &&
		    k->calls[i].start == call->ts - call->duration)
			atomic_store(&k->calls[i].returned, true);
}

static uint32_t process_of(const struct calls *c, uint32_t thread, uint64_t tgid, uint64_t ts)
{
	return thread != TASKS_UNKNOWN ? c->tasks->threads[thread].process :
	       tasks_process(c->tasks, tgid, ts);
}

static void read_call(const struct calls *c, const struct columns *rows, uint32_t i,
		      struct call *call)
{
	*call = (struct call){
		.ts = rows->col[COL_call_ts][i], .duration = rows->col[COL_call_duration][i],
		.depth = rows->col[COL_call_depth][i], .bytes = rows->col[COL_call_bytes][i],
		.flags = rows->col[COL_call_flags][i],
		.code = (int64_t)rows->col[COL_call_code][i],
		.operation = recording_operation(c->recording, rows->col[COL_call_operation][i]),
	};
	if (call->duration > call->ts)
		call->duration = call->ts;
	call->thread = tasks_thread(c->tasks, rows->col[COL_call_tid][i], call->ts);
	call->process = process_of(c, call->thread, rows->col[COL_call_tgid][i], call->ts);
}

static void count_kept(struct calls *c, uint32_t rows)
{
	if (atomic_fetch_add(&c->kept, rows) + rows > c->keep)
		atomic_store(&c->spilled, true);
}

static int one_block(void *context, unsigned int worker, size_t job)
{
	struct calls *c = context;
	struct call_worker *w = &c->workers[worker];
	struct columns *rows = &w->columns;
	uint32_t block = c->recording->blocks[TABLE_call].block[job];
	struct call call;
	int ret = recording_load(c->recording, block, MASK, rows);

	count_kept(c, rows->rows);
	for (uint32_t i = 0; i < rows->rows && !ret; i++) {
		read_call(c, rows, i, &call);
		if (c->awaited[call.thread] && !recording_after(c->recording, call.ts))
			note_return(c, &call);
		if (recording_in_span(c->recording, call.ts))
			ret = add_call(c, w, &call);
	}
	return ret;
}

/* Maxima, firsts and sums of from into to; durations stay where they are. */
static void add_group(struct group *to, const struct group *from)
{
	uint64_t low = to->max < from->max ? to->max : from->max;
	uint64_t high = to->max < from->max ? from->max : to->max;
	uint64_t second = to->second > from->second ? to->second : from->second;

	if (from->good && to->good && low > second)
		second = low;
	to->max = high;
	to->second = second;
	to->calls += from->calls;
	to->failed += from->failed;
	to->nested += from->nested;
	to->open += from->open;
	to->good += from->good;
	to->total += from->total;
	to->bytes += from->bytes;
	if (from->first_start != UINT64_MAX)
		note_first(to, from->first_start, from->first_ts, from->first_duration,
			   from->first_selected);
}

static int add_worker(struct call_worker *to, struct call_worker *from, size_t threads)
{
	struct open_row *open;

	for (size_t i = 0; i < from->groups.count; i++) {
		const struct group *g = &from->groups.groups[i];
		struct group *united = groups_make(&to->groups, g->process, g->operation);

		if (!united)
			return ERROR_MEMORY;
		add_group(united, g);
	}
	for (size_t i = 0; i < from->error_count; i++)
		if (add_error(to, &from->errors[i].key, from->errors[i].count))
			return ERROR_MEMORY;
	to->unknown_operations += from->unknown_operations;
	for (size_t i = 0; i < threads; i++)
		to->thread_calls[i] += from->thread_calls[i];
	open = array_reserve(to->open, &to->open_capacity, to->open_count + from->open_count,
			     sizeof(*open));
	if (!open && to->open_count + from->open_count)
		return ERROR_MEMORY;
	to->open = open;
	if (from->open_count)
		memcpy(&open[to->open_count], from->open, from->open_count * sizeof(*open));
	to->open_count += from->open_count;
	return 0;
}

static void forget_durations(struct calls *c)
{
	for (unsigned int i = 0; i < c->worker_count; i++)
		for (size_t k = 0; k < c->workers[i].groups.count; k++)
			durations_free(&c->workers[i].groups.groups[k].durations);
}

static int unite(struct calls *c)
{
	int ret = 0;

	if (atomic_load(&c->spilled))
		forget_durations(c);
	for (unsigned int i = 1; i < c->worker_count && !ret; i++)
		ret = add_worker(&c->workers[0], &c->workers[i], c->tasks->thread_count);
	return ret;
}

int calls_load(struct calls *c, struct recording *r, const struct tasks *t, struct keyframes *k,
	       const struct selection *s, size_t keep)
{
	int ret;

	memset(c, 0, sizeof(*c));
	c->recording = r;
	c->tasks = t;
	c->keyframes = k;
	c->selection = s;
	c->keep = keep;
	atomic_init(&c->spilled, !keep);
	c->worker_count = parallel_workers();
	c->workers = calloc(c->worker_count, sizeof(*c->workers));
	c->awaited = calloc(t->thread_count, sizeof(*c->awaited));
	if (!c->workers || !c->awaited)
		return ERROR_MEMORY;
	for (unsigned int i = 0; i < c->worker_count; i++) {
		c->workers[i].thread_calls = calloc(t->thread_count, sizeof(uint64_t));
		if (!c->workers[i].thread_calls)
			return ERROR_MEMORY;
	}
	for (size_t i = k->call_count; i; i--)
		c->awaited[k->calls[i - 1].thread] = (uint32_t)i;
	ret = parallel_run(r->blocks[TABLE_call].count, one_block, c);
	return ret ? ret : unite(c);
}

void calls_release(struct calls *c)
{
	forget_durations(c);
	for (unsigned int i = 0; c->workers && i < c->worker_count; i++) {
		free(c->workers[i].groups.groups);
		free(c->workers[i].groups.table);
		free(c->workers[i].errors);
		free(c->workers[i].open);
		free(c->workers[i].thread_calls);
		columns_release(&c->workers[i].columns);
	}
	free(c->workers);
	free(c->awaited);
	memset(c, 0, sizeof(*c));
}

struct again {
	struct calls *calls;
	void (*visit)(void *context, unsigned int worker, uint32_t process, uint32_t operation,
		      uint64_t duration);
	void *context;
};

static int one_block_again(void *context, unsigned int worker, size_t job)
{
	struct again *a = context;
	struct calls *c = a->calls;
	struct columns *rows = &c->workers[worker].columns;
	uint32_t block = c->recording->blocks[TABLE_call].block[job];
	struct call call;
	int ret = recording_load(c->recording, block, MASK, rows);

	for (uint32_t i = 0; i < rows->rows && !ret; i++) {
		uint32_t operation;

		read_call(c, rows, i, &call);
		operation = call.operation ? call.operation->id : 0;
		if (!(call.flags & (CALL_FLAG_OPEN | CALL_FLAG_ABANDONED)) &&
		    recording_in_span(c->recording, call.ts) &&
		    calls_good(call.operation, call.code) &&
		    calls_selected(c, call.thread, operation))
			a->visit(a->context, worker, call.process, operation, call.duration);
	}
	return ret;
}

int calls_again(struct calls *c, void (*visit)(void *context, unsigned int worker,
					       uint32_t process, uint32_t operation,
					       uint64_t duration), void *context)
{
	struct again a = { c, visit, context };

	return parallel_run(c->recording->blocks[TABLE_call].count, one_block_again, &a);
}
