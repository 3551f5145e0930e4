/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_KEYFRAMES_H
#define INGERO_REPORT_KEYFRAMES_H
/*
 * What the keyframes say of the end of the span: what each thread was doing, and which calls
 * were open. A thread's own last keyframe counts: a call that is not in it any more has returned.
 *
 * Where the span was narrowed, the end lies between keyframes: the first one after it counts, if it
 * has the thread. One that misses a thread outside the tree says that its state is still that of
 * its last one. Open is then, too, what returned after the end.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tasks.h"

/*
 * The last keyframe row of a thread whose state began inside the span; ts 0: none. Of a span that
 * ends before the recording the first one after it, whenever its state began, else the last before.
 */
struct keyframe {
	uint64_t ts, since, runnable_since;
	uint64_t page_events, pages;		/* not yet in a row when it was taken */
	uint32_t cpu, state;			/* enum thread_state */
};

struct open_call {
	uint32_t thread, process, operation, probe, depth;
	uint64_t start, seen;		/* seen: when the keyframe found it */
	atomic_bool returned;		/* a row of its return was found: set by calls.c */
};

struct keyframes {
	struct keyframe *threads;	/* by thread, thread_count of tasks */
	size_t capacity;
	struct open_call *calls;	/* by thread, then start */
	size_t call_count, call_capacity;
	/* After a span that ends before the recording: when the next keyframe was taken; 0 none. */
	uint64_t next_begin, next_end;
};

/* Adds to tasks the threads that only keyframes know. ERROR_MEMORY. */
int keyframes_load(struct keyframes *k, struct tasks *t, struct recording *r);
void keyframes_release(struct keyframes *k);
#endif
