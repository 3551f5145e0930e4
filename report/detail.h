/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_DETAIL_H
#define INGERO_REPORT_DETAIL_H
/*
 * One CUDA operation in detail: its calls by thread, by size, by kind of copy and by stream, how
 * their durations are spread, and the slowest of them with where each one's time went.
 *
 * Which calls count where is as in latency.h. Of the selected threads' calls that returned in the
 * span:
 *
 *	calls	all of them; nested and failed are among them
 *	n	good calls, nested ones included, without the first of each process whose start is
 *		recorded (of several that began and ended together the one of the lowest TID):
 *		p50, p99, max and the histogram rest on these
 *	total	time of good top-level calls, the first included
 *	bytes	asked for by good calls, nested and first ones included; inside is the time of those
 *		among them that say a size
 *
 * Each partition has every call in exactly one class, so that sums over it are the operation's own.
 * Percentiles are exact, nearest rank. Durations are not kept: the calls are read again for them,
 * a few bits at a time, so that memory does not grow with the number of calls.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../common/error.h"
#include "chains.h"
#include "report.h"

#define DETAIL_SLOWEST 10
#define DETAIL_SLOWEST_MAX 1000
#define DETAIL_CLASSES_MAX 16384	/* a partition with more is left whole, as one class */
#define DETAIL_BINS 59			/* below 1 ns, 1 to below 2, 2 to 5, 5 to 10, 10 to 20 */

enum detail_partition { DETAIL_THREAD, DETAIL_SIZE, DETAIL_KIND, DETAIL_STREAM, DETAIL_PARTITIONS };

/* Keys. size: of calls that say none, of 0 bytes, then 2 + n for 2^n to 2^(n+1) - 1 bytes. */
#define DETAIL_SIZE_NONE 0
#define DETAIL_SIZE_ZERO 1
#define DETAIL_NONE UINT64_MAX		/* kind, stream: not recorded, or the operation has none */
#define DETAIL_KIND_OTHER 5		/* no cudaMemcpyKind */
#define DETAIL_STREAM_DEFAULT 0
#define DETAIL_STREAM_LEGACY 1		/* cudaStreamLegacy */
#define DETAIL_STREAM_THREAD 2		/* cudaStreamPerThread, or the default of _ptsz functions */

struct detail_class {
	uint32_t process;		/* thread, stream; TASKS_UNKNOWN elsewhere */
	uint64_t key;			/* place of thread in tasks, size, cudaMemcpyKind, handle */
	uint64_t calls, failed, nested, good, n;
	uint64_t total, inside, bytes;
	uint64_t p50, p99, max;		/* 0 where n is */
};

struct detail_call {
	uint64_t start, end, bytes, stream, kind;	/* stream, kind: as the keys */
	int64_t code;
	uint32_t thread, process, tid, depth;
	bool sized, good, first;	/* sized: it says a size */
};

struct detail {
	const struct latency_row *row;	/* of the report: all processes */
	struct detail_class whole;	/* without percentiles, which are in row */
	/* Threads and streams: most total time first, then most calls; sizes, kinds: in order. */
	struct detail_class *classes[DETAIL_PARTITIONS]; size_t counts[DETAIL_PARTITIONS];
	bool folded[DETAIL_PARTITIONS];	/* more than DETAIL_CLASSES_MAX: left whole, key 0 */
	uint64_t bins[DETAIL_BINS];
	/* Longest first; failed and first ones too. */
	struct detail_call *slowest; size_t slowest_count;
	struct call_account *accounts;	/* of these */
};

/* Where bin i begins, in ns; it ends where the next one begins, the last one never. */
uint64_t detail_bin(size_t i);

/*
 * The operation called name, exactly, or else but for case, or else the only one that contains it:
 * its row over all processes. option: whose argument name is. ERROR_USAGE when there is none, with the nearest names as a hint.
 */
int detail_find(const struct report *r, const char *option, const char *name,
		const struct latency_row **row, struct error *e);
/* slowest: how many calls, DETAIL_SLOWEST_MAX at most. ERROR_MEMORY; release in either case. */
int detail_load(struct detail *d, struct report *r, const struct latency_row *row,
		uint64_t slowest);
void detail_release(struct detail *d);
#endif
