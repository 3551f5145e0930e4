/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAKECUDA_CORE_H
#define FAKECUDA_CORE_H
/*
 * What driver.c and runtime.c share. A call is core_begin, its work, core_end; both read the
 * clock as close to the function's edges as they can, so that what a probe adds is all that a
 * recording may find on top. The account lies in a shared mapping of a file, one record a call,
 * written at the start and completed at the return: a process that dies at any moment leaves it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "fakecuda.h"

#define CORE __attribute__((visibility("default")))
#ifdef FAKECUDA_STATIC			/* in the program itself, as local symbols */
#define EXPORT __attribute__((visibility("hidden")))
#else
#define EXPORT CORE
#endif
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum symbol {
#define CALL(symbol, operation) SYMBOL_##symbol,
#include "calls.def"
	SYMBOLS
};

/* One call as truth.py reads it; end 0: never returned. */
struct core_record {
	uint64_t start, end;
	uint64_t bytes, stream;
	uint16_t symbol, depth;
	int32_t code;
	uint32_t kind, pad;
};

struct core_call {
	uint64_t start;
	struct core_record *record;	/* NULL: no account of each call */
	uint16_t symbol;
	bool nested;
};

enum { KIND_NONE = 0xff };

/* bytes, stream and kind are what the caller passed; kind KIND_NONE: the call has none. */
CORE void core_begin(struct core_call *c, enum symbol symbol, uint64_t bytes, void *stream,
		     uint32_t kind);
/* Spend the call's time. device: it queues device work. Returns the code to give back. */
CORE int core_work(struct core_call *c, bool device);
CORE void core_end(struct core_call *c, uint64_t bytes, int code);
CORE bool core_nests(void);
CORE bool core_copies(void);

/* The whole of a simple call, as an expression of its return value. */
#define SIMPLE(symbol, bytes, stream, kind, device) ({ \
	struct core_call core_c; \
	core_begin(&core_c, SYMBOL_##symbol, (bytes), (stream), (kind)); \
	int core_code = core_work(&core_c, (device)); \
	core_end(&core_c, (bytes), core_code); \
	core_code; })

/* A function present, as programs expect it, and not accounted for; it too begins with a push. */
#define IDLE(symbol, params) \
	EXPORT int symbol params; \
	EXPORT int symbol params \
	{ \
		__asm__ volatile("" : : "r"(__builtin_frame_address(0))); \
		return 0; \
	}
#endif
