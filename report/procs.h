/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_PROCS_H
#define INGERO_REPORT_PROCS_H
/*
 * Where the time of every thread and CPU went, and what pages they took, from tables switch,
 * page and state. For each thread running + waiting + blocked + unrecorded is its life inside
 * the span, to the nanosecond: running comes from the CPUs' rows, waiting and blocked from what
 * the row of its return says, and unrecorded is the rest.
 *
 * A CPU's rows tile the span. A tile is running time of the thread that came with the row before
 * it only if the same thread leaves with the row after it; otherwise rows are missing (a chain
 * break) and the tile is unrecorded.
 *
 * An off-CPU period ends with a row whose next_off is known, or, still open, with the span.
 * The off_* figures count both kinds; what it was before the span began is not in it.
 *
 * Where the span is a part of the recording, its neighbours in the file (edges.h) tell what lies
 * across its ends: times and counts of consecutive spans add up to those of the recording. Where
 * CPUs are left out (partial), threads have what the rows of the others say, and unrecorded is 0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "edges.h"
#include "keyframes.h"
#include "recording.h"
#include "tasks.h"

#define PROCS_STALLS 5		/* kept of each process of the tree */

struct account {
	uint64_t running, waiting, blocked, unrecorded;
	uint64_t voluntary, involuntary;
	uint64_t off_periods, off_max, off_max_end;	/* end: ts */
	uint64_t arrivals;		/* off-CPU periods that ended with a row */
	uint64_t page_events, pages;
	uint64_t breaks;		/* chain breaks this took part in */
};

struct thread_account {
	struct account a;
	uint64_t begin, end;		/* its life inside the span */
	bool alive;			/* at the end of the span */
	/*
	 * ts at which, having run, it first fell asleep until another thread woke it, waits for
	 * block I/O aside; UINT64_MAX: never, as far as is recorded. Of threads of the tree only.
	 * A worker is starting up until then.
	 */
	uint64_t first_wait;
	bool off;			/* off the CPU at the end: */
	uint32_t off_cpu;		/* where it waits; UINT32_MAX not known */
	uint64_t off_since, off_runnable;	/* since when; runnable since when: end if it is not */
};

struct stall { uint64_t end, off, wait; uint32_t thread; bool open; };	/* end: ts */

struct process_account {
	struct account a;		/* sum over threads, max of off_max */
	uint64_t begin, end;
	struct stall stalls[PROCS_STALLS];	/* longest first; off 0: none */
};

struct cpu_account {
	uint64_t busy, idle, unrecorded, span, rows, breaks;
	bool present;
	bool told;			/* by rows around a narrowed span; it has none in it */
	/* Threads that had it before its first row, and after its last, until last_end. */
	uint32_t first, last;
	uint64_t last_end;
};

struct procs {
	struct thread_account *threads;		/* by thread */
	struct process_account *processes;	/* by process */
	struct cpu_account *cpus;		/* by CPU, recording.cpus */
	bool partial;				/* CPUs are left out */
	struct edges edges;			/* of a narrowed span */
	uint64_t rows, breaks;
	uint64_t inconsistent;		/* threads whose parts exceed their life: unrecorded is 0 */
	uint64_t recorder_running, recorder_waiting;
	uint64_t running, waiting;	/* of all threads but the recorder's and the idle ones */
};

/* stalling: a bit per thread whose stalls are kept, or NULL for all of the tree. ERROR_MEMORY. */
int procs_load(struct procs *p, struct recording *r, const struct tasks *t,
	       const struct keyframes *k, const uint64_t *stalling);
void procs_release(struct procs *p);

/* Whether the process lived in the span: it may have ended before, where that was narrowed. */
static inline bool process_in_span(const struct procs *p, uint32_t process)
{
	const struct process_account *a = &p->processes[process];

	return a->end > a->begin || a->a.voluntary || a->a.involuntary || a->a.arrivals;
}

/* Sums, and the larger off_max. */
void account_add(struct account *to, const struct account *from);
/* Mean of the off-CPU periods in ns, 0 without any. */
static inline uint64_t account_off_mean(const struct account *a)
{
	return a->off_periods ? (a->waiting + a->blocked) / a->off_periods : 0;
}
#endif
