/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_LATENCY_H
#define INGERO_REPORT_LATENCY_H
/*
 * CUDA calls per process and operation, and per operation over all processes.
 *
 * A call is good when it returned 0, or "not ready" from an operation that asks. Percentiles and
 * max rest on the good calls, nested ones included; where the start of the process is recorded,
 * its first good call of the operation (the one that began first) is left out and stands apart.
 * Percentiles are exact: nearest rank on all durations. These are kept in memory up to
 * LATENCY_KEEP of them; beyond that the calls are read again, some groups at a time.
 *
 * With a selection only calls of its threads and operations count. The first call stays that of
 * the process, so that the parts of a process add up to it: it is left out where its thread made
 * it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "keyframes.h"
#include "recording.h"
#include "select.h"
#include "tasks.h"

#define LATENCY_KEEP (20u << 20)	/* durations, of 4 bytes */
#define LATENCY_COUNT 0		/* keep none: all figures but the percentiles, which are 0 */
#define LATENCY_ALL UINT32_MAX		/* process of the rows over all processes */

struct latency_row {
	uint32_t process;		/* or LATENCY_ALL */
	const struct operation *operation;
	uint64_t calls;			/* returned; nested and failed ones are among them */
	uint64_t failed, nested, open;
	uint64_t good;
	uint64_t total;			/* ns of good top-level calls, the first included */
	bool has_first;
	uint64_t first;			/* ns */
	uint64_t first_ts;		/* when it began */
	uint64_t firsts;		/* of rows over all: how many first calls were left out */
	uint64_t n;			/* what p50, p95, p99 and max rest on; they are 0 without */
	uint64_t p50, p95, p99, max;
	uint64_t bytes;			/* asked for by good calls that say so, nested ones included */
};

/* How a call that never returned came to be one. */
enum open_reason { OPEN_AT_END = 1, OPEN_THREAD_ENDED = 2, OPEN_ABANDONED = 3 };

struct latency_open {
	uint32_t process, thread;
	const struct operation *operation;
	enum open_reason reason;
	uint32_t depth;
	uint64_t start, age;
};

struct latency_error {
	uint32_t process;		/* or LATENCY_ALL */
	const struct operation *operation;
	int64_t code;
	uint64_t count;
};

struct latency {
	struct latency_row *rows; size_t row_count;	/* all processes first, then by process */
	struct latency_open *open; size_t open_count, open_capacity;	/* oldest first */
	struct latency_error *errors; size_t error_count;	/* in the same order */
	uint64_t *process_calls;	/* by process: calls that returned */
	uint64_t *process_time;		/* by process: total of its rows */
	uint64_t *thread_calls;		/* by thread: calls that returned */
	uint64_t calls;			/* rows of calls that returned */
	uint64_t unknown_operations;	/* rows whose operation the file does not name */
	struct operation unnamed;	/* stands in for these */
};

/*
 * s: NULL for all calls. keep: LATENCY_KEEP, or less for tests; or LATENCY_COUNT. keyframes: marks
 * calls that returned. ERROR_MEMORY.
 */
int latency_load(struct latency *l, struct recording *r, const struct tasks *t,
		 struct keyframes *k, const struct selection *s, size_t keep);
void latency_release(struct latency *l);
#endif
