/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_CHAINS_H
#define INGERO_REPORT_CHAINS_H
/*
 * Cause-to-effect chains: where the feeding threads lost time, who took it, and how sure that is.
 * Nothing here prints.
 *
 * A feeding thread is one that made CUDA calls; its active span goes from its first call to its
 * last. Lost time is found in windows on it: slow calls, slow gaps between calls, and gaps in
 * which the device is known to have nothing to do (starvation). Windows are disjoint. Windows of
 * one kind and place are an effect; effects with the same verdict are one chain. For each chain
 *
 *   account:  lost = running + waiting + wake latency + throttled + blocked + unrecorded + unexplained
 *   causes:   the same time by who took it; what has no cause is account.unexplained
 *
 * to the nanosecond. All times are ns; points in time are CLOCK_MONOTONIC.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "chain.h"

enum cannot_reason {
	CANNOT_LOST_CALLS = 1,		/* calls were lost in its windows */
	CANNOT_LOST_SWITCHES,		/* switches were lost, or time is unrecorded, in its windows */
	CANNOT_NO_SWITCHES,		/* there are no context switches in the file */
	CANNOT_NO_CALLS,		/* no CUDA calls at all */
	CANNOT_FEW_CALLS,		/* fewer than ten of any operation: nothing to compare with */
	CANNOT_CPUS_LEFT_OUT,		/* narrowed to some CPUs: threads go out of sight */
};

/* Lost time of which nothing can be said. */
struct cannot_tell {
	enum cannot_reason reason;
	uint32_t process;			/* TASKS_UNKNOWN: the whole recording */
	const struct operation *operation;	/* the worst of the effects; NULL: all */
	uint64_t lost, span, missing;		/* missing: ns of lost that are not recorded, or rest on lost rows */
};

/* A process with feeding threads. */
struct chains_feeding {
	uint32_t process, threads;
	uint64_t span;				/* active spans of its feeding threads */
	bool idle_unknown;
};

struct chains {
	struct chain *chains; size_t count;	/* MEDIUM and HIGH, by process as tables list them, most lost first */
	struct chain *small; size_t small_count;	/* LOW: 1 to 3 %, and such as are no host problem */
	struct cannot_tell *cannot; size_t cannot_count;
	size_t left_out;			/* chains that chains_narrow() has taken away */
	bool quiet;				/* no chains, nothing that cannot be told */
	/* A process that gives the device work is never seen to wait for all of it: starvation would not show. */
	bool idle_unknown;
	uint64_t span;				/* active spans of all feeding threads */
	uint32_t feeding_threads;
	struct chains_feeding *feeding; size_t feeding_count;	/* the parts of the last three */
};

struct report;

/* After everything else of r is loaded. ERROR_MEMORY; release in either case. */
int chains_load(struct chains *c, struct report *r);
/*
 * Keep what is of processes with calls in r->latency, and has an effect of a selected operation:
 * once r->latency is narrowed to r->selection. ERROR_MEMORY.
 */
int chains_narrow(struct chains *c, const struct report *r);
void chains_release(struct chains *c);

/* One call taken apart: its stretches in time order, those of a hop after the one that led there. */
struct explanation {
	uint32_t process, thread;
	const struct operation *operation;
	uint64_t start, end, p50;
	struct stretch *stretches; size_t count, capacity;
	bool cut;			/* more stretches than are kept */
	struct cause *causes; size_t cause_count;
};

/*
 * The call of operation that was running at, or began next after, at (ts); the longest one where
 * at is 0. operation: API name. ERROR_SYSTEM when there is none (nothing is set); ERROR_MEMORY.
 */
int chains_explain(struct explanation *x, struct report *r, const char *operation, uint64_t at);
void explanation_release(struct explanation *x);

/* Where the time of one call went, by what its thread did: the five add up to its duration. */
struct call_account {
	uint32_t process, thread;		/* of the call; the caller sets it up to end */
	const struct operation *operation;
	uint64_t start, end;
	uint64_t running, waiting, blocked;	/* waiting: throttled and wake-up latency too */
	uint64_t device;			/* synchronising: for the device, running or not */
	uint64_t unrecorded;			/* before the span too */
	/* The kind that took most of it, by who took most of that; CAUSE_NONE: nothing known. */
	struct cause cause;
	uint64_t cause_ns;			/* of that kind, whoever took it */
};

/* Fill in the accounts of calls, in one pass over the switches. ERROR_MEMORY. */
int chains_account(struct call_account *calls, size_t count, struct report *r);
#endif
