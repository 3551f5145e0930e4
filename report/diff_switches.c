// SPDX-License-Identifier: BSD-2-Clause
/* Switches, pages and time by role and cell of the steady part; who else ran. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "diff_load.h"
#include "parallel.h"

#define BIT(column) (1ull << COL_switch_##column)
#define MASK (BIT(ts) | BIT(prev_tid) | BIT(prev_pages) | BIT(next_tid) | BIT(next_off) | \
	      BIT(next_wait))
#define CLASS_IDLE DIFF_ROLES_COUNT		/* the idle threads, the recorder, nobody known */
#define CLASS_OUTSIDE (DIFF_ROLES_COUNT + 1)	/* and beyond: by name */
#define OUTSIDERS_MAX 4096
#define KERNEL "kernel threads"

/* What a worker saw. */
struct sums {
	struct diff_role_sums roles[DIFF_ROLES_COUNT];
	uint64_t *outside;		/* running, by name */
	uint64_t busy, recorded;	/* of the CPUs */
	uint64_t waiting;		/* of all threads that count */
	struct columns columns;
};

struct loader {
	struct diff_run *run;
	struct report *report;
	uint16_t *class;		/* by thread */
	const char **names; size_t name_count;	/* of outsiders */
	struct sums *sums; unsigned int worker_count;
};

void diff_spread(const struct diff_run *run, uint64_t *cells, uint64_t from, uint64_t to)
{
	if (from < run->start)
		from = run->start;
	if (to > run->end)
		to = run->end;
	if (from >= to)
		return;
	for (size_t cell = diff_cell(run, from); from < to; cell++) {
		uint64_t end = cell + 1 < DIFF_CELLS ? diff_cell_start(run, cell + 1) : run->end;

		end = end < to ? end : to;
		cells[cell] += end - from;
		from = end;
	}
}

/* The part of [from, to) in the steady part. */
static uint64_t inside(const struct diff_run *run, uint64_t from, uint64_t to)
{
	from = from > run->start ? from : run->start;
	to = to < run->end ? to : run->end;
	return from < to ? to - from : 0;
}

/* --- whose time counts where */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *outsider_name(const struct process *p)
{
	return p->kernel ? KERNEL : p->name ? p->name : "";
}

/* Distinct names of processes outside the tree. */
static int name_outsiders(struct loader *l)
{
	const struct tasks *t = &l->report->tasks;
	size_t n = 0;

	l->names = malloc((t->process_count + 1) * sizeof(*l->names));
	if (!l->names)
		return ERROR_MEMORY;
	for (size_t i = 1; i < t->process_count; i++)
		if (!t->processes[i].in_tree && !t->processes[i].recorder)
			l->names[n++] = outsider_name(&t->processes[i]);
	if (n)
		qsort(l->names, n, sizeof(*l->names), by_name);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(l->names[i], l->names[l->name_count - 1]))
			l->names[l->name_count++] = l->names[i];
	if (l->name_count > OUTSIDERS_MAX)
		l->name_count = OUTSIDERS_MAX;
	return 0;
}

static uint16_t class_of(const struct loader *l, uint32_t process)
{
	const struct process *p = &l->report->tasks.processes[process];
	const char *name = outsider_name(p);
	const char **found;

	if (!process || p->recorder)
		return CLASS_IDLE;
	if (p->in_tree && !select_process(&l->report->selection, process))
		return CLASS_IDLE;
	switch (l->report->roles.processes[process].role) {
	case ROLE_MAIN:
		return DIFF_MAIN;
	case ROLE_WORKER:
		return DIFF_WORKERS;
	default:
		break;
	}
	if (p->in_tree)
		return DIFF_HELPERS;
	found = bsearch(&name, l->names, l->name_count, sizeof(*l->names), by_name);
	return (uint16_t)(CLASS_OUTSIDE + (found ? (size_t)(found - l->names) : OUTSIDERS_MAX));
}

static int find_classes(struct loader *l)
{
	const struct tasks *t = &l->report->tasks;
	uint16_t *class = malloc(t->process_count * sizeof(*class));

	l->class = malloc(t->thread_count * sizeof(*l->class));
	if (!class || !l->class)
		return free(class), ERROR_MEMORY;
	for (size_t i = 0; i < t->process_count; i++)
		class[i] = class_of(l, (uint32_t)i);
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct thread *thread = &t->threads[i];

		l->class[i] = i <= TASKS_IDLE ? CLASS_IDLE : class[thread->process];
		if (l->class[i] < DIFF_ROLES_COUNT &&
		    !select_thread(&l->report->selection, (uint32_t)i))
			l->class[i] = CLASS_IDLE;
	}
	free(class);
	return 0;
}

/* --- rows */

static void add_running(const struct loader *l, struct sums *s, uint32_t thread, uint64_t from,
			uint64_t to)
{
	uint16_t class = l->class[thread];
	uint64_t ns = inside(l->run, from, to);

	if (!ns)
		return;
	s->recorded += ns;
	if (thread == TASKS_IDLE)
		return;
	s->busy += ns;
	if (class < DIFF_ROLES_COUNT)
		diff_spread(l->run, s->roles[class].running, from, to);
	else if (class >= CLASS_OUTSIDE)
		s->outside[class - CLASS_OUTSIDE] += ns;
}

static void add_off(const struct loader *l, struct sums *s, uint32_t thread, uint64_t from,
		    uint64_t runnable, uint64_t to)
{
	uint16_t class = l->class[thread];

	if (class != CLASS_IDLE)
		s->waiting += inside(l->run, runnable, to);
	if (class >= DIFF_ROLES_COUNT)
		return;
	diff_spread(l->run, s->roles[class].blocked, from, runnable);
	diff_spread(l->run, s->roles[class].waiting, runnable, to);
}

/* Who has the CPU, since when. */
struct cursor { uint64_t ts; uint32_t thread; bool any; };

static void take_row(const struct loader *l, struct sums *s, struct cursor *at, uint32_t i)
{
	const uint64_t **col = s->columns.col;
	uint64_t ts = col[COL_switch_ts][i], off = col[COL_switch_next_off][i];
	uint64_t wait = col[COL_switch_next_wait][i];
	uint32_t prev = tasks_thread(&l->report->tasks, col[COL_switch_prev_tid][i], ts);
	uint32_t next = tasks_thread(&l->report->tasks, col[COL_switch_next_tid][i], ts);
	uint16_t class = l->class[prev];

	if (at->any && at->thread == prev && prev != TASKS_UNKNOWN)
		add_running(l, s, prev, at->ts, ts);
	*at = (struct cursor){ ts, next, true };
	off = off < ts ? off : ts;
	wait = wait < off ? wait : off;
	if (next > TASKS_IDLE && off)
		add_off(l, s, next, ts - off, ts - wait, ts);
	if (class < DIFF_ROLES_COUNT && diff_steady(l->run, ts)) {
		size_t cell = diff_cell(l->run, ts);

		s->roles[class].switches[cell]++;
		s->roles[class].pages[cell] += col[COL_switch_prev_pages][i];
	}
}

/* A CPU's rows, in time order. */
static int one_cpu(void *context, unsigned int worker, size_t cpu)
{
	struct loader *l = context;
	struct sums *s = &l->sums[worker];
	struct recording *r = &l->report->recording;
	const struct block_list *list = &r->blocks[TABLE_switch];
	const struct cpu_account *a = &l->report->procs.cpus[cpu];
	struct cursor at = { r->start, a->first, a->first != TASKS_UNKNOWN };
	int ret = 0;

	for (size_t b = 0; b < list->count && !ret; b++) {
		if (reader_block(r->reader, list->block[b])->cpu != cpu)
			continue;
		ret = recording_load(r, list->block[b], MASK, &s->columns);
		for (uint32_t i = 0; i < s->columns.rows && !ret; i++)
			if (recording_in_span(r, s->columns.col[COL_switch_ts][i]))
				take_row(l, s, &at, i);
	}
	if (at.any && a->last != TASKS_UNKNOWN && a->last == at.thread)
		add_running(l, s, at.thread, at.ts, a->last_end);
	return ret;
}

/* What was still off the CPU at the end. */
static void add_open(struct loader *l)
{
	const struct procs *p = &l->report->procs;

	for (size_t i = TASKS_IDLE + 1; i < l->report->tasks.thread_count; i++) {
		const struct thread_account *t = &p->threads[i];

		if (t->off)
			add_off(l, &l->sums[0], (uint32_t)i, t->off_since,
				t->off_runnable < t->end ? t->off_runnable : t->end, t->end);
	}
}

/* Page allocations inside long slices, which have rows of their own. */
static int visit_pages(struct loader *l, const struct columns *c)
{
	for (uint32_t i = 0; i < c->rows; i++) {
		uint64_t ts = c->col[COL_page_ts][i];
		uint32_t thread = tasks_thread(&l->report->tasks, c->col[COL_page_tid][i], ts);
		uint16_t class = l->class[thread];

		if (class < DIFF_ROLES_COUNT && diff_steady(l->run, ts))
			l->sums[0].roles[class].pages[diff_cell(l->run, ts)] +=
				c->col[COL_page_pages][i];
	}
	return 0;
}

static int add_pages(struct loader *l)
{
	struct recording *r = &l->report->recording;
	const struct block_list *list = &r->blocks[TABLE_page];
	uint64_t mask = 1ull << COL_page_ts | 1ull << COL_page_tid | 1ull << COL_page_pages;
	struct columns c = { 0 };
	int ret = 0;

	for (size_t b = 0; b < list->count && !ret; b++) {
		ret = recording_load(r, list->block[b], mask, &c);
		if (!ret)
			ret = visit_pages(l, &c);
	}
	columns_release(&c);
	return ret;
}

/* --- sums of all workers */

static void add_role(struct diff_role_sums *to, const struct diff_role_sums *from)
{
	for (size_t i = 0; i < DIFF_CELLS; i++) {
		to->switches[i] += from->switches[i];
		to->pages[i] += from->pages[i];
		to->running[i] += from->running[i];
		to->waiting[i] += from->waiting[i];
		to->blocked[i] += from->blocked[i];
	}
}

static int by_running(const void *a, const void *b)
{
	const struct diff_outsider *x = a, *y = b;

	if (x->running != y->running)
		return x->running > y->running ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int unite_outsiders(struct loader *l)
{
	struct diff_run *run = l->run;

	run->outsiders = calloc(l->name_count + 1, sizeof(*run->outsiders));
	if (!run->outsiders)
		return ERROR_MEMORY;
	for (size_t i = 0; i < l->name_count; i++) {
		struct diff_outsider *o = &run->outsiders[run->outsider_count];

		for (unsigned int w = 0; w < l->worker_count; w++)
			o->running += l->sums[w].outside[i];
		snprintf(o->name, sizeof(o->name), "%s", l->names[i]);
		run->outside_running += o->running;
		run->outsider_count += o->running > 0;
	}
	for (unsigned int w = 0; w < l->worker_count; w++)
		run->outside_running += l->sums[w].outside[OUTSIDERS_MAX];
	if (run->outsider_count)
		qsort(run->outsiders, run->outsider_count, sizeof(*run->outsiders), by_running);
	return 0;
}

static int unite(struct loader *l)
{
	struct diff_run *run = l->run;

	for (unsigned int w = 0; w < l->worker_count; w++) {
		for (unsigned int i = 0; i < DIFF_ROLES_COUNT; i++)
			add_role(&run->roles[i], &l->sums[w].roles[i]);
		run->busy += l->sums[w].busy;
		run->cpu_time += l->sums[w].recorded;
		run->runnable += l->sums[w].waiting;
	}
	run->runnable += run->busy;
	return unite_outsiders(l);
}

/* Processes of each role, and how long they were there. */
static void count_processes(struct loader *l)
{
	const struct tasks *t = &l->report->tasks;

	for (size_t i = 1; i < t->process_count; i++) {
		const struct process_account *a = &l->report->procs.processes[i];
		uint16_t class = class_of(l, (uint32_t)i);

		if (class >= DIFF_ROLES_COUNT || !inside(l->run, a->begin, a->end))
			continue;
		l->run->roles[class].processes++;
		diff_spread(l->run, l->run->roles[class].alive, a->begin, a->end);
	}
}

static int make_sums(struct loader *l)
{
	l->worker_count = parallel_workers();
	l->sums = calloc(l->worker_count, sizeof(*l->sums));
	for (unsigned int i = 0; l->sums && i < l->worker_count; i++) {
		l->sums[i].outside = calloc(OUTSIDERS_MAX + 1, sizeof(*l->sums[i].outside));
		if (!l->sums[i].outside)
			return ERROR_MEMORY;
	}
	return l->sums ? 0 : ERROR_MEMORY;
}

int diff_switches_load(struct diff_run *run, struct report *r)
{
	struct loader l = { .run = run, .report = r };
	int ret = make_sums(&l);

	if (!ret)
		ret = name_outsiders(&l);
	if (!ret)
		ret = find_classes(&l);
	if (!ret)
		ret = parallel_run(r->recording.cpus, one_cpu, &l);
	if (!ret)
		ret = add_pages(&l);
	if (!ret) {
		add_open(&l);
		count_processes(&l);
		ret = unite(&l);
	}
	for (unsigned int i = 0; l.sums && i < l.worker_count; i++) {
		free(l.sums[i].outside);
		columns_release(&l.sums[i].columns);
	}
	free(l.sums);
	free(l.class);
	free(l.names);
	return ret;
}
