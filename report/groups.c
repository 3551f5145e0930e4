// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "groups.h"
#include "report.h"

/* What one that is still alive ends later than. */
static uint64_t end_of(const struct process *p)
{
	return p->end ? p->end : UINT64_MAX;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int processes_at_once(const struct tasks *t, const uint32_t *processes, size_t count,
		      uint64_t *most)
{
	uint64_t *births = calloc(2 * count + 1, sizeof(*births)), *ends = births + count, now = 0;

	*most = 0;
	if (!births)
		return ERROR_MEMORY;
	for (size_t i = 0; i < count; i++) {
		births[i] = t->processes[processes[i]].birth;
		ends[i] = end_of(&t->processes[processes[i]]);
	}
	qsort(births, count, sizeof(*births), by_value);
	qsort(ends, count, sizeof(*ends), by_value);
	for (size_t i = 0, k = 0; i < count; i++) {
		for (now++; k < i && ends[k] <= births[i]; k++)
			now--;
		*most = now > *most ? now : *most;
	}
	free(births);
	return 0;
}

/* Members are in order of birth: one born after any of its generation ended begins the next. */
static uint64_t generations(const struct tasks *t, const uint32_t *members, size_t count)
{
	uint64_t n = 0, first_end = 0;

	for (size_t i = 0; i < count; i++) {
		const struct process *p = &t->processes[members[i]];

		if (!n || p->birth >= first_end) {
			n++;
			first_end = end_of(p);
		} else if (end_of(p) < first_end) {
			first_end = end_of(p);
		}
	}
	return n;
}

static void sum_add(struct thread_sum *to, const struct thread_sum *from)
{
	account_add(&to->a, &from->a);
	if (!to->end || from->begin < to->begin)
		to->begin = from->begin;
	if (from->end > to->end)
		to->end = from->end;
	to->alive |= from->alive;
	to->life += from->life;
	to->processes += from->processes;
	to->threads += from->threads;
	to->calls += from->calls;
	to->call_time += from->call_time;
}

void thread_sum_thread(const struct report *r, uint32_t thread, struct thread_sum *sum)
{
	const struct thread_account *t = &r->procs.threads[thread];

	*sum = (struct thread_sum){
		.name = r->tasks.threads[thread].name, .processes = 1, .threads = 1, .a = t->a,
		.life = t->end - t->begin, .begin = t->begin, .end = t->end, .alive = t->alive,
		.calls = r->latency.thread_calls[thread],
	};
}

void thread_sum_process(const struct report *r, uint32_t process, struct thread_sum *sum)
{
	const struct process *p = &r->tasks.processes[process];
	const struct process_account *a = &r->procs.processes[process];

	*sum = (struct thread_sum){ .name = p->name };
	for (uint32_t i = p->first_thread; i != TASKS_NONE; i = r->tasks.threads[i].next)
		if (select_lives(r, i)) {
			account_add(&sum->a, &r->procs.threads[i].a);
			sum->life += r->procs.threads[i].end - r->procs.threads[i].begin;
			sum->threads++;
		}
	sum->processes = 1;
	sum->begin = a->begin;
	sum->end = a->end > p->end ? a->end : p->end;
	sum->alive = !p->end;
	sum->calls = r->latency.process_calls[process];
	sum->call_time = r->latency.process_time[process];
}

static struct group_median median(uint64_t *values, size_t n)
{
	if (!n)
		return (struct group_median){ 0, 0 };
	qsort(values, n, sizeof(*values), by_value);
	return (struct group_median){ values[(n + 1) / 2 - 1], n };
}

static int find_medians(struct worker_group *g, const struct report *r)
{
	uint64_t *lives = calloc(2 * g->count, sizeof(*lives)), *starts = lives + g->count;
	size_t lived = 0, started = 0;

	if (!lives)
		return ERROR_MEMORY;
	for (size_t i = 0; i < g->count; i++) {
		const struct process *p = &r->tasks.processes[g->members[i]];
		uint64_t wait = p->leader == TASKS_NONE ? UINT64_MAX :
				r->procs.threads[p->leader].first_wait;

		if (p->born && p->end >= p->birth)
			lives[lived++] = p->end - p->birth;
		if (process_start_in_span(p, &r->recording) && !r->recording.partial &&
		    wait != UINT64_MAX && wait >= p->birth)
			starts[started++] = wait - p->birth;
	}
	g->lifetime = median(lives, lived);
	g->startup = median(starts, started);
	free(lives);
	return 0;
}

static int by_name(const void *a, const void *b, void *context)
{
	const struct thread *threads = context, *x = &threads[*(const uint32_t *)a];
	const struct thread *y = &threads[*(const uint32_t *)b];
	int names = strcmp(x->name, y->name);

	return names ? names : (x > y) - (x < y);
}

static int by_running(const void *a, const void *b)
{
	const struct thread_sum *x = a, *y = b;

	if (x->a.running != y->a.running)
		return x->a.running > y->a.running ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A sum for each name; threads are in order of it. */
static int sum_names(struct worker_group *g, const struct report *r, const uint32_t *threads,
		     size_t count)
{
	const char *name = NULL;

	for (size_t i = 0; i < count; i++) {
		struct thread_sum one, *sums = g->threads;

		thread_sum_thread(r, threads[i], &one);
		if (!name || strcmp(name, one.name)) {
			sums = array_reserve(sums, &g->thread_capacity, g->thread_count + 1,
					     sizeof(*sums));
			if (!sums)
				return ERROR_MEMORY;
			g->threads = sums;
			sums[g->thread_count++] = (struct thread_sum){ .name = one.name };
			name = one.name;
		}
		one.processes = 0;
		sum_add(&sums[g->thread_count - 1], &one);
		sums[g->thread_count - 1].processes = g->count;
	}
	if (g->thread_count)
		qsort(g->threads, g->thread_count, sizeof(*g->threads), by_running);
	return 0;
}

static int find_threads(struct worker_group *g, const struct report *r)
{
	uint32_t *threads = NULL, *more;
	size_t count = 0, capacity = 0;
	int ret = 0;

	for (size_t i = 0; i < g->count && !ret; i++)
		for (uint32_t k = r->tasks.processes[g->members[i]].first_thread; k != TASKS_NONE;
		     k = r->tasks.threads[k].next) {
			if (!select_lives(r, k))
				continue;
			more = array_reserve(threads, &capacity, count + 1, sizeof(*threads));
			if (!more) {
				ret = ERROR_MEMORY;
				break;
			}
			threads = more;
			threads[count++] = k;
		}
	if (!ret && count) {
		qsort_r(threads, count, sizeof(*threads), by_name, r->tasks.threads);
		ret = sum_names(g, r, threads, count);
	}
	free(threads);
	return ret;
}

static int fill(struct worker_group *g, const struct report *r)
{
	struct thread_sum one;
	int ret = processes_at_once(&r->tasks, g->members, g->count, &g->at_once);

	for (size_t i = 0; i < g->count; i++) {
		thread_sum_process(r, g->members[i], &one);
		sum_add(&g->sum, &one);
	}
	g->sum.name = r->tasks.processes[g->members[0]].name;
	if (!ret)
		ret = find_medians(g, r);
	return ret ? ret : find_threads(g, r);
}

/* The workers of one main, count of them from first on: a group, if they are made anew. */
static int add(struct worker_groups *groups, const struct report *r, const uint32_t *first,
	       size_t count)
{
	uint64_t n = generations(&r->tasks, first, count);
	struct worker_group *g;

	if (count < GROUP_PROCESSES || n < GROUP_GENERATIONS)
		return 0;
	g = &groups->list[groups->count];
	*g = (struct worker_group){ .main = r->roles.processes[first[0]].main, .count = count,
				    .generations = n };
	g->members = malloc(count * sizeof(*g->members));
	if (!g->members)
		return ERROR_MEMORY;
	memcpy(g->members, first, count * sizeof(*first));
	for (size_t i = 0; i < count; i++)
		groups->of[first[i]] = (uint32_t)groups->count;
	groups->count++;
	return fill(g, r);
}

static int by_birth(const void *a, const void *b, void *context)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct report *r = context;
	uint32_t main_x = r->roles.processes[x].main, main_y = r->roles.processes[y].main;
	uint64_t birth_x = r->tasks.processes[x].birth, birth_y = r->tasks.processes[y].birth;

	if (main_x != main_y)
		return main_x < main_y ? -1 : 1;
	if (birth_x != birth_y)
		return birth_x < birth_y ? -1 : 1;
	return (x > y) - (x < y);
}

static size_t same_main(const struct report *r, const uint32_t *workers, size_t count)
{
	const struct process_role *roles = r->roles.processes;
	size_t n = 0;

	while (n < count && roles[workers[n]].main == roles[workers[0]].main)
		n++;
	return n;
}

int worker_groups_load(struct worker_groups *g, const struct report *r)
{
	uint32_t *workers = calloc(r->order_count + 1, sizeof(*workers));
	size_t count = 0, mains = 0;
	int ret = 0;

	memset(g, 0, sizeof(*g));
	g->of = malloc(r->tasks.process_count * sizeof(*g->of));
	if (!workers || !g->of)
		return free(workers), ERROR_MEMORY;
	memset(g->of, 0xff, r->tasks.process_count * sizeof(*g->of));
	for (size_t i = 0; i < r->order_count; i++)
		if (r->roles.processes[r->order[i]].role == ROLE_WORKER)
			workers[count++] = r->order[i];
	if (count)
		qsort_r(workers, count, sizeof(*workers), by_birth, (void *)r);
	for (size_t i = 0; i < count; i += same_main(r, workers + i, count - i))
		mains++;
	g->list = calloc(mains + 1, sizeof(*g->list));
	ret = g->list ? 0 : ERROR_MEMORY;
	for (size_t i = 0, n; i < count && !ret; i += n) {
		n = same_main(r, workers + i, count - i);
		ret = add(g, r, workers + i, n);
	}
	free(workers);
	return ret;
}

void worker_groups_release(struct worker_groups *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->list[i].members);
		free(g->list[i].threads);
	}
	free(g->list);
	free(g->of);
	memset(g, 0, sizeof(*g));
}

const struct worker_group *worker_group_of(const struct report *r, uint32_t process)
{
	uint32_t place = r->no_group || !r->groups.of ? GROUP_NONE : r->groups.of[process];

	return place == GROUP_NONE ? NULL : &r->groups.list[place];
}
