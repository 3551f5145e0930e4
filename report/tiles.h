/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_TILES_H
#define INGERO_REPORT_TILES_H
/*
 * The pass over table switch behind procs.h: every worker sums what the rows of its blocks say
 * into a tally per thread of its own; a run of blocks of one CPU remembers its first and last
 * row, so that procs.c can close the seams. Of what a row says only what lies in the span counts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "procs.h"

/* What one worker, or in the end all of them, saw of a thread. */
struct tally {
	uint64_t running, waiting, blocked;
	uint64_t voluntary, involuntary;
	uint64_t periods, off_max, off_max_end;
	uint64_t page_events, pages, breaks;
	uint64_t first_in, last_in, last_out, last_page, died;	/* ts; first_in UINT64_MAX: none */
	uint64_t first_wait;		/* see struct thread_account; outside the tree 0 */
	uint64_t stall_floor;		/* shorter stalls are not among the worst */
	bool out_runnable;		/* at last_out */
};

/* Consecutive blocks of one CPU. */
struct run {
	uint32_t cpu;
	size_t first, count;		/* in tiles.order */
	uint64_t rows, idle, busy, unrecorded, breaks;
	uint64_t first_ts, last_ts;
	uint64_t first_tid, last_tid;
	uint32_t first_thread, last_thread;	/* who left with the first row, came with the last */
};

struct tile_worker {
	struct tally *tallies;		/* by thread */
	struct stall *stalls;		/* by process, PROCS_STALLS each, longest first */
	struct columns columns;
};

struct tiles {
	struct recording *recording;
	const struct tasks *tasks;
	const uint64_t *stalling;
	uint32_t *order;		/* blocks by CPU, in file order */
	struct run *runs;		/* by CPU, in time order */
	size_t run_count;
	struct tile_worker *workers;
	unsigned int worker_count;
};

/*
 * stalling: see procs.h. After this workers[0] has the sums of all. ERROR_MEMORY; release in
 * either case.
 */
int tiles_load(struct tiles *t, struct recording *r, const struct tasks *tasks,
	       const uint64_t *stalling);
/* Whether the stalls of a thread are kept. */
bool tiles_keeps_stalls(const struct tasks *t, const uint64_t *stalling, uint32_t thread);
void tiles_release(struct tiles *t);

/* Keep s where it is among the worst of the PROCS_STALLS; returns the new floor. */
uint64_t tiles_stall(struct stall *worst, const struct stall *s);
#endif
