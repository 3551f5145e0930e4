/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_SERIES_PRIVATE_H
#define INGERO_REPORT_SERIES_PRIVATE_H
/*
 * What series.c (steps, samples, losses), series_rows.c (switch and page rows) and series_calls.c
 * share. All workers add to the same steps, each its sum of a stretch of rows at a time.
 */
#include "series.h"
#include "timeline.h"

/* Stretches of time that touch many steps: a part of the first and last, all of those between. */
struct stretches { uint64_t part; int64_t whole; };

struct series_cell;
struct first_call;

struct series_builder {
	struct series *series;		/* NULL while memory is loaded */
	struct series_memory *memory;	/* or NULL */
	struct report *report;
	size_t rows;			/* of table switch held in memory at once */
	struct timeline timeline;
	struct series_cell *cells;	/* by CPU and step */
	struct stretches *waits;	/* likewise: of threads for a CPU */
	struct stretches *cuda;		/* by step */
	struct series_pages *counted;	/* by thread: allocations that rows tell of */
	uint32_t *growth;		/* by process: place + 1 in memory->processes */
	struct first_call *firsts; size_t first_count;
	struct columns *columns; unsigned int workers;
};

/* Sums of rows of one step after the other; of zeros at first. */
struct series_run {
	uint64_t from, to;
	size_t step;
	uint64_t switches, events, pages, calls, failed, n, max;
};

/* Busy CPUs and runnable threads; ERROR_MEMORY, as all of these. */
int series_load_cpus(struct series_builder *b);
/* Switches and page allocations. */
int series_load_rows(struct series_builder *b);
int series_load_calls(struct series_builder *b);

/* Go on with the step of ts. */
void series_run_at(const struct series_builder *b, struct series_run *run, uint64_t ts);
/* Add up what is left. */
void series_run_end(const struct series_builder *b, struct series_run *run);
/* Add [from, to), ns since the start, to what is kept for the steps. */
void series_stretch(const struct series_builder *b, struct stretches *steps, uint64_t from,
		    uint64_t to);

static inline uint64_t series_offset(const struct series_builder *b, uint64_t ts)
{
	return ts > b->report->recording.start ? ts - b->report->recording.start : 0;
}

static inline size_t series_step_at(const struct series_builder *b, uint64_t offset)
{
	size_t step = (size_t)(offset / b->series->step);

	return step < b->series->count ? step : b->series->count - 1;
}

static inline bool series_selects(const struct series_builder *b, uint32_t thread)
{
	return select_thread(&b->report->selection, thread);
}
#endif
