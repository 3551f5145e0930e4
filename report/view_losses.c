// SPDX-License-Identifier: BSD-2-Clause
#include "view.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct listing_column second_columns[] = {
	{ "first_ns", "first", CELL_TIME, 0 },
	{ "last_ns", "last", CELL_TIME, 0 },
	{ "source", "source", CELL_TEXT, 0 },
	{ "reason", "reason", CELL_TEXT, 0 },
	{ "count", "lost", CELL_COUNT, COLUMN_SUM | COLUMN_MAIN },
};

static const struct listing_column source_columns[] = {
	{ "source", "source", CELL_TEXT, 0 },
	{ "entries", "runs", CELL_COUNT, 0 },
	{ "emitted", "recorded", CELL_COUNT, 0 },
	{ "filtered", "not asked for", CELL_COUNT, COLUMN_OPTIONAL },
	{ "lost", "lost", CELL_COUNT, 0 },
	{ "missed", "skipped", CELL_COUNT, 0 },
	{ "lost_all", "all lost", CELL_COUNT, COLUMN_SUM | COLUMN_MAIN },
	{ "lost_share", "share", CELL_SHARE, 0 },
	{ "ring_full", "buffer full", CELL_COUNT, COLUMN_DATA },
	{ "no_storage", "no storage", CELL_COUNT, COLUMN_DATA },
	{ "too_deep", "too deep", CELL_COUNT, COLUMN_DATA },
	{ "write_failed", "not written", CELL_COUNT, COLUMN_DATA },
	{ "pages_lost", "allocations", CELL_COUNT, COLUMN_WIDE },
};

static void add_time(struct listing *t, const struct recording *r, uint64_t ts)
{
	listing_pair(t, ts > r->whole_start ? ts - r->whole_start : 0, recording_realtime(r, ts));
}

static void add_second(struct listing *t, const struct report *r, const struct loss_second *s)
{
	add_time(t, &r->recording, s->first);
	add_time(t, &r->recording, s->last);
	listing_text(t, completeness_source(s->source));
	listing_text(t, completeness_reason(s->reason));
	listing_number(t, s->count);
}

static void add_count(struct listing *t, bool known, uint64_t n)
{
	if (known)
		listing_number(t, n);
	else
		listing_none(t);
}

/* Events that should have been recorded. */
static uint64_t wanted_of(const struct source_counts *s)
{
	uint64_t counted = s->entries > s->filtered ? s->entries - s->filtered : 0;

	return counted + s->missed + s->write_failed;
}

static void add_source(struct listing *t, unsigned int source, const struct source_counts *s)
{
	listing_text(t, completeness_source(source));
	add_count(t, s->known, s->entries);
	add_count(t, s->known, s->emitted);
	add_count(t, s->known, s->filtered);
	add_count(t, s->known, s->lost);
	add_count(t, s->known && !s->missed_unknown, s->missed);
	listing_number(t, s->all);
	listing_pair(t, s->all, wanted_of(s));
	listing_number(t, s->ring_full);
	listing_number(t, s->no_storage);
	listing_number(t, s->too_deep);
	listing_number(t, s->write_failed);
	listing_number(t, s->pages);
}

static void add_notes(struct listing *seconds, struct listing *sources, const struct report *r)
{
	const struct completeness *c = &r->completeness;
	bool unknown = false;

	for (unsigned int i = 0; i < SOURCE_LIMIT; i++)
		unknown |= c->sources[i].missed_unknown;
	if (!c->lost)
		listing_note(seconds, listing_rows(sources) ? "No event was lost." :
			     "No event is known to be lost: the recorder left no counts.");
	else if (!c->second_count)
		listing_note(seconds, "Events were lost; when is not known.");
	if (unknown)
		listing_note(sources, "This kernel does not tell how many runs it skipped.");
	if (c->unbalanced)
		listing_note(sources, "Counts of runs that are not the sum of their kinds: %llu.",
			     (unsigned long long)c->unbalanced);
	if (c->damaged_blocks)
		listing_note(sources, "Damaged blocks of the file that were left out: %llu.",
			     (unsigned long long)c->damaged_blocks);
}

int view_loss_tables(struct report *r, const char *argument, struct listing_set *out,
		     struct error *e)
{
	const struct completeness *c = &r->completeness;
	struct listing *seconds = listing_set_add(out, "losses", "LOSSES BY SECOND", second_columns,
						  COUNT(second_columns));
	struct listing *sources = listing_set_add(out, "counters", "SOURCES OF EVENTS",
						  source_columns, COUNT(source_columns));

	(void)argument;
	(void)e;
	for (size_t i = 0; i < c->second_count; i++)
		add_second(seconds, r, &c->seconds[i]);
	for (unsigned int i = 1; i < SOURCE_LIMIT; i++)
		if (c->sources[i].known || c->sources[i].all)
			add_source(sources, i, &c->sources[i]);
	add_notes(seconds, sources, r);
	return 0;
}
