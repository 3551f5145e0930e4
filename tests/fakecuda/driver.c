// SPDX-License-Identifier: BSD-2-Clause
/* The stand-in libcuda.so.1: signatures as in the CUDA driver API, for the arguments' places. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "core.h"

typedef unsigned long long devptr;	/* CUdeviceptr */

struct copy2d {				/* CUDA_MEMCPY2D */
	size_t src_x, src_y;
	uint32_t src_type;
	const void *src_host;
	devptr src_device;
	void *src_array;
	size_t src_pitch, dst_x, dst_y;
	uint32_t dst_type;
	void *dst_host;
	devptr dst_device;
	void *dst_array;
	size_t dst_pitch, width, height;
};

struct launch_config {			/* CUlaunchConfig */
	uint32_t grid[3], block[3], shared;
	void *stream, *attributes;
	uint32_t attribute_count;
};

_Static_assert(offsetof(struct copy2d, width) == 112, "as in cuda.h");
_Static_assert(offsetof(struct launch_config, stream) == 32, "as in cuda.h");

static void *take(size_t bytes)
{
	static uintptr_t next = 0x700000000000;
	if (core_copies())
		return malloc(bytes);
	return (void *)__atomic_fetch_add(&next, (bytes + 511) & ~511ul, __ATOMIC_RELAXED);
}

static void give(void *p)
{
	if (core_copies())
		free(p);
}

static void copy(devptr to, devptr from, size_t bytes)
{
	if (core_copies() && to && from)
		memcpy((void *)to, (const void *)from, bytes);
}

#define ALLOCATE(symbol, params, result, bytes, stream) \
	EXPORT int symbol params; \
	EXPORT int symbol params \
	{ \
		int code = SIMPLE(symbol, bytes, stream, KIND_NONE, false); \
		*(result) = code ? 0 : (typeof(*(result)))take(bytes); \
		return code; \
	}

#define RELEASE(symbol, params, p, stream) \
	EXPORT int symbol params; \
	EXPORT int symbol params \
	{ \
		give((void *)(p)); \
		return SIMPLE(symbol, 0, stream, KIND_NONE, false); \
	}

#define COPY(symbol, params, to, from, bytes, stream, kind) \
	EXPORT int symbol params; \
	EXPORT int symbol params \
	{ \
		copy((devptr)(to), (devptr)(from), bytes); \
		return SIMPLE(symbol, bytes, stream, kind, true); \
	}

#define OTHER(symbol, params, bytes, stream, device) \
	EXPORT int symbol params; \
	EXPORT int symbol params \
	{ \
		return SIMPLE(symbol, bytes, stream, KIND_NONE, device); \
	}

ALLOCATE(cuMemAlloc_v2, (devptr *p, size_t n), p, n, NULL)
ALLOCATE(cuMemHostAlloc, (void **p, size_t n, uint32_t flags), p, n, NULL)
ALLOCATE(cuMemAllocHost_v2, (void **p, size_t n), p, n, NULL)
ALLOCATE(cuMemAllocManaged, (devptr *p, size_t n, uint32_t flags), p, n, NULL)
ALLOCATE(cuMemAllocPitch_v2, (devptr *p, size_t *pitch, size_t width, size_t height, uint32_t unit),
	 p, width * height, NULL)
ALLOCATE(cuMemAllocAsync, (devptr *p, size_t n, void *stream), p, n, stream)
ALLOCATE(cuMemAllocAsync_ptsz, (devptr *p, size_t n, void *stream), p, n, stream)
ALLOCATE(cuMemAllocFromPoolAsync, (devptr *p, size_t n, void *pool, void *stream), p, n, stream)
ALLOCATE(cuMemAllocFromPoolAsync_ptsz, (devptr *p, size_t n, void *pool, void *stream),
      p, n, stream)
RELEASE(cuMemFree_v2, (devptr p), p, NULL)
RELEASE(cuMemFreeHost, (void *p), p, NULL)
RELEASE(cuMemFreeAsync, (devptr p, void *stream), p, stream)
RELEASE(cuMemFreeAsync_ptsz, (devptr p, void *stream), p, stream)

COPY(cuMemcpy, (devptr to, devptr from, size_t n), to, from, n, NULL, 4)
COPY(cuMemcpy_ptds, (devptr to, devptr from, size_t n), to, from, n, NULL, 4)
COPY(cuMemcpyAsync, (devptr to, devptr from, size_t n, void *stream), to, from, n, stream, 4)
COPY(cuMemcpyAsync_ptsz, (devptr to, devptr from, size_t n, void *stream), to, from, n, stream, 4)
COPY(cuMemcpyHtoD_v2, (devptr to, const void *from, size_t n), to, from, n, NULL, 1)
COPY(cuMemcpyHtoD_v2_ptds, (devptr to, const void *from, size_t n), to, from, n, NULL, 1)
COPY(cuMemcpyDtoH_v2, (void *to, devptr from, size_t n), to, from, n, NULL, 2)
COPY(cuMemcpyDtoH_v2_ptds, (void *to, devptr from, size_t n), to, from, n, NULL, 2)
COPY(cuMemcpyDtoD_v2, (devptr to, devptr from, size_t n), to, from, n, NULL, 3)
COPY(cuMemcpyDtoD_v2_ptds, (devptr to, devptr from, size_t n), to, from, n, NULL, 3)
COPY(cuMemcpyHtoDAsync_v2, (devptr to, const void *from, size_t n, void *stream),
     to, from, n, stream, 1)
COPY(cuMemcpyHtoDAsync_v2_ptsz, (devptr to, const void *from, size_t n, void *stream),
     to, from, n, stream, 1)
COPY(cuMemcpyDtoHAsync_v2, (void *to, devptr from, size_t n, void *stream),
     to, from, n, stream, 2)
COPY(cuMemcpyDtoHAsync_v2_ptsz, (void *to, devptr from, size_t n, void *stream),
     to, from, n, stream, 2)
COPY(cuMemcpyDtoDAsync_v2, (devptr to, devptr from, size_t n, void *stream),
     to, from, n, stream, 3)
COPY(cuMemcpyDtoDAsync_v2_ptsz, (devptr to, devptr from, size_t n, void *stream),
     to, from, n, stream, 3)

#define COPY2D(symbol, params, stream) OTHER(symbol, params, c->width * c->height, stream, true)
COPY2D(cuMemcpy2D_v2, (const struct copy2d *c), NULL)
COPY2D(cuMemcpy2D_v2_ptds, (const struct copy2d *c), NULL)
COPY2D(cuMemcpy2DAsync_v2, (const struct copy2d *c, void *stream), stream)
COPY2D(cuMemcpy2DAsync_v2_ptsz, (const struct copy2d *c, void *stream), stream)
OTHER(cuMemsetD8_v2, (devptr p, unsigned char value, size_t n), n, NULL, true)
OTHER(cuMemsetD8_v2_ptds, (devptr p, unsigned char value, size_t n), n, NULL, true)
OTHER(cuMemsetD32_v2, (devptr p, uint32_t value, size_t n), n, NULL, true)
OTHER(cuMemsetD32_v2_ptds, (devptr p, uint32_t value, size_t n), n, NULL, true)
OTHER(cuMemsetD8Async, (devptr p, unsigned char value, size_t n, void *stream), n, stream, true)
OTHER(cuMemsetD8Async_ptsz, (devptr p, unsigned char value, size_t n, void *stream),
      n, stream, true)
OTHER(cuMemsetD32Async, (devptr p, uint32_t value, size_t n, void *stream), n, stream, true)
OTHER(cuMemsetD32Async_ptsz, (devptr p, uint32_t value, size_t n, void *stream), n, stream, true)

#define LAUNCH_PARAMS (void *f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, \
	uint32_t by, uint32_t bz, uint32_t shared, void *stream, void **params, void **extra)
#define COOPERATIVE_PARAMS (void *f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, \
	uint32_t by, uint32_t bz, uint32_t shared, void *stream, void **params)
#define LAUNCH_EX_PARAMS (const struct launch_config *config, void *f, void **params, void **extra)
OTHER(cuLaunchKernel, LAUNCH_PARAMS, 0, stream, true)
OTHER(cuLaunchKernel_ptsz, LAUNCH_PARAMS, 0, stream, true)
OTHER(cuLaunchCooperativeKernel, COOPERATIVE_PARAMS, 0, stream, true)
OTHER(cuLaunchCooperativeKernel_ptsz, COOPERATIVE_PARAMS, 0, stream, true)
OTHER(cuLaunchKernelEx, LAUNCH_EX_PARAMS, 0, config->stream, true)
OTHER(cuLaunchKernelEx_ptsz, LAUNCH_EX_PARAMS, 0, config->stream, true)
OTHER(cuGraphLaunch, (void *graph, void *stream), 0, stream, true)
OTHER(cuGraphLaunch_ptsz, (void *graph, void *stream), 0, stream, true)
OTHER(cuGraphInstantiateWithFlags, (void **result, void *graph, unsigned long long flags),
      0, NULL, false)
OTHER(cuStreamSynchronize, (void *stream), 0, stream, false)
OTHER(cuStreamSynchronize_ptsz, (void *stream), 0, stream, false)
OTHER(cuEventSynchronize, (void *event), 0, NULL, false)
OTHER(cuCtxSynchronize, (void), 0, NULL, false)
OTHER(cuStreamWaitEvent, (void *stream, void *event, uint32_t flags), 0, stream, false)
OTHER(cuStreamWaitEvent_ptsz, (void *stream, void *event, uint32_t flags), 0, stream, false)
OTHER(cuStreamCreate, (void **stream, uint32_t flags), 0, NULL, false)
OTHER(cuStreamCreateWithPriority, (void **stream, uint32_t flags, int priority), 0, NULL, false)
OTHER(cuStreamDestroy_v2, (void *stream), 0, stream, false)
OTHER(cuStreamQuery, (void *stream), 0, stream, false)
OTHER(cuStreamQuery_ptsz, (void *stream), 0, stream, false)
OTHER(cuEventCreate, (void **event, uint32_t flags), 0, NULL, false)
OTHER(cuEventDestroy_v2, (void *event), 0, NULL, false)
OTHER(cuEventRecord, (void *event, void *stream), 0, stream, false)
OTHER(cuEventRecord_ptsz, (void *event, void *stream), 0, stream, false)
OTHER(cuEventQuery, (void *event), 0, NULL, false)
OTHER(cuModuleLoad, (void **module, const char *path), 0, NULL, false)
OTHER(cuModuleLoadData, (void **module, const void *image), 0, NULL, false)
OTHER(cuModuleLoadDataEx, (void **module, const void *image, uint32_t n, int *keys, void **values),
      0, NULL, false)
OTHER(cuModuleUnload, (void *module), 0, NULL, false)
OTHER(cuInit, (uint32_t flags), 0, NULL, false)
IDLE(cuDeviceGet, (int *device, int ordinal))
IDLE(cuDeviceGetCount, (int *count))
IDLE(cuCtxGetCurrent, (void **context))
IDLE(cuCtxSetCurrent, (void *context))
OTHER(cuDevicePrimaryCtxRetain, (void **context, int device), 0, NULL, false)
OTHER(cuModuleGetFunction, (void **function, void *module, const char *name), 0, NULL, false)
