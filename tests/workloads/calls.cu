// SPDX-License-Identifier: BSD-2-Clause
/*
 * A few calls of each kind through the real runtime, with or without a device; prints
 * operation,calls,code for each. code is what the calls returned; -1 where that is not seen.
 */
#include <cstdio>

__global__ void nothing()
{
}

static void row(const char *name, int calls, int code)
{
	printf("%s,%d,%d\n", name, calls, code);
}

int main()
{
	void *p = nullptr;
	char host[256] = "";
	int code = 0;
	for (int i = 0; i < 3; i++)
		code = cudaMalloc(&p, 4096);
	row("cudaMalloc", 3, code);
	for (int i = 0; i < 5; i++)
		nothing<<<1, 1>>>();
	row("cudaLaunchKernel", 5, cudaGetLastError());
	for (int i = 0; i < 2; i++)
		code = cudaMemcpy(p, host, sizeof(host), cudaMemcpyHostToDevice);
	row("cudaMemcpy", 2, code);
	for (int i = 0; i < 4; i++)
		code = cudaMemcpyAsync(p, host, sizeof(host), cudaMemcpyHostToDevice, 0);
	row("cudaMemcpyAsync", 4, code);
	code = cudaStreamSynchronize(0);
	row("cudaStreamSynchronize", 1, code);
	code = cudaDeviceSynchronize();
	row("cudaDeviceSynchronize", 1, code);
	code = cudaFree(p);
	row("cudaFree", 1, code);
	return 0;
}
