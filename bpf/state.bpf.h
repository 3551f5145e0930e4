/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
#ifndef INGERO_STATE_BPF_H
#define INGERO_STATE_BPF_H
/*
 * Maps, knobs and counters shared by all programs. Maps are weak because each .bpf.c sees this
 * header; the static linker merges them.
 */
#include "compat.bpf.h"
#include "wire.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] __weak SEC("license") = "Dual BSD/GPL";

/* Set by record/probes.c before loading. */
const volatile bool use_task_storage __weak = true;	/* 6.2 and newer; else hashes by TID */
const volatile bool keep_args __weak = true;		/* whole command lines, else argv[0] */
const volatile bool with_syscalls __weak = true;
const volatile bool with_throttling __weak = true;
const volatile bool with_faults __weak = true;
const volatile __u32 affinity_words __weak = 0;		/* of a thread's CPU mask; 0 without */

/*
 * The recording is [start_ns, stop_ns): both are written by the recorder a moment before they
 * come true, so every program draws the same line by its own clock. Thread states are followed
 * outside it too.
 */
volatile __u64 start_ns __weak = ~0ull;
volatile __u64 stop_ns __weak = ~0ull;

/* Threads that were refused storage, because a preempted program was inside it, and are in the hash. */
volatile __u32 refused_storage __weak = 0;

/* What is known of a thread between its rows. */
struct thread {
	__u64 since;		/* when it came on or left the CPU, or was born */
	__u64 waking, wakeup;	/* of the sleep it is in; 0 not yet */
	__u64 moved;		/* last migration of this wait; 0 none */
	__u32 waker_tid;
	__u16 moved_from;	/* CPU + 1 */
	__u8 waker_context;
	__u8 state;		/* enum wire_thread_state */
	__u8 in_tree;
	__u8 next_flags;	/* for its next row */
	__u8 waker_vector;
	__u8 pad;
	__u16 syscall;		/* it sleeps in, number + 1 */
	__u16 waker_syscall;
	__u32 major_faults;	/* the task's counter, as of its last row */
	__u32 affinity;		/* of the CPUs it may use, as of the last keyframe; 0 none yet */
	__u64 reclaim;		/* when the reclaim it is in began; 0 in none */
	__u32 throttled_clock;	/* of its group's runqueue, when its wait began */
	__u32 pad2;
};

/* A CUDA call that has been entered. */
struct frame {
	__u64 start, stack_pointer, bytes, stream;
	__u32 probe;
	__u16 symbol;
	__u8 kind, flags;
	__u32 cpu, switches, page_events;	/* where it was entered, and that CPU's counts then */
	__u32 pad;
};

struct call_stack {
	__u32 depth, pad;
	struct frame frame[WIRE_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads __weak SEC(".maps");

/* In place of storage: on older kernels for all threads, else for those whose storage was refused. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);	/* changed by record/probes.c on older kernels */
	__type(key, __u32);
	__type(value, struct thread);
} threads_by_tid __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_stack);
} call_stacks __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct call_stack);
} call_stacks_by_tid __weak SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* One ring per CPU each; sized and filled in by record/probes.c. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} switch_rings __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} call_rings __weak SEC(".maps");

/* Process life, apart from the flood. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} life_ring __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_cpu);
} cpu_data __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WIRE_SOURCE_LIMIT * WIRE_LOSS_SECONDS);
	__type(key, __u32);
	__type(value, struct wire_loss);
} loss_history __weak SEC(".maps");

static __always_inline struct thread *thread_get(struct task_struct *task)
{
	struct thread *thread = use_task_storage ? bpf_task_storage_get(&threads, task, 0, 0) : NULL;
	__u32 tid;

	if (thread || (use_task_storage && !refused_storage))
		return thread;
	tid = task->pid;
	return bpf_map_lookup_elem(&threads_by_tid, &tid);
}

/* For task_newtask and the snapshot only: it may allocate. */
static __always_inline struct thread *thread_create(struct task_struct *task)
{
	static const struct thread zero;
	struct thread *thread;
	__u32 tid;

	if (use_task_storage) {
		thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (thread)
			return thread;
		__sync_fetch_and_add(&refused_storage, 1);
	}
	tid = task->pid;
	bpf_map_update_elem(&threads_by_tid, &tid, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads_by_tid, &tid);
}

static __always_inline struct call_stack *call_stack_get(struct task_struct *task)
{
	__u32 tid;

	if (use_task_storage)
		return bpf_task_storage_get(&call_stacks, task, 0, 0);
	tid = task->pid;
	return bpf_map_lookup_elem(&call_stacks_by_tid, &tid);
}

static __always_inline struct wire_cpu *cpu_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpu_data, &zero);
}

static __always_inline bool recording(__u64 now)
{
	return now >= start_ns && now < stop_ns;
}

/* Hand on the page counts of the thread on this CPU, apart from a switch. Without room they stay. */
static __always_inline void pages_flush(struct wire_cpu *cpu, __u32 tid, __u64 now)
{
	struct wire_pages row = { .h = { WIRE_PAGES, tid, now } };
	__u32 index = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&switch_rings, &index);

	row.events = cpu->page_events;
	row.pages = cpu->pages;
	if (!ring || bpf_ringbuf_output(ring, &row, sizeof(row), BPF_RB_NO_WAKEUP))
		return;
	cpu->page_events -= row.events;
	cpu->pages -= row.pages;
}

/* Note a loss in the history of this second; the counter is the caller's. */
static __always_inline void loss_note(__u32 source, __u32 reason, __u64 now, __u32 page_events)
{
	__u32 second = now >> 30;
	__u32 slot = source * WIRE_LOSS_SECONDS + second % WIRE_LOSS_SECONDS;
	struct wire_loss *loss = bpf_map_lookup_elem(&loss_history, &slot);

	if (!loss)
		return;
	if (loss->second != second || !loss->count) {
		loss->second = second;
		loss->first = now;
		loss->count = 0;
		loss->page_events = 0;
	}
	loss->reason = reason;
	loss->last = now;
	__sync_fetch_and_add(&loss->count, 1);
	loss->page_events += page_events;
}
#endif
