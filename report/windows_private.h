/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_WINDOWS_PRIVATE_H
#define INGERO_REPORT_WINDOWS_PRIVATE_H
/*
 * What windows.c and its parts share. Data flows from windows_calls.c (the calls that began in
 * a span, in order of time) through windows_walk.c (what was a call, a gap, an idle stretch) to
 * windows_found() in windows.c (groups, and the windows that are asked for).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "windows.h"

/* windows_open() with other sizes, for tests: rows of a span, calls that are kept in memory. */
struct windows_sizes { uint64_t rows, keep; };
int windows_open_sized(struct windows *w, struct recording *r, const struct tasks *t,
		       const struct latency *l, struct windows_sizes sizes);

/* --- windows_calls.c */

/* window_call.traits; the upper bits are the kind of a copy */
#define CALL_GOOD		0x01
#define CALL_FIRST		0x02	/* of its operation, in a process whose start is recorded */
#define CALL_WORK		0x04	/* good, and gave the device work */
#define CALL_PROVES_ALL		0x08	/* good, and waited for the whole device */
#define CALL_PROVES_STREAM	0x10	/* good, and waited for its stream */
#define CALL_KIND_SHIFT		5
#define CALL_KIND_OTHER		6	/* no cudaMemcpyKind */
#define CALL_KIND_NONE		7

#define STREAM_UNKNOWN UINT64_MAX	/* not recorded: may be any; no call that waits has it */

struct window_call {
	uint64_t start, end, stream;
	uint32_t thread;
	uint16_t operation;		/* place in recording.operations; their number: unnamed */
	uint8_t size_class, traits;
};

struct first_call { uint64_t start, duration; uint32_t process, operation; };

struct call_buffer { struct window_call *calls; size_t room; };

struct window_calls {
	struct recording *recording;
	const struct tasks *tasks;
	const struct latency *latency;
	uint8_t *operation_traits;	/* by operation */
	bool *own_stream;		/* by probe: stream 0 is one of the thread's own */
	struct first_call *firsts; size_t firsts_size;	/* hash table by start; start 0: empty */
	uint64_t last_first;		/* no first call begins later */
	bool *feeds;			/* by thread: its calls count */
	struct columns *columns; unsigned int worker_count;
	/* As decoded, and in order: of one span; and those that are kept, one after the other. */
	struct call_buffer raw, sorted, store;
	size_t count, stored;		/* in raw; in store */
};

/* The calls of a span. kept: until window_calls_release(), else until the next load or clear. */
struct call_list { struct window_call *calls; size_t count; bool kept; };

/* keep: how many calls are kept, those loaded first. ERROR_MEMORY; release in either case. */
int window_calls_open(struct window_calls *c, struct recording *r, const struct tasks *t,
		      const struct latency *l, uint64_t keep);
void window_calls_release(struct window_calls *c);
/*
 * The returned top-level calls of the tree that began in from <= start < until, by start, then
 * thread, then end. ERROR_MEMORY.
 */
int window_calls_load(struct window_calls *c, uint64_t from, uint64_t until,
		      struct call_list *list);
/* Free the memory of what is not kept. */
void window_calls_clear(struct window_calls *c);
/* As malloc(), but what is large lies in huge pages where the system has them. */
void *window_buffer(size_t size);
const struct operation *window_operation(const struct window_calls *c, uint32_t place);

/* --- windows_walk.c */

/* A thread that made calls: what it is, and how far the walk has come on it. */
struct walk_thread {
	uint64_t end;			/* of its last call */
	uint64_t idle_start, idle_end;	/* idle_end UINT64_MAX: nobody has begun work yet */
	uint64_t idle_work;		/* of its process at idle_start */
	uint64_t work;			/* of its process when its last call had begun */
	uint16_t operation, idle_operation;	/* the last call's; the one that proved it idle */
	uint32_t proofs;		/* idle points it proved */
	bool called, idle, dropped;	/* dropped: the idle stretch was none */
	bool works;			/* has given work */
};

struct walk_process {
	uint64_t work;			/* work-giving calls begun */
	uint64_t stream;		/* of those since the last idle point, with STREAMS_ONE */
	uint64_t busy_until, other_busy_until;	/* by the busiest thread's work; by any other's */
	uint64_t proof;			/* when the call that will prove the device idle returns */
	uint64_t syncs, first_idle;	/* idle points so far; the first one */
	uint32_t busy, prover, idler;	/* feeders, from 1; 0 none */
	uint8_t streams, streams_before;	/* before: the last idle point */
};

struct feeder {
	uint32_t thread, process;	/* process: place in walk.processes */
	bool feeds;			/* after the pass over all spans: it is a feeding thread */
	bool changed;			/* since the start of the span */
	uint32_t calls;			/* since then */
	uint64_t first, last;		/* start of its first call, latest end */
	struct walk_thread at;
};

struct feeding_process {
	uint32_t process;
	bool changed;
	uint64_t all_work, first_idle;	/* after the pass over all spans; UINT64_MAX: none */
	struct walk_process at;
};

struct saved_thread { uint32_t feeder, calls; struct walk_thread at; };
struct saved_process { uint32_t process; struct walk_process at; };
struct saved_counts { size_t threads, processes; };

struct window_walk {
	struct windows *windows;
	const struct window_calls *calls;
	const struct tasks *tasks;
	bool closed;			/* no more feeders are added */
	uint32_t *feeder_of;		/* by thread: feeder from 1; 0 none */
	uint32_t *process_of;		/* by process: place in processes from 1 */
	struct feeder *feeders; size_t feeder_count, feeder_capacity;
	struct feeding_process *processes; size_t process_count, process_capacity;
	/*
	 * What changed in each span, for those after it: the first counts[span] of them make the
	 * state before it, and calls of those up to counts[span + 1] are the calls in it.
	 */
	struct saved_thread *threads_saved; size_t threads_saved_capacity;
	struct saved_process *processes_saved; size_t processes_saved_capacity;
	struct saved_counts *counts; size_t counts_capacity;
	struct saved_counts saved;
};

int window_walk_open(struct window_walk *k, struct windows *w, const struct window_calls *c,
		     const struct tasks *t);
void window_walk_release(struct window_walk *k);
/* Remember the state before spans[span], from 0 to their number. ERROR_MEMORY. */
int window_walk_save(struct window_walk *k, size_t span);
void window_walk_restore(struct window_walk *k, size_t span);
/* Go through the calls of a span. What is found goes to windows_found(), whose error it returns. */
int window_walk_calls(struct window_walk *k, const struct window_call *calls, size_t count);
/* After the last span. */
int window_walk_finish(struct window_walk *k);

/* --- windows.c */

#define GAP_FED 0x8000		/* more than there are operations */

/* What makes a group: its kind, feeder, operation and the rest. */
static inline uint64_t group_key(enum effect_kind kind, uint32_t feeder, uint16_t operation,
				 uint16_t detail)
{
	return (uint64_t)kind << 62 | (uint64_t)feeder << 32 | (uint64_t)operation << 16 | detail;
}

/*
 * A member of a group. detail of the key: of a gap the operation after, with GAP_FED where another
 * thread gave work; of a call size class and, in the low byte, kind of copy. work: work-giving calls
 * of the process begun before; before a gap those up to the start of the call before it.
 */
int windows_found(struct windows *w, uint64_t key, uint64_t start, uint64_t end, uint64_t work);
#endif
