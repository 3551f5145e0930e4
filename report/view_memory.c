// SPDX-License-Identifier: BSD-2-Clause
#include "series.h"
#include "view.h"
#include "view_processes.h"

#define NS_S 1000000000ull
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LINES 30

static const struct listing_column columns[] = {
	{ "start_ns", "from", CELL_NS, COLUMN_DATA },
	{ "length_ns", "length", CELL_NS, COLUMN_DATA },
	{ "id", "id", CELL_ID, COLUMN_DATA },
	{ "pid", "PID", CELL_ID, COLUMN_DATA },
	{ "name", "process", CELL_TEXT, COLUMN_DATA },
	{ "role", "role", CELL_TEXT, COLUMN_DATA },
	{ "alive_ns", "alive", CELL_NS, COLUMN_DATA },
	{ "page_allocations", "allocations", CELL_COUNT, COLUMN_DATA | COLUMN_MAIN },
	{ "page_bytes", "bytes", CELL_BYTES, COLUMN_DATA },
};

static const struct listing_column process_columns[] = {
	{ "id", "id", CELL_ID, COLUMN_DATA },
	{ "pid", "PID", CELL_ID, 0 },
	{ "name", "process", CELL_TEXT, COLUMN_SHRINK },
	{ "role", "role", CELL_TEXT, 0 },
	{ "begin_ns", "begin", CELL_TIME, COLUMN_WIDE },
	{ "life_ns", "life", CELL_NS, 0 },
	{ "page_allocations", "allocs", CELL_COUNT, COLUMN_WIDE | COLUMN_SUM | COLUMN_MAIN },
	{ "page_bytes", "took", CELL_BYTES, COLUMN_SUM },
	{ "tenths", "tenths", CELL_TEXT, 0 },
	{ "first_second_bytes", "1st s", CELL_BYTES, COLUMN_OPTIONAL },
	{ "later_bytes", "later", CELL_BYTES, COLUMN_DATA },
	{ "later_ns", "later", CELL_NS, COLUMN_DATA },
	{ "later_bytes_per_second", "then/s", CELL_BYTES, 0 },
	{ "first_tenth_bytes", "1st tenth", CELL_BYTES, COLUMN_DATA },
	{ "last_tenth_bytes", "last tenth", CELL_BYTES, COLUMN_DATA },
	{ "forked", "forked", CELL_COUNT, COLUMN_DATA },
};

static const char growth_note[] =
	"Allocations, not resident memory: what was freed is not recorded. Tenths: a digit for each tenth of its life, 9 for the most. 1st s, then/s: in its first second, and a second from then on.";
static const char fork_note[] =
	"A forked worker shares its parent's pages until either writes. Workers that only read data and yet allocate steadily after their first second copy pages: in Python even reading an object writes its reference count.";

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void add_identity(struct listing *t, const struct report *r, uint32_t process)
{
	const struct process *p = &r->tasks.processes[process];

	listing_number(t, p->id);
	listing_number(t, p->tgid);
	listing_text(t, p->name);
	list_role(r, t, process, NULL);
}

static void add_bytes(struct listing *t, const struct report *r, bool known, uint64_t pages)
{
	list_number(t, known && r->recording.page_size, pages * r->recording.page_size,
		    r->completeness.pages_lossy);
}

static void add_step(struct listing *t, const struct report *r, const struct series_memory *m,
		     const struct series_growth *g, size_t step)
{
	uint64_t start = (g->first + step) * m->step, end = r->recording.end - r->recording.start;
	uint64_t begin = g->begin - r->recording.start, until = g->end - r->recording.start;

	end = least(start + m->step, end);
	listing_number(t, r->recording.start - r->recording.whole_start + start);
	listing_number(t, end - start);
	add_identity(t, r, g->process);
	listing_number(t, least(until, end) - (begin > start ? begin : start));
	list_number(t, true, g->steps[step].events, r->completeness.pages_lossy);
	add_bytes(t, r, true, g->steps[step].pages);
}

/* A digit for each tenth of its life: how many ninths of the most any has; 0 only for none. */
static void add_tenths(struct listing *t, const struct series_growth *g)
{
	char text[COUNT(g->tenths) + 1] = "";
	uint64_t most = 0;

	for (size_t i = 0; i < COUNT(g->tenths); i++)
		most = g->tenths[i].pages > most ? g->tenths[i].pages : most;
	for (size_t i = 0; i < COUNT(g->tenths) && most; i++) {
		uint64_t pages = g->tenths[i].pages;

		text[i] = (char)('0' + (pages * 9 + most - 1) / most);
	}
	listing_text(t, text);
}

static void add_process(struct listing *t, const struct report *r, const struct series_growth *g)
{
	uint64_t life = g->end - g->begin, later = life > NS_S ? life - NS_S : 0;
	uint64_t pages = g->all.pages - g->first_second.pages;
	bool lossy = r->completeness.pages_lossy;

	add_identity(t, r, g->process);
	list_time(r, t, true, g->begin);
	listing_number(t, life);
	list_number(t, true, g->all.events, lossy);
	add_bytes(t, r, true, g->all.pages);
	add_tenths(t, g);
	add_bytes(t, r, true, g->first_second.pages);
	add_bytes(t, r, true, pages);
	listing_number(t, later);
	add_bytes(t, r, later, later ? (uint64_t)((unsigned __int128)pages * NS_S / later) : 0);
	add_bytes(t, r, true, g->tenths[0].pages);
	add_bytes(t, r, true, g->tenths[COUNT(g->tenths) - 1].pages);
	listing_number(t, g->forked);
}

static void add_notes(struct listing *t, const struct series_memory *m)
{
	bool forked = false;

	for (size_t i = 0; i < m->count; i++)
		forked |= m->processes[i].forked;
	listing_note(t, "%s", growth_note);
	if (forked)
		listing_note(t, "%s", fork_note);
}

int view_memory_tables(struct report *r, const char *argument, struct listing_set *out,
		       struct error *e)
{
	struct listing *t = listing_set_add(out, "memory", NULL, columns, COUNT(columns));
	struct listing *processes = listing_set_add(out, "growth", "page allocations",
						    process_columns, COUNT(process_columns));
	struct series_memory m;
	uint64_t step;
	int ret = series_memory_step(r, argument, &step, e);

	if (ret)
		return ret;
	ret = series_memory_load(&m, r, step);
	processes->limit = LINES;
	for (size_t i = 0; i < m.count && !ret; i++) {
		for (size_t k = 0; k < m.processes[i].count; k++)
			add_step(t, r, &m, &m.processes[i], k);
		add_process(processes, r, &m.processes[i]);
	}
	if (!ret)
		add_notes(processes, &m);
	series_memory_release(&m);
	return ret ? error_set(e, ret, "out of memory") : 0;
}
