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

/*
 * A pointer that may be followed without a helper, whose returns cost tens of ns each on processors
 * with mitigations: bpf_rdonly_cast, a35b9af4ec2c (6.2). Kernels before a5d827275241 (5.16) refuse
 * a program in which it stands at all, so programs come in two builds: with "cast" and without.
 */
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

/* address caches where it is on this CPU. False where this kernel shows it nowhere. */
static __always_inline bool preempt_count(__u64 *address, int *count, bool cast)
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
	if (cast) {
		struct refcount_struct *number;

		number = bpf_rdonly_cast((void *)*address,
					 bpf_core_type_id_kernel(struct refcount_struct));
		*count = number->refs.counter;
		return true;
	}
	return !bpf_probe_read_kernel(count, sizeof(*count), (void *)*address);
}

/* prev_state became the fourth argument of sched_switch in 9c2136be0878 (5.18). */
const volatile bool switch_has_prev_state __weak = false;

/* 32-bit programs number their system calls otherwise. x86 marks the task while the call lasts. */
#if defined(__TARGET_ARCH_x86)
#define compat_member status
#define COMPAT_MASK 0x2u	/* TS_COMPAT */
#else
#define compat_member flags
#define COMPAT_MASK (1ul << 22)	/* TIF_32BIT */
#endif

struct thread_info___compat {
	__u32 status;
	unsigned long flags;
} __attribute__((preserve_access_index));

struct task_struct___compat {
	struct thread_info___compat thread_info;
} __attribute__((preserve_access_index));

#define PF_IO_WORKER 0x10
#define PF_USER_WORKER 0x4000	/* io_uring's and vhost's: 54e6842d0775 (6.4) */
#define PF_KTHREAD 0x200000

/* Where on a kernel stack the registers of user space are; taken by the snapshot, from a helper. */
volatile __u64 registers_offset __weak = 0;

static __always_inline struct pt_regs *registers_of(struct task_struct *task, bool cast)
{
	if (!cast)	/* dd6e10fbd9fb (5.15) */
		return (void *)bpf_task_pt_regs(task);
	return bpf_rdonly_cast((void *)((__u64)task->stack + registers_offset),
			       bpf_core_type_id_kernel(struct pt_regs));
}

/*
 * Number of the system call a task that does not run in user space is in, plus 1; 0 in none. Every
 * entry into the kernel but a system call leaves -1 there.
 */
static __always_inline __u16 syscall_of(struct task_struct *task, bool cast)
{
	struct task_struct___compat *compat = (void *)task;
	struct pt_regs *regs;
	long number;

	if (task->flags & (PF_KTHREAD | PF_USER_WORKER | PF_IO_WORKER) ||
	    compat->thread_info.compat_member & COMPAT_MASK)
		return 0;
	regs = registers_of(task, cast);
#if defined(__TARGET_ARCH_x86)
	number = regs->orig_ax;
#else
	number = regs->syscallno;
#endif
	return number >= 0 && number < 0xffff ? number + 1 : 0;
}

/*
 * Whether a task that leaves the CPU, or is woken, has to wait for its group's next CPU quota.
 * Since e1fad12dcb66 (6.18) tasks are taken off one by one, on their way out of the kernel (the
 * member came with 2cd571245b43); before, with the runqueue of their group. Needs
 * CONFIG_CFS_BANDWIDTH.
 */
struct task_struct___throttled {
	bool throttled;
} __attribute__((preserve_access_index));

#define throttled_by_task() bpf_core_field_exists(struct task_struct___throttled, throttled)

static __always_inline bool throttled_runqueue(struct task_struct *task)
{
	return bpf_core_field_exists(struct cfs_rq, throttle_count) &&
	       bpf_core_field_exists(struct sched_entity, cfs_rq) &&
	       task->se.cfs_rq->throttle_count > 0;
}

/*
 * How long the runqueue of a task's group was throttled in all, cut: another value than before says
 * that it was meanwhile, which befalls a task that waits in it. 64eaf50731ac (5.19) renamed it.
 */
struct cfs_rq___task {
	__u64 throttled_clock_task_time;
} __attribute__((preserve_access_index));

struct cfs_rq___pelt {
	__u64 throttled_clock_pelt_time;
} __attribute__((preserve_access_index));

static __always_inline __u32 throttled_clock(struct task_struct *task)
{
	struct cfs_rq___task *by_task;
	struct cfs_rq___pelt *by_pelt;

	if (throttled_by_task() || !bpf_core_field_exists(struct sched_entity, cfs_rq))
		return 0;
	by_task = (void *)task->se.cfs_rq;
	by_pelt = (void *)task->se.cfs_rq;
	if (bpf_core_field_exists(by_pelt->throttled_clock_pelt_time))
		return by_pelt->throttled_clock_pelt_time;
	if (bpf_core_field_exists(by_task->throttled_clock_task_time))
		return by_task->throttled_clock_task_time;
	return 0;
}

static __always_inline bool throttled(struct task_struct *task)
{
	struct task_struct___throttled *by_task = (void *)task;

	return throttled_by_task() ? by_task->throttled : throttled_runqueue(task);
}

#endif
