/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_MADE_H
#define INGERO_MADE_H
/*
 * Recordings made by hand for tests of report/: a row a call, then the report on them. The span
 * is MADE_START to MADE_END unless the test says otherwise; page size 4096; two CPUs. Operations
 * 1 to 4 are there: cudaLaunchKernel, cudaStreamSynchronize, cudaStreamQuery (a query),
 * cuLaunchKernel. All of it ends the test program when the disk does not play along.
 */
#include <stdbool.h>
#include <stdint.h>
#include "common/writer.h"
#include "report/report.h"

#define MADE_START 1000000ull
#define MADE_END 2000000ull

struct made { char *path; struct writer *writer; };

void made_begin(struct made *m);
void made_fact(struct made *m, const char *key, const char *value);

/* event TASK_EVENT_*; start is both the thread's and its process's unless set in between. */
void made_task(struct made *m, uint64_t event, uint64_t ts, uint64_t tid, uint64_t tgid,
	       uint64_t start, uint64_t flags, const char *name);
void made_task_row(struct made *m, struct row_task row, const char *name);
/* A process of the tree that was there before. */
void made_process(struct made *m, uint64_t pid, const char *name);

/* prev_state as on disk. */
void made_switch(struct made *m, uint32_t cpu, uint64_t ts, uint64_t prev, uint64_t prev_state,
		 uint64_t next, uint64_t off, uint64_t wait);
void made_call(struct made *m, uint64_t end, uint64_t duration, uint64_t tid, uint64_t operation,
	       uint64_t depth, int64_t code);
void made_state(struct made *m, uint64_t ts, uint64_t tid, uint64_t cpu, enum thread_state state,
		uint64_t since, uint64_t runnable_since);
void made_open_call(struct made *m, uint64_t ts, uint64_t tid, uint64_t operation,
		    uint64_t start);
void made_coverage(struct made *m, uint64_t cpu, uint64_t until);

/* Close the file (or leave it unclosed), read it, and remove it; then report_release(). */
void made_report(struct made *m, bool closed, struct report *r);
void made_report_of(struct made *m, bool closed, const struct report_options *options,
		    struct report *r);

/* What the tests ask for; the test program ends when it is not there. */
const struct process_account *made_process_account(const struct report *r, uint32_t pid);
const struct thread_account *made_thread_account(const struct report *r, uint32_t tid);
/* pid 0: over all processes. NULL when there is none. */
const struct latency_row *made_row(const struct report *r, uint32_t pid, const char *operation);
#endif
