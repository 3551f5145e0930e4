// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "procs.h"
#include "tiles.h"

struct builder {
	struct procs *procs;
	struct recording *recording;
	const struct tasks *tasks;
	const struct keyframes *keyframes;
	struct tiles tiles;
	struct tally *tallies;		/* sums of all workers */
};

/* A stretch of a CPU: of thread, if that is known; else unrecorded. */
static void add_tile(struct builder *b, uint32_t cpu, uint32_t thread, bool known, uint64_t ns)
{
	struct cpu_account *c = &b->procs->cpus[cpu];

	if (!known) {
		c->unrecorded += ns;
		return;
	}
	b->tallies[thread].running += ns;
	if (thread == TASKS_IDLE)
		c->idle += ns;
	else
		c->busy += ns;
}

static void add_break(struct builder *b, uint32_t cpu, uint32_t expected, uint32_t found)
{
	b->procs->cpus[cpu].breaks++;
	b->tallies[expected].breaks++;
	b->tallies[found].breaks++;
}

static uint64_t life_begin(const struct builder *b, uint32_t thread)
{
	const struct thread *t = &b->tasks->threads[thread];

	return t->born && t->birth > b->recording->start ? t->birth : b->recording->start;
}

/* Who left with a CPU's first row had it since the start, unless that cannot be. */
static void first_tile(struct builder *b, const struct run *run)
{
	uint32_t thread = run->first_thread;
	bool known = thread == TASKS_IDLE ||
		     (thread != TASKS_UNKNOWN && b->tallies[thread].first_in >= run->first_ts &&
		      life_begin(b, thread) == b->recording->start);

	add_tile(b, run->cpu, thread, known, run->first_ts - b->recording->start);
	b->procs->cpus[run->cpu].first = known ? thread : TASKS_UNKNOWN;
}

static void seam_tile(struct builder *b, const struct run *before, const struct run *after)
{
	bool known = before->last_tid == after->first_tid ||
		     (before->last_thread == after->first_thread &&
		      after->first_thread != TASKS_UNKNOWN);
	uint64_t ns = after->first_ts > before->last_ts ? after->first_ts - before->last_ts : 0;

	known &= after->first_ts >= before->last_ts;
	if (!known)
		add_break(b, after->cpu, before->last_thread, after->first_thread);
	add_tile(b, after->cpu, after->first_thread, known, ns);
}

/* Who came with a CPU's last row still has it at the end, unless it was seen elsewhere since. */
static void last_tile(struct builder *b, const struct run *run)
{
	const struct tally *t = &b->tallies[run->last_thread];
	const struct keyframe *key = &b->keyframes->threads[run->last_thread];
	uint64_t exit = b->tasks->threads[run->last_thread].exit;
	uint64_t end = b->recording->end;
	bool known = run->last_thread == TASKS_IDLE;

	if (!known && run->last_thread != TASKS_UNKNOWN)
		known = t->last_in <= run->last_ts && t->last_out <= run->last_ts &&
			(key->ts <= run->last_ts ||
			 (key->state == THREAD_RUNNING && key->cpu == run->cpu));
	b->procs->cpus[run->cpu].last = known ? run->last_thread : TASKS_UNKNOWN;
	b->procs->cpus[run->cpu].last_end = end;
	if (known && exit >= run->last_ts && exit < end) {
		b->procs->cpus[run->cpu].last_end = exit;
		add_tile(b, run->cpu, run->last_thread, true, exit - run->last_ts);
		add_tile(b, run->cpu, run->last_thread, false, end - exit);
	} else {
		add_tile(b, run->cpu, run->last_thread, known, end - run->last_ts);
	}
}

static void add_run(struct builder *b, const struct run *run)
{
	struct cpu_account *c = &b->procs->cpus[run->cpu];

	c->rows += run->rows;
	c->busy += run->busy;
	c->idle += run->idle;
	c->unrecorded += run->unrecorded;
	c->breaks += run->breaks;
}

static void close_seams(struct builder *b)
{
	const struct run *before = NULL;

	for (size_t i = 0; i < b->tiles.run_count; i++) {
		const struct run *run = &b->tiles.runs[i];

		if (!run->rows)
			continue;
		if (before && before->cpu != run->cpu) {
			last_tile(b, before);
			before = NULL;
		}
		if (before)
			seam_tile(b, before, run);
		else
			first_tile(b, run);
		add_run(b, run);
		before = run;
	}
	if (before)
		last_tile(b, before);
}

/* A CPU without rows belonged to one thread all the time: who a keyframe saw there, or nobody. */
static void quiet_cpus(struct builder *b)
{
	uint64_t span = b->recording->end - b->recording->start;

	for (size_t i = TASKS_IDLE + 1; i < b->tasks->thread_count; i++) {
		const struct keyframe *key = &b->keyframes->threads[i];
		struct cpu_account *c = &b->procs->cpus[key->cpu < b->recording->cpus ? key->cpu : 0];

		if (!key->ts || key->state != THREAD_RUNNING || key->cpu >= b->recording->cpus ||
		    c->rows || c->busy || life_begin(b, i) != b->recording->start)
			continue;
		add_tile(b, key->cpu, (uint32_t)i, true, span);
		c->first = c->last = (uint32_t)i;
		c->last_end = b->recording->end;
	}
	for (uint32_t i = 0; i < b->recording->cpus; i++) {
		struct cpu_account *c = &b->procs->cpus[i];

		c->present = b->recording->cpu[i].present;
		c->span = c->present ? span : 0;
		if (!c->present || c->rows || c->busy)
			continue;
		add_tile(b, i, TASKS_IDLE, true, span);
		c->first = c->last = TASKS_IDLE;
		c->last_end = b->recording->end;
	}
}

static int add_pages(struct builder *b)
{
	const struct block_list *list = &b->recording->blocks[TABLE_page];
	struct columns c = { 0 };
	int ret = 0;

	for (size_t k = 0; k < list->count && !ret; k++) {
		ret = recording_load(b->recording, list->block[k], (1 << COLS_page) - 1, &c);
		for (uint32_t i = 0; i < c.rows; i++) {
			uint64_t ts = c.col[COL_page_ts][i];
			struct tally *t;

			if (!recording_in_span(b->recording, ts))
				continue;
			t = &b->tallies[tasks_thread(b->tasks, c.col[COL_page_tid][i], ts)];
			t->page_events += c.col[COL_page_events][i];
			t->pages += c.col[COL_page_pages][i];
			if (ts > t->last_page)
				t->last_page = ts;
			b->procs->page_rows++;
		}
	}
	columns_release(&c);
	return ret;
}

/* The thread left the CPU and did not come back: what was it doing from then to the end? */
static void open_period(struct builder *b, uint32_t number, struct thread_account *t,
			uint64_t since, uint64_t runnable)
{
	uint64_t off = t->end - since;
	struct stall stall = { t->end, off, t->end - runnable, number, true };

	t->off = true;
	t->off_since = since;
	t->off_runnable = runnable;
	t->a.blocked += runnable - since;
	t->a.waiting += t->end - runnable;
	t->a.off_periods++;
	if (off > t->a.off_max) {
		t->a.off_max = off;
		t->a.off_max_end = t->end;
	}
	if (off && b->tasks->processes[b->tasks->threads[number].process].in_tree)
		tiles_stall(b->procs->processes[b->tasks->threads[number].process].stalls, &stall);
}

static uint64_t within(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/*
 * A keyframe that is newer than the thread's last row knows best. It may begin later than that
 * row: rows are missing then, and the time between stays unrecorded.
 */
static void tail(struct builder *b, uint32_t number, struct thread_account *t)
{
	const struct tally *tally = &b->tallies[number];
	const struct keyframe *key = &b->keyframes->threads[number];
	uint64_t left = tally->last_out, since;

	t->off_cpu = UINT32_MAX;
	if (left && tally->last_in > left)
		return;
	if (key->ts && key->ts >= left && key->ts >= tally->last_in) {
		since = within(key->since, left > t->begin ? left : t->begin, t->end);
		t->off_cpu = key->cpu;
		if (key->state == THREAD_WAITING)
			open_period(b, number, t, since,
				    within(key->runnable_since, since, t->end));
		else if (key->state == THREAD_BLOCKED)
			open_period(b, number, t, since, t->end);
	} else if (left) {
		since = within(left, t->begin, t->end);
		open_period(b, number, t, since, tally->out_runnable ? since : t->end);
	}
}

static void life(struct builder *b, uint32_t number, struct thread_account *t)
{
	const struct thread *thread = &b->tasks->threads[number];
	const struct tally *tally = &b->tallies[number];

	t->begin = life_begin(b, number);
	t->end = b->recording->end;
	t->alive = !tally->died && !thread->exit;
	if (tally->died) {
		t->end = tally->died;
	} else if (thread->exit) {
		t->end = thread->exit > tally->last_in ? thread->exit : tally->last_in;
		if (tally->last_out > t->end)
			t->end = tally->last_out;
	}
	if (t->begin > t->end)
		t->begin = t->end;
}

static void finish_thread(struct builder *b, uint32_t number)
{
	struct thread_account *t = &b->procs->threads[number];
	const struct tally *tally = &b->tallies[number];
	const struct keyframe *key = &b->keyframes->threads[number];
	uint64_t known;

	t->a = (struct account){
		.running = tally->running, .waiting = tally->waiting, .blocked = tally->blocked,
		.voluntary = tally->voluntary, .involuntary = tally->involuntary,
		.off_periods = tally->periods, .arrivals = tally->periods, .off_max = tally->off_max,
		.off_max_end = tally->off_max_end, .page_events = tally->page_events,
		.pages = tally->pages, .breaks = tally->breaks,
	};
	life(b, number, t);
	if (t->alive)
		tail(b, number, t);
	if (key->ts > tally->last_out && key->ts > tally->last_page) {
		t->a.page_events += key->page_events;
		t->a.pages += key->pages;
	}
	known = t->a.running + t->a.waiting + t->a.blocked;
	if (known > t->end - t->begin)
		b->procs->inconsistent++;
	else
		t->a.unrecorded = t->end - t->begin - known;
}

void account_add(struct account *to, const struct account *from)
{
	to->running += from->running;
	to->waiting += from->waiting;
	to->blocked += from->blocked;
	to->unrecorded += from->unrecorded;
	to->voluntary += from->voluntary;
	to->involuntary += from->involuntary;
	to->off_periods += from->off_periods;
	to->arrivals += from->arrivals;
	to->page_events += from->page_events;
	to->pages += from->pages;
	to->breaks += from->breaks;
	if (from->off_max > to->off_max) {
		to->off_max = from->off_max;
		to->off_max_end = from->off_max_end;
	}
}

static void add_to_process(struct builder *b, uint32_t number)
{
	const struct thread_account *t = &b->procs->threads[number];
	uint32_t process = b->tasks->threads[number].process;
	struct process_account *p = &b->procs->processes[process];

	account_add(&p->a, &t->a);
	if (!p->end || t->begin < p->begin)
		p->begin = t->begin;
	if (t->end > p->end)
		p->end = t->end;
	if (b->tasks->processes[process].recorder) {
		b->procs->recorder_running += t->a.running;
		b->procs->recorder_waiting += t->a.waiting;
	} else {
		b->procs->running += t->a.running;
		b->procs->waiting += t->a.waiting;
	}
}

/* TIDs the task table never introduced have no life to account for. */
static void add_unknown(struct builder *b)
{
	const struct tally *t = &b->tallies[TASKS_UNKNOWN];
	struct account *a = &b->procs->processes[TASKS_UNKNOWN].a;

	a->running = t->running;
	a->waiting = t->waiting;
	a->blocked = t->blocked;
	a->voluntary = t->voluntary;
	a->involuntary = t->involuntary;
	a->off_periods = t->periods;
	a->page_events = t->page_events;
	a->pages = t->pages;
	b->procs->running += t->running;
	b->procs->waiting += t->waiting;
}

static int build(struct builder *b)
{
	struct procs *p = b->procs;
	int ret = tiles_load(&b->tiles, b->recording, b->tasks);

	if (ret)
		return ret;
	b->tallies = b->tiles.workers[0].tallies;
	for (size_t i = 0; i < b->tasks->process_count; i++)
		memcpy(p->processes[i].stalls, &b->tiles.workers[0].stalls[i * PROCS_STALLS],
		       sizeof(p->processes[i].stalls));
	close_seams(b);
	quiet_cpus(b);
	ret = add_pages(b);
	for (size_t i = TASKS_IDLE + 1; i < b->tasks->thread_count; i++) {
		finish_thread(b, (uint32_t)i);
		add_to_process(b, (uint32_t)i);
	}
	add_unknown(b);
	for (uint32_t i = 0; i < b->recording->cpus; i++) {
		p->rows += p->cpus[i].rows;
		p->breaks += p->cpus[i].breaks;
	}
	return ret;
}

int procs_load(struct procs *p, struct recording *r, const struct tasks *t,
	       const struct keyframes *k)
{
	struct builder b = { .procs = p, .recording = r, .tasks = t, .keyframes = k };
	int ret = ERROR_MEMORY;

	memset(p, 0, sizeof(*p));
	p->threads = calloc(t->thread_count, sizeof(*p->threads));
	p->processes = calloc(t->process_count, sizeof(*p->processes));
	p->cpus = calloc(r->cpus, sizeof(*p->cpus));
	if (p->threads && p->processes && p->cpus)
		ret = build(&b);
	tiles_release(&b.tiles);
	return ret;
}

void procs_release(struct procs *p)
{
	free(p->threads);
	free(p->processes);
	free(p->cpus);
	memset(p, 0, sizeof(*p));
}
