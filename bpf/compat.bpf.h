/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
#ifndef INGERO_COMPAT_BPF_H
#define INGERO_COMPAT_BPF_H
/* Kernel renames and signature changes, each with the commit that made it. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* The CPU of a task moved from task_struct into thread_info: bcf9033e5449 (5.16). */
struct task_struct___cpu {
	unsigned int cpu;
} __attribute__((preserve_access_index));

static __always_inline __u32 task_cpu(struct task_struct *task)
{
	struct task_struct___cpu *old = (void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return bpf_core_field_exists(old->cpu) ? BPF_CORE_READ(old, cpu) : 0;
}

/*
 * The preempt count of this CPU. arm64 keeps it in thread_info. x86 kept it in __preempt_count,
 * moved it into pcpu_hot in 64701838bf05 (6.2) and back in 46e8fff6d45f (6.15). A typed ksym
 * would need CONFIG_KALLSYMS_ALL, so it is found by its distance from this CPU's runqueue, which
 * record/probes.c takes from BTF: 0 where it cannot be told.
 */
const volatile __s64 preempt_count_distance __weak = 0;

struct thread_info___preempt {
	int preempt_count;
} __attribute__((preserve_access_index));

struct task_struct___preempt {
	struct thread_info___preempt thread_info;
} __attribute__((preserve_access_index));

/* The runqueue of current, which is that of this CPU; needs CONFIG_FAIR_GROUP_SCHED. */
static __always_inline __u64 this_runqueue(void)
{
	struct task_struct *current = (void *)bpf_get_current_task();

	if (!bpf_core_field_exists(struct cfs_rq, rq) || !bpf_core_field_exists(struct sched_entity, cfs_rq))
		return 0;
	return (__u64)BPF_CORE_READ(current, se.cfs_rq, rq);
}

/* address caches where it is on this CPU. False where this kernel shows it nowhere. */
static __always_inline bool preempt_count(__u64 *address, int *count)
{
	__u64 runqueue;

	if (bpf_core_field_exists(struct task_struct___preempt, thread_info.preempt_count)) {
		struct task_struct___preempt *current = (void *)bpf_get_current_task();

		*count = BPF_CORE_READ(current, thread_info.preempt_count);
		return true;
	}
	if (!preempt_count_distance)
		return false;
	if (!*address) {
		runqueue = this_runqueue();
		if (!runqueue)
			return false;
		*address = runqueue + preempt_count_distance;
	}
	return !bpf_probe_read_kernel(count, sizeof(*count), (void *)*address);
}

/* prev_state became the fourth argument of sched_switch in 9c2136be0878 (5.18). */
const volatile bool switch_has_prev_state __weak = false;
#endif
