// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "edges.h"
#include "tiles.h"

#define BIT(column) (1ull << COL_switch_##column)
#define ALL ((1ull << COLS_switch) - 1)
/*
 * ns. A thread that has exited has its last row by then. One that a keyframe calls waiting comes on
 * a CPU by then, or is starved: or was woken just before it fell asleep all the same, and sleeps.
 */
#define EXIT_TAKES 1000000000ull
#define WAIT_TAKES 10000000000ull

/* How far a CPU's rows after the span are read: all before reached, those of list[at] next. */
struct cursor { size_t at; uint64_t reached; };

/* A thread whose first row after the span is looked for, if it is not later than until. */
struct wanted { uint32_t thread; uint64_t until; };

struct loader {
	struct edges *edges;
	struct recording *recording;
	const struct tasks *tasks;
	const struct keyframes *keyframes;
	const struct tally *tallies;
	const struct block_list *list;
	struct cursor *cursors;		/* by CPU */
	struct wanted *wanted; size_t wanted_count;
	uint64_t *found;		/* by thread: ts of the first row so far; 0: not wanted */
	struct columns columns;
};

/* Damage outside the span is not the span's. */
static int load_block(struct loader *l, size_t at, uint64_t mask)
{
	struct error e = { 0 };
	int ret = reader_load(l->recording->reader, l->list->block[at], mask, &l->columns, &e);

	if (ret < 0)
		l->columns.rows = 0;
	return ret == ERROR_MEMORY ? ret : 0;
}

static const struct block_info *block_at(const struct loader *l, size_t at)
{
	return reader_block(l->recording->reader, l->list->block[at]);
}

static bool counts(const struct recording *r, const struct block_info *b)
{
	return b->cpu < r->cpus && !r->cpu[b->cpu].left_out && b->rows;
}

/* --- before the span */

static int load_before(struct loader *l, uint32_t cpu, size_t at)
{
	struct edge_cpu *edge = &l->edges->cpus[cpu];
	struct columns *c = &l->columns;
	int ret = load_block(l, at, BIT(ts) | BIT(next_tid));
	uint32_t i = c->rows;

	while (i && c->col[COL_switch_ts][i - 1] >= l->recording->start)
		i--;
	if (ret || !i)
		return ret;
	edge->before = true;
	edge->before_ts = c->col[COL_switch_ts][i - 1];
	edge->before_tid = c->col[COL_switch_next_tid][i - 1];
	edge->came = tasks_thread(l->tasks, edge->before_tid, edge->before_ts);
	return 0;
}

/* Blocks of a CPU are in time order: the last one that begins before the span has the row. */
static int all_before(struct loader *l)
{
	struct recording *r = l->recording;
	size_t *place = calloc(r->cpus, sizeof(*place));
	int ret = place ? 0 : ERROR_MEMORY;

	for (size_t i = 0; i < l->list->count && !ret; i++)
		if (counts(r, block_at(l, i)) && block_at(l, i)->first_ts < r->start)
			place[block_at(l, i)->cpu] = i + 1;
	for (uint32_t cpu = 0; cpu < r->cpus && !ret; cpu++)
		if (place[cpu])
			ret = load_before(l, cpu, place[cpu] - 1);
	free(place);
	return ret;
}

/* --- whom to look for */

/* What the next keyframe, which does not have the thread, leaves to find out. */
static uint64_t until_without_keyframe(const struct loader *l, uint32_t i)
{
	const struct thread *t = &l->tasks->threads[i];
	const struct tally *tally = &l->tallies[i];
	const struct keyframe *key = &l->keyframes->threads[i];
	bool newest = key->ts && key->ts >= tally->last_in && key->ts >= tally->last_out;

	if (!l->keyframes->next_begin)
		return UINT64_MAX;
	if (l->tasks->processes[t->process].in_tree || !newest)
		return l->keyframes->next_end;
	return key->state == THREAD_WAITING ? l->keyframes->next_end + WAIT_TAKES : 0;
}

/*
 * Until when the thread's first row after the span is of interest; 0 not at all. A keyframe is
 * enough, unless the thread's state began after the span, or it waits for a CPU: since when is not
 * certain before it is back.
 */
static uint64_t wanted_until(const struct loader *l, uint32_t i)
{
	const struct recording *r = l->recording;
	const struct thread *t = &l->tasks->threads[i];
	const struct keyframe *key = &l->keyframes->threads[i];

	if (l->tallies[i].died)
		return 0;
	if (t->exit)	/* its last row comes somewhat later */
		return t->exit + EXIT_TAKES > r->start ? r->end + EXIT_TAKES : 0;
	if (key->ts < r->end && t->later_exit && t->later_exit <= l->keyframes->next_end)
		return t->later_exit + EXIT_TAKES;
	if (key->ts < r->end)
		return until_without_keyframe(l, i);
	if (key->since >= r->end)
		return key->ts;
	return key->state == THREAD_WAITING ? key->ts + WAIT_TAKES : 0;
}

static int find_wanted(struct loader *l)
{
	size_t threads = l->tasks->thread_count;

	l->wanted = calloc(threads, sizeof(*l->wanted));
	l->found = calloc(threads, sizeof(*l->found));
	if (!l->wanted || !l->found)
		return ERROR_MEMORY;
	for (uint32_t i = TASKS_IDLE + 1; i < threads && !l->recording->partial; i++) {
		uint64_t until = wanted_until(l, i);

		if (!until)
			continue;
		l->wanted[l->wanted_count++] = (struct wanted){ i, until };
		l->found[i] = UINT64_MAX;
	}
	return 0;
}

/* --- after the span */

static void advance(struct loader *l, uint32_t cpu)
{
	struct cursor *c = &l->cursors[cpu];

	while (c->at < l->list->count &&
	       (block_at(l, c->at)->cpu != cpu || !counts(l->recording, block_at(l, c->at))))
		c->at++;
	c->reached = c->at < l->list->count ? block_at(l, c->at)->first_ts : UINT64_MAX;
	if (c->reached > l->recording->whole_end)
		c->reached = UINT64_MAX;
}

static int open_cursors(struct loader *l)
{
	struct recording *r = l->recording;

	l->cursors = calloc(r->cpus, sizeof(*l->cursors));
	if (!l->cursors)
		return ERROR_MEMORY;
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++)
		l->cursors[cpu].at = l->list->count;
	for (size_t i = l->list->count; i--;)
		if (counts(r, block_at(l, i)) && block_at(l, i)->last_ts >= r->end)
			l->cursors[block_at(l, i)->cpu].at = i;
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++)
		advance(l, cpu);
	return 0;
}

static void copy_row(const struct loader *l, uint32_t i, uint32_t cpu, struct edge_row *out)
{
	uint64_t values[COLS_switch];

	for (unsigned int k = 0; k < COLS_switch; k++)
		values[k] = l->columns.col[k][i];
	memcpy(&out->row, values, sizeof(values));
	out->cpu = cpu;
}

static int found_return(struct loader *l, uint32_t thread, uint32_t i, uint32_t cpu)
{
	struct edges *e = l->edges;
	struct edge_row *returns;

	if (!e->returned[thread]) {
		returns = array_reserve(e->returns, &e->return_capacity, e->return_count + 1,
					sizeof(*returns));
		if (!returns)
			return ERROR_MEMORY;
		e->returns = returns;
		e->returned[thread] = (uint32_t)++e->return_count;
	}
	copy_row(l, i, cpu, &e->returns[e->returned[thread] - 1]);
	e->threads[thread] = EDGE_RETURNED;
	return 0;
}

static bool is_first(const struct loader *l, uint32_t thread, uint64_t ts)
{
	const struct thread *t = &l->tasks->threads[thread];

	return ts < l->found[thread] && (!t->tid_until || ts < t->tid_until);
}

static int one_row(struct loader *l, uint32_t i, uint32_t cpu)
{
	const struct columns *c = &l->columns;
	struct edge_cpu *edge = &l->edges->cpus[cpu];
	uint64_t ts = c->col[COL_switch_ts][i];
	uint32_t prev = tasks_thread(l->tasks, c->col[COL_switch_prev_tid][i], ts);
	uint32_t next = tasks_thread(l->tasks, c->col[COL_switch_next_tid][i], ts);

	if (!edge->after) {
		edge->after = true;
		edge->left = prev;
		copy_row(l, i, cpu, &edge->next);
	}
	if (is_first(l, prev, ts)) {
		l->found[prev] = ts;
		l->edges->threads[prev] = EDGE_LEFT;
		l->edges->returned[prev] = 0;
	}
	if (!is_first(l, next, ts))
		return 0;
	l->found[next] = ts;
	return found_return(l, next, i, cpu);
}

static int next_block(struct loader *l, uint32_t cpu)
{
	const struct columns *c = &l->columns;
	int ret = load_block(l, l->cursors[cpu].at, ALL);

	for (uint32_t i = 0; i < c->rows && !ret; i++) {
		uint64_t ts = c->col[COL_switch_ts][i];

		if (ts >= l->recording->end && ts <= l->recording->whole_end)
			ret = one_row(l, i, cpu);
	}
	l->cursors[cpu].at++;
	advance(l, cpu);
	return ret;
}

static uint64_t all_reached(const struct loader *l)
{
	uint64_t reached = UINT64_MAX;

	for (uint32_t cpu = 0; cpu < l->recording->cpus; cpu++)
		if (l->cursors[cpu].reached < reached)
			reached = l->cursors[cpu].reached;
	return reached;
}

/* Leave out who was found, or need not be looked for any more; at the end of all rows, all. */
static void leave_out_found(struct loader *l)
{
	uint64_t reached = all_reached(l);
	size_t kept = 0;

	for (size_t i = 0; i < l->wanted_count; i++) {
		struct wanted w = l->wanted[i];

		if (reached == UINT64_MAX && l->found[w.thread] == reached)
			l->edges->threads[w.thread] = EDGE_NEVER;
		else if (l->found[w.thread] >= reached && w.until >= reached)
			l->wanted[kept++] = w;
		else
			l->found[w.thread] = 0;
	}
	l->wanted_count = kept;
}

/* Each CPU's first row after the span; then, for the threads, the CPU that is behind. */
static bool choose_cpu(const struct loader *l, uint32_t *chosen)
{
	const struct recording *r = l->recording;

	*chosen = r->cpus;
	for (uint32_t cpu = 0; cpu < r->cpus; cpu++) {
		if (l->cursors[cpu].reached == UINT64_MAX)
			continue;
		if (!l->edges->cpus[cpu].after) {
			*chosen = cpu;
			return true;
		}
		if (l->wanted_count && (*chosen == r->cpus ||
					l->cursors[cpu].reached < l->cursors[*chosen].reached))
			*chosen = cpu;
	}
	return *chosen < r->cpus;
}

static int all_after(struct loader *l)
{
	int ret = find_wanted(l);
	uint32_t cpu;

	if (!ret)
		ret = open_cursors(l);
	if (!ret)
		leave_out_found(l);
	while (!ret && choose_cpu(l, &cpu)) {
		ret = next_block(l, cpu);
		leave_out_found(l);
	}
	return ret;
}

int edges_load(struct edges *e, struct recording *r, const struct tasks *t,
	       const struct keyframes *k, const struct tally *tallies)
{
	struct loader l = { .edges = e, .recording = r, .tasks = t, .keyframes = k,
			    .tallies = tallies, .list = recording_all(r, TABLE_switch) };
	int ret;

	memset(e, 0, sizeof(*e));
	if (!r->narrowed)
		return 0;
	e->cpus = calloc(r->cpus, sizeof(*e->cpus));
	e->threads = calloc(t->thread_count, sizeof(*e->threads));
	e->returned = calloc(t->thread_count, sizeof(*e->returned));
	ret = e->cpus && e->threads && e->returned ? all_before(&l) : ERROR_MEMORY;
	if (!ret && r->end != r->whole_end)
		ret = all_after(&l);
	free(l.cursors);
	free(l.wanted);
	free(l.found);
	columns_release(&l.columns);
	return ret;
}

void edges_release(struct edges *e)
{
	free(e->cpus);
	free(e->threads);
	free(e->returned);
	free(e->returns);
	memset(e, 0, sizeof(*e));
}
