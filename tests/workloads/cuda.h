/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_CUDA_H
#define WORKLOAD_CUDA_H
/* The few CUDA calls that the workloads make, as the real headers declare them up to type names. */
#include <stddef.h>
#include "../fakecuda/fakecuda.h"

struct dim3 {
	unsigned int x, y, z;
};

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3 };

int cudaMalloc(void **p, size_t bytes);
int cudaFree(void *p);
int cudaMemcpy(void *to, const void *from, size_t bytes, unsigned int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, unsigned int kind, void *stream);
int cudaMemsetAsync(void *p, int value, size_t bytes, void *stream);
int cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
int __cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
int cudaStreamSynchronize(void *stream);
int cudaDeviceSynchronize(void);
int cudaEventRecord(void *event, void *stream);
int cudaEventQuery(void *event);
int cuStreamSynchronize(void *stream);
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream);
#endif
