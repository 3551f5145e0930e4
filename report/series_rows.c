// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include "parallel.h"
#include "series_private.h"

#define NS_S 1000000000ull
#define BIT(column) (1ull << COL_switch_##column)
#define MASK (BIT(ts) | BIT(prev_tid) | BIT(prev_page_events) | BIT(prev_pages))

/* What the switch rows say of one CPU in one step. */
struct series_cell {
	uint64_t busy, idle, unrecorded;
	uint64_t recorded;		/* busy and idle, of whatever thread */
	uint64_t ran;			/* busy, without the recorder */
};

static bool is_recorder(const struct series_builder *b, uint32_t thread)
{
	const struct tasks *t = &b->report->tasks;

	return t->processes[t->threads[thread].process].recorder;
}

/* --- the CPUs and those who wait for them */

/* ns of the CPU, and of thread; TASKS_NONE: not recorded. */
static void add_to_cell(const struct series_builder *b, struct series_cell *c, uint32_t thread,
			uint64_t ns)
{
	if (thread == TASKS_NONE) {
		c->unrecorded += ns;
		return;
	}
	c->recorded += ns;
	if (thread == TASKS_IDLE) {
		c->idle += ns;
	} else if (series_selects(b, thread)) {
		c->busy += ns;
		c->ran += is_recorder(b, thread) ? 0 : ns;
	}
}

/* A stretch of a CPU that thread had; TASKS_NONE: not recorded. */
static void add_tile(const struct series_builder *b, uint32_t cpu, uint32_t thread, uint64_t start,
		     uint64_t end)
{
	struct series_cell *cells = &b->cells[cpu * b->series->count];
	uint64_t from = series_offset(b, start), to = series_offset(b, end), border;
	size_t step = series_step_at(b, from);

	for (; from < to; from = border, step++) {
		border = step + 1 < b->series->count ? (step + 1) * b->series->step : to;
		border = border < to ? border : to;
		add_to_cell(b, &cells[step], thread, border - from);
	}
}

static void add_wait(const struct series_builder *b, uint32_t cpu, uint32_t thread, uint64_t start,
		     uint64_t end)
{
	if (thread != TASKS_IDLE && start < end && series_selects(b, thread) &&
	    !is_recorder(b, thread))
		series_stretch(b, &b->waits[cpu * b->series->count], series_offset(b, start),
			       series_offset(b, end));
}

/* Rows of a CPU in the span that is loaded, and the tiles between them. */
static int one_cpu(void *context, unsigned int worker, size_t job)
{
	const struct series_builder *b = context;
	const struct timeline *tl = &b->timeline;
	const struct timeline_cpu *cpu = &tl->cpus[job];
	uint64_t at = tl->start, end = tl->end < tl->recording->end ? tl->end : tl->recording->end;
	uint32_t came = cpu->came, number = (uint32_t)job;
	bool known;

	(void)worker;
	if (!tl->recording->cpu[job].present)
		return 0;
	for (size_t i = cpu->first; i < cpu->first + cpu->count; i++) {
		const struct timeline_row *row = &tl->rows[i];

		/* As in procs.h, whom nobody knows counts between two rows, not at the edges. */
		known = came == row->prev && (came != TASKS_UNKNOWN || i > cpu->first);
		add_tile(b, number, known ? came : TASKS_NONE, at, row->ts);
		add_wait(b, number, row->next, row->ts - row->wait, row->ts);
		at = row->ts;
		came = row->next;
	}
	known = came == cpu->after.prev && came != TASKS_UNKNOWN && cpu->after.ts > at;
	if (known) {
		uint64_t until = cpu->after.ts < end ? cpu->after.ts : end;

		add_tile(b, number, came, at, until);
		at = until;
	}
	add_tile(b, number, TASKS_NONE, at, end);
	return 0;
}

static int one_span(void *context)
{
	struct series_builder *b = context;

	return parallel_run(b->report->recording.cpus, one_cpu, b);
}

/* Threads that were waiting when the recording ended. */
static void open_waits(const struct series_builder *b)
{
	const struct report *r = b->report;

	for (uint32_t i = TASKS_IDLE + 1; i < r->tasks.thread_count; i++) {
		const struct thread_account *t = &r->procs.threads[i];

		if (t->off)
			add_wait(b, t->off_cpu < r->recording.cpus ? t->off_cpu : 0, i,
				 t->off_runnable, t->end);
	}
}

static void sum_cells(struct series_builder *b)
{
	struct series *s = b->series;

	for (uint32_t cpu = 0; cpu < b->report->recording.cpus; cpu++) {
		struct series_cell *cells = &b->cells[cpu * s->count];
		struct stretches *waits = &b->waits[cpu * s->count];
		int64_t waiting = 0;

		for (size_t i = 0; i < s->count; i++) {
			struct series_step *to = &s->steps[i];

			waiting += waits[i].whole;
			to->busy += cells[i].busy;
			to->cpu_time += cells[i].recorded;
			to->unrecorded += cells[i].unrecorded;
			to->runnable += cells[i].ran + waits[i].part + (uint64_t)waiting * s->step;
			s->cpus[cpu * s->count + i] = (struct series_cpu){
				cells[i].busy, cells[i].idle, cells[i].unrecorded };
		}
	}
}

int series_load_cpus(struct series_builder *b)
{
	struct report *r = b->report;
	int ret = ERROR_MEMORY;

	b->cells = calloc(b->series->count * r->recording.cpus + 1, sizeof(*b->cells));
	b->waits = calloc(b->series->count * r->recording.cpus + 1, sizeof(*b->waits));
	if (b->cells && b->waits)
		ret = timeline_open(&b->timeline, &r->recording, &r->tasks, &r->procs);
	if (!ret)
		ret = timeline_each(&b->timeline, b->rows, one_span, b);
	if (ret)
		return ret;
	open_waits(b);
	sum_cells(b);
	return 0;
}

/* --- switches and pages */

static void count_pages(struct series_pages *p, uint64_t events, uint64_t pages)
{
	__atomic_fetch_add(&p->events, events, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->pages, pages, __ATOMIC_RELAXED);
}

static void grow(const struct series_builder *b, struct series_growth *g, uint64_t ts,
		 uint64_t events, uint64_t pages)
{
	uint64_t life = g->end - g->begin, age = ts > g->begin ? ts - g->begin : 0;
	size_t step = (size_t)(series_offset(b, ts) / b->memory->step);
	size_t tenth = age < life ? (size_t)((unsigned __int128)age * 10 / life) : 9;

	step = step < g->first ? 0 : step - g->first;
	count_pages(&g->steps[step < g->count ? step : g->count - 1], events, pages);
	count_pages(&g->tenths[tenth], events, pages);
	count_pages(&g->all, events, pages);
	if (age < NS_S)
		count_pages(&g->first_second, events, pages);
}

/* Allocations of a selected thread; the caller counts them by step. */
static void thread_pages(const struct series_builder *b, uint32_t thread, uint64_t ts,
			 uint64_t events, uint64_t pages)
{
	uint32_t place;

	if (!b->memory)
		return;
	place = b->growth[b->report->tasks.threads[thread].process];
	if (place)
		grow(b, &b->memory->processes[place - 1], ts, events, pages);
}

static void add_row(const struct series_builder *b, struct series_run *run, uint32_t thread,
		    uint64_t ts, uint64_t switches, uint64_t events, uint64_t pages)
{
	if (events)
		count_pages(&b->counted[thread], events, pages);
	if (!series_selects(b, thread))
		return;
	series_run_at(b, run, ts);
	run->switches += switches;
	run->events += events;
	run->pages += pages;
	if (events)
		thread_pages(b, thread, ts, events, pages);
}

static int one_switch_block(void *context, unsigned int worker, size_t job)
{
	const struct series_builder *b = context;
	struct recording *r = &b->report->recording;
	struct columns *c = &b->columns[worker];
	int ret = recording_load(r, r->blocks[TABLE_switch].block[job], MASK, c);
	struct series_run run = { 0 };

	for (uint32_t i = 0; i < c->rows && !ret; i++) {
		uint64_t ts = c->col[COL_switch_ts][i], tid = c->col[COL_switch_prev_tid][i];

		if (tid && recording_in_span(r, ts))
			add_row(b, &run, tasks_thread(&b->report->tasks, tid, ts), ts, 1,
				c->col[COL_switch_prev_page_events][i],
				c->col[COL_switch_prev_pages][i]);
	}
	series_run_end(b, &run);
	return ret;
}

static int one_page_block(void *context, unsigned int worker, size_t job)
{
	const struct series_builder *b = context;
	struct recording *r = &b->report->recording;
	struct columns *c = &b->columns[worker];
	int ret = recording_load(r, r->blocks[TABLE_page].block[job], (1 << COLS_page) - 1, c);
	struct series_run run = { 0 };

	for (uint32_t i = 0; i < c->rows && !ret; i++) {
		uint64_t ts = c->col[COL_page_ts][i];

		if (recording_in_span(r, ts))
			add_row(b, &run,
				tasks_thread(&b->report->tasks, c->col[COL_page_tid][i], ts), ts, 0,
				c->col[COL_page_events][i], c->col[COL_page_pages][i]);
	}
	series_run_end(b, &run);
	return ret;
}

/* What no row tells of, the keyframe at the end does. */
static void pending_pages(const struct series_builder *b)
{
	const struct report *r = b->report;

	for (uint32_t i = TASKS_IDLE + 1; i < r->tasks.thread_count; i++) {
		const struct account *a = &r->procs.threads[i].a;
		uint64_t events = a->page_events - b->counted[i].events;
		uint64_t pages = a->pages - b->counted[i].pages, ts = r->keyframes.threads[i].ts;
		struct series_run run = { 0 };

		if (a->page_events <= b->counted[i].events)
			continue;
		add_row(b, &run, i, ts < r->recording.end ? ts : r->recording.end, 0, events,
			pages);
		series_run_end(b, &run);
	}
}

int series_load_rows(struct series_builder *b)
{
	const struct report *r = b->report;
	int ret;

	b->counted = calloc(r->tasks.thread_count, sizeof(*b->counted));
	if (!b->counted)
		return ERROR_MEMORY;
	ret = parallel_run(r->recording.blocks[TABLE_switch].count, one_switch_block, b);
	if (!ret)
		ret = parallel_run(r->recording.blocks[TABLE_page].count, one_page_block, b);
	if (!ret)
		pending_pages(b);
	return ret;
}
