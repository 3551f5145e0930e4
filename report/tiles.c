// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "parallel.h"
#include "tiles.h"

#define RUN_BLOCKS 8		/* of a CPU in one job: enough jobs for all cores to end together */
#define BIT(column) (1ull << COL_switch_##column)
#define MASK (BIT(ts) | BIT(prev_tid) | BIT(prev_state) | BIT(prev_page_events) | \
	      BIT(prev_pages) | BIT(next_tid) | BIT(next_off) | BIT(next_wait) | BIT(next_flags) | \
	      BIT(waker_context))

/* The columns of a loaded block, by name. */
struct rows {
	const uint64_t *ts, *prev, *state, *page_events, *pages, *next, *off, *wait, *flags,
		*waker_context;
	uint32_t first, end;	/* those in the span */
};

/* Who has the CPU, since when, while a run's rows are gone through. */
struct cursor {
	uint64_t ts, tid;
	uint32_t thread;
};

/* Of stalls as long as each other the earlier one counts, whichever worker saw it first. */
static bool worse(const struct stall *a, const struct stall *b)
{
	if (a->off != b->off)
		return a->off > b->off;
	return a->end != b->end ? a->end < b->end : a->thread < b->thread;
}

uint64_t tiles_stall(struct stall *worst, const struct stall *s)
{
	unsigned int i = PROCS_STALLS - 1;

	if (!worse(s, &worst[i]))
		return worst[i].off;
	for (; i && worse(s, &worst[i - 1]); i--)
		worst[i] = worst[i - 1];
	worst[i] = *s;
	return worst[PROCS_STALLS - 1].off;
}

static void __attribute__((noinline)) long_stall(struct tiles *t, struct tile_worker *w,
						 const struct stall *s)
{
	uint32_t process = t->tasks->threads[s->thread].process;

	w->tallies[s->thread].stall_floor = tiles_stall(&w->stalls[process * PROCS_STALLS], s);
}

/* The row's previous thread is not the one that came: rows are missing in between. */
static void __attribute__((noinline)) broken(struct tile_worker *w, struct run *run, uint64_t ns,
					     uint32_t expected, uint32_t found)
{
	run->breaks++;
	run->unrecorded += ns;
	w->tallies[expected].breaks++;
	w->tallies[found].breaks++;
}

static inline void leave(struct tally *out, const struct rows *rows, uint32_t i)
{
	uint64_t state = rows->state[i], ts = rows->ts[i];
	bool runnable = (state & PREV_PREEMPTED) || (state & PREV_STATE_MASK) == PREV_RUNNABLE;

	out->involuntary += runnable;
	out->voluntary += !runnable;
	out->page_events += rows->page_events[i];
	out->pages += rows->pages[i];
	if (ts > out->last_out) {
		out->last_out = ts;
		out->out_runnable = runnable;
	} else if (ts == out->last_out) {
		out->out_runnable |= runnable;
	}
	if ((state & PREV_STATE_MASK) == PREV_DEAD && !(state & PREV_PREEMPTED) && ts > out->died)
		out->died = ts;
}

/* narrowed: a constant, so that the pass over a whole recording does not pay for it. */
static inline void arrive(struct tiles *t, struct tile_worker *w, uint32_t thread,
			  const struct rows *rows, uint32_t i, bool narrowed)
{
	struct tally *in = &w->tallies[thread];
	uint64_t ts = rows->ts[i], off = rows->off[i];
	uint64_t wait = rows->wait[i] < off ? rows->wait[i] : off;

	if (narrowed && off > ts - t->recording->start) {
		off = ts - t->recording->start;
		wait = wait < off ? wait : off;
	}
	in->waiting += wait;
	in->blocked += off - wait;
	in->periods += !(rows->flags[i] & NEXT_FLAG_UNKNOWN);
	if (off > in->off_max || (off == in->off_max && ts < in->off_max_end)) {
		in->off_max = off;
		in->off_max_end = ts;
	}
	if (__builtin_expect(ts - off < in->first_wait, 0) && off > wait &&
	    rows->waker_context[i] == WAKER_TASK &&
	    !(rows->flags[i] & (NEXT_FLAG_IO_WAIT | NEXT_FLAG_FIRST)))
		in->first_wait = ts - off;
	if (ts < in->first_in)
		in->first_in = ts;
	if (ts > in->last_in)
		in->last_in = ts;
	if (__builtin_expect(off >= in->stall_floor, 0))
		long_stall(t, w, &(struct stall){ ts, off, wait, thread, false });
}

/* The time from the cursor's row to row i, then both sides of row i itself. */
static inline void step(struct tiles *t, struct tile_worker *w, struct run *run, struct cursor *at,
			const struct rows *rows, uint32_t i, bool narrowed)
{
	uint64_t ts = rows->ts[i];
	bool whole = ts >= at->ts;
	uint64_t ns = whole ? ts - at->ts : 0;
	uint32_t prev = at->thread;

	if (__builtin_expect(rows->prev[i] != at->tid, 0)) {
		prev = tasks_thread(t->tasks, rows->prev[i], ts);
		whole &= prev == at->thread && prev != TASKS_UNKNOWN;
	}
	if (__builtin_expect(!whole, 0))
		broken(w, run, ns, at->thread, prev);
	else
		w->tallies[prev].running += ns;
	leave(&w->tallies[prev], rows, i);
	at->tid = rows->next[i];
	at->thread = tasks_thread(t->tasks, at->tid, ts);
	at->ts += ns;
	arrive(t, w, at->thread, rows, i, narrowed);
}

static void begin_run(struct tiles *t, struct run *run, struct cursor *at,
		      const struct rows *rows)
{
	run->first_ts = rows->ts[rows->first];
	run->first_tid = rows->prev[rows->first];
	run->first_thread = tasks_thread(t->tasks, run->first_tid, run->first_ts);
	at->ts = run->first_ts;
	at->tid = run->first_tid;
	at->thread = run->first_thread;
}

static void find_rows_in_span(const struct recording *r, const struct columns *c, struct rows *rows)
{
	const uint64_t *ts = c->col[COL_switch_ts];

	for (rows->end = c->rows; rows->end && ts[rows->end - 1] > r->last;)
		rows->end--;
	while (rows->first < rows->end && ts[rows->first] < r->first)
		rows->first++;
}

static int one_block(struct tiles *t, struct tile_worker *w, struct run *run, struct cursor *at,
		     uint32_t block)
{
	struct columns *c = &w->columns;
	int ret = recording_load(t->recording, block, MASK, c);
	struct rows rows;

	if (ret || !c->rows)
		return ret;
	rows = (struct rows){
		c->col[COL_switch_ts], c->col[COL_switch_prev_tid], c->col[COL_switch_prev_state],
		c->col[COL_switch_prev_page_events], c->col[COL_switch_prev_pages],
		c->col[COL_switch_next_tid], c->col[COL_switch_next_off],
		c->col[COL_switch_next_wait], c->col[COL_switch_next_flags],
		c->col[COL_switch_waker_context], 0, 0,
	};
	find_rows_in_span(t->recording, c, &rows);
	if (!run->rows && rows.first < rows.end)
		begin_run(t, run, at, &rows);
	if (t->recording->narrowed)
		for (uint32_t i = rows.first; i < rows.end; i++)
			step(t, w, run, at, &rows, i, true);
	else
		for (uint32_t i = 0; i < rows.end; i++)
			step(t, w, run, at, &rows, i, false);
	run->rows += rows.end - rows.first;
	return 0;
}

static int one_run(void *context, unsigned int worker, size_t job)
{
	struct tiles *t = context;
	struct tile_worker *w = &t->workers[worker];
	struct run *run = &t->runs[job];
	uint64_t idle = w->tallies[TASKS_IDLE].running;
	struct cursor at = { 0 };
	int ret = 0;

	for (size_t b = run->first; b < run->first + run->count && !ret; b++)
		ret = one_block(t, w, run, &at, t->order[b]);
	run->last_ts = at.ts;
	run->last_tid = at.tid;
	run->last_thread = at.thread;
	run->idle = w->tallies[TASKS_IDLE].running - idle;
	run->busy = at.ts - run->first_ts - run->idle - run->unrecorded;
	return ret;
}

/* Blocks by CPU: counting sort, which keeps the file's order. */
static int sort_blocks(struct tiles *t)
{
	struct recording *r = t->recording;
	const struct block_list *list = &r->blocks[TABLE_switch];
	size_t *at = calloc(r->cpus + 1, sizeof(*at));
	size_t runs = 0;

	t->order = malloc((list->count + 1) * sizeof(*t->order));
	if (!at || !t->order)
		return free(at), ERROR_MEMORY;
	for (size_t i = 0; i < list->count; i++)
		at[reader_block(r->reader, list->block[i])->cpu + 1]++;
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++) {
		runs += (at[cpu + 1] + RUN_BLOCKS - 1) / RUN_BLOCKS;
		at[cpu + 1] += at[cpu];
	}
	for (size_t i = 0; i < list->count; i++)
		t->order[at[reader_block(r->reader, list->block[i])->cpu]++] = list->block[i];
	t->runs = calloc(runs + 1, sizeof(*t->runs));
	free(at);
	return t->runs ? 0 : ERROR_MEMORY;
}

static void cut_runs(struct tiles *t)
{
	const struct block_list *list = &t->recording->blocks[TABLE_switch];
	struct run *run = NULL;

	for (size_t i = 0; i < list->count; i++) {
		uint32_t cpu = reader_block(t->recording->reader, t->order[i])->cpu;

		if (!run || run->cpu != cpu || run->count == RUN_BLOCKS) {
			run = &t->runs[t->run_count++];
			run->cpu = cpu;
			run->first = i;
		}
		run->count++;
	}
}

bool tiles_keeps_stalls(const struct tasks *t, const uint64_t *stalling, uint32_t thread)
{
	return t->processes[t->threads[thread].process].in_tree &&
	       (!stalling || stalling[thread / 64] >> thread % 64 & 1);
}

static int make_workers(struct tiles *t)
{
	size_t threads = t->tasks->thread_count, processes = t->tasks->process_count;

	t->worker_count = parallel_workers();
	if (t->worker_count > t->run_count)
		t->worker_count = t->run_count ? (unsigned int)t->run_count : 1;
	t->workers = calloc(t->worker_count, sizeof(*t->workers));
	for (unsigned int i = 0; t->workers && i < t->worker_count; i++) {
		struct tile_worker *w = &t->workers[i];

		w->tallies = calloc(threads, sizeof(*w->tallies));
		w->stalls = calloc(processes * PROCS_STALLS, sizeof(*w->stalls));
		if (!w->tallies || !w->stalls)
			return ERROR_MEMORY;
		for (size_t k = 0; k < threads; k++) {
			bool ours = t->tasks->processes[t->tasks->threads[k].process].in_tree;

			w->tallies[k].first_in = UINT64_MAX;
			w->tallies[k].first_wait = ours ? UINT64_MAX : 0;
			w->tallies[k].stall_floor =
				tiles_keeps_stalls(t->tasks, t->stalling, (uint32_t)k) ? 1 :
											 UINT64_MAX;
		}
	}
	return t->workers ? 0 : ERROR_MEMORY;
}

static void add_tally(struct tally *to, const struct tally *from)
{
	to->running += from->running;
	to->waiting += from->waiting;
	to->blocked += from->blocked;
	to->voluntary += from->voluntary;
	to->involuntary += from->involuntary;
	to->periods += from->periods;
	to->page_events += from->page_events;
	to->pages += from->pages;
	to->breaks += from->breaks;
	if (from->off_max > to->off_max ||
	    (from->off_max == to->off_max && from->off_max_end < to->off_max_end)) {
		to->off_max = from->off_max;
		to->off_max_end = from->off_max_end;
	}
	if (from->first_in < to->first_in)
		to->first_in = from->first_in;
	if (from->first_wait < to->first_wait)
		to->first_wait = from->first_wait;
	if (from->last_in > to->last_in)
		to->last_in = from->last_in;
	if (from->died > to->died)
		to->died = from->died;
	if (from->last_out > to->last_out) {
		to->last_out = from->last_out;
		to->out_runnable = from->out_runnable;
	} else if (from->last_out == to->last_out) {
		to->out_runnable |= from->out_runnable;
	}
}

static void add_worker(struct tiles *t, unsigned int worker)
{
	struct tile_worker *to = &t->workers[0], *from = &t->workers[worker];

	for (size_t i = 0; i < t->tasks->thread_count; i++)
		add_tally(&to->tallies[i], &from->tallies[i]);
	for (size_t i = 0; i < t->tasks->process_count * PROCS_STALLS; i++)
		if (from->stalls[i].off)
			tiles_stall(&to->stalls[i / PROCS_STALLS * PROCS_STALLS], &from->stalls[i]);
}

int tiles_load(struct tiles *t, struct recording *r, const struct tasks *tasks,
	       const uint64_t *stalling)
{
	int ret;

	memset(t, 0, sizeof(*t));
	t->recording = r;
	t->tasks = tasks;
	t->stalling = stalling;
	ret = sort_blocks(t);
	if (ret)
		return ret;
	cut_runs(t);
	ret = make_workers(t);
	if (!ret)
		ret = parallel_run(t->run_count, one_run, t);
	for (unsigned int i = 1; i < t->worker_count && !ret; i++)
		add_worker(t, i);
	return ret;
}

void tiles_release(struct tiles *t)
{
	for (unsigned int i = 0; t->workers && i < t->worker_count; i++) {
		free(t->workers[i].tallies);
		free(t->workers[i].stalls);
		columns_release(&t->workers[i].columns);
	}
	free(t->workers);
	free(t->runs);
	free(t->order);
	memset(t, 0, sizeof(*t));
}
