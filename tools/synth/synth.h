/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_SYNTH_H
#define INGERO_SYNTH_H
/*
 * The invented machine behind ing-synth: processes, threads and CPUs that are moved on slice by
 * slice, writing the rows a recorder would have written, and adding up the truth about them on
 * the side. Only integers and one seeded generator: the same options give the same bytes.
 *
 * Every CPU runs one thread or idles; a thread stays on its CPU. With a neighbour, each calling
 * thread has a CPU to itself, and loses it to nobody but a thread of that process outside the tree,
 * inside calls and between them, for as long as the truth says; calls and gaps take nearly the same
 * time otherwise. Rows are consistent with each
 * other: each switch starts from the thread that came with the last, what a thread spent off the
 * CPU is what its rows say, keyframes agree with both, and counters with the number of rows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "common/writer.h"

#define SYNTH_START 1000000000000ull	/* monotonic ns of the first instant */
#define SYNTH_BOOT 5000000000ull	/* how far CLOCK_BOOTTIME is ahead */
#define SYNTH_REALTIME 1700000000000000000ull
#define SYNTH_PAGE 4096
#define SYNTH_OPERATIONS 8
#define SYNTH_SLICE 100000000ull	/* shortest slice: a system sample */
#define SYNTH_FLUSH 10			/* slices between keyframes */
#define IDLE (-1)

enum synth_shape { SHAPE_NORMAL, SHAPE_TIES, SHAPE_EXTREMES };

struct synth_options {
	uint64_t switches, calls, cpus, processes, workers, threads, operations;
	uint64_t seed, failed, nested, open, lost;
	uint64_t generations;		/* of workers, one after the other; 0 and 1: all live to the end */
	uint64_t neighbour;		/* per mille of the calls that lose the CPU in them, and as many gaps */
	enum synth_shape shape;
	bool unclosed;
};

enum thread_life { LIFE_UNBORN, LIFE_RUNNING, LIFE_SLEEPING, LIFE_PREEMPTED, LIFE_DEAD };

struct synth_thread {
	uint32_t tid, process, cpu;	/* process: index into synth.process */
	const char *name;
	enum thread_life life;
	uint64_t born, since;		/* since: when it came on or left the CPU */
	uint64_t dies;			/* with its next switch from then on; 0 never */
	uint64_t open_calls;		/* at the end of the slice */
	uint64_t syscall;		/* it sleeps in, number + 1 */
	bool io_wait, throttled;	/* how it left */
	uint64_t running, waiting, blocked, voluntary, involuntary, page_events, pages;
};

struct synth_process {
	uint32_t pid, ppid, exit_code;
	const char *name, *command;
	uint64_t flags, born;
	bool caller;
	uint64_t calls;
};

struct synth_cpu {
	int current;			/* thread, or IDLE */
	uint64_t quota, rows, lost, busy, came, breaks;
	uint64_t page_events, pages;	/* of the current thread, not yet in a row */
	uint64_t allocations, reclaims;	/* all of them */
	uint64_t throttled, throttled_time;	/* waits for CPU quota, and how long they were */
	uint64_t call_rows, last;
	bool seen;			/* a row was written, with chain as the thread that came */
	uint64_t chain;
	bool ready;			/* the next switch is decided: */
	int next;
	uint64_t ts, wait, latency;
};

/* The calls of one thread. */
struct synth_caller {
	uint32_t thread;
	uint64_t quota, made, free_at;	/* quota: calls still to be made, nested ones included */
	bool ready, nested, hangs;
	struct row_call call, child;	/* the next call, and the one inside it */
	uint64_t operation;		/* of the last call, from 0 */
	uint32_t neighbour;		/* thread that takes the CPU */
	uint64_t taken, given_back;	/* when, of the next call and the gap before it; 0 not */
	bool taken_in_call;
};

/* What is known about one operation of one process. */
struct synth_truth {
	uint64_t calls, failed, nested, open, first, first_start, total, bytes;
	uint64_t *duration, good, room;	/* of good calls, the first included */
	/* Taken by the neighbour: inside calls, and in the gaps before them. */
	uint64_t calls_hit, calls_taken, gaps_hit, gaps_taken;
};

struct synth {
	struct synth_options options;
	struct writer *w;
	uint64_t random, now, slice, gap, spacing, span;	/* span: about how long it will be */
	struct synth_thread *thread;
	struct synth_process *process;
	struct synth_cpu *cpu;
	struct synth_caller *caller;
	uint32_t threads, processes, cpus, callers;
	struct synth_truth *truth;	/* by process, operation */
	bool failed;			/* out of memory, or the writer has an error */
};

extern const struct synth_operation {
	const char *name;
	uint8_t layer, category, flags, call_flags;
} synth_operation[SYNTH_OPERATIONS];

/* model.c: processes and threads; the random numbers everything is made of. */
int synth_init(struct synth *s, const struct synth_options *options, struct writer *w);
void synth_release(struct synth *s);
uint64_t synth_random(struct synth *s, uint64_t below);	/* 0 to below - 1; below > 0 */
uint64_t synth_spread(struct synth *s, uint64_t median);	/* about log-normal */
/* 0 to below - 1 as well, but told by its arguments: draws no number. */
uint64_t synth_derived(uint64_t a, uint64_t b, uint64_t below);
uint64_t synth_string(struct synth *s, const char *text);
void synth_row(struct synth *s, enum table table, uint32_t cpu, const void *row);

/* switches.c: advance to the end of a slice; true while rows are still to come. */
bool synth_switches(struct synth *s, uint64_t until);
void synth_settle(struct synth *s, uint64_t end);	/* add what is still open to the sums */
/* calls.c */
int synth_callers(struct synth *s);
bool synth_calls(struct synth *s, uint64_t until);
void synth_open_calls(struct synth *s, uint64_t ts, bool last);
/* neighbour.c: settle when the CPU is taken, making the call longer or later; write the rows. */
void synth_neighbour_decide(struct synth *s, struct synth_caller *c);
void synth_neighbour_rows(struct synth *s, struct synth_caller *c, uint64_t until);
/* machine.c: everything around them. */
void synth_begin(struct synth *s);
void synth_exit(struct synth *s, const struct synth_thread *t, uint64_t ts);
void synth_sample(struct synth *s);
void synth_keyframe(struct synth *s, bool last);
void synth_end(struct synth *s);
/* truth.c: "kind,process,name,figure,value" a line. */
int synth_print_truth(const struct synth *s, FILE *out);
#endif
