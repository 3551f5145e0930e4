// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "completeness.h"

#define SECONDS_MAX 100000
#define NS_S 1000000000ull

/* The last counter row of each (source, CPU). */
struct last_row { bool seen; struct row_counter row; };

struct loader {
	struct completeness *completeness;
	struct recording *recording;
	struct last_row *last;		/* SOURCE_LIMIT per CPU */
};

const char *completeness_source(unsigned int source)
{
	static const char *const names[SOURCE_LIMIT] = {
		[SOURCE_SWITCH] = "switch", [SOURCE_WAKING] = "waking",
		[SOURCE_WAKEUP] = "wakeup", [SOURCE_WAKEUP_NEW] = "wakeup_new",
		[SOURCE_MIGRATE] = "migrate", [SOURCE_PAGE_ALLOC] = "page_alloc",
		[SOURCE_FORK] = "fork", [SOURCE_EXEC] = "exec", [SOURCE_EXIT] = "exit",
		[SOURCE_RENAME] = "rename", [SOURCE_CALL_ENTRY] = "call_entry",
		[SOURCE_CALL_RETURN] = "call_return", [SOURCE_MMAP] = "mmap",
		[SOURCE_STATE] = "state", [SOURCE_INTERRUPT] = "interrupt",
		[SOURCE_RECLAIM] = "reclaim",
	};

	return source < SOURCE_LIMIT && names[source] ? names[source] : "unknown";
}

const char *completeness_reason(unsigned int reason)
{
	static const char *const names[] = {
		[LOSS_RING_FULL] = "buffer full", [LOSS_NO_STORAGE] = "no storage",
		[LOSS_TOO_DEEP] = "nested too deep", [LOSS_WRITE_FAILED] = "could not be written",
	};

	return reason < sizeof(names) / sizeof(*names) && names[reason] ? names[reason] : "unknown";
}

static int visit_counter(void *context, const void *values)
{
	const struct row_counter *row = values;
	struct loader *l = context;
	struct last_row *last;

	if (row->source >= SOURCE_LIMIT || row->cpu >= l->recording->cpus)
		return 0;
	last = &l->last[row->cpu * SOURCE_LIMIT + row->source];
	if (!last->seen || row->ts >= last->row.ts)
		*last = (struct last_row){ true, *row };
	return 0;
}

static int add_second(struct completeness *c, const struct row_loss *row)
{
	struct loss_second *seconds;

	if (c->second_count == SECONDS_MAX)
		return 0;
	seconds = array_reserve(c->seconds, &c->second_capacity, c->second_count + 1,
				sizeof(*seconds));
	if (!seconds)
		return ERROR_MEMORY;
	c->seconds = seconds;
	seconds[c->second_count++] = (struct loss_second){
		row->first, row->last, row->count, (uint32_t)row->source, (uint32_t)row->reason,
	};
	return 0;
}

static bool overlaps(const struct recording *r, const struct row_loss *row)
{
	if (row->cpu < r->cpus && r->cpu[row->cpu].left_out)
		return false;
	return row->last >= r->first && !recording_after(r, row->first);
}

static int visit_loss(void *context, const void *values)
{
	const struct row_loss *row = values;
	struct loader *l = context;
	struct source_counts *s;

	if (row->source >= SOURCE_LIMIT || !row->count)
		return 0;
	s = &l->completeness->sources[row->source];
	s->ring_full += row->reason == LOSS_RING_FULL ? row->count : 0;
	s->no_storage += row->reason == LOSS_NO_STORAGE ? row->count : 0;
	s->too_deep += row->reason == LOSS_TOO_DEEP ? row->count : 0;
	s->write_failed += row->reason == LOSS_WRITE_FAILED ? row->count : 0;
	s->pages += row->pages;
	if (!s->first || row->first < s->first)
		s->first = row->first;
	if (row->last > s->last)
		s->last = row->last;
	if (!overlaps(l->recording, row))
		return 0;
	s->here += row->count;
	return add_second(l->completeness, row);
}

static void sum_counters(struct loader *l)
{
	struct completeness *c = l->completeness;

	for (size_t i = 0; i < (size_t)l->recording->cpus * SOURCE_LIMIT; i++) {
		const struct row_counter *row = &l->last[i].row;
		struct source_counts *s = &c->sources[i % SOURCE_LIMIT];

		if (!l->last[i].seen)
			continue;
		s->known = true;
		s->missed_unknown |= row->flags & COUNTER_FLAG_MISSED_UNKNOWN;
		s->entries += row->entries;
		s->emitted += row->emitted;
		s->filtered += row->filtered;
		s->lost += row->lost;
		s->missed += row->missed;
		c->unbalanced += row->entries != row->emitted + row->filtered + row->lost;
	}
}

static void judge(struct completeness *c, const struct recording *r)
{
	for (unsigned int i = 0; i < SOURCE_LIMIT; i++) {
		struct source_counts *s = &c->sources[i];
		uint64_t told = s->ring_full + s->no_storage + s->too_deep;

		s->all = (s->lost > told ? s->lost : told) + s->write_failed + s->missed;
		s->here = r->narrowed ? s->here + s->all - told - s->write_failed : s->all;
		c->lost += s->all;
	}
	c->calls_lossy = c->sources[SOURCE_CALL_ENTRY].here || c->sources[SOURCE_CALL_RETURN].here;
	c->switches_lossy = c->sources[SOURCE_SWITCH].here || c->sources[SOURCE_WAKING].here ||
			    c->sources[SOURCE_WAKEUP].here || c->sources[SOURCE_WAKEUP_NEW].here;
	c->pages_lossy = c->sources[SOURCE_PAGE_ALLOC].here || c->sources[SOURCE_SWITCH].here;
	c->closed = r->closed;
	c->damaged_blocks = atomic_load(&r->damaged_blocks);
	c->unknown_blocks = r->file->unknown_blocks;
	if (c->damaged_blocks)
		c->calls_lossy = c->switches_lossy = c->pages_lossy = true;
	c->error = recording_fact(r, "record.error");
	if (c->error && !*c->error)
		c->error = NULL;
	c->complete = c->closed && !c->lost && !c->damaged_blocks && !c->error;
}

static int by_time(const void *a, const void *b)
{
	const struct loss_second *x = a, *y = b;

	if (x->first / NS_S != y->first / NS_S)
		return x->first < y->first ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

/* The CPUs' rows of one source, reason and second become one. */
static void join_seconds(struct completeness *c)
{
	size_t kept = 0;

	if (c->second_count)
		qsort(c->seconds, c->second_count, sizeof(*c->seconds), by_time);
	for (size_t i = 0; i < c->second_count; i++) {
		const struct loss_second *s = &c->seconds[i];
		struct loss_second *to = kept ? &c->seconds[kept - 1] : NULL;

		if (!to || to->source != s->source || to->reason != s->reason ||
		    to->first / NS_S != s->first / NS_S) {
			c->seconds[kept++] = *s;
			continue;
		}
		to->count += s->count;
		to->first = s->first < to->first ? s->first : to->first;
		to->last = s->last > to->last ? s->last : to->last;
	}
	c->second_count = kept;
}

int completeness_load(struct completeness *c, struct recording *r)
{
	struct loader l = { .completeness = c, .recording = r };
	int ret;

	memset(c, 0, sizeof(*c));
	l.last = calloc((size_t)r->cpus * SOURCE_LIMIT, sizeof(*l.last));
	if (!l.last)
		return ERROR_MEMORY;
	ret = recording_rows(r, TABLE_counter, visit_counter, &l);
	if (!ret)
		ret = recording_rows(r, TABLE_loss, visit_loss, &l);
	sum_counters(&l);
	join_seconds(c);
	judge(c, r);
	free(l.last);
	return ret;
}

void completeness_release(struct completeness *c)
{
	free(c->seconds);
	memset(c, 0, sizeof(*c));
}
