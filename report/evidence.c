// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "evidence.h"

#define GROUPS_MAX 4096

struct group { uint64_t path; struct row_cgroup first, last; };

struct loader {
	struct evidence *evidence;
	struct recording *recording;
	const struct tasks *tasks;
	struct group *groups; size_t count, capacity;
};

/* The last row of the leader counts; that of another thread where there is none. */
static int visit_affinity(void *context, const void *values)
{
	const struct row_affinity *row = values;
	struct loader *l = context;
	uint32_t process = tasks_process(l->tasks, row->tgid, row->ts);

	if (recording_after(l->recording, row->ts))
		return 0;
	if (process && (row->tid == row->tgid || !l->evidence->allowed[process]))
		l->evidence->allowed[process] = row->count > UINT32_MAX ? UINT32_MAX : (uint32_t)row->count;
	return 0;
}

static int visit_cgroup(void *context, const void *values)
{
	const struct row_cgroup *row = values;
	struct loader *l = context;
	struct group *groups;

	if (recording_after(l->recording, row->ts))
		return 0;
	for (size_t i = 0; i < l->count; i++) {
		if (l->groups[i].path != row->path)
			continue;
		l->groups[i].last = *row;
		if (row->ts < l->recording->first)
			l->groups[i].first = *row;
		return 0;
	}
	if (l->count == GROUPS_MAX)
		return 0;
	groups = array_reserve(l->groups, &l->capacity, l->count + 1, sizeof(*groups));
	if (!groups)
		return ERROR_MEMORY;
	l->groups = groups;
	groups[l->count++] = (struct group){ row->path, *row, *row };
	return 0;
}

static uint64_t grown(uint64_t last, uint64_t first)
{
	return last > first ? last - first : 0;
}

static bool tighter(const struct row_cgroup *row, const struct evidence *e)
{
	return !e->period || (unsigned __int128)row->quota * e->period <
			     (unsigned __int128)e->quota * row->period;
}

static void pick_group(struct loader *l)
{
	struct evidence *e = l->evidence;

	for (size_t i = 0; i < l->count; i++) {
		const struct group *g = &l->groups[i];
		uint64_t ns = grown(g->last.throttled_time, g->first.throttled_time);

		if (!g->last.quota || !g->last.period)
			continue;
		if (e->quota_path && (ns < e->throttled_ns || (ns == e->throttled_ns && !tighter(&g->last, e))))
			continue;
		e->quota_path = reader_string(l->recording->reader, g->path);
		e->quota = g->last.quota;
		e->period = g->last.period;
		e->periods = grown(g->last.periods, g->first.periods);
		e->throttled = grown(g->last.throttled, g->first.throttled);
		e->throttled_ns = ns;
	}
}

int evidence_load(struct evidence *e, struct recording *r, const struct tasks *t)
{
	struct loader l = { .evidence = e, .recording = r, .tasks = t };
	int ret;

	memset(e, 0, sizeof(*e));
	e->allowed = calloc(t->process_count, sizeof(*e->allowed));
	if (!e->allowed)
		return ERROR_MEMORY;
	ret = recording_rows(r, TABLE_affinity, visit_affinity, &l);
	if (!ret)
		ret = recording_rows(r, TABLE_cgroup, visit_cgroup, &l);
	pick_group(&l);
	free(l.groups);
	return ret;
}

void evidence_release(struct evidence *e)
{
	free(e->allowed);
	memset(e, 0, sizeof(*e));
}
