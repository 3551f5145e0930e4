// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "fmt.h"
#include "moment.h"
#include "parallel.h"
#include "series_private.h"

#define NS_S 1000000000ull
#define STEPS_WANTED 10

/* --- steps */

struct unit { const char *name; uint64_t ns; };

static uint64_t span_of(const struct report *r)
{
	return r->recording.end - r->recording.start;
}

static uint64_t steps_in(uint64_t span, uint64_t step)
{
	return span ? (span - 1) / step + 1 : 1;
}

static bool timeline_fits(const struct report *r, uint64_t step)
{
	uint64_t steps = steps_in(span_of(r), step);

	return steps <= SERIES_STEPS_MAX && steps * r->recording.cpus <= SERIES_CELLS_MAX;
}

/* Steps that the lives of all processes shown touch. */
static bool memory_fits(const struct report *r, uint64_t step)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->order_count; i++) {
		const struct process_account *p = &r->procs.processes[r->order[i]];

		sum += (p->end - p->begin) / step + 2;
	}
	return steps_in(span_of(r), step) <= SERIES_STEPS_MAX &&
	       sum <= SERIES_CELLS_MAX + 2 * r->order_count;
}

/* The smallest of 1, 2, 5, 10, ... times unit that fits. */
static uint64_t fitting(const struct report *r, uint64_t unit,
			bool (*fits)(const struct report *, uint64_t))
{
	static const unsigned int factors[] = { 2, 5, 10 };
	uint64_t step = unit;

	while (!fits(r, step)) {
		for (unsigned int i = 0; i < 3 && !fits(r, step); i++)
			step = unit * factors[i];
		unit *= 10;
	}
	return step;
}

static uint64_t friendly(const struct report *r)
{
	static const unsigned int factors[] = { 5, 2, 1 };
	uint64_t unit = NS_S / 10;

	if (span_of(r) >= STEPS_WANTED * NS_S)
		return NS_S;
	for (; unit > 1000; unit /= 10)
		for (unsigned int i = 0; i < 3; i++)
			if (span_of(r) / (unit * factors[i]) >= STEPS_WANTED)
				return unit * factors[i];
	return unit;
}

/* As it may be given. */
static const char *step_text(char buf[FMT_SIZE], uint64_t ns)
{
	static const struct unit units[] = {
		{ "s", NS_S }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }
	};
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	snprintf(buf, FMT_SIZE, "%llu%s", (unsigned long long)(ns / units[i].ns), units[i].name);
	return buf;
}

static int choose_step(const struct report *r, const char *text, uint64_t *step,
		       bool (*fits)(const struct report *, uint64_t), struct error *e)
{
	char buf[2][FMT_SIZE];

	if (!text || !*text) {
		*step = friendly(r);
		if (!fits(r, *step))
			*step = fitting(r, NS_S, fits);
		return 0;
	}
	if (!moment_span(&r->recording, text, step) || !*step) {
		error_set(e, ERROR_USAGE, "not a step of time: \"%s\"", text);
		return error_hint(e, "a number of seconds, or with a unit: 2, 0.5, 100ms, 1min");
	}
	if (fits(r, *step))
		return 0;
	error_set(e, ERROR_USAGE, "too many steps of \"%s\" in %s", text,
		  fmt_span(buf[0], span_of(r)));
	return error_hint(e, "%s or more, or narrow it with --from and --to",
			  step_text(buf[1], fitting(r, 1, fits)));
}

int series_step(const struct report *r, const char *text, uint64_t *step, struct error *e)
{
	return choose_step(r, text, step, timeline_fits, e);
}

int series_memory_step(const struct report *r, const char *text, uint64_t *step, struct error *e)
{
	return choose_step(r, text, step, memory_fits, e);
}

/* --- sums by step */

void series_stretch(const struct series_builder *b, struct stretches *steps, uint64_t from,
		    uint64_t to)
{
	size_t first = series_step_at(b, from), last = series_step_at(b, to);
	uint64_t step = b->series->step;

	if (first == last) {
		__atomic_fetch_add(&steps[first].part, to - from, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&steps[first].part, (first + 1) * step - from, __ATOMIC_RELAXED);
	__atomic_fetch_add(&steps[last].part, to - last * step, __ATOMIC_RELAXED);
	__atomic_fetch_add(&steps[first + 1].whole, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&steps[last].whole, 1, __ATOMIC_RELAXED);
}

static void raise_to(uint64_t *max, uint64_t value)
{
	uint64_t old = __atomic_load_n(max, __ATOMIC_RELAXED);

	while (value > old && !__atomic_compare_exchange_n(max, &old, value, true, __ATOMIC_RELAXED,
							   __ATOMIC_RELAXED))
		;
}

void series_run_end(const struct series_builder *b, struct series_run *run)
{
	struct series_step *s = b->series ? &b->series->steps[run->step] : NULL;

	if (s && run->to) {
		__atomic_fetch_add(&s->switches, run->switches, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->page_events, run->events, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->pages, run->pages, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->calls, run->calls, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->failed, run->failed, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->n, run->n, __ATOMIC_RELAXED);
		raise_to(&s->max, run->max);
	}
	*run = (struct series_run){ 0 };
}

void series_run_at(const struct series_builder *b, struct series_run *run, uint64_t ts)
{
	uint64_t offset = series_offset(b, ts);

	if (!b->series || (offset >= run->from && offset < run->to))
		return;
	series_run_end(b, run);
	run->step = series_step_at(b, offset);
	run->from = run->step * b->series->step;
	run->to = run->step + 1 < b->series->count ? run->from + b->series->step : UINT64_MAX;
}

/* --- samples of the machine */

struct cpu_sample { bool seen; uint64_t ts, steal; };
struct samples { const struct series_builder *builder; struct cpu_sample *cpus; };

static int visit_system(void *context, const void *values)
{
	const struct row_system *row = values;
	const struct series_builder *b = context;
	struct series_step *s = &b->series->steps[series_step_at(b, series_offset(b, row->ts))];

	if (!recording_in_span(&b->report->recording, row->ts) ||
	    !(row->flags & SYSTEM_FLAG_MEMORY))
		return 0;
	s->has_memory = true;
	s->available = row->memory_available;
	return 0;
}

/* An amount that grew evenly from one sample to the next. */
static void spread(const struct series_builder *b, uint64_t from, uint64_t to, uint64_t amount)
{
	uint64_t whole = to - from, at = from, told = 0;
	size_t step = series_step_at(b, from);

	for (; at < to; step++) {
		uint64_t border = step + 1 < b->series->count ? (step + 1) * b->series->step : to,
			 sum;

		border = border < to ? border : to;
		sum = (uint64_t)((unsigned __int128)amount * (border - from) / whole);
		b->series->steps[step].steal += sum - told;
		b->series->steps[step].sampled += border - at;
		told = sum;
		at = border;
	}
}

static int visit_cpu(void *context, const void *values)
{
	const struct row_cpu *row = values;
	const struct samples *all = context;
	const struct series_builder *b = all->builder;
	struct cpu_sample *last;

	if (row->cpu >= b->report->recording.cpus ||
	    !recording_in_span(&b->report->recording, row->ts))
		return 0;
	last = &all->cpus[row->cpu];
	if (last->seen)
		spread(b, series_offset(b, last->ts), series_offset(b, row->ts),
		       row->steal > last->steal ? row->steal - last->steal : 0);
	*last = (struct cpu_sample){ true, row->ts, row->steal };
	return 0;
}

static int load_samples(struct series_builder *b)
{
	struct samples all = { b, calloc(b->report->recording.cpus, sizeof(*all.cpus)) };
	int ret = all.cpus ? 0 : ERROR_MEMORY;

	if (!ret)
		ret = recording_rows(&b->report->recording, TABLE_system, visit_system, b);
	if (!ret)
		ret = recording_rows(&b->report->recording, TABLE_cpu, visit_cpu, &all);
	for (size_t i = 1; i < b->series->count && !ret; i++) {
		const struct series_step *last = &b->series->steps[i - 1];

		if (b->series->steps[i].has_memory || !last->has_memory)
			continue;
		b->series->steps[i].has_memory = true;
		b->series->steps[i].available = last->available;
	}
	free(all.cpus);
	return ret;
}

/* --- what was lost */

enum { LOST_CALLS = 1, LOST_SWITCHES = 2, LOST_PAGES = 4 };

static unsigned int rests_on(unsigned int source)
{
	switch (source) {
	case SOURCE_CALL_ENTRY:
	case SOURCE_CALL_RETURN:
		return LOST_CALLS;
	case SOURCE_SWITCH:
		return LOST_SWITCHES | LOST_PAGES;
	case SOURCE_WAKING:
	case SOURCE_WAKEUP:
	case SOURCE_WAKEUP_NEW:
		return LOST_SWITCHES;
	default:
		return source == SOURCE_PAGE_ALLOC ? LOST_PAGES : 0;
	}
}

static void mark(struct series_step *s, unsigned int what)
{
	s->calls_lossy |= what & LOST_CALLS;
	s->switches_lossy |= what & LOST_SWITCHES;
	s->pages_lossy |= what & LOST_PAGES;
}

/* By the seconds of the losses; everything, where these do not tell of all that was lost. */
static void mark_lossy(struct series_builder *b)
{
	const struct completeness *c = &b->report->completeness;
	unsigned int everywhere = c->damaged_blocks ? LOST_CALLS | LOST_SWITCHES | LOST_PAGES : 0;
	uint64_t told[SOURCE_LIMIT] = { 0 };

	for (size_t i = 0; i < c->second_count; i++) {
		const struct loss_second *l = &c->seconds[i];
		size_t last = series_step_at(b, series_offset(b, l->last));

		told[l->source] += l->count;
		for (size_t k = series_step_at(b, series_offset(b, l->first)); k <= last; k++)
			mark(&b->series->steps[k], rests_on(l->source));
	}
	for (unsigned int i = 0; i < SOURCE_LIMIT; i++)
		everywhere |= told[i] < c->sources[i].all ? rests_on(i) : 0;
	for (size_t i = 0; i < b->series->count; i++)
		mark(&b->series->steps[i], everywhere);
}

/* --- all of it */

static int begin(struct series_builder *b, struct report *r)
{
	b->report = r;
	b->workers = parallel_workers();
	b->columns = calloc(b->workers, sizeof(*b->columns));
	return b->columns ? 0 : ERROR_MEMORY;
}

static void release(struct series_builder *b)
{
	for (unsigned int i = 0; b->columns && i < b->workers; i++)
		columns_release(&b->columns[i]);
	free(b->columns);
	free(b->cells);
	free(b->waits);
	free(b->cuda);
	free(b->counted);
	free(b->growth);
	free(b->firsts);
	timeline_release(&b->timeline);
}

static int make_steps(struct series_builder *b)
{
	struct series *s = b->series;
	uint64_t span = span_of(b->report);
	size_t cpus = b->report->recording.cpus;

	s->count = (size_t)steps_in(span, s->step);
	s->steps = calloc(s->count, sizeof(*s->steps));
	s->cpus = calloc(s->count * cpus + 1, sizeof(*s->cpus));
	if (!s->steps || !s->cpus)
		return ERROR_MEMORY;
	for (size_t i = 0; i < s->count; i++) {
		s->steps[i].start = i * s->step;
		s->steps[i].length = i + 1 < s->count ? s->step : span - i * s->step;
	}
	return 0;
}

int series_load(struct series *s, struct report *r, uint64_t step, size_t rows)
{
	struct series_builder b = { .series = s, .rows = rows };
	int ret;

	*s = (struct series){ .step = step };
	ret = begin(&b, r);
	if (!ret)
		ret = make_steps(&b);
	if (!ret)
		ret = series_load_cpus(&b);
	if (!ret)
		ret = series_load_rows(&b);
	if (!ret)
		ret = series_load_calls(&b);
	if (!ret)
		ret = load_samples(&b);
	if (!ret)
		mark_lossy(&b);
	release(&b);
	return ret;
}

void series_release(struct series *s)
{
	free(s->steps);
	free(s->cpus);
	memset(s, 0, sizeof(*s));
}

static size_t begin_growth(struct series_builder *b, size_t place)
{
	const struct report *r = b->report;
	struct series_growth *g = &b->memory->processes[place];
	const struct process *p;
	uint64_t last;

	g->process = r->order[place];
	p = &r->tasks.processes[g->process];
	g->begin = r->procs.processes[g->process].begin;
	g->end = r->procs.processes[g->process].end;
	g->forked = p->born && !p->execed;
	g->first = (size_t)(series_offset(b, g->begin) / b->memory->step);
	last = series_offset(b, g->end);
	last = last > series_offset(b, g->begin) ? last - 1 : last;
	g->count = (size_t)(last / b->memory->step) - g->first + 1;
	b->growth[g->process] = (uint32_t)place + 1;
	return g->count;
}

static int make_growth(struct series_builder *b)
{
	struct series_memory *m = b->memory;
	size_t cells = 0;

	m->count = b->report->order_count;
	m->processes = calloc(m->count + 1, sizeof(*m->processes));
	b->growth = calloc(b->report->tasks.process_count, sizeof(*b->growth));
	if (!m->processes || !b->growth)
		return ERROR_MEMORY;
	for (size_t i = 0; i < m->count; i++)
		cells += begin_growth(b, i);
	m->cells = calloc(cells + 1, sizeof(*m->cells));
	if (!m->cells)
		return ERROR_MEMORY;
	cells = 0;
	for (size_t i = 0; i < m->count; i++) {
		m->processes[i].steps = &m->cells[cells];
		cells += m->processes[i].count;
	}
	return 0;
}

int series_memory_load(struct series_memory *m, struct report *r, uint64_t step)
{
	struct series_builder b = { .memory = m };
	int ret;

	*m = (struct series_memory){ .step = step };
	ret = begin(&b, r);
	if (!ret)
		ret = make_growth(&b);
	if (!ret)
		ret = series_load_rows(&b);
	release(&b);
	return ret;
}

void series_memory_release(struct series_memory *m)
{
	free(m->processes);
	free(m->cells);
	memset(m, 0, sizeof(*m));
}
