/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_BLAME_PRIVATE_H
#define INGERO_REPORT_BLAME_PRIVATE_H
/*
 * What blame.c (who had a window's time) and blame_sum.c (sums over windows) share.
 */
#include "blame.h"

#define BLAME_HINTS 256			/* of pieces_begin() and slices_begin(), by thread and CPU */
#define BLAME_LOCAL 128			/* different parts of one window, before they are handed on */

/* One window being taken apart. */
struct blame_window {
	const struct blame *blame;
	const struct timeline *timeline;
	const struct window *window;
	const struct window_group *group;
	const struct blame_watch *watch;	/* or NULL */
	struct part parts[BLAME_LOCAL]; size_t part_count;
	struct part most;			/* the largest of those handed on; ns 0: none */
	int (*hand_on)(void *context, const struct part *p); void *context;
	int failure;				/* what hand_on returned */
	uint64_t states[LOST_STATES];
	uint32_t longest_cpu; uint64_t longest;	/* where it ran longest at a stretch */
	uint64_t switches, major_faults, migrations, page_events, pages;
	uint64_t startup_from, startup_until;	/* while the thread made workers: to the last one's birth; 0, 0 */
	uint32_t path[CHAINS_HOPS + 1];		/* threads from the feeding one to whose time is looked at */
	size_t thread_hints[BLAME_HINTS], cpu_hints[BLAME_HINTS];
	unsigned int budget;			/* pieces of other threads that are still looked at */
};

/* Fill in states and figures of w->window; every part of it is handed on. Returns what hand_on did. */
int blame_take_apart(struct blame_window *w);
#endif
