// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "synth.h"

static bool on_cpu_soon(const struct synth_thread *t, uint32_t cpu, uint64_t ts)
{
	return t->cpu == cpu && t->life != LIFE_RUNNING && t->life != LIFE_DEAD &&
	       (t->life != LIFE_UNBORN || t->born < ts);
}

/* A thread of this CPU that may come next; first one that waits or is to die, then one that sleeps. */
static int pick(struct synth *s, uint32_t cpu, uint64_t ts)
{
	uint32_t from = (uint32_t)synth_random(s, s->threads);
	int found = IDLE;

	for (uint32_t i = 0; i < s->threads; i++) {
		uint32_t at = (from + i) % s->threads;
		struct synth_thread *t = &s->thread[at];

		if (!on_cpu_soon(t, cpu, ts))
			continue;
		if (t->life == LIFE_PREEMPTED || t->life == LIFE_UNBORN || (t->dies && t->dies <= ts))
			return (int)at;
		if (found == IDLE)
			found = (int)at;
	}
	/* Nobody waits: the CPU may as well idle for a while. */
	if (s->cpu[cpu].current != IDLE && synth_random(s, 3) == 0)
		return IDLE;
	return found;
}

static void decide(struct synth *s, uint32_t number)
{
	struct synth_cpu *cpu = &s->cpu[number];
	struct synth_thread *next;
	uint64_t gap = 1 + synth_spread(s, s->gap);

	cpu->ready = true;
	cpu->ts = cpu->last + gap;
	cpu->next = pick(s, number, cpu->ts);
	cpu->wait = cpu->latency = 0;
	if (cpu->next == IDLE)
		return;
	next = &s->thread[cpu->next];
	if (next->life != LIFE_SLEEPING)
		return;
	/* Woken after the last switch: keyframes before that have said that it sleeps. */
	cpu->wait = synth_spread(s, 3000) % gap;
	cpu->latency = cpu->wait / 4;
}

static uint64_t waker(struct synth *s, const struct synth_cpu *cpu)
{
	if (synth_random(s, 2) && cpu->current != IDLE)
		return s->thread[cpu->current].tid;
	return s->thread[synth_random(s, s->threads)].tid;
}

#define SYSCALL(number) ((number) + 1)	/* as x86-64 numbers them */

/* The sleep that ends: where it was, and who ended it in what. */
static void fill_sleep(const struct synth_thread *t, struct row_switch *row)
{
	static const uint8_t vectors[] = { VECTOR_NET_RX, VECTOR_TIMER, VECTOR_TASKLET };
	static const uint16_t syscalls[] = { SYSCALL(202), SYSCALL(1), SYSCALL(0), SYSCALL(44) };

	row->next_syscall = t->syscall;
	if (t->io_wait)
		row->next_flags |= NEXT_FLAG_IO_WAIT;
	if (row->waker_context == WAKER_SOFTIRQ)
		row->waker_vector = t->io_wait ? VECTOR_BLOCK :
						 vectors[synth_derived(row->ts, t->tid, 3)];
	else
		row->waker_syscall = syscalls[synth_derived(row->ts, t->tid, 4)];
}

static void fill_next(struct synth *s, struct synth_cpu *cpu, struct row_switch *row)
{
	struct synth_thread *t = &s->thread[cpu->next];

	row->next_tid = t->tid;
	if (t->life == LIFE_UNBORN) {
		row->next_flags = NEXT_FLAG_FIRST;
		row->next_off = row->next_wait = row->ts - t->born;
	} else if (t->life == LIFE_PREEMPTED) {
		row->next_flags = NEXT_FLAG_PREEMPTED;
		row->next_off = row->next_wait = row->ts - t->since;
		if (t->throttled) {
			row->next_flags |= NEXT_FLAG_THROTTLED;
			cpu->throttled++;
			cpu->throttled_time += row->next_wait;
		}
	} else {
		row->next_off = row->ts - t->since;
		row->next_wait = cpu->wait;
		row->wake_latency = cpu->latency;
		row->waker_context = WAKER_SOFTIRQ - (synth_random(s, 4) != 0);
		if (row->waker_context == WAKER_TASK)
			row->waker_tid = waker(s, cpu);
		fill_sleep(t, row);
	}
	t->waiting += row->next_wait;
	t->blocked += row->next_off - row->next_wait;
	t->life = LIFE_RUNNING;
	t->since = row->ts;
}

/* Page allocations of the slice that ends here. */
static void allocate_pages(struct synth *s, struct synth_cpu *cpu, struct synth_thread *t)
{
	uint64_t events = synth_random(s, 4) ? 0 : 1 + synth_random(s, 30);
	uint64_t pages = events + (events > 20 ? 8 * synth_random(s, 4) : 0);

	cpu->page_events += events;
	cpu->pages += pages;
	cpu->allocations += events;
	t->page_events += events;
	t->pages += pages;
}

static void fall_asleep(struct synth_thread *t, struct row_switch *row, bool io_wait)
{
	static const uint16_t syscalls[] = { SYSCALL(202), SYSCALL(7), SYSCALL(230), SYSCALL(0) };

	row->prev_state = io_wait ? PREV_UNINTERRUPTIBLE | PREV_IO_WAIT : PREV_SLEEPING;
	row->prev_major_faults = io_wait ? synth_derived(row->ts, 1, 3) : 0;
	t->io_wait = io_wait;
	t->syscall = io_wait ? SYSCALL(0) : syscalls[synth_derived(row->ts, t->tid, 4)];
	t->life = LIFE_SLEEPING;
	t->voluntary++;
}

static void fill_prev(struct synth *s, struct synth_cpu *cpu, struct row_switch *row)
{
	struct synth_thread *t = &s->thread[cpu->current];
	uint64_t kind = synth_random(s, 16);

	row->prev_tid = t->tid;
	t->throttled = false;
	if (t->dies && t->dies <= row->ts) {
		row->prev_state = PREV_DEAD;
		t->life = LIFE_DEAD;
		t->voluntary++;
		synth_exit(s, t, row->ts - 1);
	} else if (kind < 4 && cpu->next != IDLE) {
		row->prev_state = PREV_RUNNABLE | PREV_PREEMPTED;
		t->life = LIFE_PREEMPTED;
		t->involuntary++;
		t->throttled = s->process[t->process].flags & TASK_FLAG_TREE &&
			       !synth_derived(row->ts, t->tid, 16);
		row->prev_state |= t->throttled ? PREV_THROTTLED : 0;
	} else {
		fall_asleep(t, row, kind == 4);
	}
	allocate_pages(s, cpu, t);
	row->prev_page_events = cpu->page_events;
	row->prev_pages = cpu->pages;
	cpu->page_events = cpu->pages = 0;
	t->running += row->ts - t->since;
	cpu->busy += row->ts - cpu->came;
	t->since = row->ts;
}

/* A part of the slice went into finding pages. */
static void reclaim(struct synth *s, uint32_t number, uint64_t tid, uint64_t ts)
{
	struct row_reclaim row = {
		.ts = ts,
		.duration = (ts - s->cpu[number].came) / 4,
		.tid = tid,
		.kind = RECLAIM_CGROUP,
		.pages = 32 + synth_derived(ts, tid, 32),
	};

	s->cpu[number].reclaims++;
	synth_row(s, TABLE_reclaim, number, &row);
}

/* Counts flushed inside a long slice. */
static void flush_pages(struct synth *s, uint32_t number)
{
	struct synth_cpu *cpu = &s->cpu[number];
	struct synth_thread *t = cpu->current == IDLE ? NULL : &s->thread[cpu->current];
	struct row_page row;

	if (!t || synth_random(s, 64) || cpu->ts - 1 <= cpu->last)
		return;
	allocate_pages(s, cpu, t);
	row = (struct row_page){ cpu->ts - 1, t->tid, cpu->page_events, cpu->pages };
	if (!row.events)
		return;
	cpu->page_events = cpu->pages = 0;
	synth_row(s, TABLE_page, number, &row);
	reclaim(s, number, t->tid, row.ts);
}

static void lose(struct synth *s, uint32_t number, const struct row_switch *row)
{
	struct row_loss loss = {
		.source = SOURCE_SWITCH, .cpu = number, .first = row->ts, .last = row->ts,
		.count = 1, .reason = LOSS_RING_FULL, .pages = row->prev_page_events,
	};

	s->cpu[number].lost++;
	s->options.lost--;
	synth_row(s, TABLE_loss, 0, &loss);
}

static void do_switch(struct synth *s, uint32_t number)
{
	struct synth_cpu *cpu = &s->cpu[number];
	struct row_switch row = { .ts = cpu->ts };

	flush_pages(s, number);
	/* Who comes is settled first: a thread must not be preempted by itself. */
	if (cpu->current != IDLE)
		fill_prev(s, cpu, &row);
	if (cpu->next != IDLE)
		fill_next(s, cpu, &row);
	cpu->current = cpu->next;
	cpu->came = cpu->last = row.ts;
	cpu->ready = false;
	cpu->rows++;
	if (s->options.lost && cpu->rows % 7 == 3) {
		lose(s, number, &row);
		return;
	}
	cpu->breaks += cpu->seen && cpu->chain != row.prev_tid;
	cpu->seen = true;
	cpu->chain = row.next_tid;
	synth_row(s, TABLE_switch, number, &row);
}

bool synth_switches(struct synth *s, uint64_t until)
{
	bool more = false;

	for (uint32_t i = 0; i < s->cpus; i++) {
		struct synth_cpu *cpu = &s->cpu[i];

		while (cpu->rows < cpu->quota) {
			if (!cpu->ready)
				decide(s, i);
			if (cpu->ts >= until)
				break;
			do_switch(s, i);
		}
		more |= cpu->rows < cpu->quota;
	}
	return more;
}

void synth_settle(struct synth *s, uint64_t end)
{
	for (uint32_t i = 0; i < s->threads; i++) {
		struct synth_thread *t = &s->thread[i];

		if (t->life == LIFE_RUNNING)
			t->running += end - t->since;
		else if (t->life == LIFE_PREEMPTED)
			t->waiting += end - t->since;
		else if (t->life == LIFE_SLEEPING)
			t->blocked += end - t->since;
		else if (t->life == LIFE_UNBORN)
			t->waiting += end > t->born ? end - t->born : 0;
	}
}
