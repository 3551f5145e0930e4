/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_EDGES_H
#define INGERO_REPORT_EDGES_H
/*
 * What lies just outside a narrowed span and tells what went on at its ends: of each CPU the row
 * before the span and the one after it, and of each thread the row of its first return after it.
 * Only as much of the file is read as that takes: the next keyframe vouches for threads that sleep
 * on. Nothing where the recording was not narrowed; no returns where CPUs are left out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "keyframes.h"
#include "recording.h"
#include "tasks.h"

struct tally;

struct edge_row { struct row_switch row; uint32_t cpu; };

struct edge_cpu {
	bool before, after;		/* whether there is such a row */
	uint64_t before_ts, before_tid;	/* when, and who came with the one before the span: */
	uint32_t came;			/* the thread */
	struct edge_row next;		/* the one after it */
	uint32_t left;			/* the thread that left with it */
};

enum edge_thread {
	EDGE_UNKNOWN = 0,		/* nothing was found after the span */
	EDGE_LEFT,			/* it leaves a CPU next: it was on it */
	EDGE_RETURNED,			/* it comes on a CPU next */
	EDGE_NEVER,			/* nothing until the end of the recording */
};

struct edges {
	struct edge_cpu *cpus;		/* recording.cpus; NULL: not narrowed */
	uint8_t *threads;		/* by thread: enum edge_thread */
	uint32_t *returned;		/* by thread: with EDGE_RETURNED place + 1 in returns */
	struct edge_row *returns; size_t return_count, return_capacity;
};

/* tallies: of the span, by thread. ERROR_MEMORY; release in either case. */
int edges_load(struct edges *e, struct recording *r, const struct tasks *t,
	       const struct keyframes *k, const struct tally *tallies);
void edges_release(struct edges *e);

/* The row of the thread's return, or NULL. */
static inline const struct edge_row *edges_return(const struct edges *e, uint32_t thread)
{
	return e->returned && e->returned[thread] ? &e->returns[e->returned[thread] - 1] : NULL;
}
#endif
