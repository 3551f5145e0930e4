/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_TIMELINE_H
#define INGERO_REPORT_TIMELINE_H
/*
 * What each thread and each CPU did at any moment of a span of the recording, by binary search.
 *
 * Spans are loaded from the last to the first, each beginning where the one before it ends: what
 * a thread was doing at a span's end is told by the row of its next return, which the span after
 * it has. What the ends of the recording cut off is as procs.h has it.
 *
 * A thread's time is cut into pieces. On a CPU: from the row that brought it to the next row of
 * that CPU, if the same thread leaves with it; else the tile is unrecorded. Off it: the row of its
 * return says since when, and since when it was runnable. What neither covers is unrecorded. Where
 * a span begins makes no difference, unless so many rows were lost that those left contradict
 * each other.
 * After timeline_load() nothing changes until the next one: any number of threads may read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "procs.h"
#include "recording.h"
#include "tasks.h"

/* A context switch; threads by their place in tasks. */
struct timeline_row {
	uint64_t ts;
	uint64_t off, wait;		/* ns, of next */
	uint32_t prev, next, waker;
	uint32_t moved_wait;		/* ns, saturated */
	uint32_t throttled;		/* likewise: of wait, before the quota was renewed; 0 all of it, if NEXT_FLAG_THROTTLED */
	uint32_t page_events, pages;	/* of prev */
	uint16_t moved_from, cpu;	/* moved_from: CPU + 1, 0 did not move */
	uint16_t syscall, waker_syscall;/* numbers + 1 */
	uint16_t major_faults;		/* of prev, saturated */
	uint8_t prev_state, waker_context, waker_vector, next_flags;
	bool open;			/* no real row: the end of the recording cut it off */
};

struct timeline_pages { uint64_t ts; uint32_t thread, events, pages; };
struct timeline_call { uint64_t end; uint32_t thread, page_events; };	/* with any */
struct timeline_reclaim { uint64_t start, end; uint32_t thread; };

/* A thread came to a CPU: ts and place of the row. */
struct timeline_return { uint64_t ts; uint32_t row, thread; };

struct timeline_cpu {
	size_t first, count;
	uint32_t came, opening;		/* threads: that came with the row before, and before any row */
	struct timeline_row after;	/* the row that follows */
};

struct timeline {
	struct recording *recording;
	const struct tasks *tasks;
	uint64_t start, end;		/* of the span that is loaded */
	struct timeline_row *rows; size_t row_count, row_capacity;
	struct timeline_cpu *cpus;	/* recording.cpus */
	size_t *first;			/* by thread: its returns are index[first[t] .. first[t + 1]) */
	struct timeline_return *index; size_t index_capacity;
	uint32_t *opener;		/* by thread: CPU + 1 that it has at the span's start; 0 none */
	uint32_t *later;		/* by thread: place + 1 in carried of its return after the span */
	struct timeline_row *carried; size_t carried_count, carried_capacity;
	struct timeline_pages *pages; size_t page_count, page_capacity;		/* by thread, then ts */
	struct timeline_call *calls; size_t call_count, call_capacity;		/* by thread, then end */
	bool calls_count_pages;		/* the recording says of each call what it allocated */
	struct timeline_reclaim *reclaims; size_t reclaim_count, reclaim_capacity;	/* likewise */
	struct timeline_loader *loader;	/* private */
};

/* ERROR_MEMORY; release in either case. */
int timeline_open(struct timeline *tl, struct recording *r, const struct tasks *t,
		  const struct procs *p);
/* end: that of the recording, then the start of the span loaded before. ERROR_MEMORY. */
int timeline_load(struct timeline *tl, uint64_t start, uint64_t end);
/*
 * Load the whole recording, in spans of about so many rows, from the last to the first, and
 * call visit with each. Stops at, and returns, the first negative value; ERROR_MEMORY.
 */
#define TIMELINE_ROWS (1u << 20)
int timeline_each(struct timeline *tl, size_t rows, int (*visit)(void *context), void *context);
void timeline_release(struct timeline *tl);

enum piece_state { PIECE_RUNNING = 1, PIECE_WAITING, PIECE_BLOCKED, PIECE_UNRECORDED };

struct piece {
	uint64_t start, end;
	enum piece_state state;
	uint32_t cpu;				/* running, waiting: where */
	/* Waiting, blocked: the row of the return, whose whole off-CPU time may be longer. Else NULL. */
	const struct timeline_row *back;
	const struct timeline_row *left;	/* running: the row it left with, where there is one */
	uint64_t since;				/* running: when it had come */
};

/* What ended a block. Over the loopback, network data comes from the thread that is in a send. */
enum wake_cause {
	WAKE_UNKNOWN, WAKE_THREAD, WAKE_DISK, WAKE_NETWORK, WAKE_TIMER, WAKE_INTERRUPT,
};

/* aarch64: whose system call numbers these are. Of the row of a return; THREAD: its waker. */
enum wake_cause timeline_wake(const struct timeline *tl, bool aarch64,
			      const struct timeline_row *back);
bool timeline_by_timer(const struct timeline_row *back);

/* Goes through a thread's pieces in [start, end), which lies in the span. */
struct piece_cursor {
	const struct timeline *tl;
	uint32_t thread;
	uint64_t at, end;
	size_t next;			/* of the thread's returns: the first after at */
};

/*
 * hint: NULL, or a number kept between calls, 0 at first, that makes it fast where those for the
 * same thread come in time order. Whatever its value, the result is the same.
 */
void pieces_begin(struct piece_cursor *c, const struct timeline *tl, uint32_t thread,
		  uint64_t start, uint64_t end, size_t *hint);
/* False at the end. Pieces are not empty, and tile [start, end). */
bool pieces_next(struct piece_cursor *c, struct piece *p);

/* Who had a CPU, in the same manner; thread TASKS_UNKNOWN: not recorded. */
struct slice { uint64_t start, end; uint32_t thread; };
struct slice_cursor { const struct timeline *tl; uint32_t cpu; uint64_t at, end; size_t next; };
void slices_begin(struct slice_cursor *c, const struct timeline *tl, uint32_t cpu, uint64_t start,
		  uint64_t end, size_t *hint);
bool slices_next(struct slice_cursor *c, struct slice *s);

/* Page allocations of a running piece: those of its slice, in proportion between two counts. */
void timeline_piece_pages(const struct timeline *tl, uint32_t thread, const struct piece *p,
			  uint64_t *events, uint64_t *pages);
/* Page allocations of the thread's call that returned at end, in which there was no switch. */
uint64_t timeline_call_pages(const struct timeline *tl, uint32_t thread, uint64_t end);
/*
 * Add up over all CPUs in [start, end): recorded time, time a thread ran, and time of threads running
 * or waiting for a CPU. Waits that end more than 5 ms after the end are left out of the last.
 */
void timeline_load_between(const struct timeline *tl, uint64_t start, uint64_t end, uint64_t *cpu_time,
			   uint64_t *busy, uint64_t *runnable);
/* The first reclaim of thread that ends after ts, or NULL. */
const struct timeline_reclaim *timeline_reclaim(const struct timeline *tl, uint32_t thread, uint64_t ts);
#endif
