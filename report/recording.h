/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_RECORDING_H
#define INGERO_REPORT_RECORDING_H
/*
 * An open file and its small tables: facts, operations, libraries, probes, anchors; the span it
 * covers; and the blocks of each table. Everything is read-only after recording_open() but the
 * count of blocks that turned out damaged, so any number of threads may use it.
 *
 * The span: start is record.start (or the first row). A closed file ends at record.stop or with
 * its last row, if that is later, and every row counts. One that was not closed ends at the
 * smallest over its CPUs of what the last coverage row vouches for; rows after that are left out
 * by everybody (recording_in_span()), so that each figure is complete for the span.
 *
 * narrow.h makes the span smaller, and blocks[] with it. Points in time are shown as from
 * whole_start on, whatever the span, so that they can be asked for.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../common/reader.h"

#define RECORDING_CPUS_MAX 8192		/* as many as Linux can have */

struct operation {
	uint32_t id, layer, category, flags;
	const char *name;
};

struct library {
	uint64_t id, dev, inode, how, mapped, probed, mapped_by, symbols, outside;
	const char *path, *build_id, *why_not;
	uint64_t hits, attached, refused;	/* summed over its probes */
};

struct probe {
	uint64_t id, library, operation, offset, status, hits, instruction;
	const char *symbol, *why_not;
};

/* Calls of one process outside the tree into a probed function. */
struct outside { uint32_t tgid; uint64_t probe, calls; };
struct anchor { uint64_t ts; int64_t realtime, boottime; };
struct fact { const char *key, *value; };
struct block_list { uint32_t *block; size_t count, capacity; };
struct cpu_span {
	bool present, covered;
	bool left_out;				/* narrowed to other CPUs; not present then */
	uint64_t covered_until, last_ts;
};

struct recording {
	struct reader *reader;
	const struct reader_info *file;
	uint64_t start, end;			/* of the span, CLOCK_MONOTONIC */
	uint64_t first, last;			/* events between count, both included */
	uint64_t whole_start, whole_end;	/* of the recording */
	bool narrowed;				/* the span is a part of it, or CPUs are left out */
	bool partial;				/* CPUs are left out: threads go missing */
	bool closed;
	uint32_t cpus;				/* one more than the highest CPU */
	uint32_t cpus_present;
	struct cpu_span *cpu;
	uint64_t page_size;			/* 0 unknown */
	struct block_list blocks[TABLE_LIMIT];	/* in file order; of the span */
	struct block_list all[TABLE_LIMIT];	/* see recording_all() */
	struct fact *facts; size_t fact_count, fact_capacity;
	struct operation *operations; size_t operation_count, operation_capacity;
	struct library *libraries; size_t library_count, library_capacity;
	struct probe *probes; size_t probe_count, probe_capacity;
	struct outside *outsides; size_t outside_count, outside_capacity;
	struct anchor *anchors; size_t anchor_count, anchor_capacity;
	atomic_uint_fast64_t damaged_blocks;	/* headers or payloads */
};

/* Returns 0 or the error of reader_open(). Close in either case. */
int recording_open(struct recording *r, const char *path, struct error *e);
void recording_close(struct recording *r);

/* Value of the last row of info with this key, or NULL. */
const char *recording_fact(const struct recording *r, const char *key);
/* The same as a number; otherwise when missing or no number. */
uint64_t recording_number(const struct recording *r, const char *key, uint64_t otherwise);
/* The operation with this id, or NULL. */
const struct operation *recording_operation(const struct recording *r, uint64_t id);
/* The probe with this id, or NULL. */
const struct probe *recording_probe(const struct recording *r, uint64_t id);
/* CLOCK_REALTIME at ts, by the last anchor before it; 0 without anchors. */
uint64_t recording_realtime(const struct recording *r, uint64_t ts);

static inline bool recording_in_span(const struct recording *r, uint64_t ts)
{
	return ts >= r->first && ts <= r->last;
}

/* Before the end of the span: what tells of a state that lasts counts from the start on. */
static inline bool recording_reached(const struct recording *r, uint64_t ts)
{
	return ts <= r->last;
}

/* After a span narrowed to end before the recording; one not closed has rows after its own end. */
static inline bool recording_after(const struct recording *r, uint64_t ts)
{
	return ts > r->last && r->end != r->whole_end;
}

/* Blocks of a table, whatever the span. */
static inline const struct block_list *recording_all(const struct recording *r, enum table table)
{
	return r->all[table].count ? &r->all[table] : &r->blocks[table];
}

/*
 * Decode columns of a block; one that is damaged is counted and reads as 0 rows. Only
 * ERROR_MEMORY is returned.
 */
int recording_load(struct recording *r, uint32_t block, uint64_t mask, struct columns *c);

/*
 * Call visit with every row of a global table, in file order, as an array in the order of
 * columns.def (struct row_NAME). Stops at, and returns, the first negative value.
 */
int recording_rows(struct recording *r, enum table table,
		   int (*visit)(void *context, const void *row), void *context);
#endif
