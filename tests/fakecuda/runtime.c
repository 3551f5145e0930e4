// SPDX-License-Identifier: BSD-2-Clause
/*
 * The stand-in libcudart.so.13: signatures as in the CUDA runtime API, for the arguments' places.
 * A call does its driver's call inside itself, as the real one does.
 */
#include <stdint.h>
#include "core.h"

typedef unsigned long long devptr;

struct dim3 {
	uint32_t x, y, z;
};

struct launch_config {			/* cudaLaunchConfig_t */
	struct dim3 grid, block;
	size_t shared;
	void *stream, *attributes;
	uint32_t attribute_count;
};

struct pitched {
	void *p;
	size_t pitch, x, y;
};

struct copy3d {				/* cudaMemcpy3DParms */
	void *src_array;
	size_t src_pos[3];
	struct pitched src;
	void *dst_array;
	size_t dst_pos[3];
	struct pitched dst;
	size_t width, height, depth;
	uint32_t kind;
};

_Static_assert(offsetof(struct launch_config, stream) == 32, "as in driver_types.h");
_Static_assert(offsetof(struct copy3d, width) == 128, "as in driver_types.h");
_Static_assert(offsetof(struct copy3d, kind) == 152, "as in driver_types.h");

/* The driver's side. */
int cuMemAlloc_v2(void **p, size_t n);
int cuMemHostAlloc(void **p, size_t n, uint32_t flags);
int cuMemAllocManaged(void **p, size_t n, uint32_t flags);
int cuMemAllocPitch_v2(void **p, size_t *pitch, size_t width, size_t height, uint32_t element);
int cuMemAllocAsync(void **p, size_t n, void *stream);
int cuMemAllocFromPoolAsync(void **p, size_t n, void *pool, void *stream);
int cuMemFree_v2(void *p);
int cuMemFreeHost(void *p);
int cuMemFreeAsync(void *p, void *stream);
int cuMemcpy(void *to, const void *from, size_t n);
int cuMemcpyAsync(void *to, const void *from, size_t n, void *stream);
int cuMemcpyHtoD_v2(void *to, const void *from, size_t n);
int cuMemcpyDtoH_v2(void *to, const void *from, size_t n);
int cuMemcpyDtoD_v2(void *to, const void *from, size_t n);
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t n, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t n, void *stream);
int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t n, void *stream);
int cuMemsetD8_v2(void *p, unsigned char value, size_t n);
int cuMemsetD8Async(void *p, unsigned char value, size_t n, void *stream);
int cuLaunchKernel(const void *f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
	uint32_t by, uint32_t bz, uint32_t shared, void *stream, void **params, void **extra);
int cuLaunchCooperativeKernel(const void *f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
	uint32_t by, uint32_t bz, uint32_t shared, void *stream, void **params);
int cuGraphLaunch(void *graph, void *stream);
int cuGraphInstantiateWithFlags(void **result, void *graph, unsigned long long flags);
int cuStreamSynchronize(void *stream);
int cuEventSynchronize(void *event);
int cuCtxSynchronize(void);
int cuStreamWaitEvent(void *stream, void *event, uint32_t flags);
int cuStreamCreate(void **stream, uint32_t flags);
int cuStreamCreateWithPriority(void **stream, uint32_t flags, int priority);
int cuStreamDestroy_v2(void *stream);
int cuStreamQuery(void *stream);
int cuEventCreate(void **event, uint32_t flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);

/*
 * how: copy kind, with DEVICE when the device gets work. symbol(params) does driver, then spends
 * its own time; the first code that is not 0 is its own.
 */
enum { DEVICE = 0x100, NOTHING = KIND_NONE, SET = KIND_NONE | DEVICE };

#define OUTER(symbol, params, bytes, stream, how, driver) \
	EXPORT int symbol params; \
	EXPORT int symbol params \
	{ \
		struct core_call call; \
		core_begin(&call, SYMBOL_##symbol, (bytes), (stream), (how) & 0xff); \
		int inner = core_nests() ? (driver) : 0; \
		int code = core_work(&call, ((how) & DEVICE) && !core_nests()); \
		code = code ? code : inner; \
		core_end(&call, (bytes), code); \
		return code; \
	}

static int copy_driver(void *to, const void *from, size_t n, uint32_t kind)
{
	switch (kind) {
	case 1:
		return cuMemcpyHtoD_v2(to, from, n);
	case 2:
		return cuMemcpyDtoH_v2(to, from, n);
	case 3:
		return cuMemcpyDtoD_v2(to, from, n);
	default:
		return cuMemcpy(to, from, n);
	}
}

static int copy_driver_async(void *to, const void *from, size_t n, uint32_t kind, void *stream)
{
	switch (kind) {
	case 1:
		return cuMemcpyHtoDAsync_v2(to, from, n, stream);
	case 2:
		return cuMemcpyDtoHAsync_v2(to, from, n, stream);
	case 3:
		return cuMemcpyDtoDAsync_v2(to, from, n, stream);
	default:
		return cuMemcpyAsync(to, from, n, stream);
	}
}

OUTER(cudaMalloc, (void **p, size_t n), n, NULL, NOTHING, cuMemAlloc_v2(p, n))
OUTER(cudaMallocHost, (void **p, size_t n), n, NULL, NOTHING, cuMemHostAlloc(p, n, 0))
OUTER(cudaHostAlloc, (void **p, size_t n, uint32_t flags), n, NULL, NOTHING,
      cuMemHostAlloc(p, n, flags))
OUTER(cudaMallocManaged, (void **p, size_t n, uint32_t flags), n, NULL, NOTHING,
      cuMemAllocManaged(p, n, flags))
OUTER(cudaMallocPitch, (void **p, size_t *pitch, size_t width, size_t height), width * height, NULL,
      NOTHING, cuMemAllocPitch_v2(p, pitch, width, height, 4))
OUTER(cudaMallocAsync, (void **p, size_t n, void *stream), n, stream, NOTHING,
      cuMemAllocAsync(p, n, stream))
OUTER(cudaMallocAsync_ptsz, (void **p, size_t n, void *stream), n, stream, NOTHING,
      cuMemAllocAsync(p, n, stream))
OUTER(cudaMallocFromPoolAsync, (void **p, size_t n, void *pool, void *stream), n, stream, NOTHING,
      cuMemAllocFromPoolAsync(p, n, pool, stream))
OUTER(cudaMallocFromPoolAsync_ptsz, (void **p, size_t n, void *pool, void *stream), n, stream,
      NOTHING, cuMemAllocFromPoolAsync(p, n, pool, stream))
OUTER(cudaFree, (void *p), 0, NULL, NOTHING, cuMemFree_v2(p))
OUTER(cudaFreeHost, (void *p), 0, NULL, NOTHING, cuMemFreeHost(p))
OUTER(cudaFreeAsync, (void *p, void *stream), 0, stream, NOTHING, cuMemFreeAsync(p, stream))
OUTER(cudaFreeAsync_ptsz, (void *p, void *stream), 0, stream, NOTHING, cuMemFreeAsync(p, stream))

#define COPY_PARAMS (void *to, const void *from, size_t n, uint32_t kind)
#define COPY_ASYNC_PARAMS (void *to, const void *from, size_t n, uint32_t kind, void *stream)
#define COPY2D_PARAMS (void *to, size_t to_pitch, const void *from, size_t from_pitch, \
	size_t width, size_t height, uint32_t kind)
#define COPY2D_ASYNC_PARAMS (void *to, size_t to_pitch, const void *from, size_t from_pitch, \
	size_t width, size_t height, uint32_t kind, void *stream)
OUTER(cudaMemcpy, COPY_PARAMS, n, NULL, kind | DEVICE, copy_driver(to, from, n, kind))
OUTER(cudaMemcpy_ptds, COPY_PARAMS, n, NULL, kind | DEVICE, copy_driver(to, from, n, kind))
OUTER(cudaMemcpyAsync, COPY_ASYNC_PARAMS, n, stream, kind | DEVICE,
      copy_driver_async(to, from, n, kind, stream))
OUTER(cudaMemcpyAsync_ptsz, COPY_ASYNC_PARAMS, n, stream, kind | DEVICE,
      copy_driver_async(to, from, n, kind, stream))
OUTER(cudaMemcpy2D, COPY2D_PARAMS, width * height, NULL, kind | DEVICE, 0)
OUTER(cudaMemcpy2D_ptds, COPY2D_PARAMS, width * height, NULL, kind | DEVICE, 0)
OUTER(cudaMemcpy2DAsync, COPY2D_ASYNC_PARAMS, width * height, stream, kind | DEVICE, 0)
OUTER(cudaMemcpy2DAsync_ptsz, COPY2D_ASYNC_PARAMS, width * height, stream, kind | DEVICE, 0)
#define VOLUME (c->width * c->height * c->depth)
OUTER(cudaMemcpy3D, (const struct copy3d *c), VOLUME, NULL, c->kind | DEVICE, 0)
OUTER(cudaMemcpy3D_ptds, (const struct copy3d *c), VOLUME, NULL, c->kind | DEVICE, 0)
OUTER(cudaMemcpy3DAsync, (const struct copy3d *c, void *stream), VOLUME, stream,
      c->kind | DEVICE, 0)
OUTER(cudaMemcpy3DAsync_ptsz, (const struct copy3d *c, void *stream), VOLUME, stream,
      c->kind | DEVICE, 0)

#define SET2D_PARAMS (void *p, size_t pitch, int value, size_t width, size_t height)
#define SET2D_ASYNC_PARAMS (void *p, size_t pitch, int value, size_t width, size_t height, \
	void *stream)
OUTER(cudaMemset, (void *p, int value, size_t n), n, NULL, SET, cuMemsetD8_v2(p, value, n))
OUTER(cudaMemset_ptds, (void *p, int value, size_t n), n, NULL, SET, cuMemsetD8_v2(p, value, n))
OUTER(cudaMemsetAsync, (void *p, int value, size_t n, void *stream), n, stream, SET,
      cuMemsetD8Async(p, value, n, stream))
OUTER(cudaMemsetAsync_ptsz, (void *p, int value, size_t n, void *stream), n, stream, SET,
      cuMemsetD8Async(p, value, n, stream))
OUTER(cudaMemset2D, SET2D_PARAMS, width * height, NULL, SET, 0)
OUTER(cudaMemset2D_ptds, SET2D_PARAMS, width * height, NULL, SET, 0)
OUTER(cudaMemset2DAsync, SET2D_ASYNC_PARAMS, width * height, stream, SET, 0)
OUTER(cudaMemset2DAsync_ptsz, SET2D_ASYNC_PARAMS, width * height, stream, SET, 0)

#define LAUNCH_PARAMS (const void *f, struct dim3 grid, struct dim3 block, void **args, \
	size_t shared, void *stream)
#define LAUNCH_DRIVER cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, \
	stream, args, NULL)
#define LAUNCH_EX_PARAMS (const struct launch_config *c, const void *f, void **args)
#define LAUNCH_EX_DRIVER cuLaunchKernel(f, c->grid.x, c->grid.y, c->grid.z, c->block.x, \
	c->block.y, c->block.z, c->shared, c->stream, args, NULL)
OUTER(cudaLaunchKernel, LAUNCH_PARAMS, 0, stream, SET, LAUNCH_DRIVER)
OUTER(cudaLaunchKernel_ptsz, LAUNCH_PARAMS, 0, stream, SET, LAUNCH_DRIVER)
OUTER(cudaLaunchKernelExC, LAUNCH_EX_PARAMS, 0, c->stream, SET, LAUNCH_EX_DRIVER)
OUTER(cudaLaunchKernelExC_ptsz, LAUNCH_EX_PARAMS, 0, c->stream, SET, LAUNCH_EX_DRIVER)
#define COOPERATIVE_DRIVER cuLaunchCooperativeKernel(f, grid.x, grid.y, grid.z, block.x, \
	block.y, block.z, shared, stream, args)
OUTER(cudaLaunchCooperativeKernel, LAUNCH_PARAMS, 0, stream, SET, COOPERATIVE_DRIVER)
OUTER(cudaLaunchCooperativeKernel_ptsz, LAUNCH_PARAMS, 0, stream, SET, COOPERATIVE_DRIVER)

/* What <<<>>> calls: it goes on into the launch, and is no call of its own. */
EXPORT int __cudaLaunchKernel LAUNCH_PARAMS;
EXPORT int __cudaLaunchKernel LAUNCH_PARAMS
{
	return cudaLaunchKernel(f, grid, block, args, shared, stream);
}

EXPORT int __cudaLaunchKernel_ptsz LAUNCH_PARAMS;
EXPORT int __cudaLaunchKernel_ptsz LAUNCH_PARAMS
{
	return cudaLaunchKernel_ptsz(f, grid, block, args, shared, stream);
}

OUTER(cudaGraphLaunch, (void *graph, void *stream), 0, stream, SET, cuGraphLaunch(graph, stream))
OUTER(cudaGraphLaunch_ptsz, (void *graph, void *stream), 0, stream, SET,
      cuGraphLaunch(graph, stream))
OUTER(cudaGraphInstantiate, (void **result, void *graph, unsigned long long flags), 0, NULL,
      NOTHING, cuGraphInstantiateWithFlags(result, graph, flags))
OUTER(cudaStreamSynchronize, (void *stream), 0, stream, NOTHING, cuStreamSynchronize(stream))
OUTER(cudaStreamSynchronize_ptsz, (void *stream), 0, stream, NOTHING, cuStreamSynchronize(stream))
OUTER(cudaEventSynchronize, (void *event), 0, NULL, NOTHING, cuEventSynchronize(event))
OUTER(cudaDeviceSynchronize, (void), 0, NULL, NOTHING, cuCtxSynchronize())
#define WAIT_PARAMS (void *stream, void *event, uint32_t flags)
OUTER(cudaStreamWaitEvent, WAIT_PARAMS, 0, stream, NOTHING, cuStreamWaitEvent(stream, event, flags))
OUTER(cudaStreamWaitEvent_ptsz, WAIT_PARAMS, 0, stream, NOTHING,
      cuStreamWaitEvent(stream, event, flags))
OUTER(cudaStreamCreate, (void **stream), 0, NULL, NOTHING, cuStreamCreate(stream, 0))
OUTER(cudaStreamCreateWithFlags, (void **stream, uint32_t flags), 0, NULL, NOTHING,
      cuStreamCreate(stream, flags))
OUTER(cudaStreamCreateWithPriority, (void **stream, uint32_t flags, int priority), 0, NULL, NOTHING,
      cuStreamCreateWithPriority(stream, flags, priority))
OUTER(cudaStreamDestroy, (void *stream), 0, stream, NOTHING, cuStreamDestroy_v2(stream))
OUTER(cudaStreamQuery, (void *stream), 0, stream, NOTHING, cuStreamQuery(stream))
OUTER(cudaStreamQuery_ptsz, (void *stream), 0, stream, NOTHING, cuStreamQuery(stream))
OUTER(cudaEventCreate, (void **event), 0, NULL, NOTHING, cuEventCreate(event, 0))
OUTER(cudaEventCreateWithFlags, (void **event, uint32_t flags), 0, NULL, NOTHING,
      cuEventCreate(event, flags))
OUTER(cudaEventDestroy, (void *event), 0, NULL, NOTHING, cuEventDestroy_v2(event))
OUTER(cudaEventRecord, (void *event, void *stream), 0, stream, NOTHING,
      cuEventRecord(event, stream))
OUTER(cudaEventRecord_ptsz, (void *event, void *stream), 0, stream, NOTHING,
      cuEventRecord(event, stream))
OUTER(cudaEventQuery, (void *event), 0, NULL, NOTHING, cuEventQuery(event))
IDLE(cudaSetDevice, (int device))
IDLE(cudaGetDevice, (int *device))
IDLE(cudaGetDeviceCount, (int *count))
IDLE(cudaGetLastError, (void))
IDLE(cudaPeekAtLastError, (void))
