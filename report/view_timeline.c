// SPDX-License-Identifier: BSD-2-Clause
#include "fmt.h"
#include "series.h"
#include "timeline.h"
#include "view.h"

#define CPUS_SHOWN 64		/* a figure for each of more CPUs is no line of text */
#define FEW_CALLS 100		/* below which the p99 is the maximum */

static const struct listing_column columns[] = {
	{ "start_ns", "from", CELL_NS, COLUMN_LEFT },
	{ "length_ns", "length", CELL_NS, COLUMN_DATA },
	{ "at_ns", "time", CELL_TIME, COLUMN_WIDE },
	{ "busy_share", "busy", CELL_SHARE, 0 },
	{ "busy_bar", "CPUs", CELL_BAR, 0 },
	{ "busy_ns", "busy", CELL_NS, COLUMN_DATA },
	{ "cpu_time_ns", "CPU time", CELL_NS, COLUMN_DATA },
	{ "unrecorded_ns", "unrecorded", CELL_NS, COLUMN_DATA },
	{ "busy_tenths", "each", CELL_TEXT, COLUMN_WIDE },
	{ "runnable", "runnable", CELL_RATIO, 0 },
	{ "runnable_ns", "runnable", CELL_NS, COLUMN_DATA },
	{ "calls", "calls", CELL_COUNT, COLUMN_DATA },
	{ "failed", "failed", CELL_COUNT, COLUMN_DATA },
	{ "calls_per_second", "calls/s", CELL_RATE, 0 },
	{ "percentile_n", "n", CELL_COUNT, COLUMN_DATA },
	{ "p50_ns", "p50", CELL_NS, COLUMN_WIDE },
	{ "p99_ns", "p99", CELL_NS, COLUMN_LIKE },
	{ "max_ns", "max", CELL_NS, COLUMN_LIKE | COLUMN_WIDE },
	{ "cuda_ns", "in CUDA", CELL_NS, COLUMN_DATA },
	{ "cuda_share", "in CUDA", CELL_SHARE, 0 },
	{ "switches", "switches", CELL_COUNT, COLUMN_DATA },
	{ "switches_per_second", "switch/s", CELL_RATE, 0 },
	{ "page_allocations", "pages", CELL_COUNT, COLUMN_DATA },
	{ "page_allocations_per_second", "alloc/s", CELL_RATE, 0 },
	{ "page_bytes", "allocated", CELL_BYTES, COLUMN_WIDE },
	{ "memory_available_bytes", "available", CELL_BYTES, COLUMN_WIDE },
	{ "steal_ns", "steal", CELL_NS, COLUMN_DATA },
	{ "steal_share", "steal", CELL_SHARE, COLUMN_WIDE },
};

static const struct listing_column cpu_columns[] = {
	{ "start_ns", "from", CELL_NS, COLUMN_DATA },
	{ "length_ns", "length", CELL_NS, COLUMN_DATA },
	{ "cpu", "CPU", CELL_ID, COLUMN_DATA },
	{ "busy_ns", "busy", CELL_NS, COLUMN_DATA },
	{ "idle_ns", "idle", CELL_NS, COLUMN_DATA },
	{ "unrecorded_ns", "unrecorded", CELL_NS, COLUMN_DATA },
	{ "busy_share", "busy", CELL_SHARE, COLUMN_DATA },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A digit for each CPU: in how many tenths of the step it was busy. */
static void add_tenths(struct listing *t, const struct report *r, const struct series *s,
		       size_t step)
{
	char text[CPUS_SHOWN + 1];
	uint32_t cpus = r->recording.cpus;

	if (cpus > CPUS_SHOWN) {
		listing_none(t);
		return;
	}
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		const struct series_cpu *c = &s->cpus[cpu * s->count + step];
		uint64_t tenths = s->steps[step].length ? c->busy * 10 / s->steps[step].length : 0;

		text[cpu] = (char)('0' + (tenths < 9 ? tenths : 9));
	}
	text[cpus] = '\0';
	listing_text(t, text);
}

static void add_busy(struct listing *t, const struct report *r, const struct series *s, size_t step)
{
	const struct series_step *at = &s->steps[step];

	listing_pair(t, at->busy, at->cpu_time);
	listing_lossy(t, at->switches_lossy);
	listing_pair(t, at->busy, at->cpu_time);
	listing_number(t, at->busy);
	listing_number(t, at->cpu_time);
	listing_number(t, at->unrecorded);
	add_tenths(t, r, s, step);
	listing_pair(t, at->runnable, at->length);
	listing_lossy(t, at->switches_lossy);
	listing_number(t, at->runnable);
}

static void add_percentile(struct listing *t, const struct series_step *at, uint64_t ns, bool bound)
{
	if (!at->n) {
		listing_none(t);
		return;
	}
	listing_number(t, ns);
	listing_lossy(t, at->calls_lossy);
	listing_bound(t, bound && at->n < FEW_CALLS);
}

static void add_calls(struct listing *t, const struct series_step *at)
{
	listing_number(t, at->calls);
	listing_number(t, at->failed);
	listing_pair(t, at->calls, at->length);
	listing_lossy(t, at->calls_lossy);
	listing_number(t, at->n);
	add_percentile(t, at, at->p50, false);
	add_percentile(t, at, at->p99, true);
	add_percentile(t, at, at->max, false);
	listing_number(t, at->cuda);
	listing_pair(t, at->cuda, at->length);
	listing_lossy(t, at->calls_lossy);
}

static void add_memory(struct listing *t, const struct report *r, const struct series_step *at)
{
	listing_number(t, at->page_events);
	listing_pair(t, at->page_events, at->length);
	listing_lossy(t, at->pages_lossy);
	if (r->recording.page_size)
		listing_number(t, at->pages * r->recording.page_size);
	else
		listing_none(t);
	if (at->has_memory)
		listing_number(t, at->available);
	else
		listing_none(t);
	if (at->sampled)
		listing_number(t, at->steal);
	else
		listing_none(t);
	listing_pair(t, at->steal, at->sampled);
}

static void add_step(struct listing *t, const struct report *r, const struct series *s, size_t step)
{
	const struct series_step *at = &s->steps[step];
	uint64_t offset = r->recording.start - r->recording.whole_start;

	listing_number(t, offset + at->start);
	listing_number(t, at->length);
	listing_pair(t, offset + at->start,
		     recording_realtime(&r->recording, r->recording.start + at->start));
	add_busy(t, r, s, step);
	add_calls(t, at);
	listing_number(t, at->switches);
	listing_pair(t, at->switches, at->length);
	listing_lossy(t, at->switches_lossy);
	add_memory(t, r, at);
}

static void add_cpu(struct listing *t, const struct report *r, const struct series *s, uint32_t cpu,
		    size_t step)
{
	const struct series_cpu *c = &s->cpus[cpu * s->count + step];

	listing_number(t, r->recording.start - r->recording.whole_start + s->steps[step].start);
	listing_number(t, s->steps[step].length);
	listing_number(t, cpu);
	listing_number(t, c->busy);
	listing_number(t, c->idle);
	listing_number(t, c->unrecorded);
	listing_pair(t, c->busy, s->steps[step].length - c->unrecorded);
}

static void add_cpus(struct listing *t, const struct report *r, const struct series *s)
{
	for (size_t step = 0; step < s->count; step++)
		for (uint32_t cpu = 0; cpu < r->recording.cpus; cpu++)
			if (r->recording.cpu[cpu].present)
				add_cpu(t, r, s, cpu, step);
}

static void add_notes(struct listing *t, const struct report *r)
{
	listing_note(t,
		     "p99: of good %s that returned in the step; = of fewer than %d, the longest.",
		     r->selection.by_operation ? "calls" : "top-level calls", FEW_CALLS);
	if (r->selection.by_thread)
		listing_note(
			t, "CPUs busy, runnable threads, switches and allocations are those of the selected threads alone.");
	if (r->selection.by_operation)
		listing_note(t,
			     "Calls are those selected; of them, in CUDA counts top-level ones.");
}

int view_timeline_tables(struct report *r, const char *argument, struct listing_set *out,
			 struct error *e)
{
	struct listing *t = listing_set_add(out, "timeline", "timeline", columns, COUNT(columns));
	struct listing *cpus =
		listing_set_add(out, "timeline_cpus", NULL, cpu_columns, COUNT(cpu_columns));
	struct series s;
	uint64_t step;
	int ret = series_step(r, argument, &step, e);

	if (ret)
		return ret;
	ret = series_load(&s, r, step, TIMELINE_ROWS);
	for (size_t i = 0; i < s.count && !ret; i++)
		add_step(t, r, &s, i);
	if (!ret) {
		add_cpus(cpus, r, &s);
		add_notes(t, r);
	}
	series_release(&s);
	return ret ? error_set(e, ret, "out of memory") : 0;
}
