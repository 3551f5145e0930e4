/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
#ifndef INGERO_WIRE_H
#define INGERO_WIRE_H
/*
 * What bpf/ hands to record/: ring-buffer records, iterator records and counters. Both sides are
 * compiled together, so this is no file format and may change at will. Only kernel types are
 * used; every struct is a multiple of 8 bytes without implicit padding.
 */
#include <linux/types.h>

#define WIRE_COMM 16
#define WIRE_ARGS 512		/* bytes of a command line kept by exec */
#define WIRE_DEPTH 16		/* recorded calls inside each other on one thread */
#define WIRE_LOSS_SECONDS 128	/* loss history: slots of 2^30 ns */

enum wire_kind {
	WIRE_SWITCH = 1, WIRE_PAGES = 2, WIRE_CALL = 3, WIRE_TASK = 4, WIRE_RECLAIM = 5,
	WIRE_STATE = 6, WIRE_OPEN_CALL = 7, WIRE_AFFINITY = 8,
};

/*
 * Values inside records. They equal those of the file format (common/format.h), which
 * record/ingest.c asserts, so that a row is a plain copy.
 */
enum wire_task_event {
	WIRE_TASK_SNAPSHOT = 1, WIRE_TASK_FORK = 2, WIRE_TASK_EXEC = 3, WIRE_TASK_EXIT = 4,
	WIRE_TASK_RENAME = 5,
};
enum wire_task_flags {
	WIRE_TASK_TREE = 0x1, WIRE_TASK_KTHREAD = 0x2, WIRE_TASK_RECORDER = 0x4,
	WIRE_TASK_ROOT = 0x8, WIRE_TASK_GROUP_DEAD = 0x10, WIRE_TASK_ARGS_CUT = 0x20,
};
enum wire_prev_state {
	WIRE_PREV_RUNNABLE = 0, WIRE_PREV_SLEEPING = 1, WIRE_PREV_UNINTERRUPTIBLE = 2,
	WIRE_PREV_IDLE = 3, WIRE_PREV_STOPPED = 4, WIRE_PREV_TRACED = 5, WIRE_PREV_PARKED = 6,
	WIRE_PREV_DEAD = 7, WIRE_PREV_OTHER = 8,
	WIRE_PREV_PREEMPTED = 0x10, WIRE_PREV_THROTTLED = 0x20, WIRE_PREV_IO_WAIT = 0x40,
};
enum wire_waker {
	WIRE_WAKER_NONE = 0, WIRE_WAKER_TASK = 1, WIRE_WAKER_SOFTIRQ = 2, WIRE_WAKER_HARDIRQ = 3,
	WIRE_WAKER_NMI = 4, WIRE_WAKER_UNKNOWN = 5,
};
enum wire_vector {	/* a softirq is its number plus 1 */
	WIRE_VECTOR_HARD_TIMER = 32, WIRE_VECTOR_HARD_DEVICE = 33,
};
enum wire_reclaim_kind { WIRE_RECLAIM_GLOBAL = 1, WIRE_RECLAIM_CGROUP = 2 };
enum wire_next_flags {
	WIRE_NEXT_FIRST = 0x1, WIRE_NEXT_EARLY_WAKE = 0x2, WIRE_NEXT_UNKNOWN = 0x4,
	WIRE_NEXT_PREEMPTED = 0x8, WIRE_NEXT_THROTTLED = 0x10, WIRE_NEXT_IO_WAIT = 0x20,
};
enum wire_call_flags {
	WIRE_CALL_BYTES = 0x1, WIRE_CALL_KIND = 0x2, WIRE_CALL_STREAM = 0x4,
	WIRE_CALL_READ_FAILED = 0x8, WIRE_CALL_OPEN = 0x10, WIRE_CALL_ABANDONED = 0x20,
	WIRE_CALL_PAGES = 0x40,
};
enum wire_thread_state {
	WIRE_THREAD_UNKNOWN = 0, WIRE_THREAD_RUNNING = 1, WIRE_THREAD_WAITING = 2,
	WIRE_THREAD_BLOCKED = 3,
};
enum wire_source {
	WIRE_SOURCE_SWITCH = 1, WIRE_SOURCE_WAKING = 2, WIRE_SOURCE_WAKEUP = 3,
	WIRE_SOURCE_WAKEUP_NEW = 4, WIRE_SOURCE_MIGRATE = 5, WIRE_SOURCE_PAGE_ALLOC = 6,
	WIRE_SOURCE_FORK = 7, WIRE_SOURCE_EXEC = 8, WIRE_SOURCE_EXIT = 9, WIRE_SOURCE_RENAME = 10,
	WIRE_SOURCE_CALL_ENTRY = 11, WIRE_SOURCE_CALL_RETURN = 12, WIRE_SOURCE_STATE = 14,
	WIRE_SOURCE_INTERRUPT = 15, WIRE_SOURCE_RECLAIM = 16, WIRE_SOURCE_LIMIT = 17,
};
enum wire_loss_reason {
	WIRE_LOSS_RING_FULL = 1, WIRE_LOSS_NO_STORAGE = 2, WIRE_LOSS_TOO_DEEP = 3,
};

struct wire_header {
	__u32 kind;		/* enum wire_kind */
	__u32 tid;
	__u64 ts;
};

/* Switch ring. header.tid is the thread that left. */
struct wire_switch {
	struct wire_header h;
	__u64 off, wait;	/* ns, of next */
	__u32 next_tid, waker_tid;
	__u32 wake_latency;	/* ns, saturated */
	__u32 page_events, pages;
	__u32 migrated_wait;	/* ns, saturated */
	__u32 major_faults;	/* of the thread that left */
	__u16 migrated_from;	/* CPU + 1 */
	__u16 syscall, waker_syscall;	/* number + 1 */
	__u8 prev_state, waker_context, waker_vector, next_flags, pad[2];
	__u32 throttled;	/* ns of wait, saturated, until the quota was renewed; 0 all of it, or not known */
	__u32 pad2;
};

/* Switch ring: counts of a long slice. */
struct wire_pages {
	struct wire_header h;
	__u32 events, pages;
};

/* Switch ring. ts is the end. */
struct wire_reclaim {
	struct wire_header h;
	__u64 duration, pages;
	__u32 kind, pad;
};

/* Call ring. ts is the return. */
struct wire_call {
	struct wire_header h;
	__u64 duration, bytes, stream;
	__u32 tgid, probe;
	__s32 code;
	__u16 symbol;		/* row of cuda_api.def */
	__u8 depth, kind;
	__u32 flags;		/* CALL_FLAG_* */
	__u32 page_events;
};

/* Life ring and snapshot iterator. ts is the event, header.tid the thread. */
struct wire_task {
	struct wire_header h;
	__u64 start, process_start;	/* CLOCK_BOOTTIME ns */
	__u32 event, tgid, ppid, other_tid, ns_tid, ns_tgid, exit_code, flags;
	__u32 args_length, pad;		/* exec: bytes of args, NUL-separated */
	char comm[WIRE_COMM];
	char args[];			/* exec only, WIRE_ARGS at most */
};

/* Keyframe iterator: a thread, then one wire_open_call for each call it is in. */
struct wire_state {
	struct wire_header h;
	__u64 since, runnable_since;
	__u32 tgid, cpu, state, open_calls;
	__u32 page_events, pages;	/* pending on the CPU it runs on */
	__u32 syscall, pad;		/* of a blocked thread, number + 1 */
};

/* After a thread of the tree that is new or may use other CPUs than before. */
struct wire_affinity {
	struct wire_header h;
	__u32 tgid, words;
	__u64 mask[];
};

struct wire_open_call {
	struct wire_header h;
	__u64 start;
	__u32 tgid, probe, depth, symbol;
};

/* One program's counts on one CPU: entries = emitted + filtered + lost. */
struct wire_counter {
	__u64 entries, emitted, filtered, lost;
};

/* What every program keeps on its CPU; the one value of map cpu_data. */
struct wire_cpu {
	struct wire_counter counter[WIRE_SOURCE_LIMIT];	/* by enum wire_source */
	__u32 page_events, pages;	/* of the thread on the CPU, since its last row */
	__u64 page_events_lost, pages_lost;	/* of rows for which there was no room */
	__u64 preempt_address;		/* kernel's; cached */
	__u32 switches, page_events_all;	/* since the programs were loaded, wrapping around */
	/* Runs of the programs at softirqs, and at hard interrupts, which may interrupt those. */
	__u64 softirq_runs, hardirq_runs;
	__u8 softirq_vector, hardirq_vector, pad[6];	/* enum wire_vector, or a softirq */
};

/* Losses of one source in one slot of 2^30 ns; map loss_history, slot = source * WIRE_LOSS_SECONDS + second % WIRE_LOSS_SECONDS. */
struct wire_loss {
	__u64 first, last, count, page_events;
	__u32 reason, second;
};

/* Calls made by a process outside the tree; map outside. */
struct wire_outside {
	__u32 tgid, probe;
};
#endif
