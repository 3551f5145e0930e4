/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_DETAIL_PRIVATE_H
#define INGERO_REPORT_DETAIL_PRIVATE_H
/*
 * What detail_count.c (passes over the calls, and what can be counted in one) and detail.c share.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include "detail.h"
#include "quantile.h"

/* Classes by (process, key) in a hash table with open addressing. */
struct class_table {
	struct detail_class *classes; size_t count, capacity;
	uint32_t *slots; size_t slot_count;	/* place + 1; 0 empty */
};

struct detail_worker {
	struct class_table tables[DETAIL_PARTITIONS];
	struct detail_class whole;
	uint64_t bins[DETAIL_BINS];
	struct detail_call *slowest; size_t slowest_count;
	struct detail_call *firsts;	/* by place in detail_builder.firsts; first: there is one */
	struct columns columns;
};

struct detail_first { uint32_t process; uint64_t start, duration; };

struct detail_builder {
	struct detail *detail;
	struct report *report;
	uint32_t operation;		/* id; 0: all that the file does not name */
	bool *own_stream;		/* by probe: stream 0 is one of the thread's own */
	bool *without;			/* by block: no call of the operation in it */
	struct detail_first *firsts; size_t first_count;	/* by process */
	uint64_t last_first;		/* no first call begins later */
	size_t slowest;
	/* After detail_count() worker 0 has all. */
	struct detail_worker *workers; unsigned int worker_count;
	atomic_bool folded[DETAIL_PARTITIONS];
	int (*visit)(struct detail_builder *b, unsigned int worker, const struct detail_call *call);
	/* Classes of all partitions one after the other; a quantile each per worker. */
	size_t base[DETAIL_PARTITIONS + 1], batch_first, batch_count;
	struct quantile *quantiles;
	uint64_t longest;		/* duration fed */
};

/* Fill in everything of worker 0 but percentiles. ERROR_MEMORY. */
int detail_count(struct detail_builder *b);
/* Go through its calls that count, side by side. ERROR_MEMORY, or what visit() returned. */
int detail_each_call(struct detail_builder *b,
		     int (*visit)(struct detail_builder *b, unsigned int worker,
				  const struct detail_call *call));
/* The class a call is in, as (process, key). */
uint64_t detail_key(const struct detail_builder *b, enum detail_partition p,
		    const struct detail_call *call, uint32_t *process);
struct detail_class *detail_find_class(const struct class_table *t, uint32_t process, uint64_t key);
void detail_free_table(struct class_table *t);
#endif
