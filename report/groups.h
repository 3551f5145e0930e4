/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_GROUPS_H
#define INGERO_REPORT_GROUPS_H
/*
 * Sums over threads: of one process, and of workers of one kind that a main makes anew again and
 * again, as a DataLoader does each epoch without persistent_workers. Only what the selection
 * admits is summed.
 *
 * Workers are of one kind as roles.h has it. They are short-lived, and one group, when there are
 * at least GROUP_PROCESSES of them in at least GROUP_GENERATIONS generations. Generations are the
 * most workers of which no two lived at the same time. A worker whose birth is not recorded lived
 * since the start of the recording, one without an end until its end. One that is born in the very
 * nanosecond in which another ends does not overlap it.
 *
 * Start-up of a worker is the time from its birth until its first thread first waits for another
 * thread (see struct thread_account), as chains have it; before that it cannot have been given
 * any work that it had to wait for. Medians are the lower ones: of n values number (n + 1) / 2.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "procs.h"

#define GROUP_PROCESSES 5
#define GROUP_GENERATIONS 2
#define GROUP_NONE UINT32_MAX

struct report;

struct thread_sum {
	const char *name;		/* all have it */
	uint64_t processes, threads;
	struct account a;
	uint64_t life;			/* ns, summed over the threads */
	uint64_t begin, end;		/* the first birth, the last end: inside the span */
	bool alive;			/* one at least, at the end of the span */
	uint64_t calls;			/* CUDA calls that returned */
	uint64_t call_time;		/* ns in good top-level calls; 0 for threads */
};

/* The median of those of which it is recorded. */
struct group_median { uint64_t ns; size_t n; };

struct worker_group {
	uint32_t main;			/* the process that made them */
	uint32_t *members; size_t count;	/* processes, by birth; as many as are selected */
	uint64_t generations, at_once;	/* at_once: the most alive at the same time */
	struct group_median lifetime, startup;
	struct thread_sum sum;
	/* One for each name of a thread, what ran most first. */
	struct thread_sum *threads; size_t thread_count, thread_capacity;
};

struct worker_groups {
	struct worker_group *list; size_t count;
	uint32_t *of;			/* by process: place in list, or GROUP_NONE */
};

/*
 * Finds the groups among r->order. ERROR_MEMORY; release in either case.
 */
int worker_groups_load(struct worker_groups *g, const struct report *r);
void worker_groups_release(struct worker_groups *g);

/* The group that stands for the process in tables, or NULL: none, or r->no_group. */
const struct worker_group *worker_group_of(const struct report *r, uint32_t process);

/* Of the process's selected threads; name is the process's. */
void thread_sum_process(const struct report *r, uint32_t process, struct thread_sum *sum);
void thread_sum_thread(const struct report *r, uint32_t thread, struct thread_sum *sum);

/* The most of these processes that were alive at the same time. ERROR_MEMORY. */
int processes_at_once(const struct tasks *t, const uint32_t *processes, size_t count,
		      uint64_t *most);
#endif
