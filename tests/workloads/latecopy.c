// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opens $LATE_LIBRARY, a copy of the runtime library that no command line names, and calls it:
 * latecopy [-n CALLS] [-ms PAUSE]. PAUSE is the time between mapping and the first call. Prints
 * when dlopen began and ended.
 */
#include <dlfcn.h>
#include "workload.h"

int main(int argc, char **argv)
{
	const char *path = getenv("LATE_LIBRARY");
	long calls = number(argc, argv, "-n", 1000);
	sleep_ns(200000000);
	uint64_t began = now_ns();
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	uint64_t ended = now_ns();
	if (!library) {
		fprintf(stderr, "latecopy: %s\n", dlerror());
		return 99;
	}
	int (*synchronize)(void *) = (int (*)(void *))dlsym(library, "cudaStreamSynchronize");
	sleep_ns(number(argc, argv, "-ms", 100) * 1000000ull);
	for (long i = 0; i < calls; i++)
		synchronize(NULL);
	printf("{\"began\": %llu, \"ended\": %llu, \"calls\": %ld}\n", (unsigned long long)began,
	       (unsigned long long)ended, calls);
	return 0;
}
