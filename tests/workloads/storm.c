// SPDX-License-Identifier: BSD-2-Clause
/*
 * CUDA calls as fast as they go: storm [-p PROCESSES] [-t THREADS] [-n CALLS] [-one]
 * CALLS is the exact number of calls in all, nested ones included; -one: launches only.
 */
#include <pthread.h>
#include <sys/wait.h>
#include "cuda.h"
#include "workload.h"

struct share {
	long calls;
	bool launches;
	unsigned int salt;
};

static const struct dim3 one = { 1, 1, 1 };

/* One step of the mix; returns how many calls it was. left is at least 1. */
static long step(unsigned int i, long left, bool launches)
{
	void *stream = (void *)(uintptr_t)(0x1000 + i % 3);
	void *p = (void *)0x700000000000;
	if (left == 1 || (!launches && i % 11 == 10)) {
		cuMemcpyHtoDAsync_v2(p, &one, 64 * (i % 7), stream);
		return 1;
	}
	if (launches) {
		cudaLaunchKernel(step, one, one, NULL, 0, stream);
		return 2;
	}
	switch (i % 8) {
	case 0:
		cudaMemcpyAsync(p, &one, 4096 + i % 100, HOST_TO_DEVICE, stream);
		break;
	case 1:
		cudaStreamSynchronize(stream);
		break;
	case 2:
		cudaMalloc(&p, 1 + i % 1000);
		break;
	case 3:
		cudaEventQuery(p);
		break;
	case 4:
		__cudaLaunchKernel(step, one, one, NULL, 0, stream);
		break;
	default:
		cudaLaunchKernel(step, one, one, NULL, 0, stream);
	}
	return 2;
}

static void *run(void *arg)
{
	struct share *s = arg;
	unsigned int i = s->salt;
	for (long left = s->calls; left > 0; i++)
		left -= step(i, left, s->launches);
	return NULL;
}

static void process(int p, long processes, long threads, long calls, bool launches)
{
	pthread_t ids[threads];
	struct share shares[threads];
	long parts = processes * threads;
	for (long t = 0; t < threads; t++) {
		long part = p * threads + t;
		long own = calls / parts + (part < calls % parts);
		shares[t] = (struct share){ own, launches, part };
		if (pthread_create(&ids[t], NULL, run, &shares[t]))
			die("pthread_create");
	}
	for (long t = 0; t < threads; t++)
		pthread_join(ids[t], NULL);
}

int main(int argc, char **argv)
{
	long processes = number(argc, argv, "-p", 3), threads = number(argc, argv, "-t", 4);
	long calls = number(argc, argv, "-n", 1000000);
	uint64_t start = now_ns();
	int status, bad = 0;
	for (int p = 0; p < processes; p++) {
		pid_t pid = fork();
		if (pid < 0)
			die("fork");
		if (pid == 0) {
			process(p, processes, threads, calls, flag(argc, argv, "-one"));
			exit(0);
		}
	}
	while (wait(&status) > 0)
		bad += status != 0;
	printf("{\"calls\": %ld, \"ns\": %llu}\n", calls, (unsigned long long)(now_ns() - start));
	return bad != 0;
}
