/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_WINDOWS_MODEL_H
#define INGERO_WINDOWS_MODEL_H
/*
 * A recording made of a list of calls, and the windows in it as they follow from the definitions
 * in report/windows.h by looking at each pair of calls: slow, and nothing like the real thing.
 *
 * Threads 0 to 2 are of process 100, forked in the recording; 3 and 4 of process 200, which was
 * there before. Their TIDs are 100 to 102, 200 and 201.
 */
#include "made.h"
#include "report/windows.h"

#define MODEL_SPAN 100000000ull		/* of the recording, ns from MADE_START */
#define MODEL_CALLS 3000
#define MODEL_THREADS 5
#define NO_STREAM 12345			/* the call says nothing of a stream */

/* The operations there are, by id. */
enum { LAUNCH = 11, COPY_ASYNC, STREAM_SYNC, DEVICE_SYNC, COPY, MALLOC, EVENT_SYNC, PREFETCH, OPS };

/* kind 7: none; size 0: none; probe 2: the variant of per-thread streams. */
struct call {
	uint64_t start, end, stream, size, kind, probe, depth, flags;
	uint32_t thread, op;
	int64_t code;
};

/* A call, gap or idle stretch that is in a group, with what is known of its group. */
struct member {
	enum effect_kind kind;
	uint32_t thread, op, next, copy_kind, size_class;
	uint64_t start, end;
	bool fed, initial;
	uint32_t flags;
	/* Of its group: */
	uint64_t count, total, p50, p99, max, slow, lost;
};

/* Of a process: what struct feeding says, and idle stretches that were none. */
struct model_feeding { uint64_t threads, span, syncs, work, dropped; };

extern struct call calls[MODEL_CALLS];
extern size_t call_count;
extern struct member members[3 * MODEL_CALLS];
extern size_t member_count;

uint32_t model_pid(uint32_t thread);
/* The number of r's thread; UINT32_MAX if it is none of these. */
uint32_t model_thread(const struct report *r, uint32_t thread);
/* Write the calls to a file and read it. */
void model_report(struct report *r);
/* Sort calls by their start and fill in members, by thread, then start. */
void model_windows(void);
/* After model_windows(); threads 0: it has none. */
struct model_feeding model_feeding(uint32_t pid);
bool model_same_group(const struct member *a, const struct member *b);
#endif
