// SPDX-License-Identifier: BSD-2-Clause
/*
 * Its first act is a CUDA call: firstcall [-main]. Without -main the call comes from a
 * constructor, before main; the process then ends at once.
 */
#include "cuda.h"
#include "workload.h"

__attribute__((constructor)) static void first(int argc, char **argv)
{
	void *p;
	if (!flag(argc, argv, "-main"))
		_exit(cudaMalloc(&p, 12345));
}

int main(void)
{
	void *p;
	_exit(cudaMalloc(&p, 12345));
}
