// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process that execs itself from inside a CUDA call: execcall [-thread]. With -thread another
 * thread than the leader does, and takes over its number. The new image makes 5 calls. Stacks
 * are not placed at random, and the calls of the new image are made deeper than the one that was
 * left: nothing but the exec tells that it will never return.
 */
#include <pthread.h>
#include <sys/personality.h>
#include "cuda.h"
#include "workload.h"

#define AFTER 5
#define ROOM (256 * 1024)

static char **words;

static void become(const char *what)
{
	execl("/proc/self/exe", words[0], what, NULL);
	die("exec");
}

static void again(void *unused)
{
	(void)unused;
	become("again");
}

static void *call(void *unused)
{
	fakecuda_set_callback("cuStreamSynchronize", again, NULL);
	cudaStreamSynchronize(unused);
	return NULL;
}

__attribute__((noinline)) static void calls_deeper(void)
{
	volatile char room[ROOM];
	room[0] = 1;
	for (int i = 0; i < AFTER; i++)
		cudaStreamSynchronize((void *)(uintptr_t)(room[0] - 1));
	printf("{\"pid\": %d, \"calls\": %d}\n", getpid(), AFTER);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	words = argv;
	if (flag(argc, argv, "again")) {
		calls_deeper();
		return 0;
	}
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
		personality(ADDR_NO_RANDOMIZE);
		become(argc > 1 ? argv[1] : "-leader");
	}
	if (!flag(argc, argv, "-thread"))
		call(NULL);
	else if (!pthread_create(&thread, NULL, call, NULL))
		pthread_join(thread, NULL);
	return 1;
}
