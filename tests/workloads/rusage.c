// SPDX-License-Identifier: BSD-2-Clause
/*
 * Children of several kinds, and what wait4 says of each: rusage [-t THREADS] [-ms MILLISECONDS]
 * Prints kind,pid,threads,exited,voluntary,involuntary; exited is the number of threads other
 * than the leader. Kinds: ping and pong (a pair on one CPU), hog (three on one CPU), sleep, yield.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "workload.h"

static uint64_t duration_ns;
static long threads;
static int there[2], back[2];

static void *spin(void *unused)
{
	(void)unused;
	uint64_t end = now_ns() + duration_ns;
	while (now_ns() < end)
		;
	return NULL;
}

static void *nap(void *unused)
{
	(void)unused;
	uint64_t end = now_ns() + duration_ns;
	while (now_ns() < end)
		sleep_ns(300000);
	return NULL;
}

static void *yield(void *unused)
{
	(void)unused;
	uint64_t end = now_ns() + duration_ns;
	while (now_ns() < end)
		sched_yield();
	return NULL;
}

static void *ping(void *unused)
{
	(void)unused;
	char byte = 'x';
	for (long i = 0; i < 20000 / threads; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			die("ping");
	return NULL;
}

static void *pong(void *unused)
{
	(void)unused;
	char byte;
	for (long i = 0; i < 20000 / threads; i++)
		if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
			die("pong");
	return NULL;
}

static const struct {
	const char *name;
	void *(*run)(void *);
	int cpu;
} kinds[] = {
	{ "ping", ping, 0 }, { "pong", pong, 0 },
	{ "hog", spin, 0 }, { "hog", spin, 0 }, { "hog", spin, 0 },
	{ "sleep", nap, -1 }, { "yield", yield, 0 }, { "yield", yield, 0 },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* One thread: the leader works. More: the leader starts them in groups of eight and joins them. */
static void child(int k)
{
	pthread_t ids[8];
	prctl(PR_SET_NAME, kinds[k].name);
	pin(kinds[k].cpu);
	if (threads == 1) {
		kinds[k].run(NULL);
		return;
	}
	duration_ns = duration_ns * 8 / threads;
	for (long done = 0; done < threads;) {
		int group = 0;
		while (group < 8 && done < threads) {
			if (pthread_create(&ids[group++], NULL, kinds[k].run, NULL))
				die("pthread_create");
			done++;
		}
		while (group > 0)
			pthread_join(ids[--group], NULL);
	}
}

int main(int argc, char **argv)
{
	pid_t pids[KINDS];
	threads = number(argc, argv, "-t", 1);
	duration_ns = number(argc, argv, "-ms", 1000) * 1000000ull;
	if (pipe(there) || pipe(back))
		die("pipe");
	for (int k = 0; k < KINDS; k++) {
		pids[k] = fork();
		if (pids[k] == 0) {
			child(k);
			_exit(0);
		}
	}
	printf("kind,pid,threads,exited,voluntary,involuntary\n");
	for (int k = 0; k < KINDS; k++) {
		struct rusage u;
		int status;
		if (wait4(pids[k], &status, 0, &u) < 0 || status)
			die("wait4");
		printf("%s,%d,%ld,%ld,%ld,%ld\n", kinds[k].name, pids[k], threads,
		       threads == 1 ? 0 : threads, u.ru_nvcsw, u.ru_nivcsw);
	}
	return 0;
}
