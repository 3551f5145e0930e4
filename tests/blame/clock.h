/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BLAME_CLOCK_H
#define BLAME_CLOCK_H
/*
 * What a planted program knows of its own time: intervals with a name, on CLOCK_MONOTONIC, kept in
 * memory and written at the end to $BLAME_LOG/PROGRAM.PID as lines "NAME START END".
 */
#include <signal.h>
#include "../workloads/workload.h"

/* Where the clock jumps by more, a busy loop asks whether it had to leave its CPU. */
#define CLOCK_BREAK_NS 60000

/* Set by the signal of clock_stop_on. */
extern volatile sig_atomic_t clock_stop;

/* Begin anew; in a child, forget what the parent has seen. name also becomes the thread's. */
void clock_open(const char *name);
/* Any thread. The name must stay. */
void clock_note(const char *name, uint64_t start, uint64_t end);
/*
 * To be called all the time by a loop that never sleeps; notes each stretch that it had a CPU for,
 * the last one excepted: start to last. Time in which the machine itself did not run, or an
 * interrupt did, counts as running, and is noted as "stolen" besides.
 */
struct clock_run {
	uint64_t start, last;
	long switches;
};
void clock_run(struct clock_run *r, const char *name);
/*
 * The same of a piece of work of always the same kind and length, in one thread: noted as "stolen"
 * is what it took beyond its least, where the thread has not switched since it was last asked.
 */
struct clock_piece {
	uint64_t least;
	long switches;
};
void clock_stolen(struct clock_piece *p, uint64_t start, uint64_t end);
/* Use cpu_ns of this thread's own CPU time, or run until told to stop; what it ran is noted. */
void clock_busy(uint64_t cpu_ns, const char *name);
void clock_stop_on(int number);
/* The file. Ends the program when there were too many intervals to keep. */
void clock_write(void);
#endif
