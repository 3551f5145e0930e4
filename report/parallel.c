// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "parallel.h"

#define WORKERS_MAX 64

struct crew {
	size_t jobs;
	int (*run)(void *context, unsigned int worker, size_t job);
	void *context;
	atomic_size_t next;
	atomic_int failure;
};

struct worker {
	struct crew *crew;
	unsigned int number;
	pthread_t thread;
	bool started;
};

unsigned int parallel_workers(void)
{
	cpu_set_t set;
	int n = 1;

	if (!sched_getaffinity(0, sizeof(set), &set))
		n = CPU_COUNT(&set);
	return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (unsigned int)n;
}

static void *work(void *argument)
{
	struct worker *w = argument;
	struct crew *crew = w->crew;

	while (!atomic_load(&crew->failure)) {
		size_t job = atomic_fetch_add(&crew->next, 1);
		int ret, none = 0;

		if (job >= crew->jobs)
			break;
		ret = crew->run(crew->context, w->number, job);
		if (ret < 0)
			atomic_compare_exchange_strong(&crew->failure, &none, ret);
	}
	return NULL;
}

/* A thread that cannot be created only makes it slower: the caller works too. */
int parallel_run(size_t jobs, int (*run)(void *context, unsigned int worker, size_t job),
		 void *context)
{
	struct crew crew = { .jobs = jobs, .run = run, .context = context };
	struct worker workers[WORKERS_MAX] = { 0 };
	unsigned int n = parallel_workers();

	if (n > jobs)
		n = jobs ? (unsigned int)jobs : 1;
	for (unsigned int i = 0; i < n; i++) {
		workers[i].crew = &crew;
		workers[i].number = i;
		if (i)
			workers[i].started = !pthread_create(&workers[i].thread, NULL, work,
							     &workers[i]);
	}
	work(&workers[0]);
	for (unsigned int i = 1; i < n; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
	return atomic_load(&crew.failure);
}
