/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_SERIES_H
#define INGERO_REPORT_SERIES_H
/*
 * Figures of a recording step by step of time. Steps tile the span, the last one may be shorter;
 * every figure that is a sum over steps equals the figure of the whole that procs.h, system.h and
 * latency.h have: a stretch of time is cut at the borders of the steps, an event counts where its
 * row lies, and what lies before the span's start counts in the first step.
 *
 * Only selected threads and operations count, of the machine's threads all where none are.
 *
 * A step is asked for as moment.h has spans: "2", "0.5", "100ms", "1min". Without one it is 1 s;
 * of a span below 10 s the largest of 1, 2, 5, 10, ... ms that gives ten steps; of one too long for
 * steps of 1 s the smallest of 2, 5, 10, ... s that is allowed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "report.h"

#define SERIES_STEPS_MAX 4000
#define SERIES_CELLS_MAX 200000		/* steps times CPUs, or the steps of all processes' lives */

struct series_step {
	uint64_t start, length;		/* ns since the recording's start */
	uint64_t busy;			/* ns the CPUs were busy; with selected threads, theirs */
	uint64_t cpu_time;		/* ns of the CPUs that are recorded */
	uint64_t unrecorded;		/* ns of the CPUs that are not */
	uint64_t runnable;		/* ns of threads running or waiting, but the recorder's */
	uint64_t switches;		/* the idle task's are never counted */
	uint64_t page_events, pages;
	uint64_t calls, failed;		/* returned in it; failed ones are among the calls */
	uint64_t cuda;			/* ns inside good top-level calls, over all threads */
	/*
	 * Good calls that returned in it, without the first of each process and operation: of the
	 * top level, or where operations are selected, of these on any level.
	 */
	uint64_t n, p50, p99, max;	/* 0 when n is */
	bool has_memory;
	uint64_t available;		/* bytes: the last sample in or before it */
	uint64_t steal, sampled;	/* ns over all CPUs by /proc/stat, spread between samples */
	bool calls_lossy, switches_lossy, pages_lossy;	/* something was lost in it */
};

struct series_cpu { uint64_t busy, idle, unrecorded; };	/* ns; busy as in series_step */

struct series {
	uint64_t step;			/* ns */
	struct series_step *steps; size_t count;
	struct series_cpu *cpus;	/* count of them for each CPU of the recording */
};

struct series_pages { uint64_t events, pages; };

/* Page allocations of one process. */
struct series_growth {
	uint32_t process;
	size_t first, count;		/* steps its life touches; at least one */
	struct series_pages *steps;	/* count of them */
	uint64_t begin, end;		/* its life in the span, ts */
	bool forked;			/* it was forked in the span and never exec'd */
	struct series_pages all, tenths[10], first_second;	/* tenths of its life */
};

struct series_memory {
	uint64_t step;
	struct series_growth *processes; size_t count;	/* in the order of report.order */
	struct series_pages *cells;	/* private */
};

/* The step of timelines, from text or NULL. ERROR_USAGE: cannot be used, with one that can. */
int series_step(const struct report *r, const char *text, uint64_t *step, struct error *e);
/* The same of memory by process. */
int series_memory_step(const struct report *r, const char *text, uint64_t *step, struct error *e);

/*
 * step: of the function above. rows: of table switch held in memory at once; TIMELINE_ROWS.
 * ERROR_MEMORY; release in either case.
 */
int series_load(struct series *s, struct report *r, uint64_t step, size_t rows);
void series_release(struct series *s);

int series_memory_load(struct series_memory *m, struct report *r, uint64_t step);
void series_memory_release(struct series_memory *m);
#endif
