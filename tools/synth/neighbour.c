// SPDX-License-Identifier: BSD-2-Clause
#include "synth.h"

#define WAKE_DELAY 2000			/* ns from the neighbour's waking to its having the CPU */

/* One row of the CPU that caller and neighbour share; what it says goes into the sums. */
static void hand_over(struct synth *s, uint64_t ts, int prev, uint64_t prev_state,
		      struct synth_thread *next, uint64_t wait, uint64_t flags)
{
	struct synth_cpu *cpu = &s->cpu[next->cpu];
	struct row_switch row = {
		.ts = ts, .next_tid = next->tid, .next_off = ts - next->since, .next_wait = wait,
		.next_flags = flags, .prev_state = prev_state,
		.waker_context = flags ? WAKER_NONE : WAKER_HARDIRQ,
		.waker_vector = flags ? VECTOR_UNKNOWN : VECTOR_HARD_TIMER,
	};

	if (prev != IDLE) {
		struct synth_thread *t = &s->thread[prev];

		row.prev_tid = t->tid;
		t->running += ts - t->since;
		t->voluntary += prev_state == PREV_SLEEPING;
		t->involuntary += prev_state != PREV_SLEEPING;
		t->life = prev_state == PREV_SLEEPING ? LIFE_SLEEPING : LIFE_PREEMPTED;
		t->since = ts;
		cpu->busy += ts - cpu->came;
	}
	next->waiting += wait;
	next->blocked += row.next_off - wait;
	next->life = LIFE_RUNNING;
	next->since = ts;
	cpu->current = (int)(next - s->thread);
	cpu->came = cpu->last = ts;
	cpu->rows++;
	synth_row(s, TABLE_switch, next->cpu, &row);
}

static struct synth_truth *truth_of(struct synth *s, const struct synth_caller *c)
{
	return &s->truth[s->thread[c->thread].process * SYNTH_OPERATIONS + c->call.operation - 1];
}

/* The first of each operation is left alone: it is compared with no other. */
void synth_neighbour_decide(struct synth *s, struct synth_caller *c)
{
	uint64_t start = c->call.ts - c->call.duration, gap = start - c->free_at;
	uint64_t dice = synth_random(s, 1000),
		 taken = s->spacing * 4 + synth_random(s, s->spacing * 8);
	bool in_call = synth_random(s, 2);
	struct synth_truth *t = truth_of(s, c);

	/* Launches and copies on streams of their own: no call proves the device idle. */
	if (c->call.stream)
		c->call.stream = 0x7f0000001000 + 0x100 * (c->call.operation & 1);
	/* All of an operation alike, so that each is compared with all others. */
	c->call.bytes = c->call.flags & CALL_FLAG_BYTES ? 1 << 12 : 0;
	c->call.kind = c->call.flags & CALL_FLAG_KIND ? 1 : 0;
	c->taken = c->given_back = 0;
	if (dice >= 2 * s->options.neighbour || c->operation <= 2 * s->options.operations)
		return;
	c->taken_in_call = in_call;
	c->taken = in_call ? start + c->call.duration / 2 : c->free_at + gap / 2;
	c->given_back = c->taken + taken;
	c->call.ts += taken;
	if (in_call) {
		c->call.duration += taken;
		t->calls_hit++;
		t->calls_taken += taken;
	} else {
		t->gaps_hit++;
		t->gaps_taken += taken;
	}
}

void synth_neighbour_rows(struct synth *s, struct synth_caller *c, uint64_t until)
{
	struct synth_thread *caller = &s->thread[c->thread], *neighbour = &s->thread[c->neighbour];

	if (caller->life == LIFE_UNBORN && caller->born + WAKE_DELAY < until) {
		caller->since = caller->born;
		hand_over(s, caller->born + WAKE_DELAY, IDLE, 0, caller, WAKE_DELAY,
			  NEXT_FLAG_FIRST);
	}
	if (c->taken && c->taken < until) {
		hand_over(s, c->taken, (int)c->thread, PREV_RUNNABLE | PREV_PREEMPTED, neighbour,
			  neighbour->since + WAKE_DELAY < c->taken ? WAKE_DELAY : 0, 0);
		c->taken = 0;
	}
	if (!c->taken && c->given_back && c->given_back < until) {
		hand_over(s, c->given_back, (int)c->neighbour, PREV_SLEEPING, caller,
			  c->given_back - caller->since, NEXT_FLAG_PREEMPTED);
		c->given_back = 0;
	}
}
