// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include "narrow.h"

/* What a table's blocks are chosen by. */
enum choice {
	CHOICE_ALL = 0,		/* small, or needed from the start on: read whole */
	CHOICE_EVENTS,		/* those with events in the span, of CPUs that count */
	CHOICE_SAMPLES,		/* running totals: the last ones before the span too */
};

static enum choice choice_of(enum table table)
{
	switch (table) {
	case TABLE_switch:
	case TABLE_call:
	case TABLE_page:
	case TABLE_reclaim:
		return CHOICE_EVENTS;
	case TABLE_system:
	case TABLE_cpu:
	case TABLE_cgroup:
		return CHOICE_SAMPLES;
	default:
		return CHOICE_ALL;
	}
}

static bool has_events(const struct recording *r, const struct block_info *b)
{
	return b->last_ts >= r->first && !recording_after(r, b->first_ts) &&
	       b->cpu < r->cpus && !r->cpu[b->cpu].left_out;
}

/* list becomes what of it is needed, all what it was. */
static int choose(const struct recording *r, enum choice choice, struct block_list *list,
		  struct block_list *all)
{
	struct block_list kept = { .block = malloc((list->count + 1) * sizeof(*kept.block)) };

	if (!kept.block)
		return ERROR_MEMORY;
	kept.capacity = list->count + 1;
	for (size_t i = 0; i < list->count; i++) {
		const struct block_info *b = reader_block(r->reader, list->block[i]);

		if (choice == CHOICE_SAMPLES && b->last_ts < r->first)
			kept.count = 0;
		if (choice == CHOICE_SAMPLES ? !recording_after(r, b->first_ts) : has_events(r, b))
			kept.block[kept.count++] = list->block[i];
	}
	*all = *list;
	*list = kept;
	return 0;
}

static void leave_out_cpus(struct recording *r, const uint64_t *cpus)
{
	r->cpus_present = 0;
	for (uint32_t i = 0; i < r->cpus; i++) {
		r->cpu[i].left_out = !(cpus[i / 64] >> i % 64 & 1);
		r->cpu[i].present &= !r->cpu[i].left_out;
		r->cpus_present += r->cpu[i].present;
		r->partial |= r->cpu[i].left_out;
	}
	if (!r->cpus_present)
		r->cpus_present = 1;
}

int recording_narrow(struct recording *r, uint64_t from, uint64_t to, const uint64_t *cpus)
{
	int ret = 0;

	if (cpus)
		leave_out_cpus(r, cpus);
	if (from > r->whole_start)
		r->start = r->first = from;
	if (to < r->whole_end) {
		r->end = to;
		r->last = to - 1;
	}
	r->narrowed = r->partial || r->first || r->end != r->whole_end;
	for (unsigned int t = 0; t < TABLE_LIMIT && r->narrowed && !ret; t++)
		if (choice_of((enum table)t) != CHOICE_ALL)
			ret = choose(r, choice_of((enum table)t), &r->blocks[t], &r->all[t]);
	return ret;
}
