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
	const uint64_t *stalling;
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

static bool alive_at_start(const struct builder *b, uint32_t thread)
{
	const struct thread *t = &b->tasks->threads[thread];

	return !t->born || t->birth <= b->recording->whole_start;
}

/* The row before a narrowed span, or after it, and the row next to it name the same thread. */
static bool fits(uint64_t tid, uint64_t other_tid, uint32_t thread, uint32_t other)
{
	return tid == other_tid || (thread == other && thread != TASKS_UNKNOWN);
}

/* Who left with a CPU's first row of all had it since the start, unless that cannot be. */
static bool since_start(const struct builder *b, uint32_t thread, uint64_t ts)
{
	return thread == TASKS_IDLE || (thread != TASKS_UNKNOWN &&
	       b->tallies[thread].first_in >= ts && alive_at_start(b, thread));
}

static const struct edge_cpu *edge_of(const struct builder *b, uint32_t cpu)
{
	static const struct edge_cpu none;

	return b->procs->edges.cpus ? &b->procs->edges.cpus[cpu] : &none;
}

static void first_tile(struct builder *b, const struct run *run)
{
	const struct edge_cpu *edge = edge_of(b, run->cpu);
	uint32_t thread = run->first_thread;
	bool known = edge->before ? fits(edge->before_tid, run->first_tid, edge->came, thread) :
				    since_start(b, thread, run->first_ts);

	if (edge->before && !known)
		add_break(b, run->cpu, edge->came, thread);
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

/* Who came with a CPU's last row of all still has it at the end, unless seen elsewhere since. */
static bool until_end(const struct builder *b, uint32_t cpu, uint32_t thread, uint64_t ts)
{
	const struct tally *t = &b->tallies[thread];
	const struct keyframe *key = &b->keyframes->threads[thread];

	if (thread <= TASKS_IDLE)
		return thread == TASKS_IDLE;
	return t->last_in <= ts && t->last_out <= ts &&
	       (key->ts <= ts || (key->state == THREAD_RUNNING && key->cpu == cpu));
}

/* From its row at ts on, which may lie before the span. */
static void tile_until_end(struct builder *b, uint32_t cpu, uint32_t thread, uint64_t ts)
{
	struct cpu_account *c = &b->procs->cpus[cpu];
	bool known = until_end(b, cpu, thread, ts);
	uint64_t begin = ts > b->recording->start ? ts : b->recording->start;
	uint64_t exit = b->tasks->threads[thread].exit, end = b->recording->end;

	c->last = known ? thread : TASKS_UNKNOWN;
	c->last_end = end;
	if (known && exit >= ts && exit < end) {
		c->last_end = exit > begin ? exit : begin;
		add_tile(b, cpu, thread, true, c->last_end - begin);
		add_tile(b, cpu, thread, false, end - c->last_end);
	} else {
		add_tile(b, cpu, thread, known, end - begin);
	}
}

static void last_tile(struct builder *b, const struct run *run)
{
	const struct edge_cpu *edge = edge_of(b, run->cpu);
	struct cpu_account *c = &b->procs->cpus[run->cpu];
	bool known;

	if (!edge->after) {
		tile_until_end(b, run->cpu, run->last_thread, run->last_ts);
		return;
	}
	known = fits(run->last_tid, edge->next.row.prev_tid, run->last_thread, edge->left);
	c->last = known ? edge->left : TASKS_UNKNOWN;
	c->last_end = b->recording->end;
	add_tile(b, run->cpu, edge->left, known, b->recording->end - run->last_ts);
}

/* A CPU that has no row in a narrowed span, but outside it. False: it has none. */
static bool tile_between(struct builder *b, uint32_t cpu)
{
	const struct edge_cpu *edge = edge_of(b, cpu);
	struct cpu_account *c = &b->procs->cpus[cpu];
	bool known;

	if (!edge->before && !edge->after)
		return false;
	if (!edge->after) {
		tile_until_end(b, cpu, edge->came, edge->before_ts);
		c->first = c->last;
		return true;
	}
	known = edge->before ?
		fits(edge->before_tid, edge->next.row.prev_tid, edge->came, edge->left) :
		since_start(b, edge->left, edge->next.row.ts);
	c->first = c->last = known ? edge->left : TASKS_UNKNOWN;
	c->last_end = b->recording->end;
	add_tile(b, cpu, edge->left, known, b->recording->end - b->recording->start);
	return true;
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

	for (uint32_t i = 0; i < b->recording->cpus; i++)
		if (b->recording->cpu[i].present && !b->procs->cpus[i].rows)
			b->procs->cpus[i].told = tile_between(b, i);
	for (size_t i = TASKS_IDLE + 1; i < b->tasks->thread_count; i++) {
		const struct keyframe *key = &b->keyframes->threads[i];
		struct cpu_account *c = &b->procs->cpus[key->cpu < b->recording->cpus ? key->cpu : 0];

		if (!key->ts || key->state != THREAD_RUNNING || key->cpu >= b->recording->cpus ||
		    c->rows || c->busy || c->told || !alive_at_start(b, (uint32_t)i) ||
		    b->recording->cpu[key->cpu].left_out)
			continue;
		add_tile(b, key->cpu, (uint32_t)i, true, span);
		c->first = c->last = (uint32_t)i;
		c->last_end = b->recording->end;
	}
	for (uint32_t i = 0; i < b->recording->cpus; i++) {
		struct cpu_account *c = &b->procs->cpus[i];

		c->present = b->recording->cpu[i].present;
		c->span = c->present ? span : 0;
		if (!c->present || c->rows || c->busy || c->told)
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
	if (off && tiles_keeps_stalls(b->tasks, b->stalling, number))
		tiles_stall(b->procs->processes[b->tasks->threads[number].process].stalls, &stall);
}

static uint64_t within(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* What the thread's next return, after a narrowed span, says of the end of the span. */
static void tail_of_return(struct builder *b, uint32_t number, struct thread_account *t,
			   const struct edge_row *back)
{
	const struct row_switch *row = &back->row;
	uint64_t off = row->next_off < row->ts ? row->next_off : row->ts;
	uint64_t wait = row->next_wait < off ? row->next_wait : off, gone = row->ts - off;
	bool moved = row->migrated_from && row->migrated_from <= b->recording->cpus &&
		     row->migrated_wait <= row->ts - t->end;

	if (gone >= t->end || t->end == t->begin)
		return;
	gone = gone > t->begin ? gone : t->begin;
	t->off_cpu = moved ? (uint32_t)row->migrated_from - 1 : back->cpu;
	open_period(b, number, t, gone, within(row->ts - wait, gone, t->end));
}

/*
 * Whether the keyframe is of now. After a narrowed span it is; or it was taken before, and the next
 * one lacks the thread, because it is not of the tree and does the same as ever since.
 */
static bool still_holds(const struct builder *b, uint32_t number, const struct keyframe *key)
{
	const struct recording *r = b->recording;
	const struct thread *thread = &b->tasks->threads[number];

	if (r->end == r->whole_end || !b->keyframes->next_begin)
		return true;
	if (key->ts >= r->end)
		return key->since < r->end;
	return !b->tasks->processes[thread->process].in_tree;
}

/*
 * A keyframe that is newer than the thread's last row knows best. It may begin later than that
 * row: rows are missing then, and the time between stays unrecorded.
 */
static void tail(struct builder *b, uint32_t number, struct thread_account *t)
{
	const struct tally *tally = &b->tallies[number];
	const struct keyframe *key = &b->keyframes->threads[number];
	const struct edges *e = &b->procs->edges;
	uint64_t left = tally->last_out, since;
	bool last = b->recording->end == b->recording->whole_end ||
		    e->threads[number] == EDGE_NEVER;

	t->off_cpu = UINT32_MAX;
	if (edges_return(e, number))
		tail_of_return(b, number, t, edges_return(e, number));
	if (edges_return(e, number) || (left && tally->last_in > left) ||
	    (e->threads && e->threads[number] == EDGE_LEFT))
		return;
	if (key->ts && key->ts >= left && key->ts >= tally->last_in &&
	    still_holds(b, number, key)) {
		since = within(key->since, left > t->begin ? left : t->begin, t->end);
		t->off_cpu = key->cpu;
		if (key->state == THREAD_WAITING)
			open_period(b, number, t, since,
				    within(key->runnable_since, since, t->end));
		else if (key->state == THREAD_BLOCKED)
			open_period(b, number, t, since, t->end);
	} else if (left && last) {
		since = within(left, t->begin, t->end);
		open_period(b, number, t, since, tally->out_runnable ? since : t->end);
	}
}

/* It is about to end, and still has rows after a narrowed span. */
static bool lingers(const struct builder *b, uint32_t number)
{
	const struct edges *e = &b->procs->edges;

	return e->threads && !b->tallies[number].died && b->tasks->threads[number].exit &&
	       (e->threads[number] == EDGE_LEFT || e->threads[number] == EDGE_RETURNED);
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
	if (lingers(b, number))
		t->end = b->recording->end;
	if (b->recording->narrowed)
		t->end = within(t->end, b->recording->start, b->recording->end);
	if (t->begin > t->end)
		t->begin = t->end;
}

/* Pages not yet in a row: after a narrowed span there is one. */
static bool counts_pending(const struct builder *b, const struct keyframe *key)
{
	const struct recording *r = b->recording;

	return !r->narrowed || (r->end == r->whole_end && key->ts >= r->first &&
				key->cpu < r->cpus && !r->cpu[key->cpu].left_out);
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
	t->first_wait = tally->first_wait;
	life(b, number, t);
	if ((t->alive || lingers(b, number)) && !b->recording->partial)
		tail(b, number, t);
	if (key->ts > tally->last_out && key->ts > tally->last_page && counts_pending(b, key)) {
		t->a.page_events += key->page_events;
		t->a.pages += key->pages;
	}
	known = t->a.running + t->a.waiting + t->a.blocked;
	if (b->recording->partial)
		return;
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
	int ret = tiles_load(&b->tiles, b->recording, b->tasks, b->stalling);

	if (ret)
		return ret;
	b->tallies = b->tiles.workers[0].tallies;
	for (size_t i = 0; i < b->tasks->process_count; i++)
		memcpy(p->processes[i].stalls, &b->tiles.workers[0].stalls[i * PROCS_STALLS],
		       sizeof(p->processes[i].stalls));
	ret = edges_load(&p->edges, b->recording, b->tasks, b->keyframes, b->tallies);
	if (ret)
		return ret;
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
	       const struct keyframes *k, const uint64_t *stalling)
{
	struct builder b = { .procs = p, .recording = r, .tasks = t, .keyframes = k,
			     .stalling = stalling };
	int ret = ERROR_MEMORY;

	memset(p, 0, sizeof(*p));
	p->partial = r->partial;
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
	edges_release(&p->edges);
	free(p->threads);
	free(p->processes);
	free(p->cpus);
	memset(p, 0, sizeof(*p));
}
