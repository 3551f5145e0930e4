// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0)
/*
 * Which interrupt a CPU is in, for the wakings made there. Softirqs do not nest and hard
 * interrupts do not either; whether it is in one at all tells the preempt count. These run at
 * every interrupt: no clock, no more than a store and a count.
 */
#include "state.bpf.h"

SEC("tp_btf/softirq_entry")
int handle_softirq(__u64 *ctx)
{
	struct wire_cpu *cpu = cpu_get();

	if (!cpu)
		return 0;
	cpu->softirq_vector = ctx[0] + 1;
	cpu->softirq_runs++;
	return 0;
}

/* Between its interrupts a CPU handles others that have no such tracepoint: the end counts. */
static __always_inline void hardirq(__u8 vector)
{
	struct wire_cpu *cpu = cpu_get();

	if (!cpu)
		return;
	cpu->hardirq_vector = vector;
	cpu->hardirq_runs++;
}

SEC("tp_btf/irq_handler_entry")
int handle_irq_entry(__u64 *ctx)
{
	hardirq(WIRE_VECTOR_HARD_DEVICE);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int handle_irq_exit(__u64 *ctx)
{
	hardirq(0);
	return 0;
}

/* Some timers expire in a softirq, which a hard interrupt may interrupt. */
SEC("tp_btf/hrtimer_expire_entry")
int handle_timer_entry(__u64 *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];

	hardirq(timer->is_soft ? 0 : WIRE_VECTOR_HARD_TIMER);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int handle_timer_exit(__u64 *ctx)
{
	hardirq(0);
	return 0;
}
