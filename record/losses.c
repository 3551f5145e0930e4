// SPDX-License-Identifier: BSD-2-Clause
#include "losses.h"
#include <stdlib.h>
#include <string.h>
#include "../bpf/wire.h"
#include "hostinfo.h"

#define LOOKS 4	/* updates after a loss until its second is surely over */

struct losses {
	struct writer *w;
	struct probes *probes;
	const struct mappings *mappings;
	uint64_t mappings_lost, mappings_checked;	/* as of the last update; when that was */
	unsigned int ncpus;
	struct wire_cpu *now, *before;	/* by CPU */
	struct wire_loss *slot;		/* by CPU, one slot of the history */
	uint64_t *written;		/* by source, CPU: the second up to which losses are in the file */
	unsigned int looks;		/* at the history still to come: a loss was counted lately */
};

int losses_open(struct losses **out, struct writer *w, struct probes *p, const struct mappings *mappings,
		struct error *e)
{
	struct losses *l = calloc(1, sizeof(*l));

	*out = l;
	if (!l)
		return error_set(e, ERROR_MEMORY, "out of memory");
	l->w = w;
	l->probes = p;
	l->mappings = mappings;
	l->mappings_checked = hostinfo_now();
	l->ncpus = probes_cpus(p);
	l->now = calloc(l->ncpus, sizeof(*l->now));
	l->before = calloc(l->ncpus, sizeof(*l->before));
	l->slot = calloc(l->ncpus, sizeof(*l->slot));
	l->written = calloc((size_t)l->ncpus * WIRE_SOURCE_LIMIT, sizeof(*l->written));
	if (!l->now || !l->before || !l->slot || !l->written)
		return error_set(e, ERROR_MEMORY, "out of memory");
	return 0;
}

static void counter_write(struct losses *l, unsigned int source, unsigned int cpu, uint64_t ts, int64_t missed)
{
	const struct wire_counter *c = &l->now[cpu].counter[source];
	struct row_counter row = {
		.ts = ts, .source = source, .cpu = cpu, .entries = c->entries, .emitted = c->emitted,
		.filtered = c->filtered, .lost = c->lost, .missed = missed > 0 ? missed : 0,
		.flags = missed < 0 ? COUNTER_FLAG_MISSED_UNKNOWN : 0,
	};

	writer_row(l->w, TABLE_counter, 0, &row);
}

static void history_row(struct losses *l, unsigned int source, unsigned int cpu, uint32_t before)
{
	const struct wire_loss *loss = &l->slot[cpu];
	uint64_t *written = &l->written[source * l->ncpus + cpu];
	struct row_loss row = {
		.source = source, .cpu = cpu, .first = loss->first, .last = loss->last, .count = loss->count,
		.reason = loss->reason, .pages = loss->page_events,
	};

	if (!loss->count || loss->second >= before || loss->second < *written)
		return;
	writer_row(l->w, TABLE_loss, 0, &row);
}

/* Seconds (of 2^30 ns) before the given one that are not in the file yet. */
static void history_write(struct losses *l, uint32_t before)
{
	for (unsigned int source = 1; source < WIRE_SOURCE_LIMIT; source++) {
		for (unsigned int slot = 0; slot < WIRE_LOSS_SECONDS; slot++) {
			if (probes_losses(l->probes, source, slot, l->slot))
				continue;
			for (unsigned int cpu = 0; cpu < l->ncpus; cpu++)
				history_row(l, source, cpu, before);
		}
		for (unsigned int cpu = 0; cpu < l->ncpus; cpu++)
			l->written[source * l->ncpus + cpu] = before;
	}
}

/* Mappings are counted by perf itself: what it delivered and what it had no room for. */
static void mappings_counter(struct losses *l, uint64_t ts)
{
	struct row_counter row = { .ts = ts, .source = SOURCE_MMAP };

	if (!l->mappings)
		return;
	row.emitted = mappings_received(l->mappings);
	row.lost = mappings_lost(l->mappings);
	row.entries = row.emitted + row.lost;
	writer_row(l->w, TABLE_counter, 0, &row);
}

static void mappings_history(struct losses *l, uint64_t ts)
{
	uint64_t lost = l->mappings ? mappings_lost(l->mappings) : 0;
	struct row_loss row = {
		.source = SOURCE_MMAP, .first = l->mappings_checked, .last = ts, .count = lost - l->mappings_lost,
		.reason = LOSS_RING_FULL,
	};

	if (row.count) {
		writer_row(l->w, TABLE_loss, 0, &row);
		mappings_counter(l, ts);
	}
	l->mappings_lost = lost;
	l->mappings_checked = ts;
}

void losses_update(struct losses *l)
{
	uint64_t ts = hostinfo_now();

	mappings_history(l, ts);
	if (probes_counters(l->probes, l->now, NULL))
		return;
	for (unsigned int cpu = 0; cpu < l->ncpus; cpu++) {
		for (unsigned int source = 1; source < WIRE_SOURCE_LIMIT; source++) {
			const struct wire_counter *now = &l->now[cpu].counter[source];
			const struct wire_counter *before = &l->before[cpu].counter[source];

			if (!memcmp(now, before, sizeof(*now)))
				continue;
			if (now->lost != before->lost)
				l->looks = LOOKS;
			counter_write(l, source, cpu, ts, 0);
		}
	}
	memcpy(l->before, l->now, l->ncpus * sizeof(*l->now));
	if (l->looks) {
		l->looks--;
		history_write(l, ts >> 30);
	}
}

void losses_coverage(struct losses *l, uint64_t until)
{
	for (unsigned int cpu = 0; cpu < l->ncpus; cpu++) {
		struct row_state row = {
			.ts = until, .kind = STATE_KIND_COVERAGE, .cpu = cpu, .since = until,
			.page_events = l->now[cpu].page_events_lost, .pages = l->now[cpu].pages_lost,
		};

		writer_row(l->w, TABLE_state, 0, &row);
	}
}

void losses_finish(struct losses *l)
{
	uint64_t ts = hostinfo_now();

	if (probes_counters(l->probes, l->now, NULL))
		return;
	for (unsigned int source = 1; source < WIRE_SOURCE_LIMIT; source++) {
		int64_t missed = probes_missed(l->probes, source);

		for (unsigned int cpu = 0; cpu < l->ncpus; cpu++)
			if (l->now[cpu].counter[source].entries || (!cpu && missed))
				counter_write(l, source, cpu, ts, cpu ? 0 : missed);
	}
	if (losses_total(l))
		history_write(l, UINT32_MAX);
	mappings_history(l, ts);
	mappings_counter(l, ts);
}

uint64_t losses_total(const struct losses *l)
{
	uint64_t total = l->mappings_lost;

	for (unsigned int cpu = 0; cpu < l->ncpus; cpu++)
		for (unsigned int source = 1; source < WIRE_SOURCE_LIMIT; source++)
			total += l->now[cpu].counter[source].lost;
	return total;
}

void losses_close(struct losses *l)
{
	if (!l)
		return;
	free(l->now);
	free(l->before);
	free(l->slot);
	free(l->written);
	free(l);
}
