/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_SYSTEM_H
#define INGERO_REPORT_SYSTEM_H
/*
 * The whole machine over the span. CPU busy and the runnable threads come from the switch rows;
 * memory, swap, load, pressure and steal from the samples. The recorder's own threads count in
 * busy (the CPUs were busy) and are left out of the runnable threads.
 */
#include <stdbool.h>
#include <stdint.h>
#include "procs.h"
#include "recording.h"

struct system_figures {
	uint64_t busy, cpu_time;	/* ns, and of how many; unrecorded time is in neither */
	uint64_t unrecorded;		/* ns of the CPUs */
	uint64_t runnable;		/* ns of threads running or waiting: / span is the mean */
	uint64_t span;
	uint64_t samples;
	bool has_memory, has_load, has_psi, has_cpu_samples;
	uint64_t memory_total, memory_min, swap_used_max, swap_total;
	uint64_t load_max;		/* hundredths */
	uint64_t threads_max;
	uint64_t psi_cpu, psi_memory, psi_io;	/* us, over the samples */
	uint64_t psi_span;		/* ns between the first and last sample with pressure */
	uint64_t steal, iowait, sampled_busy, sampled;	/* ns over all CPUs by /proc/stat */
};

/* ERROR_MEMORY. */
int system_load(struct system_figures *s, struct recording *r, const struct procs *p);
#endif
