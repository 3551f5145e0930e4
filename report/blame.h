/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_BLAME_H
#define INGERO_REPORT_BLAME_H
/*
 * Takes the windows of a span apart: what the feeding thread was doing in each, and who had the
 * time. A block is followed to the thread that ended it and to what that thread was doing
 * meanwhile, over CHAINS_HOPS wake-ups at most; an interrupt ends the search by what it was.
 *
 * In a synchronising call the thread waits for the device, running or not. Of its time off the
 * CPU only a stretch can have cost anything that the call's return followed within
 * BLAME_SYNC_TAIL: any earlier one overlaps the device's work.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "roles.h"
#include "timeline.h"
#include "windows.h"

#define BLAME_SYNC_TAIL 100000	/* ns */

enum lost_state {
	LOST_RUNNING, LOST_WAITING, LOST_WAKE_LATENCY, LOST_THROTTLED, LOST_BLOCKED,
	LOST_DEVICE,		/* in a synchronising call, for the device: blocked as far as the account goes */
	LOST_UNRECORDED,
	LOST_STATES,
};

/* Time of a group's slow windows by state of the feeding thread and by who had it. */
struct part {
	uint32_t group;
	uint8_t state, kind, hops;		/* enum lost_state, cause_kind (CAUSE_NONE: not known) */
	uint32_t process, thread;		/* who; TASKS_UNKNOWN, TASKS_NONE: nobody */
	uint32_t path[CHAINS_HOPS + 1];		/* hops of them, the feeding thread first */
	uint64_t ns;
};

/* Sums over normal, or over slow, windows of a group. */
struct window_sum {
	uint64_t windows, ns, states[LOST_STATES];
	uint64_t page_events, pages;
};

struct group_tally {
	struct window_sum normal, slow;
	struct chain_evidence evidence;		/* of the slow ones; what is of the process is left 0 */
	uint64_t steal;				/* of the slow ones' running time, taken by the hypervisor */
	uint64_t lossy;				/* ns of slow windows in which rows were lost */
	struct chain_window worst[CHAINS_WORST]; size_t worst_count;
};

struct blame_worker;
struct steal;

/* Where and what rows were lost, in time order, not overlapping. */
struct lossy_span { uint64_t start, end; };

struct blame {
	const struct timeline *timeline;
	const struct tasks *tasks;
	const struct procs *procs;
	const struct roles *roles;
	const struct windows *windows;
	bool aarch64;				/* whose system call numbers these are */
	const struct lossy_span *lossy; size_t lossy_count;
	struct steal *steal;			/* NULL: not looked at */
	uint32_t *births; size_t birth_count;	/* worker processes, by birth */
	struct group_tally *tallies;		/* by group */
	struct part *parts; size_t part_count;	/* after blame_finish(): most first in each group, by group */
	struct blame_worker *workers; unsigned int worker_count;
	const struct window *list; size_t list_count;	/* being worked on */
	size_t sample;				/* of so many of them one has the load of the CPUs looked at */
};

/* ERROR_MEMORY; release in either case. The rest of b is set by the caller before. */
int blame_open(struct blame *b);
/* Add the windows, which lie in the timeline's span, sorted by thread and start. ERROR_MEMORY. */
int blame_windows(struct blame *b, const struct window *list, size_t count);
/* Unite what the workers found. ERROR_MEMORY. */
int blame_finish(struct blame *b);
void blame_release(struct blame *b);

/* Told of each stretch as it is attributed, and of the parts; part returns 0 or an error. */
struct blame_watch {
	void (*stretch)(void *context, const struct stretch *s);
	int (*part)(void *context, const struct part *p);
	void *context;
};

/* Take one window apart, which is added to nothing. Returns what part() did. */
int blame_one(struct blame *b, const struct window *w, const struct blame_watch *watch);
#endif
