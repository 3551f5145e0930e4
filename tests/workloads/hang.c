// SPDX-License-Identifier: BSD-2-Clause
/*
 * A call that does not return: hang [-ms MILLISECONDS] [-n LAUNCHES]. Does its launches, then
 * waits in cudaStreamSynchronize for an hour, or as long as told; prints its PID before.
 */
#include "cuda.h"
#include "workload.h"

int main(int argc, char **argv)
{
	const struct dim3 one = { 1, 1, 1 };
	uint64_t ns = number(argc, argv, "-ms", 3600000) * 1000000ull;
	for (long i = number(argc, argv, "-n", 100); i > 0; i--)
		cudaLaunchKernel(main, one, one, NULL, 0, NULL);
	fakecuda_set("cudaStreamSynchronize", ns, FAKECUDA_SLEEP, 0, 0);
	printf("%d\n", getpid());
	fflush(stdout);
	cudaStreamSynchronize(NULL);
	puts("done");
	return 0;
}
