// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "parallel.h"
#include "timeline_private.h"

#define BIT(column) (1ull << COL_switch_##column)
#define MASK (BIT(ts) | BIT(prev_tid) | BIT(prev_state) | BIT(prev_page_events) | BIT(prev_pages) | \
	      BIT(next_tid) | BIT(next_off) | BIT(next_wait) | BIT(waker_tid) | \
	      BIT(waker_context) | BIT(migrated_from) | BIT(migrated_wait) | BIT(next_flags) | \
	      BIT(next_syscall) | BIT(waker_syscall) | BIT(waker_vector) | BIT(prev_major_faults) | \
	      BIT(next_throttled))

/* A block of table switch with rows in the span, and where these go. */
static uint32_t saturate(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint16_t saturate16(uint64_t value)
{
	return value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

/* prev: the thread that had the CPU, if the row before this one says so; else TASKS_NONE. */
static void convert(const struct timeline *tl, const struct columns *c, uint32_t i, uint32_t cpu,
		    uint32_t prev, struct timeline_row *row)
{
	const uint64_t *const *col = c->col;
	uint64_t ts = col[COL_switch_ts][i], off = at_most(col[COL_switch_next_off][i], ts);
	uint64_t waker = col[COL_switch_waker_tid][i], moved = col[COL_switch_migrated_from][i];

	if (prev == TASKS_NONE)
		prev = tasks_thread(tl->tasks, col[COL_switch_prev_tid][i], ts);
	*row = (struct timeline_row){
		.ts = ts, .off = off, .wait = at_most(col[COL_switch_next_wait][i], off),
		.prev = prev, .next = tasks_thread(tl->tasks, col[COL_switch_next_tid][i], ts),
		.waker = waker ? tasks_thread(tl->tasks, waker, ts) : TASKS_IDLE,
		.moved_wait = (uint32_t)at_most(saturate(col[COL_switch_migrated_wait][i]), off),
		.throttled = (uint32_t)at_most(saturate(col[COL_switch_next_throttled][i]), off),
		.page_events = saturate(col[COL_switch_prev_page_events][i]),
		.pages = saturate(col[COL_switch_prev_pages][i]),
		.moved_from = moved <= tl->recording->cpus ? (uint16_t)moved : 0, .cpu = (uint16_t)cpu,
		.syscall = saturate16(col[COL_switch_next_syscall][i]),
		.waker_syscall = saturate16(col[COL_switch_waker_syscall][i]),
		.major_faults = saturate16(col[COL_switch_prev_major_faults][i]),
		.prev_state = (uint8_t)col[COL_switch_prev_state][i],
		.waker_context = (uint8_t)col[COL_switch_waker_context][i],
		.waker_vector = (uint8_t)col[COL_switch_waker_vector][i],
		.next_flags = (uint8_t)col[COL_switch_next_flags][i],
	};
}

static bool is_inside(const struct timeline *tl, uint64_t ts)
{
	return ts >= tl->start && ts < tl->end && recording_in_span(tl->recording, ts);
}

static size_t rows_inside(const struct timeline *tl, const struct columns *c)
{
	const uint64_t *ts = c->col[COL_switch_ts];
	size_t rows = 0;

	for (uint32_t i = 0; i < c->rows; i++)
		rows += is_inside(tl, ts[i]);
	return rows;
}

static void convert_rows(struct timeline *tl, struct slot *s, const struct columns *c)
{
	const uint64_t *times = c->col[COL_switch_ts], *prev = c->col[COL_switch_prev_tid];
	const uint64_t *next = c->col[COL_switch_next_tid];
	uint32_t cpu = reader_block(tl->recording->reader, s->block)->cpu, place = (uint32_t)s->at;
	uint64_t last = tl->start;

	for (uint32_t i = 0; i < c->rows; i++) {
		struct timeline_row *row = &tl->rows[place];
		uint64_t ts = times[i];

		if (is_inside(tl, ts)) {
			bool same = place > s->at && prev[i] == next[i - 1];

			convert(tl, c, i, cpu, same ? row[-1].next : TASKS_NONE, row);
			/* Only a damaged file goes back in time. */
			row->ts = last = ts < last ? last : ts;
			tl->loader->returns[place] = (struct timeline_return){ row->ts, place, row->next };
			place++;
		} else if (ts < tl->start) {
			s->before = true;
			s->came = tasks_thread(tl->tasks, next[i], ts);
		}
	}
}

static int load_slot(void *context, unsigned int worker, size_t job)
{
	struct timeline *tl = context;
	struct slot *s = &tl->loader->slots[job];
	struct columns *c = &tl->loader->columns[worker];
	int ret = recording_load(tl->recording, s->block, s->room ? MASK : BIT(ts) | BIT(next_tid), c);

	if (ret)
		return ret;
	s->rows = rows_inside(tl, c);
	/* What the span cuts off a CPU's first block leaves room before its rows, not between. */
	if (reader_block(tl->recording->reader, s->block)->first_ts < tl->start)
		s->at += s->room - s->rows;
	convert_rows(tl, s, c);
	return 0;
}

/* The row before the span may be in a block that has none in it. */
static void find_before(struct timeline *tl)
{
	const struct block_list *list = &tl->recording->blocks[TABLE_switch];

	memset(tl->loader->before, 0, tl->recording->cpus * sizeof(*tl->loader->before));
	for (size_t i = 0; i < list->count; i++) {
		const struct block_info *b = reader_block(tl->recording->reader, list->block[i]);

		if (b->first_ts < tl->start && b->cpu < tl->recording->cpus)
			tl->loader->before[b->cpu] = (uint32_t)i + 1;
	}
}

/* Blocks of one CPU follow each other in the file: one list a CPU, in file order. */
static int find_slots(struct timeline *tl)
{
	const struct block_list *list = &tl->recording->blocks[TABLE_switch];
	struct timeline_loader *l = tl->loader;
	struct slot *slots = array_reserve(l->slots, &l->slot_capacity, list->count + 1, sizeof(*slots));
	size_t rows = 0, count = 0;

	if (!slots)
		return ERROR_MEMORY;
	l->slots = slots;
	find_before(tl);
	for (size_t i = 0; i < list->count; i++) {
		const struct block_info *b = reader_block(tl->recording->reader, list->block[i]);
		bool inside = b->first_ts < tl->end && b->last_ts >= tl->start;

		if (b->cpu >= tl->recording->cpus || (!inside && l->before[b->cpu] != i + 1))
			continue;
		slots[count++] = (struct slot){ .block = list->block[i], .room = inside ? b->rows : 0 };
		tl->cpus[b->cpu].count += inside ? b->rows : 0;
	}
	l->slot_count = count;
	for (uint32_t cpu = 0; cpu < tl->recording->cpus; cpu++) {
		tl->cpus[cpu].first = rows;
		rows += tl->cpus[cpu].count;
		tl->cpus[cpu].count = 0;
	}
	tl->row_count = rows;
	return 0;
}

/* Give each slot its place, and make room. */
static int place_slots(struct timeline *tl)
{
	struct timeline_loader *l = tl->loader;
	struct timeline_row *rows;

	for (size_t i = 0; i < l->slot_count; i++) {
		struct timeline_cpu *cpu =
			&tl->cpus[reader_block(tl->recording->reader, l->slots[i].block)->cpu];

		l->slots[i].at = cpu->first + cpu->count;
		cpu->count += l->slots[i].room;
	}
	rows = array_reserve(tl->rows, &tl->row_capacity, tl->row_count + 1, sizeof(*rows));
	if (!rows)
		return ERROR_MEMORY;
	tl->rows = rows;
	return timeline_index_reserve(tl);
}

/* Only a damaged file has gaps between the rows of a CPU: close them. */
static void move_rows(struct timeline *tl, size_t to, const struct slot *s)
{
	struct timeline_return *returns = tl->loader->returns;

	memmove(&tl->rows[to], &tl->rows[s->at], s->rows * sizeof(*tl->rows));
	memmove(&returns[to], &returns[s->at], s->rows * sizeof(*returns));
	for (size_t i = 0; i < s->rows; i++)
		returns[to + i].row = (uint32_t)(to + i);
}

/* Time that goes back from one block to the next stands still. */
static void order_rows(struct timeline *tl, size_t at, size_t rows)
{
	for (size_t i = at; i < at + rows && tl->rows[i].ts < tl->rows[i - 1].ts; i++)
		tl->rows[i].ts = tl->loader->returns[i].ts = tl->rows[i - 1].ts;
}

static void close_gaps(struct timeline *tl)
{
	for (uint32_t cpu = 0; cpu < tl->recording->cpus; cpu++) {
		tl->cpus[cpu].count = 0;
		tl->cpus[cpu].came = tl->cpus[cpu].opening;
	}
	for (size_t i = 0; i < tl->loader->slot_count; i++) {
		const struct slot *s = &tl->loader->slots[i];
		struct timeline_cpu *cpu =
			&tl->cpus[reader_block(tl->recording->reader, s->block)->cpu];

		if (s->before)
			cpu->came = s->came;
		if (!s->rows)
			continue;
		if (!cpu->count)
			cpu->first = s->at;
		else if (cpu->first + cpu->count != s->at)
			move_rows(tl, cpu->first + cpu->count, s);
		if (cpu->count)
			order_rows(tl, cpu->first + cpu->count, s->rows);
		cpu->count += s->rows;
	}
}

static int open_with(struct timeline *tl, uint32_t thread, uint32_t cpu)
{
	struct timeline_loader *l = tl->loader;
	uint32_t *touched;

	if (thread <= TASKS_IDLE)
		return 0;
	touched = array_reserve(l->touched, &l->touched_capacity, l->touched_count + 1, sizeof(*touched));
	if (!touched)
		return ERROR_MEMORY;
	l->touched = touched;
	touched[l->touched_count++] = thread;
	tl->opener[thread] = cpu + 1;
	return 0;
}

/* Who has each CPU at the span's start: who came with the row before, and leaves with the first. */
static int find_openers(struct timeline *tl)
{
	int ret = 0;

	for (uint32_t cpu = 0; cpu < tl->recording->cpus && !ret; cpu++) {
		const struct timeline_cpu *c = &tl->cpus[cpu];

		if (c->came == (c->count ? tl->rows[c->first].prev : c->after.prev))
			ret = open_with(tl, c->came, cpu);
	}
	return ret;
}

static int carry(struct timeline *tl, uint32_t thread, const struct timeline_row *row)
{
	struct timeline_row *carried;

	if (!tl->later[thread]) {
		carried = array_reserve(tl->carried, &tl->carried_capacity, tl->carried_count + 1,
					sizeof(*carried));
		if (!carried)
			return ERROR_MEMORY;
		tl->carried = carried;
		tl->later[thread] = (uint32_t)++tl->carried_count;
	}
	tl->carried[tl->later[thread] - 1] = *row;
	return 0;
}

/* Before the span is left for the one before it: what follows that one's end. */
static int carry_all(struct timeline *tl)
{
	int ret = 0;

	for (uint32_t cpu = 0; cpu < tl->recording->cpus; cpu++)
		if (tl->cpus[cpu].count)
			tl->cpus[cpu].after = tl->rows[tl->cpus[cpu].first];
	for (size_t t = TASKS_IDLE + 1; t < tl->tasks->thread_count && !ret; t++)
		if (tl->first[t] < tl->first[t + 1])
			ret = carry(tl, (uint32_t)t, &tl->rows[tl->index[tl->first[t]].row]);
	for (size_t i = 0; i < tl->loader->touched_count; i++)
		tl->opener[tl->loader->touched[i]] = 0;
	tl->loader->touched_count = 0;
	return ret;
}

static int by_thread_ts(const void *a, const void *b)
{
	const struct timeline_pages *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->ts > y->ts) - (x->ts < y->ts);
}

static int by_thread_end(const void *a, const void *b)
{
	const struct timeline_reclaim *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

static int add_pages(struct timeline *tl, const struct columns *c)
{
	struct timeline_pages *pages = array_reserve(tl->pages, &tl->page_capacity,
						     tl->page_count + c->rows + 1, sizeof(*pages));

	if (!pages)
		return ERROR_MEMORY;
	tl->pages = pages;
	for (uint32_t i = 0; i < c->rows; i++) {
		uint64_t ts = c->col[COL_page_ts][i];

		if (ts >= tl->start && ts < tl->end)
			pages[tl->page_count++] = (struct timeline_pages){
				ts, tasks_thread(tl->tasks, c->col[COL_page_tid][i], ts),
				saturate(c->col[COL_page_events][i]), saturate(c->col[COL_page_pages][i]),
			};
	}
	return 0;
}

static int add_reclaims(struct timeline *tl, const struct columns *c)
{
	struct timeline_reclaim *reclaims = array_reserve(tl->reclaims, &tl->reclaim_capacity,
							  tl->reclaim_count + c->rows + 1,
							  sizeof(*reclaims));

	if (!reclaims)
		return ERROR_MEMORY;
	tl->reclaims = reclaims;
	for (uint32_t i = 0; i < c->rows; i++) {
		uint64_t ts = c->col[COL_reclaim_ts][i];
		uint64_t start = ts - at_most(c->col[COL_reclaim_duration][i], ts);

		if (ts >= tl->start && start < tl->end)
			reclaims[tl->reclaim_count++] = (struct timeline_reclaim){
				start, ts, tasks_thread(tl->tasks, c->col[COL_reclaim_tid][i], ts),
			};
	}
	return 0;
}

static int by_thread_call(const void *a, const void *b)
{
	const struct timeline_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

static int add_calls(struct timeline *tl, const struct columns *c)
{
	struct timeline_call *calls = array_reserve(tl->calls, &tl->call_capacity,
						    tl->call_count + c->rows + 1, sizeof(*calls));

	if (!calls)
		return ERROR_MEMORY;
	tl->calls = calls;
	for (uint32_t i = 0; i < c->rows; i++) {
		uint64_t ts = c->col[COL_call_ts][i];

		if (c->col[COL_call_page_events][i] && ts >= tl->start)
			calls[tl->call_count++] = (struct timeline_call){
				ts, tasks_thread(tl->tasks, c->col[COL_call_tid][i], ts),
				saturate(c->col[COL_call_page_events][i]),
			};
	}
	return 0;
}

/* Most blocks have no such call: one column tells. */
static int load_calls(struct timeline *tl)
{
	const struct block_list *list = &tl->recording->blocks[TABLE_call];
	uint64_t pages = 1ull << COL_call_page_events, more = 1ull << COL_call_ts | 1ull << COL_call_tid;
	struct columns c = { 0 };
	int ret = 0;

	for (size_t i = 0; i < list->count && !ret; i++) {
		const struct block_info *b = reader_block(tl->recording->reader, list->block[i]);
		uint32_t k = 0;

		if (b->last_ts < tl->start || b->min_start >= tl->end)
			continue;
		ret = recording_load(tl->recording, list->block[i], pages, &c);
		tl->calls_count_pages |= c.present & pages;
		while (!ret && k < c.rows && !c.col[COL_call_page_events][k])
			k++;
		if (ret || k == c.rows)
			continue;
		ret = recording_load(tl->recording, list->block[i], pages | more, &c);
		if (!ret)
			ret = add_calls(tl, &c);
	}
	columns_release(&c);
	return ret;
}

static int load_table(struct timeline *tl, enum table table, uint64_t mask,
		      int (*add)(struct timeline *, const struct columns *))
{
	const struct block_list *list = &tl->recording->blocks[table];
	struct columns c = { 0 };
	int ret = 0;

	for (size_t i = 0; i < list->count && !ret; i++) {
		const struct block_info *b = reader_block(tl->recording->reader, list->block[i]);

		if (b->last_ts < tl->start || (table == TABLE_page && b->first_ts >= tl->end))
			continue;
		ret = recording_load(tl->recording, list->block[i], mask, &c);
		if (!ret)
			ret = add(tl, &c);
	}
	columns_release(&c);
	return ret;
}

static int load_rest(struct timeline *tl)
{
	int ret;

	tl->page_count = tl->reclaim_count = tl->call_count = 0;
	ret = load_table(tl, TABLE_page, (1u << COLS_page) - 1, add_pages);
	if (!ret)
		ret = load_calls(tl);
	if (!ret)
		ret = load_table(tl, TABLE_reclaim, (1u << COLS_reclaim) - 1, add_reclaims);
	if (ret)
		return ret;
	if (tl->page_count)
		qsort(tl->pages, tl->page_count, sizeof(*tl->pages), by_thread_ts);
	if (tl->call_count)
		qsort(tl->calls, tl->call_count, sizeof(*tl->calls), by_thread_call);
	if (tl->reclaim_count)
		qsort(tl->reclaims, tl->reclaim_count, sizeof(*tl->reclaims), by_thread_end);
	return 0;
}

int timeline_load(struct timeline *tl, uint64_t start, uint64_t end)
{
	int ret = carry_all(tl);

	tl->start = start;
	tl->end = end;
	for (uint32_t cpu = 0; cpu < tl->recording->cpus; cpu++)
		tl->cpus[cpu].count = 0;
	if (!ret)
		ret = find_slots(tl);
	if (!ret)
		ret = place_slots(tl);
	if (!ret)
		ret = parallel_run(tl->loader->slot_count, load_slot, tl);
	if (ret)
		return ret;
	close_gaps(tl);
	ret = timeline_index(tl);
	if (!ret)
		ret = find_openers(tl);
	return ret ? ret : load_rest(tl);
}

struct block_start { uint64_t ts; uint32_t rows; };

static int latest_first(const void *a, const void *b)
{
	const struct block_start *x = a, *y = b;

	return (x->ts < y->ts) - (x->ts > y->ts);
}

/* A span begins with the block that would make it too long. */
int timeline_each(struct timeline *tl, size_t rows, int (*visit)(void *context), void *context)
{
	const struct recording *r = tl->recording;
	const struct block_list *list = &r->blocks[TABLE_switch];
	struct block_start *starts = malloc((list->count + 1) * sizeof(*starts));
	uint64_t end = r->end + 1;
	size_t sum = 0;
	int ret = starts ? 0 : ERROR_MEMORY;

	for (size_t i = 0; i < list->count && starts; i++) {
		const struct block_info *b = reader_block(r->reader, list->block[i]);

		starts[i] = (struct block_start){ b->first_ts, b->rows };
	}
	if (starts && list->count)
		qsort(starts, list->count, sizeof(*starts), latest_first);
	for (size_t i = 0; i < list->count && !ret; i++) {
		sum += starts[i].rows;
		if (sum <= rows || starts[i].ts <= r->start || starts[i].ts >= end)
			continue;
		ret = timeline_load(tl, starts[i].ts, end);
		if (!ret)
			ret = visit(context);
		end = starts[i].ts;
		sum = 0;
	}
	free(starts);
	if (!ret)
		ret = timeline_load(tl, r->start, end);
	return ret ? ret : visit(context);
}

/* A row of outside a narrowed span. */
static void convert_edge(const struct timeline *tl, const struct edge_row *edge,
			 struct timeline_row *row)
{
	uint64_t values[COLS_switch];
	struct columns c = { 0 };

	memcpy(values, &edge->row, sizeof(values));
	for (unsigned int k = 0; k < COLS_switch; k++)
		c.col[k] = &values[k];
	convert(tl, &c, 0, edge->cpu, TASKS_NONE, row);
}

/* Threads that are off the CPU at the end of the recording, as if each came back then. */
static int carry_ends(struct timeline *tl, const struct procs *p)
{
	uint64_t end = tl->recording->end;
	int ret = 0;

	for (size_t t = TASKS_IDLE + 1; t < tl->tasks->thread_count && !ret; t++) {
		const struct thread_account *a = &p->threads[t];
		const struct edge_row *back = edges_return(&p->edges, (uint32_t)t);
		struct timeline_row row;

		if (back) {
			convert_edge(tl, back, &row);
			ret = carry(tl, (uint32_t)t, &row);
		} else if (a->off) {
			ret = carry(tl, (uint32_t)t, &(struct timeline_row){
				.ts = end, .off = end - a->off_since, .wait = end - a->off_runnable,
				.prev = TASKS_UNKNOWN, .next = (uint32_t)t, .waker = TASKS_IDLE, .open = true,
				.cpu = a->off_cpu < tl->recording->cpus ? (uint16_t)a->off_cpu : UINT16_MAX,
			});
		}
	}
	return ret;
}

static void open_cpus(struct timeline *tl, const struct procs *p)
{
	for (uint32_t i = 0; i < tl->recording->cpus; i++) {
		const struct cpu_account *c = &p->cpus[i];
		uint64_t end = c->last == TASKS_UNKNOWN ? tl->recording->end : c->last_end;

		tl->cpus[i].opening = c->first;
		tl->cpus[i].after = (struct timeline_row){
			.ts = end, .prev = c->last, .cpu = (uint16_t)i, .open = true,
		};
		if (p->edges.cpus && p->edges.cpus[i].after)
			convert_edge(tl, &p->edges.cpus[i].next, &tl->cpus[i].after);
	}
}

int timeline_open(struct timeline *tl, struct recording *r, const struct tasks *t,
		  const struct procs *p)
{
	size_t threads = t->thread_count;

	memset(tl, 0, sizeof(*tl));
	tl->recording = r;
	tl->tasks = t;
	tl->cpus = calloc(r->cpus + 1, sizeof(*tl->cpus));
	tl->first = calloc(threads + 2, sizeof(*tl->first));
	tl->opener = calloc(threads, sizeof(*tl->opener));
	tl->later = calloc(threads, sizeof(*tl->later));
	tl->loader = calloc(1, sizeof(*tl->loader));
	if (!tl->cpus || !tl->first || !tl->opener || !tl->later || !tl->loader)
		return ERROR_MEMORY;
	tl->loader->workers = parallel_workers();
	tl->loader->columns = calloc(tl->loader->workers, sizeof(*tl->loader->columns));
	tl->loader->before = calloc(r->cpus, sizeof(*tl->loader->before));
	if (!tl->loader->columns || !tl->loader->before)
		return ERROR_MEMORY;
	open_cpus(tl, p);
	return carry_ends(tl, p);
}

static void loader_free(struct timeline_loader *l)
{
	if (!l)
		return;
	for (unsigned int i = 0; l->columns && i < l->workers; i++)
		columns_release(&l->columns[i]);
	free(l->columns);
	free(l->slots);
	free(l->touched);
	free(l->before);
	free(l->returns);
	free(l->scratch);
	free(l);
}

void timeline_release(struct timeline *tl)
{
	loader_free(tl->loader);
	free(tl->rows);
	free(tl->cpus);
	free(tl->first);
	free(tl->index);
	free(tl->opener);
	free(tl->later);
	free(tl->carried);
	free(tl->pages);
	free(tl->calls);
	free(tl->reclaims);
	memset(tl, 0, sizeof(*tl));
}
