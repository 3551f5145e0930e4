/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_H
#define WORKLOAD_H
/* What the workload programs share; each prints one line of result and exits 0, or says why not. */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((noreturn)) static inline void die(const char *what)
{
	perror(what);
	exit(99);
}

static inline uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Keep the calling thread, and what it starts, on one CPU; -1: anywhere. */
static inline void pin(int cpu)
{
	cpu_set_t set;
	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	nanosleep(&t, NULL);
}

/* Value of "-x VALUE" in argv, or the default. */
static inline const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return otherwise;
}

static inline long number(int argc, char **argv, const char *name, long otherwise)
{
	const char *value = option(argc, argv, name, NULL);
	return value ? strtol(value, NULL, 0) : otherwise;
}

static inline bool flag(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}
#endif
