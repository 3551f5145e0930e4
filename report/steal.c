// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "steal.h"

#define CELLS_MAX (1u << 24)	/* of all CPUs: 128 MiB; longer recordings on larger machines go without */

struct loader { struct steal *steal; const struct recording *recording; uint64_t *last; bool *seen; };

static size_t cell_of(const struct steal *s, uint64_t ts)
{
	size_t cell = ts > s->start ? (size_t)((ts - s->start) / STEAL_CELL) : 0;

	return cell < s->cells ? cell : s->cells - 1;
}

static int visit_cpu(void *context, const void *values)
{
	const struct row_cpu *row = values;
	struct loader *l = context;

	if (row->cpu >= l->recording->cpus || !recording_reached(l->recording, row->ts))
		return 0;
	if (l->seen[row->cpu] && row->steal > l->last[row->cpu] &&
	    recording_in_span(l->recording, row->ts))
		l->steal->left[row->cpu * l->steal->cells + cell_of(l->steal, row->ts)] +=
			row->steal - l->last[row->cpu];
	l->seen[row->cpu] = true;
	l->last[row->cpu] = row->steal;
	return 0;
}

int steal_load(struct steal *s, struct recording *r)
{
	struct loader l = { s, r, calloc(r->cpus, sizeof(*l.last)), calloc(r->cpus, sizeof(*l.seen)) };
	uint64_t cells = (r->end - r->start) / STEAL_CELL + 1;
	int ret = l.last && l.seen ? 0 : ERROR_MEMORY;

	*s = (struct steal){ .start = r->start };
	if (!ret && cells <= CELLS_MAX / r->cpus) {
		s->cells = (size_t)cells;
		s->left = calloc(s->cells * r->cpus, sizeof(*s->left));
		ret = s->left ? recording_rows(r, TABLE_cpu, visit_cpu, &l) : ERROR_MEMORY;
	}
	free(l.last);
	free(l.seen);
	return ret;
}

/* The samples come late by up to a tick and their own period: the cell after counts too. */
uint64_t steal_take(struct steal *s, uint32_t cpu, uint64_t start, uint64_t end, uint64_t ns)
{
	uint64_t taken = 0;

	if (!s->cells)
		return 0;
	for (size_t i = cell_of(s, start); i <= cell_of(s, end + STEAL_CELL / 4) && taken < ns; i++) {
		uint64_t *left = &s->left[cpu * s->cells + i];
		uint64_t part = *left < ns - taken ? *left : ns - taken;

		*left -= part;
		taken += part;
	}
	return taken;
}

void steal_release(struct steal *s)
{
	free(s->left);
	memset(s, 0, sizeof(*s));
}
