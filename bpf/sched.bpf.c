// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0)
/*
 * Context switches. Waking, wake-up and migration only update the thread's state; the switch that
 * brings the thread back emits the one row that tells the whole story.
 */
#include "state.bpf.h"

#define TASK_WAKING 0x200
#define IRQ_SOFT 0x100		/* serving a softirq; 0x200 is only "bottom halves off" */
#define IRQ_HARD 0xf0000
#define IRQ_NMI 0xf00000

static __always_inline __u8 waker_context(struct wire_cpu *cpu, bool cast)
{
	int count;

	if (!preempt_count(&cpu->preempt_address, &count, cast))
		return WIRE_WAKER_UNKNOWN;
	if (count & IRQ_NMI)
		return WIRE_WAKER_NMI;
	if (count & IRQ_HARD)
		return WIRE_WAKER_HARDIRQ;
	return count & IRQ_SOFT ? WIRE_WAKER_SOFTIRQ : WIRE_WAKER_TASK;
}

/* Who wakes, and in what: current is the waker, or was interrupted by it. */
static __always_inline void waker_note(struct thread *thread, struct wire_cpu *cpu, bool cast)
{
	struct task_struct *current = bpf_get_current_task_btf();

	thread->waker_tid = current->pid;
	thread->waker_context = waker_context(cpu, cast);
	thread->waker_syscall = 0;
	thread->waker_vector = 0;
	switch (thread->waker_context) {
	case WIRE_WAKER_SOFTIRQ:
		thread->waker_vector = cpu->softirq_vector;
		__attribute__((fallthrough));
	case WIRE_WAKER_TASK:
		if (with_syscalls)
			thread->waker_syscall = syscall_of(current, cast);
		break;
	case WIRE_WAKER_HARDIRQ:
		thread->waker_vector = cpu->hardirq_vector;
		break;
	}
}

/* The kernel's state bits as enum wire_prev_state. The preempt flag is tested before the state. */
static __always_inline __u8 prev_state_of(bool preempt, unsigned int state, struct task_struct *prev)
{
	__u8 io = BPF_CORE_READ_BITFIELD(prev, in_iowait) ? WIRE_PREV_IO_WAIT : 0;

	if (preempt)
		return WIRE_PREV_RUNNABLE | WIRE_PREV_PREEMPTED;
	if (!state)
		return WIRE_PREV_RUNNABLE;
	if (state & 0x1)
		return WIRE_PREV_SLEEPING | io;
	if (state & 0x2)	/* TASK_NOLOAD: a kernel thread with nothing to do */
		return state & 0x400 ? WIRE_PREV_IDLE : WIRE_PREV_UNINTERRUPTIBLE | io;
	if (state & 0x4)
		return WIRE_PREV_STOPPED;
	if (state & 0x8)
		return WIRE_PREV_TRACED;
	if (state & 0x40)
		return WIRE_PREV_PARKED;
	return state & 0xb0 ? WIRE_PREV_DEAD : WIRE_PREV_OTHER;
}

static __always_inline __u64 positive(__u64 later, __u64 earlier)
{
	return later > earlier ? later - earlier : 0;
}

static __always_inline __u32 saturate(__u64 ns)
{
	return ns > 0xffffffff ? 0xffffffff : ns;
}

/* prev leaves the CPU: from now on it waits, or is blocked until it is woken. */
static __always_inline void leave(struct thread *prev, struct task_struct *task, __u8 state,
				  __u64 now, bool cast)
{
	/*
	 * A non-zero state with __state already back at 0: a signal was pending, or the wake-up
	 * came before the dequeue. The thread stays runnable, though the kernel counts the
	 * switch as voluntary.
	 */
	bool runnable = !(state & 0xf) || task->__state == 0;

	prev->since = now;
	prev->moved = 0;
	prev->moved_from = 0;
	prev->syscall = with_syscalls && !runnable ? syscall_of(task, cast) : 0;
	prev->throttled_clock = with_throttling ? throttled_clock(task) : 0;
	prev->next_flags = state & WIRE_PREV_IO_WAIT ? WIRE_NEXT_IO_WAIT : 0;
	if (!runnable && prev->waking) {
		/* Woken between deciding to sleep and leaving: runnable from the start. */
		prev->waking = now;
		prev->next_flags |= WIRE_NEXT_EARLY_WAKE;
		prev->state = WIRE_THREAD_BLOCKED;
		return;
	}
	prev->waking = 0;
	prev->wakeup = 0;
	prev->waker_tid = 0;
	prev->waker_context = WIRE_WAKER_NONE;
	prev->state = WIRE_THREAD_BLOCKED;
	if (!runnable)
		return;
	prev->next_flags = WIRE_NEXT_PREEMPTED;
	if (state & WIRE_PREV_THROTTLED)
		prev->next_flags |= WIRE_NEXT_THROTTLED;
	prev->state = WIRE_THREAD_WAITING;
}

/* next comes onto the CPU: fill the row from its state. */
static __always_inline void arrive(struct thread *next, struct wire_switch *row, __u64 now)
{
	__u64 begin = next->since > start_ns ? next->since : start_ns;
	__u64 runnable = next->waking ? next->waking : next->wakeup;

	if (next->state == WIRE_THREAD_WAITING)
		runnable = begin;
	row->off = positive(now, begin);
	row->next_flags = next->next_flags;
	if (runnable) {
		if (runnable < begin)
			runnable = begin;
		row->wait = positive(now, runnable);
		row->wake_latency = saturate(positive(next->wakeup, runnable));
		if (row->wake_latency > row->wait)
			row->wake_latency = row->wait;
	}
	row->syscall = next->syscall;
	if (next->waker_context != WIRE_WAKER_NONE) {
		row->waker_tid = next->waker_tid;
		row->waker_context = next->waker_context;
		row->waker_syscall = next->waker_syscall;
		row->waker_vector = next->waker_vector;
	}
	if (next->moved > begin && runnable) {
		row->migrated_from = next->moved_from;
		row->migrated_wait = saturate(positive(now, next->moved > runnable ? next->moved : runnable));
	}
	next->since = now;
	next->waking = 0;
	next->wakeup = 0;
	next->moved = 0;
	next->waker_tid = 0;
	next->waker_context = WIRE_WAKER_NONE;
	next->next_flags = 0;
	next->state = WIRE_THREAD_RUNNING;
}

/* A thread that waited among others of its group when these used up its quota. */
static __always_inline __u8 throttled_meanwhile(struct thread *thread, struct task_struct *next,
						const struct wire_switch *row)
{
	if (!with_throttling || throttled_by_task() || row->migrated_from || !row->wait)
		return 0;
	return throttled_clock(next) == thread->throttled_clock ? 0 : WIRE_NEXT_THROTTLED;
}

/* Hash entries, unlike task storage, do not go with their task. */
static __always_inline void forget_dead(struct task_struct *prev, __u8 state)
{
	__u32 tid = prev->pid;

	if ((!use_task_storage || refused_storage) && (state & 0xf) == WIRE_PREV_DEAD)
		bpf_map_delete_elem(&threads_by_tid, &tid);
}

#define QUOTA_LEVELS 8		/* of groups inside each other that are looked at for a quota */
#define QUOTA_NONE (~0ull)

/*
 * When the CPU quota of the task group at address, or of the nearest above with one, was first renewed
 * after begin: its timer keeps its phase while the group is throttled. 0: not known. A global
 * function, so that verifiers look at its loop once and not on each path through its caller.
 */
__noinline __u64 quota_renewed(__u64 address, __u64 begin)
{
	struct task_group *group = (void *)address;
	__u64 expires, period;
	int i;

	if (!bpf_core_field_exists(struct task_group, cfs_bandwidth.period_timer.node.expires))
		return 0;
	for (i = 0; i < QUOTA_LEVELS && group; i++) {
		if (BPF_CORE_READ(group, cfs_bandwidth.quota) == QUOTA_NONE) {
			group = BPF_CORE_READ(group, parent);
			continue;
		}
		expires = BPF_CORE_READ(group, cfs_bandwidth.period_timer.node.expires);
		period = BPF_CORE_READ(group, cfs_bandwidth.period);
		if (!period || expires <= begin)
			return 0;
		return expires - (expires - begin - 1) / period * period;
	}
	return 0;
}

/* Of the wait, what passed before the group had quota again: then it waited for others. */
static __always_inline __u32 throttled_part(struct task_struct *next, const struct wire_switch *row)
{
	__u64 begin = row->h.ts - row->wait, renewed;

	if (!bpf_core_field_exists(next->sched_task_group))
		return 0;
	renewed = quota_renewed((__u64)BPF_CORE_READ(next, sched_task_group), begin);
	return renewed > begin && renewed < row->h.ts ? saturate(renewed - begin) : 0;
}

static __always_inline bool row_emit(struct wire_switch *row, struct wire_cpu *cpu)
{
	struct wire_counter *counter = &cpu->counter[WIRE_SOURCE_SWITCH];
	__u32 index = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&switch_rings, &index);

	counter->entries++;
	row->page_events = cpu->page_events;
	row->pages = cpu->pages;
	cpu->page_events = 0;
	cpu->pages = 0;
	if (ring && !bpf_ringbuf_output(ring, row, sizeof(*row), BPF_RB_NO_WAKEUP)) {
		counter->emitted++;
		return true;
	}
	counter->lost++;
	cpu->page_events_lost += row->page_events;
	cpu->pages_lost += row->pages;
	loss_note(WIRE_SOURCE_SWITCH, WIRE_LOSS_RING_FULL, row->h.ts, row->page_events);
	return false;
}

/*
 * States stand still at the stop, for the last keyframe to read. What the thread that was on the
 * CPU then had allocated goes out before another one is taken for it.
 */
static __always_inline void switch_after_stop(struct wire_cpu *cpu, __u32 tid)
{
	if (!cpu->page_events)
		return;
	pages_flush(cpu, tid, stop_ns - 1);
	cpu->page_events_lost += cpu->page_events;
	cpu->pages_lost += cpu->pages;
	cpu->page_events = 0;
	cpu->pages = 0;
}

static __always_inline int on_switch(__u64 *ctx, bool cast)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct wire_switch row = { .h.kind = WIRE_SWITCH };
	struct wire_cpu *cpu = cpu_get();
	struct thread *thread, *left = NULL;
	unsigned int state;

	if (!cpu)
		return 0;
	cpu->switches++;
	row.h.ts = bpf_ktime_get_ns();
	row.h.tid = prev->pid;
	if (row.h.ts >= stop_ns) {
		switch_after_stop(cpu, prev->pid);
		return 0;
	}
	row.next_tid = next->pid;
	state = switch_has_prev_state ? (unsigned int)ctx[3] : prev->__state;
	row.prev_state = prev_state_of(preempt, state, prev);
	if (with_throttling && throttled(prev))
		row.prev_state |= WIRE_PREV_THROTTLED;
	if (row.h.tid) {
		thread = thread_get(prev);
		if (thread) {
			leave(thread, prev, row.prev_state, row.h.ts, cast);
			if (with_faults)
				row.major_faults = (__u32)prev->maj_flt - thread->major_faults;
			if (row.major_faults && (row.prev_state & 0xf) != WIRE_PREV_DEAD)
				left = thread;
		}
		forget_dead(prev, row.prev_state);
	}
	if (row.next_tid) {
		thread = thread_get(next);
		if (thread) {
			arrive(thread, &row, row.h.ts);
			row.next_flags |= throttled_meanwhile(thread, next, &row);
			if (row.next_flags & WIRE_NEXT_THROTTLED)
				row.throttled = throttled_part(next, &row);
		} else {
			row.next_flags = WIRE_NEXT_UNKNOWN;
		}
	}
	if (!recording(row.h.ts)) {
		cpu->page_events = 0;
		cpu->pages = 0;
	} else if (!row_emit(&row, cpu)) {
		return 0;
	}
	if (left)
		left->major_faults += row.major_faults;
	return 0;
}

SEC("tp_btf/sched_switch")
int handle_switch(__u64 *ctx)
{
	return on_switch(ctx, true);
}

SEC("tp_btf/sched_switch")
int handle_switch_old(__u64 *ctx)
{
	return on_switch(ctx, false);
}

/*
 * The common part of programs that only update a thread's state: count the run, and return the
 * thread to update, or NULL. A thread without state was neither born nor listed under our eyes
 * (some machines hide threads from iterators) and is not followed; where storage could not be had
 * for one that was, that is a counted loss of its own.
 */
static __always_inline struct thread *update(struct task_struct *task, __u32 source, struct wire_cpu *cpu, __u64 now)
{
	struct wire_counter *counter = &cpu->counter[source];
	struct thread *thread;

	if (now >= stop_ns)
		return NULL;
	thread = thread_get(task);
	if (now < start_ns)
		return thread;
	counter->entries++;
	if (thread)
		counter->emitted++;
	else
		counter->filtered++;
	return thread;
}

static __always_inline int on_waking(__u64 *ctx, bool cast)
{
	struct wire_cpu *cpu = cpu_get();
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = cpu ? update((void *)ctx[0], WIRE_SOURCE_WAKING, cpu, now) : NULL;

	/* A preempted thread is waiting already; a running one may be about to sleep: see leave(). */
	if (!thread || thread->state == WIRE_THREAD_WAITING)
		return 0;
	waker_note(thread, cpu, cast);
	thread->wakeup = 0;
	thread->waking = now;
	return 0;
}

SEC("tp_btf/sched_waking")
int handle_waking(__u64 *ctx)
{
	return on_waking(ctx, true);
}

SEC("tp_btf/sched_waking")
int handle_waking_old(__u64 *ctx)
{
	return on_waking(ctx, false);
}

SEC("tp_btf/sched_wakeup")
int handle_wakeup(__u64 *ctx)
{
	struct wire_cpu *cpu = cpu_get();
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = cpu ? update((void *)ctx[0], WIRE_SOURCE_WAKEUP, cpu, now) : NULL;

	if (!thread)
		return 0;
	if (thread->state == WIRE_THREAD_RUNNING)
		thread->waking = 0;	/* it did not sleep after all */
	if (thread->state != WIRE_THREAD_BLOCKED)
		return 0;
	thread->wakeup = now;
	/* Since 6.18 it gets the CPU all the same, until it is about to leave the kernel. */
	if (with_throttling && !throttled_by_task()) {
		thread->throttled_clock = throttled_clock((void *)ctx[0]);
		if (throttled_runqueue((void *)ctx[0]))
			thread->next_flags |= WIRE_NEXT_THROTTLED;
	}
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int handle_wakeup_new(__u64 *ctx)
{
	struct wire_cpu *cpu = cpu_get();
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = cpu ? update((void *)ctx[0], WIRE_SOURCE_WAKEUP_NEW, cpu, now) : NULL;

	if (!thread)
		return 0;
	waker_note(thread, cpu, false);
	if (with_throttling)
		thread->throttled_clock = throttled_clock((void *)ctx[0]);
	thread->waking = now;
	thread->wakeup = now;
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int handle_migrate(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct wire_cpu *cpu = cpu_get();
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = cpu ? update(task, WIRE_SOURCE_MIGRATE, cpu, now) : NULL;

	if (!thread)
		return 0;
	/* The choice of a CPU at the wake-up itself comes before sched_wakeup and is no move. */
	if (thread->state == WIRE_THREAD_WAITING || (thread->state == WIRE_THREAD_BLOCKED && thread->wakeup)) {
		thread->moved = now;
		thread->moved_from = task_cpu(task) + 1;
	}
	return 0;
}
