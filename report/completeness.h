/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_COMPLETENESS_H
#define INGERO_REPORT_COMPLETENESS_H
/*
 * What is missing, from tables counter and loss. Of each source: the recorder's own counts,
 * summed over CPUs, and its losses by second. lost is the larger of what the counters and what
 * the loss rows say (a recorder that was killed may have written either later), and what could
 * not be written, and the runs the kernel skipped.
 *
 * All this is about the whole recording, where its span was narrowed too; but for what is lossy,
 * and the seconds, which are of the span: a source is lossy there when losses overlap it, or when
 * more was lost than the loss rows place in time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "recording.h"

struct source_counts {
	uint64_t entries, emitted, filtered, lost, missed;
	bool known;			/* it has rows in table counter */
	bool missed_unknown;		/* this kernel does not count skipped runs */
	uint64_t ring_full, no_storage, too_deep, write_failed;	/* from table loss */
	uint64_t pages;			/* page allocations in lost rows */
	uint64_t all;			/* lost, as the report counts it */
	uint64_t here;			/* at most so many of them in the span */
	uint64_t first, last;		/* ts of the first and last loss known; 0 none */
};

struct loss_second { uint64_t first, last, count; uint32_t source, reason; };

struct completeness {
	bool complete;			/* closed, nothing lost, no block damaged */
	bool closed;
	bool calls_lossy, switches_lossy, pages_lossy;
	struct source_counts sources[SOURCE_LIMIT];
	uint64_t lost;			/* of all sources */
	uint64_t unbalanced;		/* (source, cpu) with entries != emitted + filtered + lost */
	struct loss_second *seconds;	/* in time order, of all CPUs, joined by second */
	size_t second_count, second_capacity;
	uint64_t damaged_blocks, unknown_blocks;
	const char *error;		/* why recording failed after the start; or NULL */
};

/* "switch", "call_return", ... */
const char *completeness_source(unsigned int source);
const char *completeness_reason(unsigned int reason);

/* Call it last: blocks are found damaged while they are read. ERROR_MEMORY. */
int completeness_load(struct completeness *c, struct recording *r);
void completeness_release(struct completeness *c);
#endif
