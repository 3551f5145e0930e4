/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_DIFF_LOAD_H
#define INGERO_REPORT_DIFF_LOAD_H
/*
 * How the summary of a recording is made, part by part; and the cells of time and buckets of
 * durations that its sums stand in.
 */
#include "diff_run.h"

#define DIFF_BUCKET_BITS 7		/* buckets an octave: 128 */
_Static_assert(DIFF_BUCKETS == (64 - DIFF_BUCKET_BITS + 1) << DIFF_BUCKET_BITS, "all of 64 bits");

/* --- parts of diff_run_load(), in this order. All return 0 or ERROR_MEMORY. */

/* Steady part, operations, cell_calls. */
int diff_calls_load(struct diff_run *run, struct report *r);
/* Roles, outsiders, the machine. */
int diff_switches_load(struct diff_run *run, struct report *r);
/* Starvation, shares, places, chains' cells. */
int diff_account_load(struct diff_run *run, struct report *r);
/* What may not be the same about two recordings. */
int diff_facts_load(struct diff_run *run, struct report *r);

/* --- cells */

/* First moment of a cell; of DIFF_CELLS the end. */
static inline uint64_t diff_cell_start(const struct diff_run *run, size_t cell)
{
	unsigned __int128 span = run->end - run->start;

	return run->start + (uint64_t)(span * cell / DIFF_CELLS);
}

/* The cell of a moment of the steady part. */
static inline size_t diff_cell(const struct diff_run *run, uint64_t ts)
{
	unsigned __int128 at = ts - run->start;
	size_t cell = (size_t)(at * DIFF_CELLS / (run->end - run->start + 1));

	/* Where both roundings differ. */
	while (cell && diff_cell_start(run, cell) > ts)
		cell--;
	while (cell + 1 < DIFF_CELLS && diff_cell_start(run, cell + 1) <= ts)
		cell++;
	return cell;
}

static inline bool diff_steady(const struct diff_run *run, uint64_t ts)
{
	return ts >= run->start && ts < run->end;
}

/* Add the time of [from, to) to the cells it lies in. */
void diff_spread(const struct diff_run *run, uint64_t *cells, uint64_t from, uint64_t to);

static inline size_t diff_bucket(uint64_t ns)
{
	unsigned int shift = ns >> (DIFF_BUCKET_BITS + 1) ?
			     63u - DIFF_BUCKET_BITS - (unsigned int)__builtin_clzll(ns) : 0;

	return ((size_t)shift << DIFF_BUCKET_BITS) + (size_t)(ns >> shift);
}

/* Smallest duration of a bucket; the next one's is the first beyond it. */
static inline uint64_t diff_bucket_start(size_t bucket)
{
	size_t shift = bucket >> DIFF_BUCKET_BITS;

	if (shift < 2)
		return bucket;
	shift--;
	return (uint64_t)(bucket - (shift << DIFF_BUCKET_BITS)) << shift;
}
#endif
