// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0)
/*
 * Direct reclaim: a thread that needs a page frees others first. The kernel does not nest it in
 * itself. One record at the end; one that began before the thread was followed is filtered.
 */
#include "state.bpf.h"

static __always_inline int reclaim_begin(void)
{
	struct thread *thread = thread_get(bpf_get_current_task_btf());

	if (thread)
		thread->reclaim = bpf_ktime_get_ns();
	return 0;
}

static __always_inline bool reclaim_emit(struct wire_reclaim *row)
{
	__u32 index = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&switch_rings, &index);

	return ring && !bpf_ringbuf_output(ring, row, sizeof(*row), BPF_RB_NO_WAKEUP);
}

static __always_inline int reclaim_end(__u32 kind, __u64 pages)
{
	struct wire_reclaim row = { .h = { WIRE_RECLAIM, 0, bpf_ktime_get_ns() },
				    .pages = pages,
				    .kind = kind };
	struct thread *thread = thread_get(bpf_get_current_task_btf());
	struct wire_cpu *cpu = cpu_get();
	struct wire_counter *counter;
	__u64 begin = 0;

	if (!cpu || !recording(row.h.ts))
		return 0;
	counter = &cpu->counter[WIRE_SOURCE_RECLAIM];
	__sync_fetch_and_add(&counter->entries, 1);
	if (thread) {
		begin = thread->reclaim;
		thread->reclaim = 0;
	}
	if (!begin) {
		__sync_fetch_and_add(&counter->filtered, 1);
		return 0;
	}
	row.h.tid = bpf_get_current_pid_tgid();
	row.duration = row.h.ts - (begin > start_ns ? begin : start_ns);
	if (reclaim_emit(&row)) {
		__sync_fetch_and_add(&counter->emitted, 1);
		return 0;
	}
	__sync_fetch_and_add(&counter->lost, 1);
	loss_note(WIRE_SOURCE_RECLAIM, WIRE_LOSS_RING_FULL, row.h.ts, 0);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int handle_reclaim_begin(__u64 *ctx)
{
	return reclaim_begin();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int handle_reclaim_end(__u64 *ctx)
{
	return reclaim_end(WIRE_RECLAIM_GLOBAL, ctx[0]);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int handle_memcg_reclaim_begin(__u64 *ctx)
{
	return reclaim_begin();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int handle_memcg_reclaim_end(__u64 *ctx)
{
	return reclaim_end(WIRE_RECLAIM_CGROUP, ctx[0]);
}
