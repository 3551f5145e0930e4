/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INGERO_REPORT_WINDOWS_H
#define INGERO_REPORT_WINDOWS_H
/*
 * Where feeding threads lost time, from table call alone: calls longer than others of their kind,
 * gaps between calls longer than others between the same operations, and gaps in which the device
 * is known to have nothing to do.
 *
 * Only top-level calls of the tree's threads that returned count. A feeding thread is one that
 * made a work-giving call (flag WORK) or proved the device idle; where none of a process gave work,
 * any is. Each call belongs to a group (thread, operation, kind of copy, power of two of its
 * bytes), each gap between two calls of a thread to a group (thread, operation before, operation
 * after), each idle stretch to a group (thread, operation that proved it). Gaps in which another
 * thread gave work are compared with such gaps only. No nanosecond of a thread is in two windows:
 * a call or gap that begins in an idle stretch of its thread is no window and in no group.
 *
 * Idle: begins on the thread of a good call that waited for the device, at its return, when no
 * other thread of the process was in a work-giving call meanwhile, and it waited for everything:
 * a device or context synchronise; a stream synchronise, or a synchronous copy to the host (on the
 * default stream), when each work-giving call since the last idle point was on that stream. Ends
 * where any thread of the process next begins a work-giving call, or with the last call of its own
 * thread. While the device is known to be idle, nothing else proves it again. But if a
 * synchronising call of its thread that gives no work takes longer than WINDOWS_SYNC_WAITED in it,
 * something still ran, as on another device: there was no idle point, and this call may prove one.
 *
 * A call or gap is slow when it is longer than 3 x p50 of its group, of at least
 * WINDOWS_GROUP_MIN members, and at least WINDOWS_EXCESS_MIN longer than p50; groups with fewer
 * than WINDOWS_SLOW_MIN slow ones have none. It lost its duration - p50. Of idle stretches the
 * whole is lost. Calls that failed or are the first of their operation in a process whose start
 * is recorded belong to no group, but gaps next to them do.
 *
 * What began before the span is cut to it; where that is a part of the recording, and calls were
 * made before it, no process that was there has its work beginning in it.
 *
 * p50 and p99 are within 1 %. Spans tile a recording, so that memory is bounded: each has at most
 * about WINDOWS_ROWS rows of table switch, or a quarter as many calls.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "chain.h"
#include "latency.h"
#include "tasks.h"

#define WINDOWS_GROUP_MIN 10
#define WINDOWS_SLOW_MIN 3
#define WINDOWS_SLOW_FACTOR 3
#define WINDOWS_EXCESS_MIN 10000	/* ns */
/* ns. A synchronise with nothing to wait for returns within some 10 us; work lasts longer. */
#define WINDOWS_SYNC_WAITED 50000
#define WINDOWS_ROWS (1u << 20)
#define WINDOWS_KIND_NONE UINT8_MAX	/* the kind of copy is not recorded */

struct window_group {
	enum effect_kind kind;
	uint32_t thread, process;
	const struct operation *operation, *next;	/* next: of a gap, else NULL */
	bool fed;			/* gaps in which another thread gave work */
	uint8_t copy_kind, size_class;	/* of calls: cudaMemcpyKind; 1 + log2 of bytes, 0 none */
	bool synchronising;		/* calls: category SYNC, or COPY or SET with flag SYNC */
	uint64_t count, total;		/* members and the sum of their durations */
	uint64_t p50, p99, max;
	uint64_t slow, lost;		/* members that lost time; how much, within 1.2 % */
};

#define WINDOW_NORMAL	0x1	/* a member no longer than p50: the baseline is made of these */
#define WINDOW_SLOW	0x2	/* lost time; idle stretches always */
#define WINDOW_HEAD	0x4	/* start is its real start, not the span's */
#define WINDOW_TAIL	0x8	/* end is its real end */
#define WINDOW_INITIAL	0x10	/* before the process's work had begun: see windows.c */

/* The part of a window inside one span. whole_*: of the window itself; that decides its flags. */
struct window {
	uint64_t start, end;	/* equal where a normal gap or call took no time */
	uint64_t whole_start, whole_end;
	uint32_t group, flags;
};

struct window_span { uint64_t start, end; };	/* start <= t < end; end too in the last one */

struct feeding {
	uint32_t process, threads;	/* which has feeding threads; how many */
	uint64_t span;		/* from first to last call, summed over its feeding threads */
	uint64_t syncs;		/* idle points */
	uint64_t work;		/* work-giving calls */
	bool provable;		/* syncs > 0: whether the device ran out of work can be told */
};

/* Whether a call waits for the device: a synchronise, or a synchronous copy or set. */
bool window_operation_waits(const struct operation *o);

struct windows {
	struct window_group *groups; size_t group_count, group_capacity;
	struct window_span *spans; size_t span_count, span_capacity;
	struct feeding *feeding; size_t feeding_count;	/* by process */
	struct windows_state *state;		/* private */
};

/* The pass over all calls that fills in the above. ERROR_MEMORY; release in either case. */
int windows_open(struct windows *w, struct recording *r, const struct tasks *t,
		 const struct latency *l);
void windows_release(struct windows *w);

/*
 * The parts inside spans[span] of all slow windows and normal members of the groups whose
 * bit in wanted is set (bit g of a bitmap of 64-bit words), by thread, then start. *out is
 * owned by w until the next call. Spans may be asked for in any order. ERROR_MEMORY.
 */
int windows_load(struct windows *w, size_t span, const uint64_t *wanted, const struct window **out,
		 size_t *count);
#endif
