// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "parallel.h"
#include "timeline_private.h"

#define THREADS_A_JOB 64
#define FEW 16			/* sorted one by one */

static int reserve(struct timeline_return **array, size_t *capacity, size_t count)
{
	struct timeline_return *grown = array_reserve(*array, capacity, count, sizeof(*grown));

	if (!grown)
		return ERROR_MEMORY;
	*array = grown;
	return 0;
}

int timeline_index_reserve(struct timeline *tl)
{
	struct timeline_loader *l = tl->loader;
	size_t count = tl->row_count + 1;

	if (reserve(&tl->index, &tl->index_capacity, count) ||
	    reserve(&l->returns, &l->returns_capacity, count) ||
	    reserve(&l->scratch, &l->scratch_capacity, count))
		return ERROR_MEMORY;
	return 0;
}

static void sort_few(struct timeline_return *index, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct timeline_return moved = index[i];
		size_t k = i;

		for (; k && index[k - 1].ts > moved.ts; k--)
			index[k] = index[k - 1];
		index[k] = moved;
	}
}

static size_t run_end(const struct timeline_return *index, size_t at, size_t count)
{
	for (at++; at < count && index[at - 1].ts <= index[at].ts; at++)
		;
	return at;
}

static void merge_two(const struct timeline_return *index, size_t begin, size_t middle, size_t end,
		      struct timeline_return *to)
{
	size_t a = begin, b = middle;

	while (a < middle || b < end)
		*to++ = b == end || (a < middle && index[a].ts <= index[b].ts) ? index[a++] :
										 index[b++];
}

/* index is a few ascending runs, one a CPU: merge them two by two. scratch: room for count. */
static void merge_runs(struct timeline_return *index, struct timeline_return *scratch, size_t count)
{
	size_t runs;

	do {
		size_t begin = 0;

		for (runs = 0; begin < count; runs++) {
			size_t middle = run_end(index, begin, count), end;

			if (middle == count) {
				runs++;
				break;
			}
			end = run_end(index, middle, count);
			merge_two(index, begin, middle, end, scratch + begin);
			memcpy(index + begin, scratch + begin, (end - begin) * sizeof(*index));
			begin = end;
		}
	} while (runs > 1);
}

static int sort_job(void *context, unsigned int worker, size_t job)
{
	struct timeline *tl = context;
	size_t end = (job + 1) * THREADS_A_JOB;

	(void)worker;
	for (size_t t = job * THREADS_A_JOB; t < end && t < tl->tasks->thread_count; t++) {
		struct timeline_return *index = tl->index + tl->first[t];
		size_t count = tl->first[t + 1] - tl->first[t];

		if (count < FEW)
			sort_few(index, count);
		else
			merge_runs(index, tl->loader->scratch + tl->first[t], count);
	}
	return 0;
}

/* How many each thread has, then where each one's begin: first[t + 1] is where thread t's do. */
static void count_returns(struct timeline *tl)
{
	const struct timeline_return *returns = tl->loader->returns;
	size_t threads = tl->tasks->thread_count, sum = 0;

	memset(tl->first, 0, (threads + 1) * sizeof(*tl->first));
	for (uint32_t cpu = 0; cpu < tl->recording->cpus; cpu++)
		for (size_t i = tl->cpus[cpu].first; i < tl->cpus[cpu].first + tl->cpus[cpu].count;
		     i++)
			tl->first[returns[i].thread + 1]++;
	tl->first[TASKS_IDLE + 1] = 0;
	tl->first[TASKS_UNKNOWN + 1] = 0;
	for (size_t t = 0; t < threads; t++) {
		size_t count = tl->first[t + 1];

		tl->first[t + 1] = sum;
		sum += count;
	}
}

/* A counting sort by thread; the scatter makes of first[t + 1] where thread t's end. */
int timeline_index(struct timeline *tl)
{
	const struct timeline_return *returns = tl->loader->returns;
	size_t jobs = (tl->tasks->thread_count + THREADS_A_JOB - 1) / THREADS_A_JOB;

	count_returns(tl);
	for (uint32_t cpu = 0; cpu < tl->recording->cpus; cpu++)
		for (size_t i = tl->cpus[cpu].first; i < tl->cpus[cpu].first + tl->cpus[cpu].count;
		     i++)
			if (returns[i].thread > TASKS_IDLE)
				tl->index[tl->first[returns[i].thread + 1]++] = returns[i];
	return parallel_run(jobs, sort_job, tl);
}
