// SPDX-License-Identifier: BSD-2-Clause
/*
 * A function whose last act is a jump to another one, as a compiler makes of "return f(...);":
 * tailcall [-n TIMES]. The same file is the program and, with TAILCALL_LIBRARY, a small
 * libcuda.so.1 that has both functions. Prints how often it was a jump indeed.
 */
#include "workload.h"

int cuEventRecord(void *event, void *stream);
int cuEventRecordWithFlags(void *event, void *stream, unsigned int flags);
long tailcall_jumps(void);

#ifdef TAILCALL_LIBRARY

#define EXPORT __attribute__((noinline, visibility("default")))

static void *outer_frame;
static long jumps;
static volatile int success;	/* a known one would be returned without a jump */

/* A frame where the caller's was: the caller is gone. */
EXPORT int cuEventRecordWithFlags(void *event, void *stream, unsigned int flags)
{
	jumps += flags == 0 && outer_frame == __builtin_frame_address(0);
	return success;
}

EXPORT int cuEventRecord(void *event, void *stream)
{
	outer_frame = __builtin_frame_address(0);
	return cuEventRecordWithFlags(event, stream, 0);
}

EXPORT long tailcall_jumps(void)
{
	return jumps;
}

#else

int main(int argc, char **argv)
{
	const long times = number(argc, argv, "-n", 5);
	for (long i = 0; i < times; i++)
		cuEventRecord(NULL, NULL);
	printf("{\"pid\": %d, \"jumps\": %ld}\n", getpid(), tailcall_jumps());
	fflush(stdout);
	cuEventRecordWithFlags(NULL, NULL, 1);
	return 0;
}

#endif
