/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_STEAL_H
#define INGERO_REPORT_STEAL_H
/*
 * CPU time the hypervisor took (steal), by CPU and half second, from table cpu. A thread whose CPU
 * is taken away counts as running, for it does not leave it: its calls and gaps only get longer.
 * The samples have ticks of 10 ms, so nothing finer than half a second is told apart.
 */
#include <stddef.h>
#include <stdint.h>
#include "recording.h"

#define STEAL_CELL 500000000ull		/* ns */

struct steal {
	uint64_t start;			/* of the recording */
	size_t cells;			/* of each CPU; 0: nothing was taken */
	uint64_t *left;			/* ns not yet attributed, by CPU and cell */
};

/* ERROR_MEMORY; release in either case. */
int steal_load(struct steal *s, struct recording *r);
/* Of at most ns in [start, end) on cpu, what the hypervisor took; it is taken out of the store. */
uint64_t steal_take(struct steal *s, uint32_t cpu, uint64_t start, uint64_t end, uint64_t ns);
void steal_release(struct steal *s);
#endif
