/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_CALLS_H
#define INGERO_REPORT_CALLS_H
/*
 * The pass over table call behind latency.h: groups of calls by process and operation, gathered
 * by every worker on its own and then united. Only good calls have their durations kept. With a
 * selection a group may have nothing but the first call, of a thread that is not selected.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "latency.h"

struct chunk { struct chunk *next; uint32_t count, room, values[]; };

/* Durations: 4 bytes each; the few that need more (4.3 s and longer) stand apart. */
struct durations {
	struct chunk *small;		/* the last one first */
	uint64_t *large; size_t large_count, large_capacity;
};

struct group {
	uint32_t process, operation;	/* operation: id */
	uint64_t calls, failed, nested, open, good, total, bytes;
	/* Of the good call that began first, whether its thread is selected or not. */
	uint64_t first_start, first_ts, first_duration;
	bool first_selected;
	uint64_t max, second;		/* the two longest good ones */
	struct durations durations;
};

/* Groups by key in a hash table with open addressing. */
struct groups {
	struct group *groups; size_t count, capacity;
	uint32_t *table; size_t table_size;	/* place + 1; 0 empty */
};

#define CALLS_OTHER_CODES INT64_MIN	/* of process and operation 0: those beyond what is kept */

struct error_key { uint32_t process, operation; int64_t code; };
struct error_count { struct error_key key; uint64_t count; };
struct open_row { uint32_t process, thread, operation, depth, flags; uint64_t start, end; };

struct call_worker {
	struct groups groups;
	struct error_count *errors; size_t error_count, error_capacity;
	struct open_row *open; size_t open_count, open_capacity;
	uint64_t unknown_operations;
	uint64_t *thread_calls;		/* by thread: calls that returned */
	struct columns columns;
};

struct calls {
	struct recording *recording;
	const struct tasks *tasks;
	struct keyframes *keyframes;
	const struct selection *selection;	/* NULL: all */
	uint32_t *awaited;		/* by thread: place + 1 of its first call in keyframes; 0 none */
	struct call_worker *workers;	/* after calls_load() workers[0] has everything but durations */
	unsigned int worker_count;
	size_t keep;
	atomic_size_t kept;
	atomic_bool spilled;		/* more than keep: no durations are kept */
};

/* s: NULL for all calls. keep 0: no durations are kept. ERROR_MEMORY; release in either case. */
int calls_load(struct calls *c, struct recording *r, const struct tasks *t, struct keyframes *k,
	       const struct selection *s, size_t keep);
/* Whether calls of this thread and operation (id; 0 unnamed) count. */
bool calls_selected(const struct calls *c, uint32_t thread, uint32_t operation);
void calls_release(struct calls *c);

/* What a call that returned code counts as; operation may be NULL. */
bool calls_good(const struct operation *operation, int64_t code);

/* The group, or NULL; groups_make() adds it (NULL: out of memory). */
struct group *groups_find(const struct groups *g, uint32_t process, uint32_t operation);
struct group *groups_make(struct groups *g, uint32_t process, uint32_t operation);
/* After the groups were moved about. ERROR_MEMORY. */
int groups_rehash(struct groups *g);

/*
 * Read the durations of good calls once more: visit(context, worker, process, operation,
 * duration) for each, from all workers at once.
 */
int calls_again(struct calls *c, void (*visit)(void *context, unsigned int worker,
					       uint32_t process, uint32_t operation,
					       uint64_t duration), void *context);
#endif
