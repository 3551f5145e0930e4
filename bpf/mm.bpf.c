// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0)
/* Page allocations: counted per CPU, flushed with the switch row of the thread that made them. */
#include "state.bpf.h"

#define PAGES_FLUSH 1024	/* allocations inside one slice */

SEC("tp_btf/mm_page_alloc")
int handle_page_alloc(__u64 *ctx)
{
	unsigned int order = ctx[1];
	struct wire_cpu *cpu = cpu_get();
	struct wire_counter *counter;
	__u64 now;

	if (!ctx[0] || !cpu)	/* the allocation failed: no page, no event */
		return 0;
	now = bpf_ktime_get_ns();
	if (!recording(now))
		return 0;
	counter = &cpu->counter[WIRE_SOURCE_PAGE_ALLOC];
	counter->entries++;
	counter->emitted++;
	cpu->page_events++;
	cpu->page_events_all++;
	cpu->pages += 1u << (order & 31);
	if (!(cpu->page_events % PAGES_FLUSH))
		pages_flush(cpu, bpf_get_current_pid_tgid(), now);
	return 0;
}
