/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_EVIDENCE_H
#define INGERO_REPORT_EVIDENCE_H
/*
 * What bounds a process's use of the CPUs, from tables affinity and cgroup: by process of the tree.
 */
#include <stddef.h>
#include <stdint.h>
#include "recording.h"
#include "tasks.h"

struct evidence {
	uint32_t *allowed;		/* by process: CPUs its leader may use; 0 not recorded */
	const char *quota_path;		/* the group that was throttled most, else with the tightest quota; NULL: no quota */
	uint64_t quota, period;		/* ns */
	uint64_t periods, throttled, throttled_ns;	/* over the recording; ns summed over CPUs */
};

/* ERROR_MEMORY; release in either case. */
int evidence_load(struct evidence *e, struct recording *r, const struct tasks *t);
void evidence_release(struct evidence *e);
#endif
