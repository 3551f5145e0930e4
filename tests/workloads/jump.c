// SPDX-License-Identifier: BSD-2-Clause
/*
 * Leaves calls by longjmp: jump [-n TIMES]. Each time a launch, two deep, is left without
 * returning, and is followed by calls that do return, some of them nested.
 */
#include <setjmp.h>
#include "cuda.h"
#include "workload.h"

static jmp_buf out;
static int armed;

static void leave(void *unused)
{
	(void)unused;
	if (armed)
		longjmp(out, 1);
}

/* A frame of its own, deeper than the calls after it. */
__attribute__((noinline)) static void launch_and_leave(void)
{
	volatile char room[512];
	const struct dim3 one = { 1, 1, 1 };
	room[0] = 1;
	cudaLaunchKernel((const void *)room, one, one, NULL, 0, NULL);
}

int main(int argc, char **argv)
{
	const struct dim3 one = { 1, 1, 1 };
	volatile long times = number(argc, argv, "-n", 100);
	fakecuda_set_callback("cuLaunchKernel", leave, NULL);
	for (volatile long i = 0; i < times; i++) {
		armed = 1;
		if (setjmp(out) == 0)
			launch_and_leave();
		armed = 0;
		fakecuda_unwound(2);
		cudaStreamSynchronize(NULL);
		cudaLaunchKernel(main, one, one, NULL, 0, NULL);
	}
	printf("{\"left\": %ld}\n", times);
	return 0;
}
