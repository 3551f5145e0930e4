// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two sides hand a byte back and forth: pingpong [-n ROUND_TRIPS] [-c CPU] [-c2 CPU] [-threads]
 * -c pins both, -c2 the second one apart. Prints the time, and what wait4 says of the child.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "workload.h"

struct side {
	int in, out, cpu;
	long trips;
};

static void *answer(void *arg)
{
	struct side *s = arg;
	char byte;
	pin(s->cpu);
	for (long i = 0; i < s->trips; i++)
		if (read(s->in, &byte, 1) != 1 || write(s->out, &byte, 1) != 1)
			die("answer");
	return NULL;
}

static void ask(const struct side *s)
{
	char byte = 'x';
	for (long i = 0; i < s->trips; i++)
		if (write(s->out, &byte, 1) != 1 || read(s->in, &byte, 1) != 1)
			die("ask");
}

int main(int argc, char **argv)
{
	int there[2], back[2], status = 0;
	long trips = number(argc, argv, "-n", 100000);
	int cpu = number(argc, argv, "-c", -1), cpu2 = number(argc, argv, "-c2", cpu);
	if (pipe(there) || pipe(back))
		die("pipe");
	struct side first = { back[0], there[1], cpu, trips };
	struct side second = { there[0], back[1], cpu2, trips };
	struct rusage usage = { 0 };
	pthread_t thread;
	pid_t pid = 0;
	pin(cpu);
	if (flag(argc, argv, "-threads")) {
		if (pthread_create(&thread, NULL, answer, &second))
			die("pthread_create");
	} else if ((pid = fork()) == 0) {
		answer(&second);
		_exit(0);
	}
	uint64_t start = now_ns();
	ask(&first);
	uint64_t ns = now_ns() - start;
	if (pid > 0)
		wait4(pid, &status, 0, &usage);
	else
		pthread_join(thread, NULL);
	printf("{\"round_trips\": %ld, \"ns\": %llu, \"child\": %d, ", trips, (unsigned long long)ns, pid);
	printf("\"voluntary\": %ld, \"involuntary\": %ld}\n", usage.ru_nvcsw, usage.ru_nivcsw);
	return status != 0;
}
