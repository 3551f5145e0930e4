/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_WAITS_H
#define INGERO_REPORT_WAITS_H
/*
 * Who waited for whom. The time each waiter was off the CPU is cut into pieces: while it was
 * runnable, by who ran on the CPU it waited for; while it slept, by what ended the sleep. The
 * pieces of a waiter add up to the waiting and the blocked time of its threads (procs.h), to the
 * nanosecond.
 *
 * A waiter is a process, or a group of short-lived workers (groups.h) unless r->no_group. Of a
 * main, whose own threads wait for each other, the leader and each thread that made CUDA calls are
 * waiters of their own, and the others of one name are one. What ran or woke is a process or group,
 * or a thread where it is of the waiter's own process. With --tree-only those outside the tree are
 * one, process TASKS_UNKNOWN. Waiters are the processes of report.order, their selected threads
 * only.
 *
 * Nothing is followed further: a thread that was woken by another waited for it, whatever that
 * one had been waiting for itself. Chains do that (chains.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "report.h"

#define WAITS_OWN (TASKS_NONE - 1)	/* a thread of the same process, not told which */

enum wait_how {
	/* runnable: */
	WAIT_RAN = 1,		/* who it waited for had the CPU */
	WAIT_LATENCY,		/* nobody had it: wake-up latency */
	WAIT_THROTTLED,		/* the CPU quota was used up */
	WAIT_UNRECORDED,	/* who had it is not recorded */
	/* asleep, until: */
	WAIT_WOKEN,		/* who it waited for woke it */
	WAIT_DISK,
	WAIT_NETWORK,
	WAIT_TIMER,		/* a sleep or a time limit ran out */
	WAIT_INTERRUPT,		/* of another device, or of an unknown kind */
	WAIT_UNKNOWN,		/* what ended it is not recorded */
	WAIT_OPEN,		/* still asleep at the end of the recording */
	WAIT_HOWS,
};

struct waiter {
	uint32_t process;	/* of a group the first */
	uint32_t thread;	/* one thread, or TASKS_NONE */
	const char *name;	/* of the thread or threads; where it is all, of the process */
	bool whole;		/* all threads of the process or group */
	bool calls;		/* made CUDA calls */
	uint64_t threads;	/* selected ones in it */
	uint64_t waiting, blocked;	/* as in procs.h */
	size_t first, count;	/* of its pieces in waits.pieces, most time first */
};

struct wait_piece {
	uint32_t waiter;
	enum wait_how how;
	/*
	 * Who, for RAN and WOKEN. thread: of the waiter's own process, the first of those that are
	 * one waiter with it; WAITS_OWN of a group's; TASKS_NONE: all of the process.
	 */
	uint32_t process, thread;
	uint64_t threads;	/* that thread stands for */
	uint64_t ns;
	uint64_t count;		/* off-CPU periods it was a part of */
	uint64_t longest;	/* of one period; ns */
};

struct waits {
	struct waiter *waiters; size_t count;	/* with calls first; then most time off the CPU */
	struct wait_piece *pieces; size_t piece_count;
};

static inline bool wait_how_runnable(enum wait_how how)
{
	return how <= WAIT_UNRECORDED;
}

/* rows: of table switch in memory at once; TIMELINE_ROWS. ERROR_MEMORY; release in either case. */
int waits_load(struct waits *w, struct report *r, size_t rows);
void waits_release(struct waits *w);
#endif
