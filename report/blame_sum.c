// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "blame_private.h"
#include "parallel.h"
#include "steal.h"

#define WINDOWS_A_JOB 512
#define SAMPLES 16384		/* looks at a CPU, about, for the load in the windows of a span */
#define EXCESS_MIN 200000	/* ns: a virtual CPU is not taken for less */
#define PARTS_MAX (1u << 18)	/* of one worker; beyond that causes count as not known */

/* Running time of a slow call or gap beyond the normal one: the hypervisor may have taken it. */
struct excess { uint64_t start, end, ns; uint32_t group, cpu; };

struct blame_worker {
	struct excess *excesses; size_t excess_count, excess_capacity;
	struct group_tally *tallies;
	struct part *parts; size_t part_count, part_capacity;
	uint32_t *table; size_t table_size;	/* place + 1; 0 empty */
	struct blame_window window;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t hash_part(const struct part *p)
{
	uint64_t hash = mix(p->group, (uint64_t)p->state << 16 | (uint64_t)p->kind << 8 | p->hops);

	hash = mix(hash, (uint64_t)p->process << 32 | p->thread);
	for (unsigned int i = 0; i < p->hops; i++)
		hash = mix(hash, p->path[i]);
	return hash;
}

static bool same_key(const struct part *a, const struct part *b)
{
	return a->group == b->group && a->state == b->state && a->kind == b->kind &&
	       a->hops == b->hops && a->process == b->process && a->thread == b->thread &&
	       !memcmp(a->path, b->path, a->hops * sizeof(*a->path));
}

static uint32_t *part_slot(const struct blame_worker *w, const struct part *p)
{
	size_t i = hash_part(p) & (w->table_size - 1);

	while (w->table[i] && !same_key(&w->parts[w->table[i] - 1], p))
		i = (i + 1) & (w->table_size - 1);
	return &w->table[i];
}

static int grow_table(struct blame_worker *w)
{
	size_t size = w->table_size ? w->table_size * 2 : 1024;
	uint32_t *table = calloc(size, sizeof(*table));

	if (!table)
		return ERROR_MEMORY;
	free(w->table);
	w->table = table;
	w->table_size = size;
	for (size_t i = 0; i < w->part_count; i++)
		*part_slot(w, &w->parts[i]) = (uint32_t)i + 1;
	return 0;
}

static int add_part(void *context, const struct part *part)
{
	struct blame_worker *w = context;
	struct part p = *part, *parts;
	uint32_t *slot;

	if ((w->part_count + 1) * 2 > w->table_size && grow_table(w))
		return ERROR_MEMORY;
	if (w->part_count >= PARTS_MAX) {
		p.kind = CAUSE_NONE;
		p.hops = 0;
		p.process = TASKS_UNKNOWN;
		p.thread = TASKS_NONE;
	}
	slot = part_slot(w, &p);
	if (*slot) {
		w->parts[*slot - 1].ns += p.ns;
		return 0;
	}
	parts = array_reserve(w->parts, &w->part_capacity, w->part_count + 1, sizeof(*parts));
	if (!parts)
		return ERROR_MEMORY;
	w->parts = parts;
	parts[w->part_count++] = p;
	*slot = (uint32_t)w->part_count;
	return 0;
}

static void add_sum(struct window_sum *sum, const struct blame_window *w)
{
	sum->windows += (w->window->flags & WINDOW_TAIL) != 0;
	sum->ns += w->window->end - w->window->start;
	for (unsigned int s = 0; s < LOST_STATES; s++)
		sum->states[s] += w->states[s];
	sum->page_events += w->page_events;
	sum->pages += w->pages;
}

/* Worse first; of equal ones the earlier. */
static bool worse(const struct chain_window *a, const struct chain_window *b)
{
	return a->lost != b->lost ? a->lost > b->lost : a->start < b->start;
}

static void add_worst(struct group_tally *t, const struct chain_window *window)
{
	size_t i = t->worst_count;

	for (size_t k = 0; k < t->worst_count; k++)
		if (t->worst[k].start == window->start && t->worst[k].end == window->end)
			return;
	if (i == CHAINS_WORST && !worse(window, &t->worst[--i]))
		return;
	if (t->worst_count < CHAINS_WORST)
		t->worst_count++;
	for (; i && worse(window, &t->worst[i - 1]); i--)
		t->worst[i] = t->worst[i - 1];
	t->worst[i] = *window;
}

static void note_worst(struct group_tally *t, const struct blame_window *w)
{
	uint64_t whole = w->window->whole_end - w->window->whole_start;
	struct chain_window window = {
		.start = w->window->whole_start, .end = w->window->whole_end,
		.lost = whole - (w->group->kind == EFFECT_STARVATION ? 0 : w->group->p50),
	};

	if (t->worst_count == CHAINS_WORST && !worse(&window, &t->worst[CHAINS_WORST - 1]))
		return;
	window.kind = w->most.ns ? w->most.kind : CAUSE_NONE;
	window.process = w->most.ns ? w->most.process : TASKS_UNKNOWN;
	add_worst(t, &window);
}

/* ns of the window in which rows were lost. */
static uint64_t lossy(const struct blame *b, const struct window *w)
{
	size_t low = 0, high = b->lossy_count;
	uint64_t sum = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (b->lossy[middle].end <= w->start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < b->lossy_count && b->lossy[low].start < w->end; low++) {
		uint64_t from = b->lossy[low].start > w->start ? b->lossy[low].start : w->start;
		uint64_t to = b->lossy[low].end < w->end ? b->lossy[low].end : w->end;

		sum += from < to ? to - from : 0;
	}
	return sum;
}

static void count_reclaims(struct group_tally *t, const struct blame_window *w)
{
	const struct timeline *tl = w->timeline;
	const struct timeline_reclaim *r = tl->reclaim_count ?
		timeline_reclaim(tl, w->group->thread, w->window->start) : NULL;

	for (; r && r < tl->reclaims + tl->reclaim_count && r->thread == w->group->thread &&
	     r->start < w->window->end; r++) {
		t->evidence.reclaims += r->end <= w->window->end;
		t->evidence.reclaim_ns += (r->end < w->window->end ? r->end : w->window->end) -
				 (r->start > w->window->start ? r->start : w->window->start);
	}
}

/* Of worker processes, by birth: the first born at or after ts. */
static size_t birth_after(const struct blame *b, uint64_t ts)
{
	size_t low = 0, high = b->birth_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (b->tasks->processes[b->births[middle]].birth < ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Workers that the feeding process made in the window. The time of the first one's making, before
 * its birth, is taken to be as long as the others' on average.
 */
static uint64_t find_births(struct blame_window *w)
{
	const struct blame *b = w->blame;
	uint64_t inside = 0, count = 0, first = 0, each;

	w->startup_from = w->startup_until = 0;
	for (size_t i = birth_after(b, w->window->whole_start); i < b->birth_count; i++) {
		const struct process *p = &b->tasks->processes[b->births[i]];

		if (p->birth >= w->window->whole_end)
			break;
		if (b->roles->processes[b->births[i]].main != w->group->process)
			continue;
		first = count++ ? first : p->birth;
		w->startup_until = p->birth;
		inside += p->birth >= w->window->start && p->birth < w->window->end;
	}
	each = count > 1 ? (w->startup_until - first) / (count - 1) : 0;
	w->startup_from = count > 1 && each < first ? first - each : w->startup_until;
	return inside;
}

static void add_slow(struct group_tally *t, const struct blame_window *w, uint64_t births)
{
	add_sum(&t->slow, w);
	t->evidence.switches += w->switches;
	t->evidence.major_faults += w->major_faults;
	t->evidence.migrations += w->migrations;
	t->evidence.births += births;
	t->lossy += lossy(w->blame, w->window);
	count_reclaims(t, w);
	if ((size_t)(w->window - w->blame->list) % w->blame->sample == 0)
		timeline_load_between(w->timeline, w->window->start, w->window->end, &t->evidence.cpu_time,
				      &t->evidence.busy, &t->evidence.runnable);
	note_worst(t, w);
}

static int note_excess(struct blame_worker *worker, const struct blame_window *w)
{
	uint64_t running = w->states[LOST_RUNNING];
	struct excess *excesses;

	if (!w->blame->steal || w->group->kind == EFFECT_STARVATION || running <= w->group->p50 + EXCESS_MIN)
		return 0;
	excesses = array_reserve(worker->excesses, &worker->excess_capacity, worker->excess_count + 1,
				 sizeof(*excesses));
	if (!excesses)
		return ERROR_MEMORY;
	worker->excesses = excesses;
	excesses[worker->excess_count++] = (struct excess){
		w->window->start, w->window->end, running - w->group->p50, w->window->group, w->longest_cpu,
	};
	return 0;
}

static int one_window(struct blame_worker *worker, const struct window *window)
{
	struct blame_window *w = &worker->window;
	struct group_tally *t = &worker->tallies[window->group];
	bool slow = window->flags & WINDOW_SLOW;
	uint64_t births;
	int ret;

	w->window = window;
	w->group = &w->blame->windows->groups[window->group];
	w->startup_from = w->startup_until = 0;
	births = slow ? find_births(w) : 0;
	w->hand_on = slow ? add_part : NULL;
	w->context = worker;
	ret = blame_take_apart(w);
	if (!slow) {
		add_sum(&t->normal, w);
		return ret;
	}
	add_slow(t, w, births);
	return ret ? ret : note_excess(worker, w);
}

static int one_job(void *context, unsigned int number, size_t job)
{
	struct blame *b = context;
	struct blame_worker *worker = &b->workers[number];
	size_t end = (job + 1) * WINDOWS_A_JOB;
	int ret = 0;

	for (size_t i = job * WINDOWS_A_JOB; i < end && i < b->list_count && !ret; i++)
		ret = one_window(worker, &b->list[i]);
	return ret;
}

int blame_windows(struct blame *b, const struct window *list, size_t count)
{
	b->list = list;
	b->list_count = count;
	b->sample = 1 + count * b->timeline->recording->cpus / SAMPLES;
	return parallel_run((count + WINDOWS_A_JOB - 1) / WINDOWS_A_JOB, one_job, b);
}

static void unite_sum(struct window_sum *to, const struct window_sum *from)
{
	to->windows += from->windows;
	to->ns += from->ns;
	to->page_events += from->page_events;
	to->pages += from->pages;
	for (unsigned int s = 0; s < LOST_STATES; s++)
		to->states[s] += from->states[s];
}

static void unite_tally(struct group_tally *to, const struct group_tally *from)
{
	unite_sum(&to->normal, &from->normal);
	unite_sum(&to->slow, &from->slow);
	chain_evidence_add(&to->evidence, &from->evidence);
	to->lossy += from->lossy;
	for (size_t i = 0; i < from->worst_count; i++)
		add_worst(to, &from->worst[i]);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Total, so that the order does not depend on which worker saw what. */
static int by_group(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int order = compare(x->group, y->group);

	order = order ? order : compare(y->ns, x->ns);
	order = order ? order : compare(x->state, y->state);
	order = order ? order : compare(x->kind, y->kind);
	order = order ? order : compare(x->process, y->process);
	order = order ? order : compare(x->thread, y->thread);
	order = order ? order : compare(x->hops, y->hops);
	return order ? order : memcmp(x->path, y->path, x->hops * sizeof(*x->path));
}

static int by_time(const void *a, const void *b)
{
	const struct excess *x = a, *y = b;
	int order = compare(x->start, y->start);

	order = order ? order : compare(x->end, y->end);
	return order ? order : compare(x->group, y->group);
}

/* In time order, whichever worker saw what, so that the result is the same each time. */
static int attribute_steal(struct blame *b)
{
	struct blame_worker *all = &b->workers[0];
	size_t count = all->excess_count;
	struct excess *excesses;

	for (unsigned int i = 1; i < b->worker_count; i++)
		count += b->workers[i].excess_count;
	excesses = array_reserve(all->excesses, &all->excess_capacity, count + 1, sizeof(*excesses));
	if (!excesses)
		return ERROR_MEMORY;
	all->excesses = excesses;
	for (unsigned int i = 1; i < b->worker_count; i++) {
		const struct blame_worker *w = &b->workers[i];

		if (w->excess_count)
			memcpy(excesses + all->excess_count, w->excesses, w->excess_count * sizeof(*excesses));
		all->excess_count += w->excess_count;
	}
	qsort(excesses, count, sizeof(*excesses), by_time);
	for (size_t i = 0; i < count; i++)
		all->tallies[excesses[i].group].steal += steal_take(b->steal, excesses[i].cpu, excesses[i].start,
								   excesses[i].end, excesses[i].ns);
	return 0;
}

int blame_finish(struct blame *b)
{
	struct blame_worker *all = &b->workers[0];
	int ret = 0;

	for (unsigned int i = 1; i < b->worker_count && !ret; i++) {
		for (size_t g = 0; g < b->windows->group_count; g++)
			unite_tally(&all->tallies[g], &b->workers[i].tallies[g]);
		for (size_t k = 0; k < b->workers[i].part_count && !ret; k++)
			ret = add_part(all, &b->workers[i].parts[k]);
	}
	if (!ret && b->steal)
		ret = attribute_steal(b);
	if (all->part_count)
		qsort(all->parts, all->part_count, sizeof(*all->parts), by_group);
	b->tallies = all->tallies;
	b->parts = all->parts;
	b->part_count = all->part_count;
	return ret;
}

int blame_one(struct blame *b, const struct window *window, const struct blame_watch *watch)
{
	struct blame_window *w = &b->workers[0].window;
	int ret;

	w->window = window;
	w->group = &b->windows->groups[window->group];
	w->watch = watch;
	w->hand_on = watch->part;
	w->context = watch->context;
	find_births(w);
	ret = blame_take_apart(w);
	w->watch = NULL;
	return ret;
}

static int by_birth(const void *a, const void *b, void *context)
{
	const struct tasks *t = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare(t->processes[x].birth, t->processes[y].birth);

	return order ? order : compare(x, y);
}

static int find_workers(struct blame *b)
{
	b->births = malloc((b->tasks->process_count + 1) * sizeof(*b->births));
	if (!b->births)
		return ERROR_MEMORY;
	for (size_t i = 0; i < b->tasks->process_count; i++)
		if (b->roles->processes[i].role == ROLE_WORKER && b->tasks->processes[i].born)
			b->births[b->birth_count++] = (uint32_t)i;
	if (b->birth_count)
		qsort_r(b->births, b->birth_count, sizeof(*b->births), by_birth, (void *)b->tasks);
	return 0;
}

int blame_open(struct blame *b)
{
	const char *arch = recording_fact(b->timeline->recording, "host.arch");
	int ret = find_workers(b);

	b->aarch64 = arch && !strcmp(arch, "aarch64");
	b->worker_count = parallel_workers();
	b->workers = calloc(b->worker_count, sizeof(*b->workers));
	if (ret || !b->workers)
		return ERROR_MEMORY;
	for (unsigned int i = 0; i < b->worker_count; i++) {
		struct blame_worker *w = &b->workers[i];

		w->window.blame = b;
		w->window.timeline = b->timeline;
		w->tallies = calloc(b->windows->group_count + 1, sizeof(*w->tallies));
		if (!w->tallies)
			return ERROR_MEMORY;
	}
	return 0;
}

void blame_release(struct blame *b)
{
	for (unsigned int i = 0; b->workers && i < b->worker_count; i++) {
		free(b->workers[i].tallies);
		free(b->workers[i].parts);
		free(b->workers[i].excesses);
		free(b->workers[i].table);
	}
	free(b->workers);
	free(b->births);
	memset(b, 0, sizeof(*b));
}
