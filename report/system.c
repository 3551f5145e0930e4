// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "system.h"

struct cpu_samples { bool seen; struct row_cpu first, last; };

struct loader {
	struct system_figures *figures;
	struct recording *recording;
	bool psi_seen;
	struct row_system psi_first, psi_last;
	struct cpu_samples *cpus;
};

static void visit_memory(struct system_figures *s, const struct row_system *row)
{
	uint64_t used = row->swap_total > row->swap_free ? row->swap_total - row->swap_free : 0;

	if (!s->has_memory || row->memory_available < s->memory_min)
		s->memory_min = row->memory_available;
	if (used > s->swap_used_max)
		s->swap_used_max = used;
	s->memory_total = row->memory_total;
	s->swap_total = row->swap_total;
	s->has_memory = true;
}

static int visit_system(void *context, const void *values)
{
	const struct row_system *row = values;
	struct loader *l = context;
	struct system_figures *s = l->figures;

	if (!recording_in_span(l->recording, row->ts))
		return 0;
	s->samples++;
	if (row->flags & SYSTEM_FLAG_MEMORY)
		visit_memory(s, row);
	if (row->flags & SYSTEM_FLAG_LOAD) {
		s->has_load = true;
		if (row->load1 > s->load_max)
			s->load_max = row->load1;
		if (row->threads > s->threads_max)
			s->threads_max = row->threads;
	}
	if (row->flags & SYSTEM_FLAG_PSI) {
		if (!l->psi_seen)
			l->psi_first = *row;
		l->psi_seen = true;
		l->psi_last = *row;
	}
	return 0;
}

static int visit_cpu(void *context, const void *values)
{
	const struct row_cpu *row = values;
	struct loader *l = context;
	struct cpu_samples *c;

	if (row->cpu >= l->recording->cpus || !recording_in_span(l->recording, row->ts) ||
	    l->recording->cpu[row->cpu].left_out)
		return 0;
	c = &l->cpus[row->cpu];
	if (!c->seen)
		c->first = *row;
	c->seen = true;
	c->last = *row;
	return 0;
}

/* Running totals; a CPU that went offline may begin again from 0. */
static uint64_t grown(uint64_t first, uint64_t last)
{
	return last > first ? last - first : 0;
}

static void sum_samples(struct loader *l)
{
	struct system_figures *s = l->figures;

	for (uint32_t i = 0; i < l->recording->cpus; i++) {
		const struct cpu_samples *c = &l->cpus[i];

		if (!c->seen || c->last.ts == c->first.ts)
			continue;
		s->has_cpu_samples = true;
		s->steal += grown(c->first.steal, c->last.steal);
		s->iowait += grown(c->first.iowait, c->last.iowait);
		s->sampled_busy += grown(c->first.user, c->last.user) +
				   grown(c->first.system, c->last.system) +
				   grown(c->first.irq, c->last.irq);
		s->sampled += c->last.ts - c->first.ts;
	}
	if (!l->psi_seen)
		return;
	s->psi_span = grown(l->psi_first.ts, l->psi_last.ts);
	s->has_psi = s->psi_span > 0;
	s->psi_cpu = grown(l->psi_first.psi_cpu_some, l->psi_last.psi_cpu_some);
	s->psi_memory = grown(l->psi_first.psi_memory_some, l->psi_last.psi_memory_some);
	s->psi_io = grown(l->psi_first.psi_io_some, l->psi_last.psi_io_some);
}

int system_load(struct system_figures *s, struct recording *r, const struct procs *p)
{
	struct loader l = { .figures = s, .recording = r };
	int ret;

	memset(s, 0, sizeof(*s));
	s->span = r->end - r->start;
	s->runnable = p->running + p->waiting;
	for (uint32_t i = 0; i < r->cpus; i++) {
		s->busy += p->cpus[i].busy;
		s->cpu_time += p->cpus[i].busy + p->cpus[i].idle;
		s->unrecorded += p->cpus[i].unrecorded;
	}
	l.cpus = calloc(r->cpus, sizeof(*l.cpus));
	if (!l.cpus)
		return ERROR_MEMORY;
	ret = recording_rows(r, TABLE_system, visit_system, &l);
	if (!ret)
		ret = recording_rows(r, TABLE_cpu, visit_cpu, &l);
	sum_samples(&l);
	free(l.cpus);
	return ret;
}
