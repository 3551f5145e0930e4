/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BLAME_JOB_H
#define BLAME_JOB_H
/*
 * The job of the planted cases: a thread that feeds the device batch by batch, and around it, as
 * the options say, worker processes that make the batches, a feeder thread that hands them on, a
 * thread that shares a lock with it. All times of options are us, CPUs -1 for any.
 */
#include <pthread.h>
#include "clock.h"

struct job {
	/* the feeding thread */
	long batches, epochs, launches, bursts, burst_every, copy, fresh_every, wait_ms;
	long work, work_every, idle, rare_every, rare, cpu, think, write;
	bool delays;
	const char *stat;
	/* workers: what each does for a batch */
	long workers, prefetch, make, sleep, read, batch, startup, straggler, straggler_make;
	long worker_cpu, worker_nice, busy;
	bool feeder, push;
	const char *file;
	/* the sibling thread */
	long hold, rest, sibling_cpu, sibling_nice;
};

extern struct job job;

/* Start the workers, and for their batches take one; workers_end waits for them. */
void workers_start(void);
void workers_take(void);
void workers_end(void);

/* Processes that are busy from here to busy_end(). */
void busy_start(void);
void busy_end(void);

/* The thread that holds the lock for job.hold us of CPU, rests, and so on. */
void sibling_start(void);
void sibling_lock(void);
#endif
