// SPDX-License-Identifier: BSD-2-Clause
/* Threads, a row each: of all processes, and of one in its section of --per-process. */
#include <stdlib.h>
#include <string.h>
#include "view.h"
#include "view_processes.h"
#include "view_text.h"

/*
 * What says whose thread it is needs no column in the section of one process, and no TID that of a
 * group. whose, pid, tid, threads, unknown: flags of the columns that differ.
 */
#define THREAD_COLUMNS(whose, pid, tid, threads, unknown) { \
	{ "pid", "PID", CELL_ID, pid }, \
	{ "tid", "TID", CELL_ID, tid }, \
	{ "process_name", "process", CELL_TEXT, COLUMN_DATA }, \
	{ "name", "thread", CELL_TEXT, COLUMN_SHRINK }, \
	{ "role", "role", CELL_TEXT, whose }, \
	{ "threads", "threads", CELL_COUNT, threads | COLUMN_SUM }, \
	{ "running_ns", "running", CELL_NS, COLUMN_SUM | COLUMN_MAIN }, \
	{ "waiting_ns", "waiting", CELL_NS, COLUMN_LIKE | COLUMN_SUM }, \
	{ "blocked_ns", "blocked", CELL_NS, COLUMN_LIKE | COLUMN_SUM }, \
	{ "unrecorded_ns", "unrec.", CELL_NS, COLUMN_LIKE | unknown | COLUMN_SUM }, \
	{ "cuda_calls", "CUDA", CELL_COUNT, COLUMN_SUM }, \
	{ "switches_voluntary", "vol.", CELL_COUNT, COLUMN_SUM }, \
	{ "switches_involuntary", "invol.", CELL_COUNT, COLUMN_SUM }, \
	{ "off_cpu_max_ns", "longest", CELL_NS, COLUMN_OPTIONAL }, \
	{ "off_cpu_mean_ns", "off-CPU", CELL_NS, COLUMN_DATA }, \
	{ "off_cpu_periods", "off-CPU periods", CELL_COUNT, COLUMN_DATA | COLUMN_SUM }, \
	{ "page_allocations", "allocs", CELL_COUNT, COLUMN_OPTIONAL | COLUMN_SUM }, \
	{ "page_bytes", "memory", CELL_BYTES, COLUMN_WIDE | COLUMN_SUM }, \
	{ "start_ns", "begin", CELL_TIME, COLUMN_WIDE }, \
	{ "end_ns", "end", CELL_TIME, COLUMN_WIDE }, \
	{ "life_ns", "life", CELL_NS, COLUMN_WIDE | COLUMN_SUM }, \
	{ "chain_breaks", "breaks", CELL_COUNT, COLUMN_DATA | COLUMN_SUM }, \
}

#define COLUMN_COUNT (sizeof(all_columns) / sizeof(*all_columns))

static const struct listing_column all_columns[] =
	THREAD_COLUMNS(0, COLUMN_OPTIONAL, 0, COLUMN_DATA, COLUMN_WIDE);
/* Of a process or a group, without and with unrecorded time. */
static const struct listing_column own_columns[2][2][COLUMN_COUNT] = {
	{ THREAD_COLUMNS(COLUMN_DATA, COLUMN_DATA, 0, COLUMN_DATA, COLUMN_WIDE),
	  THREAD_COLUMNS(COLUMN_DATA, COLUMN_DATA, 0, COLUMN_DATA, 0) },
	{ THREAD_COLUMNS(COLUMN_DATA, COLUMN_DATA, COLUMN_DATA, 0, COLUMN_WIDE),
	  THREAD_COLUMNS(COLUMN_DATA, COLUMN_DATA, COLUMN_DATA, 0, 0) },
};

/* A thread, or all of a name in a group; process: it, or the group's first. */
struct thread_row {
	uint32_t process, thread;
	const struct worker_group *group;
	struct thread_sum sum;
};

struct thread_rows { struct thread_row *rows; size_t count; };

static int by_running(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	if (x->sum.a.running != y->sum.a.running)
		return x->sum.a.running > y->sum.a.running ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return strcmp(x->sum.name, y->sum.name);
}

/* Adds to rows, or only counts where they are NULL. */
static void collect(const struct report *r, uint32_t process, struct thread_rows *out)
{
	const struct worker_group *group = worker_group_of(r, process);
	struct thread_row row = { .process = process, .thread = TASKS_NONE, .group = group };

	for (size_t i = 0; group && i < group->thread_count; i++, out->count++) {
		row.sum = group->threads[i];
		if (out->rows)
			out->rows[out->count] = row;
	}
	if (group)
		return;
	for (row.thread = r->tasks.processes[process].first_thread; row.thread != TASKS_NONE;
	     row.thread = r->tasks.threads[row.thread].next) {
		if (!select_lives(r, row.thread))
			continue;
		thread_sum_thread(r, row.thread, &row.sum);
		if (out->rows)
			out->rows[out->count] = row;
		out->count++;
	}
}

static void add_row(const struct report *r, struct listing *t, const struct thread_row *row)
{
	const struct thread_sum *s = &row->sum;
	const struct account *a = &s->a;
	bool lossy = r->completeness.switches_lossy, pages = r->completeness.pages_lossy;

	list_number(t, !row->group, r->tasks.processes[row->process].tgid, false);
	list_number(t, !row->group, row->group ? 0 : r->tasks.threads[row->thread].tid, false);
	listing_text(t, r->tasks.processes[row->process].name);
	listing_text(t, s->name);
	list_role(r, t, row->process, row->group);
	list_number(t, true, s->threads, false);
	list_number(t, true, a->running, lossy);
	list_number(t, true, a->waiting, lossy);
	list_number(t, true, a->blocked, lossy);
	list_number(t, true, a->unrecorded, lossy);
	list_number(t, true, s->calls, r->completeness.calls_lossy);
	list_number(t, true, a->voluntary, lossy);
	list_number(t, true, a->involuntary, lossy);
	list_number(t, a->off_periods, a->off_max, lossy);
	list_number(t, a->off_periods, account_off_mean(a), lossy);
	list_number(t, true, a->off_periods, lossy);
	list_number(t, true, a->page_events, pages);
	list_number(t, true, a->pages * r->recording.page_size, pages);
	list_time(r, t, true, s->begin);
	list_time(r, t, !s->alive, s->end);
	list_number(t, true, s->life, false);
	list_number(t, true, a->breaks, false);
}

/* The threads of count processes from first on, by running time. */
static int add_rows(const struct report *r, struct listing *t, const uint32_t *first, size_t count)
{
	struct thread_rows all = { 0 };

	for (size_t i = 0; i < count; i++)
		if (list_stands(r, first[i]))
			collect(r, first[i], &all);
	all.rows = calloc(all.count + 1, sizeof(*all.rows));
	if (!all.rows)
		return ERROR_MEMORY;
	all.count = 0;
	for (size_t i = 0; i < count; i++)
		if (list_stands(r, first[i]))
			collect(r, first[i], &all);
	qsort(all.rows, all.count, sizeof(*all.rows), by_running);
	for (size_t i = 0; i < all.count; i++)
		add_row(r, t, &all.rows[i]);
	free(all.rows);
	return 0;
}

int view_thread_tables(struct report *r, const char *argument, struct listing_set *out,
		       struct error *e)
{
	struct listing *t = listing_set_add(out, "threads", NULL, all_columns, COLUMN_COUNT);
	int ret = add_rows(r, t, r->order, r->order_count);

	(void)argument;
	listing_note(t, "vol., invol.: context switches, voluntary and involuntary; CUDA: calls; roles are guesses");
	list_group_notes(r, t);
	return ret ? error_set(e, ret, "out of memory") : 0;
}

void print_thread_table(const struct report *r, uint32_t process, size_t limit,
			const struct page *out)
{
	const struct worker_group *group = worker_group_of(r, process);
	const struct account *a = group ? &group->sum.a : &r->procs.processes[process].a;
	struct listing t;

	listing_init(&t, "threads", NULL, own_columns[!!group][!!a->unrecorded], COLUMN_COUNT);
	add_rows(r, &t, &process, 1);
	t.limit = limit;
	listing_order(&t, &r->order_by);
	listing_print(&t, out);
	listing_release(&t);
}
