/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_DIFF_RUN_H
#define INGERO_REPORT_DIFF_RUN_H
/*
 * What a comparison keeps of a recording: sums over the steady part, and the same sums for each
 * of DIFF_CELLS equal cells of its time, from which their noise is found. Some 10 KiB for each
 * operation and role, whatever the size of the file.
 *
 * Steady part: from the call that follows the first 1 % of all top-level calls to the last that
 * 1 % follow, within 1 / 8,192 of the recording. Without calls it is all of the recording. Calls
 * count where they returned.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "report.h"
#include "windows.h"
#define DIFF_CELLS 240
#define DIFF_PERCENTILES 3	/* 50, 95, 99 */
#define DIFF_BUCKETS 7424		/* of durations: none wider than 0.8 %; see diff_load.h */
#define DIFF_LABEL 64

struct diff_operation {
	char *name;
	uint32_t layer, category;
	bool waits;				/* for the device: see window_operation_waits() */
	uint64_t all_calls;			/* of the whole recording */
	uint64_t calls, total, bytes;		/* total: ns of good top-level calls */
	/* Good calls, the first of each process left out: exact percentiles rest on them. */
	uint64_t n, max, percentile[DIFF_PERCENTILES];
	uint64_t *buckets;			/* DIFF_BUCKETS */
	uint32_t cell_calls[DIFF_CELLS], cell_n[DIFF_CELLS];
	uint32_t cell_below[DIFF_PERCENTILES][DIFF_CELLS];	/* not above the percentile */
	uint64_t cell_total[DIFF_CELLS];
};

enum diff_role { DIFF_MAIN, DIFF_WORKERS, DIFF_HELPERS, DIFF_ROLES_COUNT };

struct diff_role_sums {
	uint32_t processes;
	uint64_t switches[DIFF_CELLS], pages[DIFF_CELLS];
	uint64_t running[DIFF_CELLS], waiting[DIFF_CELLS], blocked[DIFF_CELLS];
	uint64_t alive[DIFF_CELLS];		/* ns, of its processes together */
};

/* Processes outside the tree of one name; kernel threads are one. */
struct diff_outsider { char name[DIFF_LABEL]; uint64_t running; };

#define DIFF_BETWEEN UINT32_MAX			/* operation of the time between calls */

/* Which calls of an operation: all of them, those of at most the p50, those of at least the p99. */
enum diff_calls { DIFF_ALL_CALLS, DIFF_USUAL_CALLS, DIFF_SLOWEST_CALLS, DIFF_CALLS_COUNT };

/* Who had how much of the pacing threads' time in calls of an operation, or between calls. */
struct diff_share {
	uint32_t operation;			/* place in operations, or DIFF_BETWEEN */
	enum diff_calls of;
	enum cause_kind kind;
	char who[DIFF_LABEL];			/* "" nobody in particular */
	uint64_t ns;
};

struct diff_place { uint32_t operation; enum diff_calls of; uint64_t windows, ns; };

/* Lost time of one class. */
struct diff_chain {
	char label[DIFF_LABEL * 2];		/* the same class in another recording has it too */
	uint64_t lost;				/* of all chains, but harmless ones */
	uint64_t cell_lost[DIFF_CELLS];		/* adds up to about lost */
	uint64_t most;				/* of it in one chain, which why tells of */
	char *why;
	char outsider[DIFF_LABEL];		/* name of the process outside the tree, or "" */
};

struct diff_fact { char what[DIFF_LABEL * 2]; char *value; };

struct diff_run {
	uint64_t start, end;			/* of the steady part */
	uint64_t calls;				/* top-level, in it */
	uint32_t mains;				/* processes that feed */
	bool complete, calls_lossy, switches_lossy;
	char *command;
	struct diff_operation *operations; size_t operation_count;
	uint64_t cell_calls[DIFF_CELLS];	/* all of them */
	struct diff_role_sums roles[DIFF_ROLES_COUNT];
	struct diff_outsider *outsiders; size_t outsider_count;	/* most first */
	uint64_t outside_running, busy, cpu_time, runnable;	/* ns, in the steady part */
	uint64_t starved[DIFF_CELLS];		/* ns the device is known to have had no work */
	bool cannot_tell;			/* chains: of something it cannot be told who took it */
	bool starvation_known;			/* whether that could be told */
	struct diff_share *shares; size_t share_count, share_capacity;
	struct diff_place *places; size_t place_count;
	struct diff_chain *chains; size_t chain_count;
	struct diff_fact *facts; size_t fact_count, fact_capacity;
	uint64_t steal, sampled, memory_min;	/* of all of the recording */
	uint64_t *thread_calls, *thread_waits;	/* by thread, while loading: top-level; waiting */
};

/* ERROR_MEMORY or what report_open() returns. Release in either case. */
int diff_run_load(struct diff_run *run, const char *path, const struct select_options *options,
		  struct error *e);
void diff_run_release(struct diff_run *run);
#endif
