// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "syscalls.h"
#include "timeline.h"

#define WAITS_PAST 5000000	/* ns */

/* First of the thread's returns after ts, from *hint on if that is before it. */
static size_t return_after(const struct timeline *tl, uint32_t thread, uint64_t ts, size_t hint)
{
	const struct timeline_return *index = tl->index + tl->first[thread];
	size_t count = tl->first[thread + 1] - tl->first[thread], low = 0, high = count, step = 1;

	if (hint && hint <= count && index[hint - 1].ts <= ts) {
		for (low = hint; low + step < count && index[low + step].ts <= ts; step *= 2)
			low += step;
		high = low + step < count ? low + step : count;
	}
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (index[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void pieces_begin(struct piece_cursor *c, const struct timeline *tl, uint32_t thread,
		  uint64_t start, uint64_t end, size_t *hint)
{
	*c = (struct piece_cursor){ tl, thread, start, end, 0 };
	c->next = return_after(tl, thread, start, hint ? *hint : 0);
	if (hint)
		*hint = c->next;
}

/* The row of the next return: in the span, or after it; NULL: none is known, or it is past. */
static const struct timeline_row *next_return(const struct piece_cursor *c)
{
	const struct timeline *tl = c->tl;
	const struct timeline_row *later;

	if (c->next < tl->first[c->thread + 1] - tl->first[c->thread])
		return &tl->rows[tl->index[tl->first[c->thread] + c->next].row];
	later = tl->later[c->thread] ? &tl->carried[tl->later[c->thread] - 1] : NULL;
	return later && later->ts > c->at ? later : NULL;
}

/* The row after this one on its CPU. */
static const struct timeline_row *row_after(const struct timeline *tl, const struct timeline_row *row)
{
	const struct timeline_cpu *cpu = &tl->cpus[row->cpu];
	size_t place = (size_t)(row - tl->rows) + 1;

	return place < cpu->first + cpu->count ? &tl->rows[place] : &cpu->after;
}

/* The stretch on a CPU before the next return: since when, and the row it ends with. */
static const struct timeline_row *tile_of(const struct piece_cursor *c, struct piece *p)
{
	const struct timeline *tl = c->tl;
	const struct timeline_row *came;
	uint32_t cpu;

	if (c->next) {
		came = &tl->rows[tl->index[tl->first[c->thread] + c->next - 1].row];
		p->since = came->ts;
		p->cpu = came->cpu;
		return row_after(tl, came);
	}
	if (!tl->opener[c->thread])
		return NULL;
	cpu = tl->opener[c->thread] - 1;
	p->since = tl->start;
	p->cpu = cpu;
	return tl->cpus[cpu].count ? &tl->rows[tl->cpus[cpu].first] : &tl->cpus[cpu].after;
}

/* On a CPU until limit, as far as the rows of that CPU agree. */
static void on_cpu(struct piece_cursor *c, struct piece *p, uint64_t limit)
{
	const struct timeline_row *left = tile_of(c, p);

	p->end = limit;
	p->state = PIECE_UNRECORDED;
	if (!left || left->prev != c->thread || left->ts <= c->at)
		return;
	p->state = PIECE_RUNNING;
	p->left = left->open ? NULL : left;
	if (left->ts < limit)
		p->end = left->ts;
}

/* Off the CPU: blocked, then waiting, there or on the CPU it was moved to. */
static void off_cpu(const struct piece_cursor *c, struct piece *p, const struct timeline_row *back)
{
	uint64_t woken = back->ts - (back->wait < back->off ? back->wait : back->off);
	uint64_t moved = back->moved_from ? back->ts - back->moved_wait : 0;

	p->back = back;
	p->end = c->end;
	if (c->at < woken) {
		p->state = PIECE_BLOCKED;
		if (woken < p->end)
			p->end = woken;
		return;
	}
	p->state = PIECE_WAITING;
	p->cpu = back->cpu;
	if (c->at < moved) {
		p->cpu = back->moved_from - 1u;
		if (moved < p->end)
			p->end = moved;
	}
	if (back->ts < p->end)
		p->end = back->ts;
}

bool pieces_next(struct piece_cursor *c, struct piece *p)
{
	const struct timeline_row *back;
	uint64_t gone;

	if (c->at >= c->end)
		return false;
	back = next_return(c);
	gone = back ? back->ts - back->off : c->end;
	*p = (struct piece){ .start = c->at };
	if (c->at < gone)
		on_cpu(c, p, gone < c->end ? gone : c->end);
	else
		off_cpu(c, p, back);
	c->at = p->end;
	while (back && c->at >= back->ts && c->next < c->tl->first[c->thread + 1] - c->tl->first[c->thread]) {
		c->next++;
		back = next_return(c);
	}
	return true;
}

static bool by_disk(const struct timeline_row *back)
{
	return back->next_flags & NEXT_FLAG_IO_WAIT || back->waker_vector == VECTOR_BLOCK ||
	       back->waker_vector == VECTOR_IRQ_POLL;
}

bool timeline_by_timer(const struct timeline_row *back)
{
	return back->waker_vector == VECTOR_TIMER || back->waker_vector == VECTOR_HRTIMER ||
	       back->waker_vector == VECTOR_HARD_TIMER;
}

static bool in_class(bool aarch64, uint16_t syscall, enum syscall_class class)
{
	return syscall && syscall_class(aarch64, syscall - 1u) == class;
}

/*
 * Whether current, which the network's softirq interrupted, sent what arrived: over the loopback
 * it is in the very call. Outsiders may have been interrupted in a write of their own.
 */
static bool is_sender(const struct timeline *tl, bool aarch64, const struct timeline_row *back)
{
	return back->waker > TASKS_IDLE &&
	       tl->tasks->processes[tl->tasks->threads[back->waker].process].in_tree &&
	       in_class(aarch64, back->waker_syscall, SYSCALL_SEND);
}

enum wake_cause timeline_wake(const struct timeline *tl, bool aarch64,
			      const struct timeline_row *back)
{
	uint8_t vector = back->waker_vector;

	if (by_disk(back))
		return WAKE_DISK;
	if (back->waker_context == WAKER_TASK)
		return WAKE_THREAD;
	if (back->waker_context != WAKER_SOFTIRQ && back->waker_context != WAKER_HARDIRQ)
		return WAKE_UNKNOWN;
	if (vector == VECTOR_NET_RX && is_sender(tl, aarch64, back))
		return WAKE_THREAD;
	if (vector == VECTOR_NET_RX || vector == VECTOR_NET_TX)
		return WAKE_NETWORK;
	if (timeline_by_timer(back) ||
	    (vector == VECTOR_UNKNOWN && in_class(aarch64, back->syscall, SYSCALL_SLEEP)))
		return WAKE_TIMER;
	return WAKE_INTERRUPT;
}

/* First row of the CPU after ts, from hint on if that is before it. */
static size_t row_of(const struct timeline *tl, const struct timeline_cpu *cpu, uint64_t ts, size_t hint)
{
	size_t low = cpu->first, high = cpu->first + cpu->count, step = 1;

	if (hint > low && hint <= high && tl->rows[hint - 1].ts <= ts) {
		for (low = hint; low + step < high && tl->rows[low + step].ts <= ts; step *= 2)
			low += step;
		high = low + step < high ? low + step : high;
	}
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (tl->rows[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void slices_begin(struct slice_cursor *c, const struct timeline *tl, uint32_t cpu, uint64_t start,
		  uint64_t end, size_t *hint)
{
	*c = (struct slice_cursor){ tl, cpu, start, end, 0 };
	if (cpu >= tl->recording->cpus)
		return;
	c->next = row_of(tl, &tl->cpus[cpu], start, hint ? *hint : 0);
	if (hint)
		*hint = c->next;
}

/* The slice is its thread's only where the rows at both ends name it. */
bool slices_next(struct slice_cursor *c, struct slice *s)
{
	const struct timeline *tl = c->tl;
	const struct timeline_cpu *cpu;
	const struct timeline_row *after;

	if (c->at >= c->end)
		return false;
	*s = (struct slice){ c->at, c->end, TASKS_UNKNOWN };
	c->at = c->end;
	if (c->cpu >= tl->recording->cpus)
		return true;
	cpu = &tl->cpus[c->cpu];
	after = c->next < cpu->first + cpu->count ? &tl->rows[c->next] : &cpu->after;
	if (after->ts <= s->start)
		return true;
	if ((c->next == cpu->first ? cpu->came : tl->rows[c->next - 1].next) == after->prev)
		s->thread = after->prev;
	if (after->ts < s->end) {
		s->end = after->ts;
		c->at = after->ts;
		c->next += after != &cpu->after;
	}
	return true;
}

static uint64_t share(uint64_t amount, uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)amount * part / whole) : 0;
}

/* The part of a count that covers (from, to] which falls into the piece. */
static void add_share(const struct piece *p, uint64_t from, uint64_t to, uint64_t *sum, uint64_t amount)
{
	uint64_t low = from > p->start ? from : p->start, high = to < p->end ? to : p->end;

	if (low < high)
		*sum += share(amount, high - low, to - from);
}

static size_t pages_after(const struct timeline *tl, uint32_t thread, uint64_t ts)
{
	size_t low = 0, high = tl->page_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct timeline_pages *p = &tl->pages[middle];

		if (p->thread < thread || (p->thread == thread && p->ts <= ts))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void timeline_piece_pages(const struct timeline *tl, uint32_t thread, const struct piece *p,
			  uint64_t *events, uint64_t *pages)
{
	uint64_t until = p->left ? p->left->ts : tl->end, from = p->since;

	for (size_t i = pages_after(tl, thread, from); i < tl->page_count && from < p->end; i++) {
		const struct timeline_pages *flush = &tl->pages[i];

		if (flush->thread != thread || flush->ts > until)
			break;
		add_share(p, from, flush->ts, events, flush->events);
		add_share(p, from, flush->ts, pages, flush->pages);
		from = flush->ts;
	}
	if (p->left && p->left->page_events) {
		add_share(p, from, until, events, p->left->page_events);
		add_share(p, from, until, pages, p->left->pages);
	}
}

uint64_t timeline_call_pages(const struct timeline *tl, uint32_t thread, uint64_t end)
{
	size_t low = 0, high = tl->call_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct timeline_call *c = &tl->calls[middle];

		if (c->thread < thread || (c->thread == thread && c->end < end))
			low = middle + 1;
		else
			high = middle;
	}
	return low < tl->call_count && tl->calls[low].thread == thread && tl->calls[low].end == end ?
	       tl->calls[low].page_events : 0;
}

/* Waits of threads that came onto the CPU in [start, end) or soon after, as far as they lie in it. */
static uint64_t waits_between(const struct timeline *tl, const struct timeline_cpu *cpu, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;

	for (size_t i = row_of(tl, cpu, start, 0); i < cpu->first + cpu->count; i++) {
		const struct timeline_row *row = &tl->rows[i];
		uint64_t from = row->ts - row->wait, to = row->ts < end ? row->ts : end;

		if (row->ts > end + WAITS_PAST)
			break;
		if (row->next == TASKS_IDLE)
			continue;
		from = from > start ? from : start;
		sum += from < to ? to - from : 0;
	}
	return sum;
}

void timeline_load_between(const struct timeline *tl, uint64_t start, uint64_t end, uint64_t *cpu_time,
			   uint64_t *busy, uint64_t *runnable)
{
	for (uint32_t cpu = 0; cpu < tl->recording->cpus; cpu++) {
		struct slice_cursor c;
		struct slice s;

		if (!tl->recording->cpu[cpu].present)
			continue;
		*runnable += waits_between(tl, &tl->cpus[cpu], start, end);
		slices_begin(&c, tl, cpu, start, end, NULL);
		while (slices_next(&c, &s)) {
			*cpu_time += s.thread != TASKS_UNKNOWN ? s.end - s.start : 0;
			if (s.thread <= TASKS_IDLE)
				continue;
			*busy += s.end - s.start;
			*runnable += s.end - s.start;
		}
	}
}

const struct timeline_reclaim *timeline_reclaim(const struct timeline *tl, uint32_t thread, uint64_t ts)
{
	size_t low = 0, high = tl->reclaim_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct timeline_reclaim *r = &tl->reclaims[middle];

		if (r->thread < thread || (r->thread == thread && r->end <= ts))
			low = middle + 1;
		else
			high = middle;
	}
	return low < tl->reclaim_count && tl->reclaims[low].thread == thread ? &tl->reclaims[low] : NULL;
}
