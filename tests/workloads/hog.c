// SPDX-License-Identifier: BSD-2-Clause
/* CPU hogs: hog [-p PROCESSES] [-t THREADS] [-c CPU] [-ms MILLISECONDS]; they never sleep. */
#include <pthread.h>
#include <sys/wait.h>
#include "workload.h"

static uint64_t duration_ns;

static void *spin(void *unused)
{
	(void)unused;
	volatile uint64_t turns = 0;
	uint64_t end = now_ns() + duration_ns;
	while (now_ns() < end)
		turns++;
	return NULL;
}

static void process(long threads)
{
	pthread_t ids[threads];
	for (long t = 1; t < threads; t++)
		if (pthread_create(&ids[t], NULL, spin, NULL))
			die("pthread_create");
	spin(NULL);
	for (long t = 1; t < threads; t++)
		pthread_join(ids[t], NULL);
}

int main(int argc, char **argv)
{
	long processes = number(argc, argv, "-p", 2), threads = number(argc, argv, "-t", 1);
	duration_ns = number(argc, argv, "-ms", 1000) * 1000000ull;
	pin(number(argc, argv, "-c", -1));
	for (long p = 0; p < processes; p++) {
		if (fork() == 0) {
			process(threads);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	printf("{\"processes\": %ld, \"threads\": %ld}\n", processes, threads);
	return 0;
}
