/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_PARALLEL_H
#define INGERO_REPORT_PARALLEL_H
/*
 * Runs numbered jobs on all cores. Workers take the jobs in ascending order, each when it is
 * done with the one before; what a worker gathers belongs to it alone until parallel_run()
 * returns.
 */
#include <stddef.h>

/* Workers that parallel_run() will use: the online CPUs this process may use, 1 to 64. */
unsigned int parallel_workers(void);

/*
 * Call run(context, worker, job) for every job of 0 .. jobs - 1. Returns 0, or the first
 * negative value a job returned, after which no new job is begun.
 */
int parallel_run(size_t jobs, int (*run)(void *context, unsigned int worker, size_t job),
		 void *context);
#endif
