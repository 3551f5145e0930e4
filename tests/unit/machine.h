/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_MACHINE_H
#define INGERO_MACHINE_H
/*
 * A small machine of CPUs and threads that is moved on by chance, step by step, and writes the
 * rows a recorder would have written. What each thread and CPU really did is kept on the side,
 * as far as the rows can tell it: what a row without storage hides is unrecorded.
 */
#include <stddef.h>
#include <stdint.h>
#include "made.h"
#include "report/timeline.h"

#define MACHINE_CPUS 4
#define MACHINE_THREADS 24
#define MACHINE_TID 100			/* of the first thread; each is a process of its own */

struct machine_options {
	uint64_t seed;
	uint32_t cpus, threads, steps;	/* threads: at most; some are born on the way */
	uint32_t unknown;		/* percent of the returns without storage */
	uint32_t lost;			/* percent of the rows: no truth is kept then */
	uint32_t mute;			/* percent of the threads without keyframes */
};

/* Of a thread: state and CPU (0 unless running or waiting); of a CPU: tid, 0 idle. */
struct stretch_truth { uint64_t start, end; enum piece_state state; uint32_t cpu, tid; };
struct life_truth { struct stretch_truth *list; size_t count, capacity; };

struct machine_truth {
	struct life_truth threads[MACHINE_THREADS], cpus[MACHINE_CPUS];
	uint32_t thread_count;
	uint64_t end, rows;
	/* How often, so that none is missed. */
	uint64_t early, migrated, unknown, births, deaths, preempted;
};

/* Writes into m, which was begun. */
void machine_run(struct made *m, const struct machine_options *o, struct machine_truth *t);
void machine_release(struct machine_truth *t);
/* Adds a stretch; joins it to the last one if that is the same state there; nothing if empty. */
void life_add(struct life_truth *l, const struct stretch_truth *s);
#endif
